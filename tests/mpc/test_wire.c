/*
 * The same words on the wire: with fixed keys each protocol of mpc/ and of protocols/, and whole
 * studies, send what they sent when the digests below were recorded, under every instruction set. A
 * change that is meant to change no message changes no digest. One that changes messages has to:
 * run this program with TREFOIL_RECORD=1 and it prints the new digests.
 */

#include "mpc/move/open.h"
#include "protocols/discrete.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"
#include "protocols/mask.h"
#include "tests/support/all.h"
#include "tests/support/whole.h"
#include "tests/support/wire.h"

struct recorded {
    const char *name;
    size_t n;
    uint32_t digest[3];
};

static const struct recorded recorded[] = {
#include "tests/wire_digests.inc"
};

/* Compares with the recorded digest, or prints it. */
static void check(const char *name, size_t n, const uint32_t digest[3])
{
    if (getenv("TREFOIL_RECORD") != NULL) {
        printf("    {\"%s\", %zu, {0x%08x, 0x%08x, 0x%08x}},\n", name, n, digest[0], digest[1],
               digest[2]);
        return;
    }
    for (size_t k = 0; k < sizeof recorded / sizeof *recorded; k++)
        if (strcmp(recorded[k].name, name) == 0 && recorded[k].n == n) {
            if (memcmp(recorded[k].digest, digest, 3 * sizeof *digest) != 0)
                fail_msg("%s of %zu sends other words than were recorded", name, n);
            return;
        }
    fail_msg("%s of %zu is not recorded", name, n);
}

/* --- mpc/ ------------------------------------------------------------------------------------- */

struct wire_one {
    size_t protocol, n;
    const uint64_t *values;
};

static enum err run_one(struct party *p, void *shared)
{
    const struct wire_one *o = shared;
    struct all_secrets s CLEAN(secrets_free) = {0};
    TRY(secrets_new(p, &s, o->values, o->n, 5));
    return all_protocols[o->protocol].run(p, &s);
}

/* One word and part of another, no multiple of 64 or 3, and more than one tile. */
static const size_t sizes[] = {61, 65, 130, 1001, 70003};

TEST(protocols_of_mpc_send_what_they_sent)
{
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        uint64_t *values CLEAN(memory_release) = memory_array(sizes[size], sizeof *values);
        uint64_t seed = 1;
        for (size_t i = 0; i < sizes[size]; i++)
            values[i] = three_random(&seed);
        for (size_t k = 0; k < ALL_PROTOCOLS; k++) {
            struct wire_one o = {k, sizes[size], values};
            uint32_t digest[3];
            OK(wire_run(11, run_one, &o, digest));
            check(all_protocols[k].name, sizes[size], digest);
        }
    }
}

/* --- openings and noise ----------------------------------------------------------------------- */

static enum err open_some(struct party *p, struct share64 x)
{
    struct bits all = {x.a, x.b, 64 * x.n - 3};
    uint64_t *out CLEAN(memory_release) = memory_array(x.n + 1, sizeof *out);
    TRY(out == NULL ? ERR_NOMEM : party_random64(p, &x));
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, x, out));
    return open_bits(p, OPEN_REJECT_BIT, all, out);
}

static const struct making {
    const char *name;
    size_t n;
    enum err (*make)(struct party *p, struct share64 out);
} makings[] = {{"open", 65, open_some},         {"open", 40001, open_some},
               {"gauss", 130, gauss_sample},    {"gumbel", 67, gumbel_sample},
               {"gumbel", 5000, gumbel_sample}, {"discrete", 67, discrete_sample}};

static enum err make_some(struct party *p, void *shared)
{
    const struct making *m = shared;
    struct share64 out CLEAN(share64_free);
    TRY(share64_new(&out, m->n));
    return m->make(p, out);
}

TEST(openings_and_noise_send_what_they_sent)
{
    for (size_t k = 0; k < sizeof makings / sizeof *makings; k++) {
        struct making m = makings[k];
        uint32_t digest[3];
        OK(wire_run(12, make_some, &m, digest));
        check(m.name, m.n, digest);
    }
}

/* --- studies ---------------------------------------------------------------------------------- */

