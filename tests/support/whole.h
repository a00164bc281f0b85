/*
 * tests/support/whole.h - three parties with engines: owners, a backend for the AIM loop, and a
 * whole run.
 */
#pragma once

#include "harness/cmocka.h"
#include "harness/study.h"
#include "tests/support/marks.h"

#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "parties/analyst/central.h"
#include "parties/analyst/release.h"
#include "parties/owner/pack.h"
#include "parties/server/round.h"
#include "parties/setting/upload.h"
#include "parties/settings/three/engine.h"

#define OWNERS 3

#define NOISE_MAX 200000

/* Whose row is whose, where a study has keys; owners by their number + 1, or 0. */
struct whole_persons {
    unsigned count;           /* persons, who have rows at all owners */
    unsigned empty, unsorted; /* the owner without rows; one that does not sort: it is left out */
};

/* What all three parties and the harness see. */
struct whole {
    struct support_study s;
    struct bounds *bounds;
    struct table *all;
    struct upload parts[OWNERS][3];
    uint64_t *noise[2][3]; /* kind, component: samples in the order in which they were used */
    size_t used[2][3];
    bool twice;            /* every request is made again, with the same noise */
    uint64_t exchanges[3]; /* of the last request, at each party, without its noise */
    struct aim_result *result[3];
    uint32_t selected[3][64];
    size_t selections[3];
    enum whole_coming {
        AT_ONCE,
        ONE_BY_ONE,
        BETWEEN_ROUNDS
    } coming;                    /* uploads, before or during a run */
    struct table *stage[OWNERS]; /* the first 1, 2 .. owners' rows */
    struct whole_persons persons;
    struct domain *columns[OWNERS]; /* of owners that are linked, with their tables */
    struct table *own[OWNERS];
    size_t linked;    /* rows that all owners of a batch have */
    int64_t look[3];  /* what a look opened, at each party */
    unsigned lacking; /* owners that are not counted, since an upload is not sorted */
    struct whole_again {
        struct whole *w;
        struct party *p;
    } again[3]; /* who reads uploads again */
};

/*
 * Rows of owner o; all owners of a batch have the batch's rows, but the second lacks the last of
 * them.
 */
enum err rows_of(const struct whole *w, unsigned o, struct table **t);

/* `changed`: without the last row. */
enum err share_one(struct whole *w, unsigned o, int changed, struct upload parts[3],
                   struct log *log);

struct whole_seat {
    struct whole *w;
    struct three *engine;
    unsigned index;
    unsigned requests;
};

enum err count_all(struct three *g, const struct upload *uploads, size_t count);

/* Exchanges of a round, including those around it, without making the tape. */
#define ROUNDS_MAX 20
/* Those that make what scores need, with the first selection. */
#define ROUNDS_FINISH 16

enum err perform(struct whole_seat *s, const struct ask *a, struct ask_told *told);
/* As a backend: uploads may come first. */
enum err seat_ask(void *self, const struct ask *a, struct ask_told *told);
struct aim_backend seat_backend(struct whole_seat *seat);
enum err load_engine(struct whole *w, struct party *p, struct three **engine);
enum err run_mpc(struct party *p, void *shared);
struct whole *whole_new(const struct study_options *o);
void whole_end(struct whole **w);
/* The same within something else. */
void whole_fill(struct whole *w, const struct study_options *o,
                const struct whole_persons *persons);
void whole_free(struct whole *w);

/* --- the plaintext twin: the noise that all three used, opened -------------------------------- */

struct whole_replay {
    struct whole *w;
    size_t next[2];
};

enum err replay_gauss(void *self, size_t n, int64_t *out);
enum err replay_gumbel(void *self, size_t n, int64_t *out);

static const char wide_domain[] = "domain:\n"
                                  "  - {name: age, kind: integer, min: 0, max: 62}\n"
                                  "  - {name: sex, kind: categorical, values: [f, m]}\n"
                                  "  - {name: ward, kind: integer, min: 1, max: 19}\n"
                                  "  - {name: dose, kind: numeric, min: 0, max: 1, bins: 6}\n";

static const char wide_workload[] =
    "\n  - {attributes: [age, sex, ward]}\n  - {attributes: [age, dose]}\n";
