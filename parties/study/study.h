/*
 * parties/study/study.h - the one public file that everybody in a study agrees on.
 *
 * docs/study.md has every key; parties/study/example.yaml, which `trefoil init` writes, shows most.
 * Each name of a participant occurs once, and so does each public key: it has one role. Unknown
 * keys of the file are errors. Every error names path, line and column, and says what to do.
 *
 * There are two digests over the parsed content (docs/formats.md): the terms, frozen once data are
 * in, with a digest for each part, so that a mismatch can be named; and the roster, which may be
 * amended. Comments, quotes, the order of a mapping's keys and defaults written out change neither.
 * Any value except a signature changes one, and a server's whole key changes both.
 */
#pragma once

#include "aim/budget/ledger.h"
#include "aim/budget/score.h"
#include "aim/table/person_key.h"
#include "aim/train/features.h"
#include "base/bytes.h"
#include "base/terms.h"
#include "parties/study/identity.h"

#include <stdio.h>

#define STUDY_SERVERS_MOST 3 /* room for so many; how many there are: study->servers */
#define STUDY_NAME_SIZE 32
#define STUDY_HOST_SIZE 254
#define STUDY_OWNERS_MAX 10000
#define STUDY_OPEN_MAX 1000000
#define STUDY_ANALYSTS_MAX 1000
#define STUDY_APPROVERS_MAX 16
#define STUDY_LINKED_MAX 64 /* owners of a batch whose rows are linked */
#define STUDY_REVOKED_MAX 10000
#define STUDY_RANKS_MAX 1023  /* machines of a server besides the first */
#define STUDY_COLUMN_SIZE 128 /* of the name of a column that says whose a row is */
#define STUDY_EPSILON_MAX 100 /* noise circuits may allow less: price_epsilon_limit() */
#define STUDY_ROUNDS_MAX 1000
#define STUDY_SWEEPS_MAX 8
#define STUDY_EVENTS_CELLS 100000 /* of a marginal, where rows are events and `all` asks for it */
#define STUDY_COUNT_BITS_MAX 31   /* the most for l: all owners' counts together are below 2^31 */

enum study_role { ROLE_SERVER = 1, ROLE_OWNER, ROLE_ANALYST, ROLE_APPROVER };

/* What a run makes: AIM's rounds, a Gaussian copula, a classifier (parties/study/method.h). */
enum study_method { STUDY_AIM, STUDY_COPULA, STUDY_TRAIN, STUDY_METHODS };

/* What guards against a server that departs from the protocol: nothing, or mpc/check/check.h. */
enum study_security { STUDY_SEMI_HONEST, STUDY_ABORT };

/* The words in the file, which are also what is hashed. */
#define STUDY_NOISE_BY 3 /* how two servers may make noise: NOISE_BY_BOTH comes first */
extern const char *const study_noise_by_words[STUDY_NOISE_BY],
    *const study_score_words[2], *const study_accounting_words[2], *const study_security_words[2];

/* What the study says of itself for people and catalogues; the words are the file's keys. */
enum study_about {
    ABOUT_TITLE,
    ABOUT_DESCRIPTION,
    ABOUT_PURPOSE,
    ABOUT_LICENCE,
    ABOUT_CONTACT,
    STUDY_ABOUT
};
extern const char *const study_about_words[STUDY_ABOUT];

enum study_form { STUDY_AUTO, STUDY_COUNTS, STUDY_RECORDS };

/* What owners seal to, signed by the server with the terms: parties/study/sealing.h. */
struct study_sealing {
    bool given;
    uint8_t key[32]; /* X25519 */
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
};

struct study_server {
    char name[STUDY_NAME_SIZE];
    struct public_identity key;
    struct study_sealing sealing;
    char host[STUDY_HOST_SIZE]; /* as written; IPv6 with its brackets */
    uint16_t port;              /* of the gate */
    size_t ranks;
    char (*rank)[STUDY_HOST_SIZE]; /* hosts of its other machines (settings/three/ranks.h) */
};

/* What an owner of records sends to a provider (base/lattice_plan.h); zeros: nothing. */
struct study_encrypted {
    uint64_t bytes;
    size_t results, blocks; /* results: which the provider sends the keeper for this owner */
};

