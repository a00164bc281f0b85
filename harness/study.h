/*
 * harness/study.h - a small study with fresh keys, and a table that fits it, in a temporary
 * folder.
 */
#pragma once

#include "aim/run/ask.h"
#include "aim/table/table.h"
#include "parties/study/study.h"

#define SUPPORT_PATH 512

extern struct log quiet; /* what is logged here goes nowhere */

struct support_study {
    char folder[SUPPORT_PATH / 2];
    struct study *study;
    unsigned owners;
    uint16_t port;           /* first of all three servers', free when asked */
    unsigned lanes[3];       /* of each server; 0: as many as it likes */
    unsigned ahead[3];       /* seconds of idleness before noise is made ahead; 0: off */
    const char *host;        /* of all three servers */
    char path[SUPPORT_PATH]; /* of the study file */
};

struct study_options {
    unsigned owners;    /* default 3 */
    const char *domain; /* yaml; default: five attributes */
    const char *workload;
    unsigned rounds;
    bool annealed;      /* as many rounds as the budget allows */
    unsigned sweeps;    /* instead of rounds */
    const char *copula; /* instead of rounds: the lines of method: copula */
    const char *train;  /* instead of rounds and a workload: the lines of method: train */
    double epsilon, delta;
    enum ledger_accounting accounting;
    unsigned round_s, connect_s; /* deadlines; default: longer than anything takes */
    unsigned enforce; /* rows of a person that servers count, by the column "who"; 0: they do not */
    const char *link; /* what follows "link:", with persons by the column "who"; or NULL */
    const char *noise;
    const char *more; /* further top-level keys */
    const char *host; /* default 127.0.0.1 */
    bool seals;       /* servers have sealing keys, s0.seal and so on */
    bool two;         /* a provider and a keeper in the place of three servers */
    unsigned lanes;   /* of each server: default 1; ports have no room for more */
    unsigned ahead;   /* of each server: as above */
    const char *const
        *part; /* for each owner its lines after the name, or NULL for max_rows alone */
};
/* Options where they are used: scene_new(OPTIONS(.owners = 2)). A study of such, or no test. */
#define OPTIONS(...) (&(const struct study_options){__VA_ARGS__})
#define STUDY(log, ...) support_study_of(OPTIONS(__VA_ARGS__), log)

/* For owners of different columns: values of the last three may be missing. */
#define SUPPORT_LINKED_DOMAIN                                                                      \
    "domain:\n"                                                                                    \
    "  - {name: age, kind: integer, min: 0, max: 8}\n"                                             \
    "  - {name: sex, kind: categorical, values: [f, m]}\n"                                         \
    "  - {name: ward, kind: categorical, values: [a, b, c, d], missing: \"?\"}\n"                  \
    "  - {name: bmi, kind: numeric, edges: [10, 18.5, 25, 30, 60], missing: \"\"}\n"               \
    "  - {name: died, kind: categorical, values: [no, yes], missing: \"?\"}\n"

/*
 * Makes the folder, in $TREFOIL_FOLDERS or /tmp; in it keys (s0.key .. s2.key, o0.key .., a.key)
 * and study.yaml, which it loads.
 */
enum err support_study_new(struct support_study *s, const struct study_options *o,
                           struct log *log) MUST_CHECK;
/* The same, or no test. */
struct support_study support_study_of(const struct study_options *o, struct log *log);
/* Removes the folder. */
void support_study_free(struct support_study *s);
/* Makes everybody forget the servers' ledgers that they have seen, for servers that begin anew. */
void support_forget(const struct support_study *s);
/* A path in the study's folder; good until five hundred more have been asked for. */
const char *support_path(const struct support_study *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for whatever has a study as `s`. */
#define file(scene, ...) support_path(&(scene)->s, __VA_ARGS__)
/* The same in the caller's buffer. */
void support_study_file(const struct support_study *s, const char *name, char path[SUPPORT_PATH]);

enum err support_copy(const char *from, const char *to) MUST_CHECK;
void support_remove(const char *folder); /* with all that is in it */

/* Where rows are of persons with events, each has all of its person's unit. */
enum err support_units(struct table *t) MUST_CHECK;
/* n rows with dependent columns, the same for a seed. */
enum err support_table(struct table **t, const struct domain *d, size_t rows,
                       uint64_t seed) MUST_CHECK;
/* The same as a CSV file. */
enum err support_csv(const char *path, const struct domain *d, size_t rows,
                     uint64_t seed) MUST_CHECK;

/* The first of `count` consecutive ports that are free on 127.0.0.1. */
uint16_t support_ports(unsigned count);

/* A selection such as rounds ask for, of candidates with estimates that are borrowed. */
struct ask support_selection(uint32_t candidates, uint32_t *query, uint64_t *estimate);
