/*
 * tests/support/parse.h - a study file, edits of it, and keys. All cases are edits of one
 * file: a text is found (once) and replaced. @0 .. @9 stand for keys.
 */
#pragma once

#include "harness/cmocka.h"

#include "aim/table/table.h"
#include "parties/study/identity.h"
#include "parties/study/study.h"

static const char base_text[] = "study: test\n"                                             /* 1 */
                                "domain:\n"                                                 /* 2 */
                                "  - name: age\n"                                           /* 3 */
                                "    kind: integer\n"                                       /* 4 */
                                "    min: 0\n"                                              /* 5 */
                                "    max: 9\n"                                              /* 6 */
                                "    outside: clip\n"                                       /* 7 */
                                "  - name: ward\n"                                          /* 8 */
                                "    kind: categorical\n"                                   /* 9 */
                                "    values: [a, b, c]\n"                                   /* 10 */
                                "    missing: \"?\"\n"                                      /* 11 */
                                "  - name: bmi\n"                                           /* 12 */
                                "    kind: numeric\n"                                       /* 13 */
                                "    edges: [0, 1.5, 3]\n"                                  /* 14 */
                                "  - name: dose\n"                                          /* 15 */
                                "    kind: numeric\n"                                       /* 16 */
                                "    min: 10\n"                                             /* 17 */
                                "    max: 20\n"                                             /* 18 */
                                "    bins: 5\n"                                             /* 19 */
                                "workload:\n"                                               /* 20 */
                                "  - {attributes: [age, ward], weight: 2}\n"                /* 21 */
                                "  - {attributes: [bmi, dose]}\n"                           /* 22 */
                                "budget:\n"                                                 /* 23 */
                                "  epsilon: 1\n"                                            /* 24 */
                                "  delta: 1e-6\n"                                           /* 25 */
                                "  rows_per_person: 2\n"                                    /* 26 */
                                "noise: box-muller\n"                                       /* 27 */
                                "rounds: 4\n"                                               /* 28 */
                                "servers:\n"                                                /* 29 */
                                "  - {name: s0, endpoint: tcp://here:7100, key: @0}\n"      /* 30 */
                                "  - {name: s1, endpoint: tcp://here:7110, key: @1}\n"      /* 31 */
                                "  - {name: s2, endpoint: \"tcp://[::1]:7100\", key: @2}\n" /* 32 */
                                "owners:\n"                                                 /* 33 */
                                "  - {name: o0, max_rows: 500, key: @3}\n"                  /* 34 */
                                "  - {name: o1, max_rows: 300, key: @4}\n"                  /* 35 */
                                "analysts:\n"                                               /* 36 */
                                "  - {name: a0, key: @5}\n"                                 /* 37 */
                                "deadlines:\n"                                              /* 38 */
                                "  connect: 10\n"                                           /* 39 */
                                "  round: 20\n"                                             /* 40 */
                                "model:\n"                                                  /* 41 */
                                "  max_mib: 40\n"                                           /* 42 */
                                "  iterations: 50\n"                                        /* 43 */
                                "  final_iterations: 60\n";                                 /* 44 */

#define KEYS 10

struct parse_fixture {
    struct identity *identity[KEYS];
    char key[KEYS][IDENTITY_TEXT_SIZE];
    char sink[4096];
    struct log log;
    struct study *base;
};

/* `text` with `find`, which must occur once, replaced. */
struct bytes edited(const char *text, const char *find, const char *replace);

/* The text with keys filled in, without its NUL; the caller clears it. */
struct bytes with_keys(const struct parse_fixture *f, const char *text);
enum err parse_text(struct parse_fixture *f, const char *text, struct study **study);
enum err parse_edit(struct parse_fixture *f, const char *find, const char *replace,
                    struct study **study);
int setup(void **state);
int teardown(void **state);
bool same_roster(const struct study *a, const struct study *b);

/* The names of the parts that differ, and "roster", with spaces between. */
void differing(const struct study *a, const struct study *b, char *text, size_t size);

#define SIGNATURE                                                                                  \
    "trefoil-sig1-"                                                                                \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAA"