struct study_owner {
    char name[STUDY_NAME_SIZE];
    struct public_identity key;
    uint32_t min_rows, max_rows;
    uint32_t pad_to; /* how many records it uploads, if records: at least max_rows */
    unsigned bits;   /* b: max_rows < 2^b; how many it uploads for each cell, if counts */
    enum study_form as;
    bool records; /* bounded as an owner of records: by `as`, or because they take fewer bytes */
    /* Its columns, ascending: all, unless it is one of a batch. */
    size_t columns;
    uint16_t *column;
    size_t batch;  /* the first owner of the batch; itself if it shares its rows with nobody */
    uint32_t rows; /* which each owner of the batch must have, as they agreed; 0: not given */
    uint32_t expected_rows; /* for plans alone; 0: not given */
    struct study_encrypted encrypted;
};

/* Which columns say whose a row is, and which differences between their texts are ignored. */
struct study_person {
    size_t columns; /* 0: rows have no keys */
    char column[PERSON_COLUMNS_MAX][STUDY_COLUMN_SIZE];
    struct unicode_form form;
};

/* How the owners of a batch match their rows: by person (protocols/link.h), or by position. */
struct study_link {
    bool on;
    size_t keep;         /* the owner whose rows stay if others lack the person, or `owners` */
    unsigned min_linked; /* a run with fewer stops after a look; 0: there is no look */
    double look;         /* the share of the budget set aside for looks (aim/run/look.h) */
};

/* Owners that the study does not list: tokens admit them (parties/study/token.h). */
struct study_open {
    size_t most;             /* 0: there are none */
    struct study_owner each; /* holds for each of them; it has no key */
    struct public_identity issuer;
    size_t revoked_count;
    uint32_t *revoked; /* numbers of tokens, ascending */
};

struct study_analyst {
    char name[STUDY_NAME_SIZE];
    struct public_identity key;
};

/* Whose warrant a run needs: parties/study/warrant.h. */
struct study_approvers {
    unsigned at_least; /* of them have to sign; 0: the study has none */
    size_t count, revoked_count;
    struct study_analyst *who;
    uint8_t (*revoked)[32]; /* numbers of warrants */
};

struct study {
    char name[STUDY_NAME_SIZE];
    char *about[STUDY_ABOUT]; /* each a text, or NULL */
    struct domain *domain;
    char *columns_from; /* what the columns were written from, in words; or NULL */
    size_t zeros;       /* impossible combinations, by their columns */
    struct workload_zeros *zero;
    struct workload *workload; /* what is counted and may be measured; for a copula all pairs,
                                  for a classifier columns alone */
    struct workload *asked;    /* what the file says matters: for a copula what eval compares */
    char *questions;           /* the file that the workload is made for, or NULL */
    double epsilon, delta;
    enum ledger_accounting accounting;
    unsigned rows_per_person; /* with `events`, units: those of a person at all owners together */
    struct study_person person;
    bool enforce_person; /* servers enforce rows_per_person, over all owners */
    struct study_link link;
    enum noise_kind noise;
    enum noise_by noise_by;
    enum aim_score score;
    enum study_method method;
    unsigned rounds; /* the most, if annealed; 0 for another method */
    bool annealed;
    unsigned sweeps;  /* in their place, so that rounds is 0; 0: none */
    bool rounds_auto; /* these follow from a rule: parties/study/rounds.h */
    double assess; /* share of the budget to assess AIM's model with (aim/run/assess.h); 0: none */
    double copula_clip, copula_share; /* for a copula: aim/run/copula_run.h */
    struct features *features;        /* for a classifier (aim/train/features.h); else NULL */
    unsigned train_steps;             /* aim/run/train_run.h */
    double train_rate;                /* 0: as the noise says */
    enum study_security security;
    unsigned servers; /* of two, 0 is the provider and 1 the keeper */
    struct study_server server[STUDY_SERVERS_MOST];
    size_t owners;
    struct study_owner *owner;
    struct study_open open;
    unsigned min_owners; /* how many must have sent their rows before a run begins */
    bool late_join;      /* rows that come during a run count from its next round on */
    size_t analysts;
    struct study_analyst *analyst;
    struct study_approvers approvers;
    size_t keyless; /* how many of all those have no key yet: only a draft may have any */
    unsigned connect_s, round_s;
    unsigned retain_days;
    int64_t uploads_until; /* seconds since 1970; 0: no deadline */
    unsigned max_mib, iterations, final_iterations;
    size_t apart_columns; /* columns in which a run merges no values, however few rows they have */
    uint16_t *apart;

