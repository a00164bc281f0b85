/* mpc/circuits/cached.h: distances to public numbers, against plain ones, with exact costs. */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/circuits/cached.h"

#define SPANS 3

struct cached_call {
    unsigned l;
    uint64_t unit;
    size_t lanes;
    uint64_t *x, *c; /* of all lanes */
    struct cached_span spans[SPANS];
    struct three_result out;
    struct net_counters before[3], after[3]; /* of cached_distance() alone */
    uint64_t cache_sent[3], cache_rounds;
};

static enum err job(struct party *p, void *shared)
{
    struct cached_call *c = shared;
    struct share64 x CLEAN(share64_free) = {0}, out CLEAN(share64_free) = {0};
    struct planes bits CLEAN(planes_free) = {0};
    struct cached *cached CLEAN(cached_free) = NULL;
    TRY(three_share64(p, &x, c->x, c->lanes, 1));
    TRY(three_share_planes(p, &bits, c->x, c->lanes, c->l, 2));
    TRY(share64_new(&out, SPANS));
    struct net_counters start = net_total(p->net);
    TRY(cached_new(p, &cached, x, &bits));
    c->before[p->index] = net_total(p->net);
    c->cache_sent[p->index] = c->before[p->index].payload_sent - start.payload_sent;
    if (p->index == 0)
        c->cache_rounds = c->before[0].exchanges - start.exchanges;
    TRY(cached_distance(p, out, cached, c->spans, c->unit));
    c->after[p->index] = net_total(p->net);
    three_put64(&c->out, p, out);
    return ERR_OK;
}

/* The widest span holds `cells`; the others are short and elsewhere. */
static struct cached_call *fresh_on(unsigned l, size_t cells, uint64_t unit)
{
    struct cached_call *c = memory_array(1, sizeof *c);
    uint64_t seed = l + cells;
    const uint64_t limit = (uint64_t)1 << l;
    c->l = l;
    c->unit = unit;
    c->lanes = 64 * bits_words(cells) + 128;
    c->x = memory_array(c->lanes, sizeof *c->x);
    c->c = memory_array(c->lanes, sizeof *c->c);
    for (size_t i = 0; i < c->lanes; i++) {
        uint64_t r = three_random(&seed), s = three_random(&seed);
        c->x[i] = (r % limit) >> s % (l + 1) >> (l > 17 ? l - 17 : 0);
        c->c[i] = (three_random(&seed) % (limit * c->unit)) >> (s >> 32) % (l + CACHED_GRID);
        if (l > 17)
            c->c[i] >>= l - 17;
    }
    for (size_t i = 0; i < c->lanes && i < 64; i++) { /* every power of two and its neighbours */
        uint64_t power = (uint64_t)1 << i % (l + 1);
        if (l > 17)
            break;
        c->c[i] = power * c->unit - (i / 18 == 1);
        c->x[i] = i / 18 == 2 ? 0 : power - (i / 18 == 3 ? 1 : 0);
        c->x[i] = c->x[i] < limit ? c->x[i] : limit - 1;
    }
    c->spans[0] = (struct cached_span){64, cells, c->c + 64};
    c->spans[1] = (struct cached_span){0, c->lanes < 64 ? c->lanes : 64, c->c};
    c->spans[2] = (struct cached_span){c->lanes - 64, 1, c->c + c->lanes - 64};
    return c;
}

static struct cached_call *fresh(unsigned l, size_t cells)
{
    return fresh_on(l, cells, 1 << CACHED_GRID);
}

static void finish(struct cached_call **c)
{
    three_result_free(&(*c)->out);
    memory_free_all(&(*c)->x, &(*c)->c, c);
}

static void run(struct cached_call *c)
{
    OK(three_result_new(&c->out, SPANS));
    OK(three_run(c->lanes, job, c, NULL));
    assert_true(three_replicated(&c->out, 64));
    for (size_t k = 0; k < SPANS; k++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < c->spans[k].cells; i++) {
            uint64_t x = c->x[c->spans[k].from + i] * c->unit, y = c->spans[k].c[i];
            sum += x > y ? x - y : y - x;
        }
        assert_true(three_sum64(&c->out, k) == sum);
    }
}

