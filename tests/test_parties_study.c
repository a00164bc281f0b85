/*
 * parties/study: what a study file means, every error with its place, what its digests depend on.
 *
 * All cases are edits of one file: a text is found (once) and replaced. @0 .. @9 stand for keys.
 */
#include "tests/support_cmocka.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/secret.h"
#include "parties/command/demo_data.h"
#include "parties/study/keys.h"
#include "parties/study/study.h"
#include "parties/study/yaml.h"

#include "aim/table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static struct bytes with_keys(const struct fixture *f, const char *text)
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
static struct bytes edited(const char *text, const char *find, const char *replace)
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

static enum err parse_text(struct fixture *f, const char *text, struct study **study)
{
    struct bytes b = with_keys(f, text);
    enum err e;
    f->sink[0] = '\0';
    e = study_parse(study, "t.yaml", b.data, b.size, &f->log);
    bytes_clear(&b);
    return e;
}

static enum err parse_edit(struct fixture *f, const char *find, const char *replace,
                           struct study **study)
{
    struct bytes b = edited(base_text, find, replace);
    enum err e = parse_text(f, (const char *)b.data, study);
    bytes_clear(&b);
    return e;
}

static int setup(void **state)
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

static int teardown(void **state)
{
    struct fixture *f = *state;
    study_free(&f->base);
    for (int i = 0; i < KEYS; i++)
        identity_free(&f->identity[i]);
    free(f);
    return 0;
}

/* --- meaning -----------------------------------------------------------------------------------
 */

static void the_domain_is_read(void **state)
{
    struct fixture *f = *state;
    const struct domain *d = f->base->domain;
    assert_int_equal(d->attributes, 4);
    assert_int_equal(d->attribute[0].kind, DOMAIN_INTEGER);
    assert_int_equal(d->attribute[0].size, 10);
    assert_int_equal(d->attribute[0].policy, DOMAIN_CLIP);
    assert_null(d->attribute[0].missing);
    assert_int_equal(d->attribute[1].size, 4);
    assert_string_equal(d->attribute[1].labels[2], "c");
    assert_string_equal(d->attribute[1].missing, "?");
    assert_int_equal(d->attribute[1].policy, DOMAIN_REJECT);
    assert_int_equal(d->attribute[2].size, 2);
    assert_true(d->attribute[2].edges[1] == 1.5);
    assert_int_equal(d->attribute[3].size, 5);
    for (int i = 0; i <= 5; i++)
        assert_true(d->attribute[3].edges[i] == 10 + 2 * i);
    assert_int_equal(f->base->workload->cliques, 2);
    assert_int_equal(f->base->workload->maximal_cells, 10 * 4 + 2 * 5);
    assert_int_equal(f->base->workload->queries, 6);
}

static void what_is_impossible_is_read(void **state)
{
    static const char *const same[] = {
        "impossible:\n"
        "  - {ward: [b, \"?\"], age: {from: 7, to: 8}}\n"
        "  - {bmi: {from: 1.5, to: 3}}\n"
        "workload:",
        "impossible: [{bmi: {to: 3, from: 1.5}},  {age: 8, ward: b}, {age: [7, 8], ward: \"?\"},\n"
        "    {age: {from: 7, to: 7}, ward: b}, {age: 8, ward: [b]}]\n"
        "workload:",
    };
    static const uint32_t cells[] = {7 * 4 + 1, 7 * 4 + 3, 8 * 4 + 1, 8 * 4 + 3};
    struct fixture *f = *state;
    for (size_t i = 0; i < 2; i++) {
        struct study *s;
        const struct zeros *two, *one;
        assert_int_equal(parse_edit(f, "workload:", same[i], &s), ERR_OK);
        assert_int_equal(s->zeros, 2);
        two = &s->zero[i];
        one = &s->zero[1 - i];
        assert_int_equal(two->clique.n, 2);
        assert_int_equal(two->clique.attribute[0], 0);
        assert_int_equal(two->clique.attribute[1], 1);
        assert_int_equal(two->cells, 4);
        assert_memory_equal(two->cell, cells, sizeof cells);
        assert_int_equal(one->clique.n, 1);
        assert_int_equal(one->cells, 1);
        assert_int_equal(one->cell[0], 1);
        study_free(&s);
    }
}

static void the_rest_is_read(void **state)
{
    struct fixture *f = *state;
    const struct study *s = f->base;
    assert_string_equal(s->name, "test");
    assert_true(s->epsilon == 1 && s->delta == 1e-6);
    assert_int_equal(s->rows_per_person, 2);
    assert_int_equal(s->noise, STUDY_BOX_MULLER);
    assert_int_equal(s->rounds, 4);
    assert_string_equal(s->server[2].name, "s2");
    assert_string_equal(s->server[2].host, "[::1]");
    assert_int_equal(s->server[1].port, 7110);
    assert_true(public_identity_equal(&s->server[1].key, &f->identity[1]->public));
    assert_int_equal(s->owners, 2);
    assert_int_equal(s->owner[0].max_rows, 500);
    assert_int_equal(s->owner[0].bits, 9);
    assert_int_equal(s->owner[1].bits, 9);
    assert_int_equal(s->count_bits, 10); /* 511 + 511 < 1024 */
    assert_int_equal(study_upload_bytes(s, 0), (50 * 9 + 7) / 8);
    assert_int_equal(s->analysts, 1);
    assert_int_equal(s->connect_s, 10);
    assert_int_equal(s->round_s, 20);
    assert_int_equal(s->max_mib, 40);
    assert_int_equal(s->iterations, 50);
    assert_int_equal(s->final_iterations, 60);
}

static void everybody_is_found_by_key(void **state)
{
    struct fixture *f = *state;
    const struct study *s = f->base;
    for (size_t i = 0; i < KEYS; i++) {
        const struct public_identity *who = &f->identity[i]->public;
        assert_true(study_find_server(s, who) == (i < 3 ? i : SIZE_MAX));
        assert_true(study_find_owner(s, who) == (i == 3 || i == 4 ? i - 3 : SIZE_MAX));
        assert_true(study_find_analyst(s, who) == (i == 5 ? 0 : SIZE_MAX));
    }
}

static void endpoints_are_five_ports(void **state)
{
    struct fixture *f = *state;
    char text[STUDY_ENDPOINT_SIZE];
    study_endpoint(f->base, 1, STUDY_GATE, text);
    assert_string_equal(text, "tcp://here:7110");
    study_endpoint(f->base, 2, STUDY_BULK_NEXT, text);
    assert_string_equal(text, "tcp://[::1]:7104");
    study_listen(f->base, 0, STUDY_CONTROL_PREV, NULL, 0, text);
    assert_string_equal(text, "tcp://0.0.0.0:7101");
    study_listen(f->base, 0, STUDY_CONTROL_NEXT, "127.0.0.1", 0, text);
    assert_string_equal(text, "tcp://127.0.0.1:7102");
}

