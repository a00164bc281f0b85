/*
 * parties/audit/audit_file.h - an audit log as a file: lines, their chain, what neighbours signed.
 *
 * docs/formats.md describes the lines. A line that is changed, removed or inserted breaks the chain
 * after it; a chain made anew does not match what neighbours have signed; and a log that is cut
 * short lacks lines that neighbours have seen.
 */
#pragma once

#include "parties/study/warrant.h"

#define AUDIT_RUN_SIZE 16

enum audit_kind {
    AUDIT_LOG,
    AUDIT_OPEN,
    AUDIT_SEEN,
    AUDIT_SIGNED,
    AUDIT_LEFT_OUT, /* by all rounds of a session: rows are not sorted, or their key is another */
    AUDIT_LOST,     /* a round stays without an answer, because of a server */
    AUDIT_WARRANT,  /* permits a run, each time that a session begins for it */
    AUDIT_RECOVERED,
    AUDIT_CAUGHT, /* a check failed */
    AUDIT_RESUMED,
    AUDIT_DROPPED,
    AUDIT_KINDS
};

/* A log's length, and its last hash. */
struct audit_head {
    uint64_t entries;
    uint8_t hash[32];
};

struct audit_opening {
    uint8_t run[AUDIT_RUN_SIZE];
    uint32_t round;
    char reason[24];
    uint64_t values;
    uint8_t request[32];
    double cost,
        spent; /* rho, k^2 included: for this opening (0 if it is played again), and in all */
    const char *what; /* attributes with * between them, marginals with commas; "-" for none */
};

#define AUDIT_STATEMENT "statement" /* what a server stated cannot be so */

/* Checks, as a server counts them. */
struct audit_checks {
    uint64_t begun, left;
    bool failed;
};

struct audit_entry {
    enum audit_kind kind;
    char time[24];
    struct audit_opening opening; /* open */
    char *what;      /* opening.what points here; of a warrant its text, with | for line ends */
    unsigned server; /* seen, signed, lost */
    struct audit_head head; /* seen, signed; or the ledger's, with the debit that was dropped */
    uint8_t signature[64];
    uint64_t from, to;           /* recovered */
    uint8_t run[AUDIT_RUN_SIZE]; /* left out, lost, warrant, caught */
    uint32_t round;              /* lost, caught */
    char owner[STUDY_NAME_SIZE]; /* left out */
    char why[16];                /* lost */
    char phase[16];              /* caught: net_phase_name(), or AUDIT_STATEMENT */
    uint64_t check;              /* caught */
    struct audit_checks checks;  /* resumed */
    uint8_t hash[32];            /* of the chain after this line */
};

struct audit_file {
    size_t entries;
    struct audit_entry *entry;
    unsigned servers;
    char study[STUDY_NAME_SIZE], name[STUDY_SERVERS_MOST][STUDY_NAME_SIZE];
    uint8_t terms[32], key[STUDY_SERVERS_MOST][32]; /* Ed25519 */
    enum study_security security;
    unsigned server;   /* whose log this is */
    size_t size, torn; /* bytes in whole lines, and in a last one without an end */
};

/*
 * Reads a log and checks its chain, its order, its signatures against the keys in its first line,
 * and that the total never falls, unless a debit was dropped. ERR_DATA, logged with the line, if
 * one fails. A torn last line is only counted.
 */
enum err audit_file_read(struct audit_file **file, const char *path, struct log *log) MUST_CHECK;
void audit_file_free(struct audit_file **file);
/* Whether it belongs to this study's terms and three servers. */
bool audit_file_of(const struct audit_file *file, const struct study *study);

/* The warrant in a line of that kind; as warrant_parse(). */
enum err audit_warrant(const struct audit_entry *entry, struct warrant *w) MUST_CHECK;

/* Adds a line's words to `line`, which has its number and time; of any kind but AUDIT_LOG. */
void audit_entry_put(struct bytes *line, const struct audit_entry *entry);

/* Moves the chain's hash on by one line: `text` is n bytes, without the space before the hash. */
void audit_chain(uint8_t hash[32], const char *text, size_t n);

/* What a neighbour signs about server `server`'s log. */
#define AUDIT_LABEL "trefoil-audit-1"
#define AUDIT_SIGNED_SIZE (32 + 1 + 8 + 32)
void audit_signed_words(const uint8_t terms[32], unsigned server, const struct audit_head *head,
                        uint8_t words[AUDIT_SIGNED_SIZE]);