static uint64_t sent(const struct cached_call *c, int server)
{
    return c->after[server].payload_sent - c->before[server].payload_sent;
}

TEST(distances_are_exact)
{
    static const size_t cells[] = {1, 63, 64, 65, 511, 512, 513, 1000};
    static const unsigned widths[] = {1, 2, 3, 4, 5, 8, 9, 16, 17};
    static const uint64_t units[] = {1 << CACHED_GRID,       1, 3, 3615, 1 << 20,
                                     (UINT64_C(1) << 45) - 1};
    for (size_t w = 0; w < 9; w++)
        for (size_t n = 0; n < 8; n++) {
            struct cached_call *c CLEAN(finish) = fresh_on(widths[w], cells[n], units[(w + n) % 6]);
            run(c);
            assert_true(c->after[0].exchanges - c->before[0].exchanges <= 3);
        }
}

TEST(wide_counts)
{
    static const unsigned widths[] = {18, 31, 33, 52};
    for (size_t w = 0; w < 4; w++) {
        struct cached_call *c CLEAN(finish) = fresh(widths[w], 300);
        run(c);
        assert_int_equal(c->after[0].exchanges - c->before[0].exchanges,
                         log2_ceil(widths[w] <= 20   ? 4
                                   : widths[w] <= 40 ? 8
                                                     : 11) +
                             1);
    }
}

/* --- every x with every C --------------------------------------------------------------------- */

#define EVERY 8 /* bits */

struct every {
    unsigned l;
    uint64_t x[1 << EVERY], c[(1 << EVERY) + 1][1 << EVERY], off; /* c is C minus `off` */
    struct three_result out;
};

static enum err compare_every(struct party *p, void *shared)
{
    struct every *c = shared;
    const size_t n = (size_t)1 << c->l;
    struct cached_span spans[(1 << EVERY) + 1];
    struct share64 x CLEAN(share64_free) = {0}, out CLEAN(share64_free) = {0};
    struct planes bits CLEAN(planes_free) = {0};
    struct cached *cached CLEAN(cached_free) = NULL;
    for (size_t k = 0; k <= n; k++)
        spans[k] = (struct cached_span){0, n, c->c[k]};
    TRY(three_share64(p, &x, c->x, n, 1));
    TRY(three_share_planes(p, &bits, c->x, n, c->l, 2));
    TRY(share64_new(&out, n + 1));
    TRY(cached_new(p, &cached, x, &bits));
    TRY(cached_distance(p, out, cached, spans, 1 << CACHED_GRID));
    three_put64(&c->out, p, out);
    return ERR_OK;
}

/* One wrong bit, whichever it is, makes a sum smaller, so that two wrong ones cannot cancel. */
TEST(every_number_with_every_bound)
{
    struct every *c CLEAN(memory_release) = memory_array(1, sizeof *c);
    for (unsigned l = 1; l <= EVERY; l++) {
        const size_t n = (size_t)1 << l;
        c->l = l;
        for (size_t k = 0; k <= n; k++)
            for (size_t i = 0; i < n; i++) {
                c->x[i] = i;
                c->c[k][i] = (k << CACHED_GRID) - (k > 0 ? i % 3 * 511 : 0);
            }
        OK(three_result_new(&c->out, n + 1));
        OK(three_run(l, compare_every, c, NULL));
        for (size_t k = 0; k <= n; k++) {
            uint64_t sum = 0;
            for (size_t i = 0; i < n; i++) {
                const uint64_t x = i << CACHED_GRID, y = c->c[k][i];
                sum += x > y ? x - y : y - x;
            }
            assert_true(three_sum64(&c->out, k) == sum);
        }
        three_result_free(&c->out);
    }
}