static void bounds_give_the_bits_of_counts(void **state)
{
    static const struct {
        const char *rows;
        unsigned bits, count_bits;
    } cases[] = {
        {"1", 1, 10},    /* 1 + 511 = 512 */
        {"511", 9, 10},  /* 1022 */
        {"512", 10, 11}, /* 1023 + 511 */
        {"1073741823", 30, 31},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        struct study *s;
        snprintf(text, sizeof text, "max_rows: %s", cases[i].rows);
        assert_int_equal(parse_edit(f, "max_rows: 500", text, &s), ERR_OK);
        assert_int_equal(s->owner[0].bits, cases[i].bits);
        assert_int_equal(s->count_bits, cases[i].count_bits);
        study_free(&s);
    }
}

static void defaults_are_the_documented_ones(void **state)
{
    struct fixture *f = *state;
    struct study *s;
    struct bytes b = edited(base_text,
                            "deadlines:\n  connect: 10\n  round: 20\nmodel:\n  max_mib: 40\n  "
                            "iterations: 50\n  final_iterations: 60\n",
                            "");
    struct bytes c = edited((const char *)b.data, "  rows_per_person: 2\nnoise: box-muller\n", "");
    assert_int_equal(parse_text(f, (const char *)c.data, &s), ERR_OK);
    assert_int_equal(s->rows_per_person, 1);
    assert_int_equal(s->connect_s, 30);
    assert_int_equal(s->round_s, 120);
    assert_int_equal(s->max_mib, 80);
    assert_int_equal(s->iterations, 100);
    assert_int_equal(s->final_iterations, 1000);
    assert_true(s->workload->clique_weight[0] + s->workload->clique_weight[1] == 3);
    study_free(&s);
    bytes_clear(&b);
    bytes_clear(&c);
}

/* --- errors ------------------------------------------------------------------------------------
 */

/* The message must begin with "error: t.yaml:<place>: " and hold the words. */
struct mistake {
    const char *find, *replace, *place, *words;
};