    unsigned count_bits; /* l, the least with the sum of 2^b - 1 over owners below 2^l */
    struct terms terms;
    uint32_t roster_version; /* 1: as first agreed */
    struct bytes beside; /* names of files that it names, once each, as strings (base/bytes.h) */
    char *relay; /* where the owner's page brings parcels: https://HOST[:PORT]; NULL: nowhere */
    uint8_t roster[32];
    size_t revoked_count;
    struct public_identity *revoked;
    struct {
        bool given;
        uint8_t bytes[64];
    } signature
        [STUDY_SERVERS_MOST]; /* over terms and roster; roster.h says whether they are good */
    /* of its run, not from the file: */
    double left;  /* rho that others left it to begin with, or 0 */
    bool earlier; /* trefoil 0.2 began it: limits are those of then */
};

/* ERR_STUDY, logged, for anything wrong in it; ERR_SYSTEM if the file cannot be read. */
enum err study_load(struct study **study, const char *path, struct log *log) MUST_CHECK;
/*
 * The same, but people may have no key yet, or REPLACE-WITH-KEY-OF- and a name in its place; then
 * owners need no name either. For what needs nobody: explaining, planning, trying.
 */
enum err study_load_draft(struct study **study, const char *path, struct log *log) MUST_CHECK;
enum err study_parse_draft(struct study **study, const char *path, const void *text, size_t n,
                           struct log *log) MUST_CHECK;
/* The same from memory; `path` is for messages, and its folder has the files that a study names. */
enum err study_parse(struct study **study, const char *path, const void *text, size_t n,
                     struct log *log) MUST_CHECK;
void study_free(struct study **study);

/*
 * Adds structural zeros to the study's own, from a file that has the key `impossible`, as in a
 * study. Only the study's domain and zeros need to be there.
 */
enum err study_add_impossible(struct study *study, const char *path, struct log *log) MUST_CHECK;

/* Whether this can name somebody in a study: 1 to 31 of a-z 0-9 _ -. */
bool study_good_name(const char *text);

/* Whether the roster revokes this key, wherever else the key is listed. */
bool study_revoked(const struct study *study, const struct public_identity *who);
/* Whether it revokes any key of the identity that signs with this one. */
bool study_revoked_signer(const struct study *study, const uint8_t sign[32]);
/* Whether it revokes the warrant of this number. */
bool study_revoked_warrant(const struct study *study, const uint8_t number[32]);

/*
 * Owners are numbered: first those that the study lists, then those that tokens admit, in the order
 * of the tokens' numbers. The latter are called token.17 and so on. These give what holds for an
 * owner; the first owner of its batch; its name; how many owners there may be; whether a token is
 * revoked.
 */
const struct study_owner *study_owner(const struct study *study, size_t owner);
size_t study_batch(const struct study *study, size_t owner);
struct words_text study_owner_name(const struct study *study, size_t owner);
/* The owner with that name; study_owners_most() if there is none. */
size_t study_find_owner(const struct study *study, const char *name);
size_t study_owners_most(const struct study *study);
bool study_token_revoked(const struct study *study, uint32_t number);

/*
 * has[i]: owner i's upload is there. Clears it if the batch is not whole, since its rows cannot be
 * counted; returns how many are left.
 */
size_t study_taking_part(const struct study *study, bool *has);
/*
 * Whether an owner's columns are joined to others' by person; whether its records have keys; how
 * many rows of this first owner's batch can count, whatever is sent and however it is joined or,
 * unless `padded`, if its owners keep to max_rows.
 */
bool study_linked(const struct study *study, size_t owner);
bool study_sends_keys(const struct study *study, size_t owner);
uint32_t study_batch_rows(const struct study *study, size_t first, bool padded);
/*
 * How many rows count if all owners bring the most, or as many as expected where they say that;
 * with `events`, units of persons (aim/table/series.h).
 */
uint64_t study_rows(const struct study *study, bool expected);
/* The key that says so, for messages: "expected_rows" or "max_rows". */
const char *study_rows_key(const struct study *study);
/*
 * How this study makes keys of persons, from columns with the study's names or, in the same order,
 * with the names in a list separated by commas. ERR_USAGE, logged, if the number of names differs
 * or one occurs twice. The rule borrows from the study and from `names`, which is split in place.
 */
enum err study_person_rule(const struct study *study, char *names, struct person_rule *rule,
                           struct log *log) MUST_CHECK;

/*
 * Whether the guarantee covers all rows of a person, declared or enforced; otherwise it covers one
 * row. Where owners are linked, one row of an owner decides about columns of others, so a row
 * cannot be the unit.
 */
bool study_of_persons(const struct study *study);

/* How many marginals a selection may choose among: a study of method: aim has no larger closure. */
size_t study_candidates_most(const struct study *study);

/* The name of a part of the terms in the study file, for messages. */
const char *study_part_words(const char *part);
/* The terms in six groups of five characters, for people to compare. */
struct words_text study_fingerprint(const struct study *study);
