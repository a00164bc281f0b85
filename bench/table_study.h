/*
 * bench/table_study.h - a whole study of a real table: three `trefoil serve`, a `trefoil share` for
 * each owner and one `trefoil run` on this machine. With m owners, each has every m-th row.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define TABLE_STUDY_OWNERS 5
#define TABLE_STUDY_OWNERS_MAX 100
#define TABLE_STUDY_PERSONS 30000 /* who have the rows in turn, if the study has persons */
#define TABLE_STUDY_ROWS 16383u   /* at most, of each owner */

struct support_study;

struct table_study {
    const char *table;  /* in data_folder(); or instead of it */
    const char *domain; /* lines of the study file, and */
    const char *rows;   /* a CSV file, or NULL: files of owners by `write` */
    enum err (*write)(void *self, unsigned owner, FILE *csv);
    const char *const *part; /* of each owner its lines; NULL: of whole rows */
    const char *link;        /* what follows "link:", or NULL */
    const char *as;          /* what owners send: auto, counts or records */
    const char *more;        /* further lines of the study file, or NULL */
    const char *workload;    /* where a domain is given; NULL: all pairs */
    unsigned rounds;
    bool annealed;
    const char *copula;    /* instead of rounds: the lines of method: copula */
    double epsilon, delta; /* 0: as in the studies of tests */
    unsigned most;         /* rows of an owner; 0: TABLE_STUDY_ROWS */
    unsigned owners;       /* 0: TABLE_STUDY_OWNERS */
    unsigned enforce;      /* rows of a person that count; 0: rows have no keys */
    /* looks at the outcome, in the folder `result`; or NULL */
    enum err (*look)(void *self, const struct support_study *s, struct log *log);
    void *self;
};

struct table_study_figures {
    json_t *stats;       /* stats.json; the caller's */
    bool records;        /* what owners sent */
    double cpu_s;        /* of the three servers, from before the run to its end */
    double peak_mib;     /* of the largest of them */
    double sent, packed; /* bytes of the first owner's upload: all messages; the rows */
};

enum err table_study_run(const struct table_study *study, struct table_study_figures *figures,
                         struct log *log) MUST_CHECK;