static const struct mistake mistakes[] = {
    /* top */
    {"study: test", "study: Test", "1:8", "should be 1 to 31 of a-z"},
    {"study: test", "study: ''", "1:8", "should be 1 to 31"},
    {"study: test", "study:", "1:7", "has no value"},
    {"study: test", "study: [a]", "1:8", "is a list; it should be a single value"},
    {"study: test", "study: abcdefghijklmnopqrstuvwxyz012345", "1:8", "should be 1 to 31"},
    {"study: test\n", "", "1:1", "lacks the key \"study\""},
    {"study: test", "study: test\nstudy: test", "2:1", "comes twice"},
    {"study: test", "study: test\nbudgett: 1", "2:1", "did you mean \"budget\""},
    {"study: test", "study: test\nxyzzy: 1", "2:1", "its keys: study, domain, impossible"},
    {"study: test", "study: test\n[a, b]: 1", "2:1", "a key is a list"},
    {"study: test\n", "study: test\n? [a]\n", "2:3", "a key is a list"},
    /* yaml */
    {"study: test", "study: \"test", "11:15", "that began on line 1"},
    /* domain */
    {"    min: 0", "    min: zero", "5:10", "whole number"},
    {"    min: 0", "    min: 00", "5:10", "leading zeros"},
    {"    min: 0", "    min: '0'", "5:10", "without quotes"},
    {"    min: 0", "    min: 0.0", "5:10", "whole number"},
    {"    min: 0", "    min: 99999999999999999999", "5:10", "should be from"},
    {"    min: 0\n", "", "3:5", "integer attribute age lacks the key \"min\""},
    {"    max: 9\n", "", "3:5", "integer attribute age lacks the key \"max\""},
    {"    max: 9", "    max: -1", "6:10", "max is -1; it should be from 0"},
    {"    max: 9", "    max: 70000", "3:5", "1 to 65535 are allowed"},
    {"    max: 9", "    max: 9\n    bins: 3", "7:11", "takes no \"bins\""},
    {"    outside: clip", "    outside: clp", "7:14", "did you mean \"clip\""},
    {"    outside: clip", "    outside: missing", "7:14", "needs \"missing\" beside it"},
    {"    outside: clip", "    outsid: clip", "7:5", "did you mean \"outside\""},
    {"name: ward", "name: age", "8:11", "is an attribute age already"},
    {"name: ward", "name: \"\"", "8:11", "1 to 127 bytes"},
    {"  - name: ward\n    kind: categorical", "  - kind: categorical", "8:5",
     "lacks the key \"name\""},
    {"kind: categorical", "kind: categoric", "9:11", "It may be: categorical, integer, numeric"},
    {"kind: categorical", "kind: categoricall", "9:11", "did you mean \"categorical\""},
    {"    kind: categorical\n", "", "8:5", "lacks the key \"kind\""},
    {"values: [a, b, c]", "values: []", "10:13", "has 0 items; it needs at least 1"},
    {"values: [a, b, c]", "values: a", "10:13", "values is a single value; it should be a list"},
    {"values: [a, b, c]", "values: [a, b, a]", "10:13", "label 'a' is listed twice"},
    {"values: [a, b, c]", "values: [a, [b], c]", "10:17", "a value is a list"},
    {"values: [a, b, c]", "values: [a, b, \"?\"]", "10:13", "?"},
    {"values: [a, b, c]", "values: [a, b, \"c\\0d\"]", "10:20", "NUL"},
    {"    values: [a, b, c]\n", "", "8:5", "categorical attribute ward lacks the key \"values\""},
    {"    values: [a, b, c]", "    values: [a, b, c]\n    min: 1", "11:10", "takes no \"min\""},
    {"    values: [a, b, c]", "    values: [a, b, c]\n    outside: clip", "11:14",
     "no order to clip"},
    {"edges: [0, 1.5, 3]", "edges: [0]", "14:12", "at least 2"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 1.5]", "14:21", "edges ascend"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, inf]", "14:21", "should be a number"},
    {"edges: [0, 1.5, 3]", "edges: [0, 0x1, 3]", "14:16", "should be a number"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 1e999]", "14:21", "should be from"},
    {"    edges: [0, 1.5, 3]\n", "", "12:5", "needs \"edges\", or \"min\", \"max\" and \"bins\""},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    min: 1", "15:10", "takes no \"min\""},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    values: [a]", "15:13",
     "takes no \"values\""},
    {"    max: 20\n", "", "15:5", "numeric attribute dose lacks the key \"max\""},
    {"    max: 20", "    max: 10", "18:10", "should exceed min"},
    {"    bins: 5", "    bins: 0", "19:11", "from 1 to 65534"},
    {"domain:\n", "domain: []\nignored:\n", "3:1", "no key \"ignored\""},
    /* workload */
    {"workload:", "impossible: {age: 1}\nworkload:", "20:13", "should be a list"},
    {"workload:", "impossible:\n  - {}\nworkload:", "21:5", "names no column"},
    {"workload:", "impossible:\n  - {agee: 1}\nworkload:", "21:6", "did you mean \"age\""},
    {"workload:", "impossible:\n  - {age: 10, ward: a}\nworkload:", "21:11", "no value \"10\""},
    {"workload:", "impossible:\n  - {age: 1, ward: d}\nworkload:", "21:20", "no value \"d\""},
    {"workload:", "impossible:\n  - {age: {from: 1}}\nworkload:", "21:11", "lacks the key \"to\""},
    {"workload:", "impossible:\n  - {age: {from: 5, to: 4}}\nworkload:", "21:25", "from 5 to 9"},
    {"workload:", "impossible:\n  - {ward: {from: a, to: b}}\nworkload:", "21:12", "list them"},
    {"workload:", "impossible:\n  - {bmi: 1}\nworkload:", "21:11", "{from: 0, to: 1.5}"},
    {"workload:", "impossible:\n  - {bmi: {from: 0, to: 1}}\nworkload:", "21:25", "not an edge"},
    {"workload:", "impossible:\n  - {bmi: {from: 3, to: 0}}\nworkload:", "21:25", "ends where"},
    {"workload:\n", "workload: {all: 2}\nmodell:\n", "21:1", "did you mean \"model\""},
    {"attributes: [age, ward]", "attributes: [age, wrad]", "21:24", "did you mean \"ward\""},
    {"attributes: [age, ward]", "attributes: [age, elephant]", "21:24",
     "no attribute \"elephant\"; name one"},
    {"attributes: [age, ward]", "attributes: [age, age]", "21:24", "comes twice"},
    {"attributes: [age, ward]", "attributes: []", "21:18", "at least 1 and at most 8"},
    {"attributes: [age, ward]", "attributes: age", "21:18", "should be a list"},
    {"attributes: [age, ward]", "attributes: [age]", "21:3", "ward"},
    {"attributes: [age, ward], ", "", "21:5", "lacks the key \"attributes\""},
    {"weight: 2", "weight: 0", "21:39", "from 1e-06 to 1e+06"},
    {"weight: 2", "weight: nan", "21:39", "should be a number"},
    {"weight: 2", "wieght: 2", "21:31", "did you mean \"weight\""},
    {"  - {attributes: [bmi, dose]}",
     "  - {attributes: [bmi, dose]}\n  - {attributes: [dose, bmi]}", "21:3", "twice"},
    /* budget */
    {"epsilon: 1", "epsilon: 0", "24:12", "epsilon is 0; it should be from 0.0001 to 100"},
    {"epsilon: 1", "epsilon: one", "24:12", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: 1e", "24:12", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: .", "24:12", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: -1", "24:12", "should be from"},
    {"epsilon: 1", "epsilon: !!float 1", "24:12", "tags"},
    {"epsilon: 1", "epsilon: &e 1", "24:12", "anchors"},
    {"epsilon: 1", "epsilon: *e", "24:12", "anchors"},
    {"  epsilon: 1\n", "", "24:3", "lacks the key \"epsilon\""},
    {"delta: 1e-6", "delta: 0", "25:10", "should be from 1e-15 to 0.01"},
    {"delta: 1e-6", "delta: 0.1", "25:10", "should be from 1e-15 to 0.01"},
    {"rows_per_person: 2", "rows_per_person: 0", "26:20", "from 1 to 10000"},
    {"rows_per_person: 2", "row_per_person: 2", "26:3", "did you mean \"rows_per_person\""},
    {"noise: box-muller", "noise: boxmuller", "27:8", "did you mean \"box-muller\""},
    {"noise: box-muller", "score: l3", "27:8", "l1"},
    {"rounds: 4", "rounds: 0", "28:9", "from 1 to 1000"},
    {"rounds: 4", "rounds: 1001", "28:9", "from 1 to 1000"},
    /* servers */
    {"  - {name: s0, endpoint: tcp://here:7100, key: @0}\n", "", "30:3",
     "has 2 items; it needs exactly 3"},
    {"name: s0", "name: s1", "31:12", "the name s1 is taken (line 30)"},
    {"name: s0", "name: o1", "35:12", "the name o1 is taken (line 30)"},
    {"name: s0", "name: S0", "30:12", "should be 1 to 31"},
    {"key: @0", "key: trefoil1-abc", "30:48", "not a public key"},
    {"key: @0", "key: @1", "31:48", "s1 has the key of s0 (line 30)"},
    {"key: @0", "key: @5", "37:21", "a0 has the key of s0 (line 30)"},
    {", key: @0", "", "30:5", "lacks the key \"key\""},
    {"tcp://here:7110", "here:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:0", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:65532", "31:26", "1 to 65531"},
    {"tcp://here:7110", "tcp://he re:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "ipc://here:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:7104", "31:26", "overlap those of server s0"},
    /* owners */
    {"max_rows: 500", "max_rows: 0", "34:26", "from 1 to 2147483647"},
    {"max_rows: 500", "max_rows: 500, min_rows: 501", "34:41", "from 0 to 500"},
    {"max_rows: 500", "max_rows: 5e2", "34:26", "whole number"},
    {"max_rows: 500", "max_rows: 2147483647", "34:3", "need 32 bits; at most 31"},
    {"max_rows: 500, ", "", "34:5", "lacks the key \"max_rows\""},
    {"max_rows: 500", "max_rows: 500, batch: x", "34:5", "\"batch\" without \"columns\""},
    {"max_rows: 500", "max_rows: 500, columns: [age]", "34:5", "\"columns\" without \"batch\""},
    {"max_rows: 500", "max_rows: 500, batch: X, columns: [age]", "34:38", "should be 1 to 31"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: []", "34:50", "at least 1"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [agee]", "34:51", "mean \"age\"?"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, age]", "34:56", "comes twice"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, bmi]", "34:38",
     "no owner of batch x holds the column ward"},
    {"rounds: 4", "rounds: 4\nmin_owners: 0", "29:13", "from 1 to 2"},
    {"rounds: 4", "rounds: 4\nmin_owners: 3", "29:13", "from 1 to 2"},
    {"rounds: 4", "rounds: 4\nlate_uploads: joint", "29:15", "did you mean \"join\""},
    {"  - {name: o0, max_rows: 500, key: @3}\n  - {name: o1, max_rows: 300, key: @4}\n", "  []\n",
     "34:3", "has 0 items"},
    {"  - {name: a0, key: @5}\n", "  {}\n", "37:3", "analysts is a mapping; it should be a list"},
    {"max_rows: 500", "max_rows: 500, pad_to: 499", "34:39", "from 500 to"},
    {"max_rows: 500", "max_rows: 500, pad_to: 2147483647, as: records", "34:3", "at most 31"},
    {"max_rows: 500", "max_rows: 500, as: record", "34:35", "did you mean"},
    /* the roster */
    {"rounds: 4", "rounds: 4\nroster: 0", "29:9", "from 1 to"},
    {"rounds: 4", "rounds: 4\nrevoked: [trefoil1-xyz]", "29:11", "not a public key"},
    {"rounds: 4", "rounds: 4\nrevoked: [@1]", "29:10", "the key of server s1 is revoked"},
    {"rounds: 4", "rounds: 4\nsignatures: {s7: x}", "29:14", "has no key \"s7\""},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: trefoil-sig1-AA}", "29:18", "not a signature"},
    /* deadlines, model */
    {"connect: 10", "connect: 0", "39:12", "from 1 to 3600"},
    {"round: 20", "round: 86401", "40:10", "from 1 to 86400"},
    {"round: 20", "round: 20\n  uploads: 2030-02-30T00:00:00Z", "41:12", "2026-12-01T18:00:00Z"},
    {"round: 20", "round: 20\n  uploads: 2030-02-03", "41:12", "a time in UTC"},
    {"rounds: 4", "rounds: 4\nretain_days: 0", "29:14", "from 1 to 3650"},
    {"max_mib: 40", "max_mib: 40.5", "42:12", "whole number"},
    {"iterations: 50", "iterations: true", "43:15", "whole number"},
    {"final_iterations: 60", "final_iterations: 60\n---\na: 1", "45:1", "second document"},
    {"final_iterations: 60", "final_iterations: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "44:35",
     "nested too deeply"},
    {"final_iterations: 60", "final_iterations: 60\n\tx: 1", "45:1", "check indentation"},
    {"final_iterations: 60", "final_iterations: 60\n  \xff: 1", "45:3", "UTF-8"},
};