/* The uploads again, with seeds that do not depend on the owners' keys. */
static void fix_uploads(struct whole *w)
{
    for (unsigned o = 0; o < OWNERS; o++) {
        uint8_t was[2][MASK_SEED_SIZE], seed[2][MASK_SEED_SIZE];
        struct bytes *vector = &w->parts[o][1].vector;
        memcpy(was[0], w->parts[o][0].seed[0], sizeof was[0]);
        memcpy(was[1], w->parts[o][0].seed[1], sizeof was[1]);
        memset(seed[0], (int)(2 * o + 1), sizeof seed[0]);
        memset(seed[1], (int)(2 * o + 2), sizeof seed[1]);
        OK(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])was, vector->data, vector->size));
        OK(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])seed, vector->data, vector->size));
        memcpy(w->parts[o][2].vector.data, vector->data, vector->size);
        memcpy(w->parts[o][0].seed, seed, sizeof seed);
        memcpy(w->parts[o][1].seed[0], seed[1], sizeof seed[1]);
        memcpy(w->parts[o][2].seed[1], seed[0], sizeof seed[0]);
    }
}

static enum err ask(struct three *g, struct ask *r, size_t *selected, int64_t *values)
{
    uint8_t seed[ARGMAX_SEED_SIZE] = {3};
    struct engine_step step CLEAN(three_step_clear) = {0};
    struct tape range CLEAN(tape_free) = {0};
    size_t measured;
    TRY(three_prepare(g, r, &step));
    TRY(three_reserve(g, &step));
    TRY(range_cut(&g->tape, three_step(&step)->noise, &range));
    if (r->kind == ASK_SELECT)
        TRY(three_select(g, &step, &range, seed, selected));
    TRY(three_measure(g, &step, &range, *selected, values, &measured));
    return range_return(&g->tape, &range);
}

/* Estimates that no model made: what is sent must not depend on a library's last digit. */
static void estimate(struct ask *r, size_t cells, unsigned round)
{
    for (size_t i = 0; i < cells; i++)
        r->estimate[r->estimates++] = (37 * (i + round) % 23) << CACHED_GRID;
}

/* All columns at once, then three times the worst of all marginals. */
static enum err play_study(struct three *g, struct ask *r, int64_t *values)
{
    const struct workload *workload = g->study->workload;
    size_t selected = 0;
    for (uint32_t q = 0; q < workload->queries; q++)
        r->query[q] = q;
    r->queries = (uint32_t)workload->one_ways;
    TRY(ask(g, r, &selected, values));
    r->kind = ASK_SELECT;
    r->queries = (uint32_t)workload->queries;
    for (unsigned round = 0; round < 3; round++) {
        r->estimates = 0;
        for (uint32_t q = 0; q < r->queries; q++)
            estimate(r, (size_t)workload->query[q].cells, round);
        TRY(ask(g, r, &selected, values));
    }
    return ERR_OK;
}

static enum err run_study(struct party *p, void *shared)
{
    struct whole *w = shared;
    const struct workload *workload = w->s.study->workload;
    struct three *g CLEAN(three_free) = NULL;
    struct ask r CLEAN(ask_clear) = {.kind = ASK_MEASURE,
                                     .query = memory_array(workload->queries, sizeof *r.query),
                                     .estimate = memory_array(workload->cells, sizeof *r.estimate),
                                     .epsilon = 0.5,
                                     .sigma = 20,
                                     .multiplier = 1 << 15};
    int64_t *values CLEAN(memory_release) = memory_array(workload->cells, sizeof *values);
    TRY(values == NULL || r.query == NULL || r.estimate == NULL ? ERR_NOMEM : ERR_OK);
    TRY(load_engine(w, p, &g));
    return play_study(g, &r, values);
}

static const char *const split[] = {
    "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
    "    max_rows: 900\n    batch: city\n"
    "    columns: [bmi, sex, ward]\n"};

/*
 * Answers alone, squared scores, discrete noise; records and answers; rows and columns at several
 * owners.
 */
static const struct study_options studies[] = {
    {.workload = "{all: 2}", .more = "score: l2\n", .noise = "discrete"},
    {.domain = wide_domain, .workload = wide_workload, .noise = "discrete"},
    {.part = split}};

TEST(whole_studies_send_what_they_sent)
{
    for (size_t k = 0; k < sizeof studies / sizeof *studies; k++) {
        struct study_options o = studies[k];
        struct whole *w CLEAN(whole_end) = whole_new(&o);
        uint32_t digest[3];
        o.owners = OWNERS;
        o.rounds = 3;
        o.epsilon = 3;
        fix_uploads(w);
        OK(wire_run(13, run_study, w, digest));
        check("study", k, digest);
    }
}

MAIN(three_each_kernel())
