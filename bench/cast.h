/*
 * bench/cast.h - three real servers on loopback, an analyst, and as many owners as a measurement
 * wants, each with a key and connections of its own.
 *
 * Owners are in the study's list, or have tokens from an issuer that it names (open_owners). Any
 * failure here ends the program.
 */
#pragma once

#include "harness/process.h"
#include "parties/study/token.h"

#include <jansson.h>

struct cast_plan {
    const char *domain, *workload; /* as bench/study_text.h writes them */
    unsigned owners, max_rows;
    bool open;      /* the study does not list them */
    const char *as; /* or NULL */
};

struct cast {
    struct support_study s;
    struct identity *owner; /* for as long as the measurement */
    struct token *token;    /* of each, where the study does not list them */
    struct identity *analyst;
    pid_t server[STUDY_SERVERS_MOST];
};

/* The key of owner 0 is saved too, as o0.key. */
void cast_new(struct cast *c, const struct cast_plan *plan);
void cast_start(struct cast *c);
void cast_free(struct cast *c);

/*
 * All owners upload, some at a time: the first byte of a vector is the owner's number, the others
 * are zeros. Returns the seconds from the first connection to the last answer.
 */
double cast_upload(struct cast *c);

/* What opening a session costs: servers agree on the uploads and add them up. */
struct cast_session {
    double seconds;
    uint64_t agreed; /* bytes that a server sent besides counting, with headers; most of three */
};
struct cast_session cast_count(struct cast *c);

/* Seconds until server 0 has told the analyst what it holds. */
double cast_ask(struct cast *c);
/* Stops server 0, and returns the seconds that it takes to purge its folder. */
double cast_purge(struct cast *c);

/* A line of /proc/PID/status, in MiB; the largest server's. */
double cast_mib(const struct cast *c, const char *field);

/* First of a program, after its options. */
void cast_begin(void);
/* Ends the program, and says what failed. */
void cast_must(bool fine, const char *what);
void cast_done(enum err e, const char *what);
/* What is logged is visible. */
extern struct log cast_log;