static bool message_is(const char *message, const char *place, const char *words)
{
    char begin[64];
    int n = snprintf(begin, sizeof begin, "error: t.yaml:%s: ", place);
    return strncmp(message, begin, (size_t)n) == 0 && strstr(message + n, words) != NULL;
}

static void every_mistake_has_its_place(void **state)
{
    struct fixture *f = *state;
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const struct mistake *m = &mistakes[i];
        struct study *s;
        enum err e = parse_edit(f, m->find, m->replace, &s);
        /* one line, and only one */
        size_t line = strcspn(f->sink, "\n");
        if (e != ERR_STUDY || s != NULL || f->sink[line] != '\n' || f->sink[line + 1] != '\0' ||
            !message_is(f->sink, m->place, m->words)) {
            print_error("\"%s\" -> \"%s\"\n  expected %s: ... %s\n  got %s\n", m->find, m->replace,
                        m->place, m->words, f->sink);
            wrong++;
        }
        study_free(&s);
    }
    assert_int_equal(wrong, 0);
}

/* Positions and sizes of whole texts, of which edits of the base text do not tell. */
static void whole_files_have_their_errors(void **state)
{
    static const struct {
        const char *text, *place, *words;
    } cases[] = {
        {"", "1:1", "the file is empty"},
        {"# only a comment\n", "1:1", "the file is empty"},
        {"just text\n", "1:1", "this is no study file"},
        {"- a\n- b\n", "1:1", "this is no study file"},
        {"study: x\n", "1:1", "lacks the key \"domain\""},
        {"a: [1, 2\n", "2:1", "that began on line 1"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study *s;
        assert_int_equal(parse_text(f, cases[i].text, &s), ERR_STUDY);
        if (!message_is(f->sink, cases[i].place, cases[i].words))
            fail_msg("expected %s: ... %s; got %s", cases[i].place, cases[i].words, f->sink);
    }
}

static void the_mapping_form_of_a_domain_has_its_errors(void **state)
{
    static const struct mistake cases[] = {
        {"max: 4}", "max: 4}\n  age: {}", "4:3", "comes twice"},
        {"max: 4}", "max: 4, name: b}", "3:46", "has its name already"},
        {"max: 4}", "max: 4, kind: numeric}", "3:40", "comes twice"},
        {"age: {kind: integer, min: 0, max: 4}", "age: 4", "3:8", "an attribute is a single value"},
        {"age: {kind: integer, min: 0, max: 4}", "[a]: 4", "3:3", "a key is a list"},
    };
    static const char text[] =
        "study: x\ndomain:\n  age: {kind: integer, min: 0, max: 4}\n"
        "workload: {all: 1}\nbudget: {}\nrounds: 1\nservers: []\nowners: []\n"
        "analysts: []\n";
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b = edited(text, cases[i].find, cases[i].replace);
        struct study *s;
        assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
        if (!message_is(f->sink, cases[i].place, cases[i].words))
            fail_msg("expected %s: ... %s; got %s", cases[i].place, cases[i].words, f->sink);
        bytes_clear(&b);
    }
}

static void all_of_too_many_attributes_is_refused_before_it_is_built(void **state)
{
    struct fixture *f = *state;
    struct bytes b = {0};
    struct study *s;
    char line[96];
    bytes_put(&b, "study: x\nworkload: {all: 8}\ndomain:\n", 36);
    for (int i = 0; i < 256; i++) {
        int n = snprintf(line, sizeof line, "  - {name: a%d, kind: integer, min: 0, max: 1}\n", i);
        bytes_put(&b, line, (size_t)n);
    }
    snprintf(line, sizeof line, "budget: 0\nrounds: 1\nservers: 0\nowners: 0\nanalysts: 0\n");
    bytes_put(&b, line, strlen(line) + 1);
    assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
    assert_true(message_is(f->sink, "2:17", "more than 100000"));
    bytes_clear(&b);
}

static void a_file_that_is_too_large_or_absent_is_refused(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/trefoil-study-XXXXXX";
    int fd = mkstemp(path);
    struct study *s;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (5 << 20)), 0);
    close(fd);
    f->sink[0] = '\0';
    assert_int_equal(study_load(&s, path, &f->log), ERR_RANGE);
    assert_non_null(strstr(f->sink, path));
    unlink(path);
    assert_int_equal(study_load(&s, path, &f->log), ERR_SYSTEM);
    assert_null(s);
}

/* --- digests -----------------------------------------------------------------------------------
 */

static bool same_roster(const struct study *a, const struct study *b)
{
    return memcmp(a->roster, b->roster, sizeof a->roster) == 0;
}

static bool same_terms(const struct study *a, const struct study *b)
{
    return memcmp(a->terms.digest, b->terms.digest, sizeof a->terms.digest) == 0;
}

/* The names of the parts that differ, and "roster", with spaces between. */
static void differing(const struct study *a, const struct study *b, char *text, size_t size)
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

