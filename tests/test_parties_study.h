/*
 * tests/test_parties_study.h - a study file, edits of it, and keys. All cases are edits of one
 * file: a text is found (once) and replaced. @0 .. @9 stand for keys.
 */
#ifndef TREFOIL_TESTS_TEST_PARTIES_STUDY_H
#define TREFOIL_TESTS_TEST_PARTIES_STUDY_H

#include "tests/support_cmocka.h"

#include "aim/table/table.h"
#include "base/bytes.h"
#include "base/secret.h"
#include "parties/study/keys.h"
#include "parties/study/study.h"

#include <stdlib.h>
#include <string.h>

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

struct fixture {
    struct identity *identity[KEYS];
    char key[KEYS][KEYS_TEXT_SIZE];
    char sink[4096];
    struct log log;
    struct study *base;
};

/* The text with keys filled in; the caller clears it. NUL-ended beyond its size. */
static inline struct bytes with_keys(const struct fixture *f, const char *text)
{
    struct bytes b = {0};
    for (; *text != '\0'; text++) {
        if (text[0] == '@' && text[1] >= '0' && text[1] <= '9') {
            const char *key = f->key[*++text - '0'];
            bytes_put(&b, key, strlen(key));
        } else
            bytes_put_u8(&b, (uint8_t)*text);
    }
    assert_int_equal(bytes_ok(&b), ERR_OK);
    return b;
}

/* `text` with `find`, which must occur once, replaced. */
static inline struct bytes edited(const char *text, const char *find, const char *replace)
{
    struct bytes b = {0};
    const char *at = strstr(text, find);
    assert_non_null(at);
    assert_null(strstr(at + 1, find));
    if (at > text)
        bytes_put(&b, text, (size_t)(at - text));
    if (*replace != '\0')
        bytes_put(&b, replace, strlen(replace));
    bytes_put(&b, at + strlen(find), strlen(at + strlen(find)) + 1);
    assert_int_equal(bytes_ok(&b), ERR_OK);
    return b;
}

static inline enum err parse_text(struct fixture *f, const char *text, struct study **study)
{
    struct bytes b = with_keys(f, text);
    enum err e;
    f->sink[0] = '\0';
    e = study_parse(study, "t.yaml", b.data, b.size, &f->log);
    bytes_clear(&b);
    return e;
}

static inline enum err parse_edit(struct fixture *f, const char *find, const char *replace,
                                  struct study **study)
{
    struct bytes b = edited(base_text, find, replace);
    enum err e = parse_text(f, (const char *)b.data, study);
    bytes_clear(&b);
    return e;
}

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (f == NULL || secret_start() != ERR_OK)
        return 1;
    *state = f;
    f->log = (struct log){.buffer = f->sink, .buffer_size = sizeof f->sink, .level = LOG_INFO};
    for (int i = 0; i < KEYS; i++) {
        if (identity_new(&f->identity[i], NULL) != ERR_OK)
            return 1;
        public_identity_text(&f->identity[i]->public, f->key[i]);
    }
    return parse_text(f, base_text, &f->base) == ERR_OK ? 0 : 1;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    study_free(&f->base);
    for (int i = 0; i < KEYS; i++)
        identity_free(&f->identity[i]);
    free(f);
    return 0;
}

static inline bool same_roster(const struct study *a, const struct study *b)
{
    return memcmp(a->roster, b->roster, sizeof a->roster) == 0;
}

/* The names of the parts that differ, and "roster", with spaces between. */
static inline void differing(const struct study *a, const struct study *b, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < a->terms.parts; i++)
        if (memcmp(a->terms.part[i].digest, b->terms.part[i].digest, 32) != 0)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "",
                                     a->terms.part[i].name);
    if (!same_roster(a, b))
        snprintf(text + used, size - used, "%sroster", used > 0 ? " " : "");
}

#define SIGNATURE                                                                                  \
    "trefoil-sig1-"                                                                                \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAA"

#endif