/* Dense: every C needs the full width. */
TEST(a_dense_cell_costs_what_is_stated)
{
    const size_t cells = 64 * 512;
    uint64_t all = 0;
    struct cached_call *c CLEAN(finish) = fresh(17, cells);
    for (size_t i = 0; i < c->lanes; i++)
        c->x[i] = i % 3;
    for (size_t i = 0; i < cells; i++)
        c->c[64 + i] = ((uint64_t)2 << CACHED_GRID) + i;
    c->spans[1].cells = c->spans[2].cells = 0;
    OK(three_result_new(&c->out, SPANS));
    OK(three_run(c->lanes, job, c, NULL));
    for (int s = 0; s < 3; s++) {
        all += sent(c, s);
        assert_true(10 * sent(c, s) <= 112 * cells);
    }
    /* 4 ANDs and 4 elements a cell; for the one sum, 2 elements in each of three parts */
    assert_int_equal(all, 3 * cells * 4 / 8 + 4 * cells * 8 + 3 * 2 * 8);
    assert_int_equal(c->after[0].exchanges - c->before[0].exchanges, 3);
    /* flags: 63 ANDs, 5 rounds; [x = 0]: 4 elements over all servers, 1 round */
    assert_int_equal(c->cache_sent[0] + c->cache_sent[1] + c->cache_sent[2],
                     3 * c->lanes * 63 / 8 + 4 * c->lanes * 8);
    assert_int_equal(c->cache_rounds, 6);
}

TEST(cells_up_to_one_cost_nothing)
{
    struct cached_call *c CLEAN(finish) = fresh(17, 1000);
    for (size_t i = 0; i < c->lanes; i++)
        c->c[i] = i % 1025;
    run(c);
    for (int s = 0; s < 3; s++)
        assert_int_equal(sent(c, s), 0);
    assert_int_equal(c->after[0].exchanges - c->before[0].exchanges, 0);
    finish(&c);
    /* one larger cell among them costs one word of lanes for ANDs, and the choice of one element */
    c = fresh(17, 1000);
    for (size_t i = 0; i < c->lanes; i++)
        c->c[i] = i == 100 ? 3 << CACHED_GRID : i % 1025;
    run(c);
    assert_int_equal(sent(c, 0) + sent(c, 1) + sent(c, 2), 3 * 8 * 4 + (4 + 2) * 8);
    assert_int_equal(c->after[0].exchanges - c->before[0].exchanges, 3);
}

static enum err out_of_range(struct party *p, void *shared)
{
    struct cached_call *c = shared;
    struct share64 x CLEAN(share64_free) = {0}, out CLEAN(share64_free) = {0};
    struct planes bits CLEAN(planes_free) = {0};
    struct cached *none, *cached CLEAN(cached_free) = NULL;
    TRY(three_share64(p, &x, c->x, c->lanes, 1));
    TRY(three_share_planes(p, &bits, c->x, c->lanes, c->l, 2));
    TRY(share64_new(&out, SPANS));
    TRY(cached_new(p, &cached, x, &bits));
    p->log = NULL;
    enum err e = cached_distance(p, out, cached, c->spans, c->unit);
    bits.width = CACHED_BITS + 1;
    enum err wide = cached_new(p, &none, x, &bits);
    bits.width = c->l;
    return e == ERR_RANGE && wide == ERR_RANGE && none == NULL ? ERR_OK : ERR_MISUSE;
}

TEST(what_could_wrap_is_refused)
{
    struct cached_call *c CLEAN(finish) = fresh(5, 100);
    c->c[70] = ((uint64_t)32 << CACHED_GRID) + 1;
    OK(three_run(1, out_of_range, c, NULL));
    finish(&c);
    c = fresh(5, 100);
    c->unit = (UINT64_C(1) << 57) + 1;
    OK(three_run(1, out_of_range, c, NULL));
}

MAIN(three_each_kernel())