/* Two owners of a batch: what each lacks or both have, and bounds that differ. */
static void a_batchs_owners_fit_together(void **state)
{
    static const char o0[] = "{name: o0, max_rows: 500, key: @3}";
    static const char o1[] = "{name: o1, max_rows: 300, key: @4}";
    static const struct {
        const char *first, *second, *place, *words;
    } cases[] = {
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", NULL, NULL},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 300, key: @4, batch: x, columns: [bmi, dose]}", "35:5",
         "max_rows 500 and 300, pad_to 500 and 300; make"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose, age]}",
         "35:", "o0 and o1 both hold the column age of batch x"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, key: @4, batch: y, columns: [bmi, dose]}", "34",
         "no owner of batch x holds the column bmi"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], as: answers}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", "34:5",
         "o0 holds some of the columns, and so cannot count marginals"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], pad_to: 501}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", "35:5",
         "pad_to 501 and 500; make them equal"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b = edited(base_text, o0, cases[i].first);
        struct bytes c = edited((const char *)b.data, o1, cases[i].second);
        struct study *s;
        enum err e = parse_text(f, (const char *)c.data, &s);
        assert_int_equal(e, cases[i].words == NULL ? ERR_OK : ERR_STUDY);
        if (e == ERR_OK) {
            bool has[2] = {true, false};
            char got[256];
            differing(f->base, s, got, sizeof got);
            assert_string_equal(got, "bounds");
            assert_int_equal(s->owner[1].batch, 0);
            assert_int_equal(s->owner[0].columns, 2);
            assert_int_equal(s->owner[0].column[0], 0); /* in the domain's order */
            assert_int_equal(s->owner[1].column[1], 3);
            assert_true(s->owner[0].records && s->owner[1].records);
            /* 500 records of a validity bit and two columns: 4 + 2 bits; 1 + 3 bits */
            assert_int_equal(study_upload_bytes(s, 0), (1 + 4 + 2) * 63);
            assert_int_equal(study_upload_bytes(s, 1), (1 + 1 + 3) * 63);
            assert_int_equal(s->count_bits, 9); /* of the batch once */
            assert_int_equal(study_taking_part(s, has), 0);
            assert_false(has[0]);
            has[0] = has[1] = true;
            assert_int_equal(study_taking_part(s, has), 2);
        } else {
            char begin[64];
            snprintf(begin, sizeof begin, "error: t.yaml:%s", cases[i].place);
            assert_int_equal(strncmp(f->sink, begin, strlen(begin)), 0);
            assert_non_null(strstr(f->sink, cases[i].words));
        }
        study_free(&s);
        bytes_clear(&c);
        bytes_clear(&b);
    }
}

static void columns_apart_need_marginals_that_servers_can_count(void **state)
{
    static const char five[] = "domain:\n  - {name: a, kind: integer, min: 0, max: 1}\n"
                               "  - {name: b, kind: integer, min: 0, max: 1}\n"
                               "  - {name: c, kind: integer, min: 0, max: 1}\n"
                               "  - {name: d, kind: integer, min: 0, max: 1}\n"
                               "  - {name: e, kind: integer, min: 0, max: 1}\n"
                               "workload: {all: 5}\n";
    struct fixture *f = *state;
    struct bytes text = {0};
    const char *budget = strstr(base_text, "budget:");
    struct bytes b, c;
    struct study *s;
    bytes_put(&text, "study: test\n", 12);
    bytes_put(&text, five, strlen(five));
    bytes_put(&text, budget, strlen(budget) + 1);
    b = edited((const char *)text.data, "max_rows: 500",
               "max_rows: 500, batch: x, columns: [a, b]");
    c = edited((const char *)b.data, "max_rows: 300",
               "max_rows: 500, batch: x, columns: [c, d, e]");
    assert_int_equal(parse_text(f, (const char *)text.data, &s), ERR_OK);
    study_free(&s);
    assert_int_equal(parse_text(f, (const char *)c.data, &s), ERR_STUDY);
    assert_non_null(strstr(f->sink, "in marginals of at most 4 columns"));
    bytes_clear(&text);
    bytes_clear(&b);
    bytes_clear(&c);
}

static void the_parts_are_the_documented_ones(void **state)
{
    static const char *const names[] = {"study", "domain", "workload", "budget",
                                        "noise", "rounds", "bounds",   "servers"};
    struct fixture *f = *state;
    assert_int_equal(f->base->terms.parts, 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(f->base->terms.part[i].name, names[i]);
}

static const struct {
    const char *find, *replace, *changes;
} changes[] = {
    {"study: test", "study: test2", "study"},
    {"    min: 0\n", "    min: 1\n", "domain"},
    {"    max: 9\n", "    max: 8\n", "domain"},
    {"    outside: clip", "    outside: error", "domain"},
    {"    outside: clip", "    outside: clip\n    missing: \"\"", "domain"},
    {"    outside: clip", "    outside: missing\n    missing: \"\"", "domain"},
    {"values: [a, b, c]", "values: [a, b, d]", "domain"},
    {"values: [a, b, c]", "values: [b, a, c]", "domain"},
    {"values: [a, b, c]", "values: [a, b]", "domain"},
    {"missing: \"?\"", "missing: \"\"", "domain"},
    {"    missing: \"?\"\n", "", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.25, 3]", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 3, 4]", "domain"},
    {"    min: 10", "    min: 9", "domain"},
    {"    max: 20", "    max: 21", "domain"},
    {"    bins: 5", "    bins: 6", "domain"},
    {"workload:", "impossible:\n  - {age: 1, ward: a}\nworkload:", "domain"},
    {"[age, ward]", "[age, ward, bmi]", "workload"},
    {"weight: 2", "weight: 2.5", "workload"},
    {"[bmi, dose]", "[bmi, dose], weight: 3", "workload"},
    {"epsilon: 1\n", "epsilon: 1.0000001\n", "budget"},
    {"delta: 1e-6", "delta: 1.1e-6", "budget"},
    {"rows_per_person: 2", "rows_per_person: 3", "budget"},
    {"noise: box-muller", "noise: discrete", "noise"},
    {"rounds: 4", "rounds: annealed", "rounds"},
    {"rounds: 4", "rounds: 5", "rounds"},
    {"rounds: 4", "rounds: 4\nscore: l2", "rounds"},
    {"name: s0", "name: sx", "servers"},
    {"key: @0", "key: @9", "servers roster"},
    {"tcp://here:7100", "tcp://there:7100", "roster"},
    {"tcp://here:7100", "tcp://here:7090", "roster"},
    {"name: o0", "name: ox", "bounds"},
    {"max_rows: 500", "max_rows: 501", "bounds"},
    {"max_rows: 500", "max_rows: 500, min_rows: 1", "bounds"},
    {"max_rows: 500", "max_rows: 500, min_rows: 0", ""},
    {"max_rows: 500", "max_rows: 500, pad_to: 501", "bounds"},
    {"max_rows: 500", "max_rows: 500, as: records", "bounds"},
    {"rounds: 4", "rounds: 4\nroster: 2", "roster"},
    {"rounds: 4", "rounds: 4\nrevoked: [@9]", "roster"},
    {"rounds: 4", "rounds: 4\nrevoked: [@3]", "roster"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, ward, bmi, dose]", ""},
    {"rounds: 4", "rounds: 4\nmin_owners: 2", ""},
    {"rounds: 4", "rounds: 4\nmin_owners: 1", "bounds"},
    {"rounds: 4", "rounds: 4\nlate_uploads: join", "bounds"},
    {"rounds: 4", "rounds: 4\nlate_uploads: wait", ""},
    {"key: @3", "key: @9", "roster"},
    {"  - {name: o1, max_rows: 300, key: @4}\n", "", "bounds roster"},
    {"name: a0", "name: ax", "roster"},
    {"key: @5", "key: @9", "roster"},
    {"{name: a0, key: @5}", "{name: a0, key: @5}\n  - {name: a1, key: @9}", "roster"},
    {"connect: 10", "connect: 11", "roster"},
    {"round: 20", "round: 21", "roster"},
    {"round: 20", "round: 20\n  uploads: 2030-12-01T18:00:00Z", "roster"},
    {"rounds: 4", "rounds: 4\nretain_days: 30", "study"},
    {"max_mib: 40", "max_mib: 41", "roster"},
    {"  iterations: 50", "  iterations: 51", "roster"},
    {"final_iterations: 60", "final_iterations: 61", "roster"},
};

