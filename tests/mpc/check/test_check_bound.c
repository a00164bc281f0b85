/*
 * mpc/check/check.h: the log of a check has a bound, however long the vectors are. They are cut
 * into moves that note at most three quarters of the limit, and the move that passes it is followed
 * by a flush.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/check/check_private.h"
#include "mpc/circuits/argmax.h"
#include "mpc/circuits/cached.h"
#include "protocols/counts.h"
#include "protocols/discrete.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"

#define LIMIT ((size_t)8 << 20) /* a sixteenth of the real size, as are batches here */

#define SMALL ((size_t)1 << 20) /* where cells are cut */
#define CELLS ((size_t)96 * 1024)

struct watched {
    enum err (*job)(struct party *p);
    size_t limit;
    struct party *party;
    size_t most;
    unsigned flushes;
    enum net_phase phase;
};

/* Between flushes a log only grows. */
static enum err look(void *self)
{
    struct watched *w = self;
    const struct check *c = check_of(w->party);
    const size_t bytes = check_bit_log_bytes(&c->bits) + c->numbers.bytes;
    w->most = bytes > w->most ? bytes : w->most;
    w->flushes++;
    return ERR_OK;
}

static enum err sit(struct party *p, void *shared)
{
    struct watched *all = shared, *w = &all[p->index];
    const struct check_limits limits = {.log = w->limit, .guard = {.begin = look, .self = w}};
    w->party = p;
    TRY(check_new(p, &limits));
    net_enter(p->net, w->phase);
    TRY(w->job(p));
    return record_prove(p);
}

static void stays_below(enum err (*job)(struct party *p), size_t limit, const char *name)
{
    const struct watched each = {.job = job, .limit = limit};
    struct watched w[3] = {each, each, each};
    OK(three_run(3, sit, w, NULL));
    for (unsigned s = 0; s < 3; s++) {
        if (w[s].flushes < 2 || w[s].most < limit)
            fail_msg("%s: only %u flushes of at most %zu bytes", name, w[s].flushes, w[s].most);
        if (w[s].most > limit + limit / 4 * 3)
            fail_msg("%s: a log of %zu bytes", name, w[s].most);
    }
}

static enum err with_shares(struct party *p, size_t n,
                            enum err (*make)(struct party *p, struct share64 x))
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 x;
    TRY(party_share64(p, &x, n));
    memset(x.a, 0, n * sizeof *x.a);
    memset(x.b, 0, n * sizeof *x.b);
    return make(p, x);
}

#define WITH_SHARES(name, n, make)                                                                 \
    static enum err name(struct party *p)                                                          \
    {                                                                                              \
        return with_shares(p, n, make);                                                            \
    }

static enum err largest_of(struct party *p, struct share64 x)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1};
    size_t index;
    return argmax_open(p, x, 46, seed, &index);
}

WITH_SHARES(argmax, 600, largest_of)
WITH_SHARES(gauss, 131072 / 16, gauss_sample)
WITH_SHARES(gumbel, 65536 / 16, gumbel_sample)
WITH_SHARES(discrete, 36864 / 16, discrete_sample)

/* What is kept of the counts is made without a check. */
static enum err distances_of(struct party *p, struct share64 x)
{
    struct party_recorder *const recorder = p->recorder;
    struct cached_span span = {.cells = CELLS};
    uint64_t *bound;
    struct cached *kept CLEAN(cached_free) = NULL;
    struct planes bits;
    struct share64 sum;
    TRY(scratch_array(p->scratch, &bound, CELLS));
    for (size_t i = 0; i < CELLS; i++)
        bound[i] = (uint64_t)5 << CACHED_GRID;
    span.c = bound;
    TRY(party_planes(p, &bits, 17, CELLS));
    TRY(party_share64(p, &sum, 1));
    bits_zero(planes_flat(&bits));
    p->recorder = NULL;
    TRY(cached_new(p, &kept, x, &bits));
    p->recorder = recorder;
    return cached_distance(p, sum, kept, &span, 1 << CACHED_GRID);
}

WITH_SHARES(distances, CELLS, distances_of)

static enum err squares(struct party *p)
{
    uint64_t cells[CELLS / 1024];
    struct counts *c CLEAN(counts_free) = NULL;
    for (size_t q = 0; q < CELLS / 1024; q++)
        cells[q] = 1024;
    TRY(counts_new(&c, cells, CELLS / 1024, 17));
    return counts_finish_squares(p, c);
}

TEST(a_log_has_a_bound)
{
    stays_below(argmax, LIMIT, "argmax");
    stays_below(gauss, LIMIT, "Gaussians");
    stays_below(gumbel, LIMIT, "Gumbels");
    stays_below(discrete, LIMIT, "discrete Gaussians");
    stays_below(distances, SMALL, "distances");
    stays_below(squares, SMALL, "squares");
}

/* The same job notes 57 MB: in one log where a person waits for each exchange, else in two. */
TEST(counting_and_noise_have_a_shorter_log)
{
    static const struct {
        enum net_phase phase;
        unsigned flushes;
    } phases[] = {
        {NET_OTHER, 1}, {NET_SELECT, 1}, {NET_MEASURE, 1}, {NET_NOISE, 2}, {NET_COMPUTE, 2}};
    for (size_t k = 0; k < sizeof phases / sizeof *phases; k++) {
        const struct watched each = {
            .job = gauss, .limit = (size_t)96 << 20, .phase = phases[k].phase};
        struct watched w[3] = {each, each, each};
        assert_int_equal(three_run(3, sit, w, NULL), ERR_OK);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(w[s].flushes, phases[k].flushes);
    }
}