static void any_value_changes_its_part(void **state)
{
    struct fixture *f = *state;
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct study *s;
        char got[256];
        bool terms;
        assert_int_equal(parse_edit(f, changes[i].find, changes[i].replace, &s), ERR_OK);
        differing(f->base, s, got, sizeof got);
        terms = changes[i].changes[0] != '\0' && strcmp(changes[i].changes, "roster") != 0;
        if (strcmp(got, changes[i].changes) != 0 || same_terms(f->base, s) == terms) {
            print_error("\"%s\" -> \"%s\": %s differs, not %s\n", changes[i].find,
                        changes[i].replace, got, changes[i].changes);
            wrong++;
        }
        study_free(&s);
    }
    assert_int_equal(wrong, 0);
}

/* Records fit in what answers are bounded by; answers do not fit in the bounds of records. */
static void the_forms_that_bounds_carry(void **state)
{
    struct fixture *f = *state;
    struct study *s;
    const uint64_t answers = (50 * 9 + 7) / 8, records = study_records_bytes(f->base, 0);
    assert_int_equal(study_upload_form(f->base, 0), 9);
    assert_int_equal(study_form_bytes(f->base, 0, 9), answers);
    assert_int_equal(study_form_bytes(f->base, 0, 0), records);
    assert_int_equal(study_form_bytes(f->base, 0, 8), 0);
    assert_int_equal(parse_edit(f, "max_rows: 500", "max_rows: 500, as: records", &s), ERR_OK);
    assert_int_equal(study_upload_form(s, 0), 0);
    assert_int_equal(study_form_bytes(s, 0, 0), records);
    assert_int_equal(study_form_bytes(s, 0, 9), 0);
    study_free(&s);
    /* more padding than a cell of answers could count */
    assert_int_equal(parse_edit(f, "max_rows: 500", "max_rows: 500, pad_to: 512", &s), ERR_OK);
    assert_int_equal(study_form_bytes(s, 0, 0), 0);
    study_free(&s);
    assert_int_equal(parse_edit(f, "max_rows: 500", "max_rows: 500, pad_to: 511", &s), ERR_OK);
    assert_int_equal(study_form_bytes(s, 0, 0), study_records_bytes(s, 0));
    assert_true(study_form_bytes(s, 0, 0) > records);
    study_free(&s);
}

/* A name that occurs twice cannot be edited by one replacement. */
static void an_attributes_name_changes_the_domain(void **state)
{
    struct fixture *f = *state;
    struct bytes b = edited(base_text, "name: age", "name: old");
    struct bytes c = edited((const char *)b.data, "[age, ward]", "[old, ward]");
    struct study *s;
    char got[256];
    assert_int_equal(parse_text(f, (const char *)c.data, &s), ERR_OK);
    differing(f->base, s, got, sizeof got);
    assert_string_equal(got, "domain");
    study_free(&s);
    bytes_clear(&b);
    bytes_clear(&c);
}

static void a_new_curve_key_is_a_matter_of_the_roster(void **state)
{
    struct fixture *f = *state;
    struct study *s;
    struct bytes text;
    struct public_identity mixed;
    uint8_t message[15 + 32];
    char got[256], key[KEYS_TEXT_SIZE], edit[KEYS_TEXT_SIZE + 8];
    mixed = f->identity[0]->public;
    memcpy(mixed.curve, f->identity[9]->public.curve, 32);
    memcpy(message, "trefoil-curve-1", 15);
    memcpy(message + 15, mixed.curve, 32);
    crypto_sign_detached(mixed.signature, NULL, message, sizeof message,
                         f->identity[0]->sign_secret);
    public_identity_text(&mixed, key);
    snprintf(edit, sizeof edit, "key: %s", key);
    text = edited(base_text, "key: @0", edit);
    assert_int_equal(parse_text(f, (const char *)text.data, &s), ERR_OK);
    differing(f->base, s, got, sizeof got);
    assert_string_equal(got, "roster");
    study_free(&s);
    bytes_clear(&text);
}

#define SIGNATURE                                                                                  \
    "trefoil-sig1-"                                                                                \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAA"

static const struct {
    const char *find, *replace;
} same[] = {
    {"study: test", "# a comment\nstudy: test # another"},
    {"study: test", "study: \"test\""},
    {"study: test", "---\nstudy: 'test'"},
    {"study: test", "\xef\xbb\xbfstudy: test"},
    {"    kind: integer\n    min: 0\n    max: 9\n", "    max: 9\n    min: 0\n    kind: integer\n"},
    {"  - name: bmi\n    kind: numeric\n    edges: [0, 1.5, 3]\n",
     "  - {edges: [0.0, 15e-1, +3.], name: bmi, kind: numeric}\n"},
    {"    edges: [0, 1.5, 3]", "    edges:\n      - -0.0\n      - 1.5\n      - 3\n"},
    {"    edges: [0, 1.5, 3]", "    min: 0\n    max: 3\n    bins: 2"},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    outside: error"},
    {"values: [a, b, c]", "values: ['a', b, \"c\"]"},
    {"[age, ward], weight: 2", "[ward, age], weight: 2.0"},
    {"[bmi, dose]", "[bmi, dose], weight: 1"},
    {"  - {attributes: [age, ward], weight: 2}\n  - {attributes: [bmi, dose]}\n",
     "  - {attributes: [bmi, dose]}\n  - {weight: 2, attributes: [age, ward]}\n"},
    {"epsilon: 1\n", "epsilon: 1.000\n"},
    {"delta: 1e-6", "delta: 0.000001"},
    {"  epsilon: 1\n  delta: 1e-6\n", "  delta: 1E-06\n  epsilon: +1\n"},
    {"noise: box-muller\n", ""},
    {"noise: box-muller\n", "noise: box-muller\nscore: l1\n"},
    {"rounds: 4\n", "rounds:\n    4\n"},
    {"name: o0, max_rows: 500, key: @3", "key: @3, max_rows: 500, name: o0"},
    {"tcp://here:7100", "'tcp://here:7100'"},
    {"deadlines:\n  connect: 10\n  round: 20\n", "deadlines: {round: 20, connect: 10}\n"},
    {"max_rows: 500", "max_rows: 500, pad_to: 500, as: auto"},
    {"max_rows: 500", "max_rows: 500, as: answers"},
    {"rounds: 4", "rounds: 4\nroster: 1\nrevoked: []"},
    {"rounds: 4", "rounds: 4\nsignatures: {}"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: " SIGNATURE "}"},
};

static void writing_it_otherwise_changes_nothing(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct study *s;
        char got[256];
        if (parse_edit(f, same[i].find, same[i].replace, &s) != ERR_OK)
            fail_msg("\"%s\": %s", same[i].replace, f->sink);
        differing(f->base, s, got, sizeof got);
        if (got[0] != '\0' || !same_terms(f->base, s))
            fail_msg("\"%s\" -> \"%s\": %s differs", same[i].find, same[i].replace, got);
        study_free(&s);
    }
}

static void line_ends_and_top_order_change_nothing(void **state)
{
    struct fixture *f = *state;
    struct bytes b = {0};
    struct study *s;
    const char *rounds = strstr(base_text, "rounds: 4\n");
    size_t before = (size_t)(rounds - base_text);
    /* `rounds` first, and CRLF throughout */
    bytes_put(&b, "rounds: 4\r\n", 11);
    for (size_t i = 0; i < sizeof base_text; i++) {
        if (i >= before && i < before + 10)
            continue;
        if (base_text[i] == '\n')
            bytes_put_u8(&b, '\r');
        bytes_put_u8(&b, (uint8_t)base_text[i]);
    }
    assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_OK);
    assert_true(same_terms(f->base, s));
    assert_true(same_roster(f->base, s));
    study_free(&s);
    bytes_clear(&b);
}

static void a_domain_as_mapping_is_ordered_by_name(void **state)
{
    static const char a[] =
        "  b: {kind: integer, min: 0, max: 1}\n  a: {kind: categorical, values: [x]}\n";
    static const char b[] =
        "  a: {values: [x], kind: categorical}\n  b: {kind: integer, min: 0, max: 1}\n";
    static const char c[] = "  - {name: a, kind: categorical, values: [x]}\n"
                            "  - {name: b, kind: integer, min: 0, max: 1}\n";
    const char *const forms[] = {a, b, c};
    struct fixture *f = *state;
    struct study *s[3];
    for (int i = 0; i < 3; i++) {
        struct bytes text = {0};
        const char *rest = strstr(base_text, "budget:");
        bytes_put(&text, "study: x\nworkload: {all: 2}\ndomain:\n", 36);
        bytes_put(&text, forms[i], strlen(forms[i]));
        bytes_put(&text, rest, strlen(rest) + 1);
        assert_int_equal(parse_text(f, (const char *)text.data, &s[i]), ERR_OK);
        assert_string_equal(s[i]->domain->attribute[0].name, "a");
        assert_true(same_terms(s[0], s[i]));
        bytes_clear(&text);
    }
    for (int i = 0; i < 3; i++)
        study_free(&s[i]);
}

static void the_fingerprint_is_of_the_terms(void **state)
{
    struct fixture *f = *state;
    struct study *s;
    char a[STUDY_FINGERPRINT_SIZE], b[STUDY_FINGERPRINT_SIZE];
    study_fingerprint(f->base, a);
    assert_int_equal(strlen(a), STUDY_FINGERPRINT_SIZE - 1);
    assert_int_equal(parse_edit(f, "connect: 10", "connect: 11", &s), ERR_OK);
    study_fingerprint(s, b);
    assert_string_equal(a, b);
    study_free(&s);
    assert_int_equal(parse_edit(f, "rounds: 4", "rounds: 5", &s), ERR_OK);
    study_fingerprint(s, b);
    assert_string_not_equal(a, b);
    study_free(&s);
}

/* --- words -------------------------------------------------------------------------------------
 */

static char *description(const struct study *s, const struct public_identity *me)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    study_describe(out, s, me);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_description_says_what_matters(void **state)
{
    static const char *const said[] = {
        "(1, 1e-06)-differential privacy",
        "j^2 rho",
        "charged as 4 rho",
        "Any two servers that collude",
        "add up",
        "50 cells",
        "at most 2 rows",
        "as counts",
        "uploads 57 bytes",
    };
    struct fixture *f = *state;
    char fingerprint[STUDY_FINGERPRINT_SIZE];
    char *text = description(f->base, NULL);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (strstr(text, said[i]) == NULL)
            fail_msg("does not say \"%s\":\n%s", said[i], text);
    study_fingerprint(f->base, fingerprint);
    assert_non_null(strstr(text, fingerprint));
    assert_null(strstr(text, "You are"));
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 100);
    free(text);
}

static void columns_are_described(void **state)
{
    static const char *const said[] = {
        "columns age, ward; the others at o1", "columns bmi, dose; the others at o0",
        "row i of one belongs to row i of the others", "at least 1 of these 2"};
    struct fixture *f = *state;
    struct bytes b = edited(base_text, "{name: o0, max_rows: 500",
                            "{name: o0, batch: x, columns: [age, ward], max_rows: 500");
    struct bytes c = edited((const char *)b.data, "{name: o1, max_rows: 300",
                            "{name: o1, batch: x, columns: [bmi, dose], max_rows: 500");
    struct bytes d = edited((const char *)c.data, "rounds: 4", "rounds: 4\nmin_owners: 1");
    struct study *s;
    char *text;
    assert_int_equal(parse_text(f, (const char *)d.data, &s), ERR_OK);
    text = description(s, NULL);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (strstr(text, said[i]) == NULL)
            fail_msg("does not say \"%s\":\n%s", said[i], text);
    free(text);
    study_free(&s);
    bytes_clear(&b);
    bytes_clear(&c);
    bytes_clear(&d);
}

static void the_reader_is_told_their_part(void **state)
{
    static const struct {
        int key;
        const char *said;
    } cases[] = {{1, "You are server 1, s1"},
                 {4, "You are the owner o1"},
                 {5, "You are the analyst a0"},
                 {9, "no part in this study"}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = description(f->base, &f->identity[cases[i].key]->public);
        assert_non_null(strstr(text, cases[i].said));
        free(text);
    }
}

static void the_template_loads_once_keys_are_in(void **state)
{
    static const char *const names[] = {"north",      "east",       "west",
                                        "hospital-a", "hospital-b", "office"};
    struct fixture *f = *state;
    struct study *s;
    char find[64], replace[8];
    struct bytes text = {0};
    bytes_put(&text, study_template(), strlen(study_template()) + 1);
    /* as it is, the first missing key is named */
    assert_int_equal(parse_text(f, (const char *)text.data, &s), ERR_STUDY);
    assert_non_null(strstr(f->sink, "this is not a public key"));
    for (size_t i = 0; i < 6; i++) {
        struct bytes next;
        snprintf(find, sizeof find, "REPLACE-WITH-KEY-OF-%s", names[i]);
        snprintf(replace, sizeof replace, "@%zu", i);
        next = edited((const char *)text.data, find, replace);
        bytes_clear(&text);
        text = next;
    }
    if (parse_text(f, (const char *)text.data, &s) != ERR_OK)
        fail_msg("%s", f->sink);
    study_free(&s);
    bytes_clear(&text);
}

/* --- the demo's data ---------------------------------------------------------------------------
 */

/* The smallest study around the demo's domain. */
static struct study *demo_study(struct fixture *f)
{
    struct bytes text = {0};
    const char *rest = strstr(base_text, "budget:");
    struct study *s;
    bytes_put(&text, "study: demo\nworkload: {all: 2}\n", 31);
    bytes_put(&text, demo_data_domain_yaml(), strlen(demo_data_domain_yaml()));
    bytes_put(&text, rest, strlen(rest) + 1);
    if (parse_text(f, (const char *)text.data, &s) != ERR_OK)
        fail_msg("%s", f->sink);
    bytes_clear(&text);
    return s;
}

static void the_demos_data_fit_its_domain(void **state)
{
    struct fixture *f = *state;
    char folder[] = "/tmp/trefoil-demo-XXXXXX";
    struct study *s = demo_study(f);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(demo_data_write(folder, DEMO_SEED, &f->log), ERR_OK);
    for (size_t i = 0; i < DEMO_HOSPITALS; i++) {
        const struct demo_hospital *h = &demo_hospitals[i];
        struct table *t;
        char path[128];
        snprintf(path, sizeof path, "%s/%s.csv", folder, h->name);
        if (table_read_csv(&t, s->domain, path, NULL, &f->log) != ERR_OK)
            fail_msg("%s", f->sink);
        assert_int_equal(t->rows, h->rows);
        assert_true(h->rows <= h->max_rows);
        table_free(&t);
        unlink(path);
    }
    rmdir(folder);
    study_free(&s);
}

static void the_demos_data_hang_on_their_seed_alone(void **state)
{
    struct fixture *f = *state;
    char folder[] = "/tmp/trefoil-demo-XXXXXX", path[128];
    struct bytes text[3] = {{0}};
    static const uint64_t seeds[] = {5, 5, 6};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/island.csv", folder);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(demo_data_write(folder, seeds[i], &f->log), ERR_OK);
        assert_int_equal(file_read(path, 1 << 20, &text[i], &f->log), ERR_OK);
    }
    assert_int_equal(text[0].size, text[1].size);
    assert_memory_equal(text[0].data, text[1].data, text[0].size);
    assert_true(text[0].size != text[2].size ||
                memcmp(text[0].data, text[2].data, text[0].size) != 0);
    for (int i = 0; i < 3; i++)
        bytes_clear(&text[i]);
    for (size_t i = 0; i < DEMO_HOSPITALS; i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, demo_hospitals[i].name);
        unlink(path);
    }
    rmdir(folder);
}

static void a_mapping_has_its_bound(void **state)
{
    static const char text[] = "[true, {a: 1, b: 2}]";
    struct fixture *f = *state;
    struct yaml_file *file;
    size_t count;
    f->sink[0] = '\0';
    assert_int_equal(yaml_parse(&file, "t.yaml", text, strlen(text), &f->log), ERR_OK);
    assert_int_equal(yaml_entries(file, yaml_item(file, yaml_root(file), 1), "x", 1, &count),
                     ERR_STUDY);
    assert_true(message_is(f->sink, "1:8", "has 2 entries; at most 1"));
    f->sink[0] = '\0';
    assert_int_equal(yaml_entries(file, yaml_item(file, yaml_root(file), 0), "x", 1, &count),
                     ERR_STUDY);
    assert_true(message_is(f->sink, "1:2", "should be a mapping"));
    yaml_close(&file);
    assert_null(file);
}

static void the_nearest_word_is_suggested(void **state)
{
    static const char *const words[] = {"domain", "rounds", "budget", "noise"};
    (void)state;
    assert_int_equal(nearest("domian", words, 4), 0); /* a swap is one slip */
    assert_int_equal(nearest("round", words, 4), 1);
    assert_int_equal(nearest("bugdet", words, 4), 2);
    assert_int_equal(nearest("noize", words, 4), 3);
    assert_int_equal(nearest("x", words, 4), 4);
    assert_int_equal(nearest("", words, 4), 4);
    assert_int_equal(nearest("elephants", words, 4), 4);
    assert_int_equal(nearest("a-word-of-more-than-forty-characters-in-all-!", words, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_domain_is_read),
        cmocka_unit_test(what_is_impossible_is_read),
        cmocka_unit_test(the_rest_is_read),
        cmocka_unit_test(everybody_is_found_by_key),
        cmocka_unit_test(endpoints_are_five_ports),
        cmocka_unit_test(bounds_give_the_bits_of_counts),
        cmocka_unit_test(defaults_are_the_documented_ones),
        cmocka_unit_test(every_mistake_has_its_place),
        cmocka_unit_test(a_batchs_owners_fit_together),
        cmocka_unit_test(columns_apart_need_marginals_that_servers_can_count),
        cmocka_unit_test(whole_files_have_their_errors),
        cmocka_unit_test(the_mapping_form_of_a_domain_has_its_errors),
        cmocka_unit_test(all_of_too_many_attributes_is_refused_before_it_is_built),
        cmocka_unit_test(a_file_that_is_too_large_or_absent_is_refused),
        cmocka_unit_test(the_parts_are_the_documented_ones),
        cmocka_unit_test(any_value_changes_its_part),
        cmocka_unit_test(the_forms_that_bounds_carry),
        cmocka_unit_test(an_attributes_name_changes_the_domain),
        cmocka_unit_test(a_new_curve_key_is_a_matter_of_the_roster),
        cmocka_unit_test(writing_it_otherwise_changes_nothing),
        cmocka_unit_test(line_ends_and_top_order_change_nothing),
        cmocka_unit_test(a_domain_as_mapping_is_ordered_by_name),
        cmocka_unit_test(the_fingerprint_is_of_the_terms),
        cmocka_unit_test(the_description_says_what_matters),
        cmocka_unit_test(columns_are_described),
        cmocka_unit_test(the_reader_is_told_their_part),
        cmocka_unit_test(the_template_loads_once_keys_are_in),
        cmocka_unit_test(the_demos_data_fit_its_domain),
        cmocka_unit_test(the_demos_data_hang_on_their_seed_alone),
        cmocka_unit_test(a_mapping_has_its_bound),
        cmocka_unit_test(the_nearest_word_is_suggested),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
