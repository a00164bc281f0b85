/*
 * mpc/: rings of 16 and 64 bits, widening, products of matrices, layers of gates, and tile
 * boundaries.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/circuits/argmax.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/ring.h"
#include "mpc/circuits/truncate.h"
#include "mpc/kernel/words.h"

/* Inputs in the clear; each server's components of the results, as words of 64 bits. */
struct rings_call {
    enum err (*run)(struct party *p, struct rings_call *c);
    size_t n, side[3];
    unsigned width;
    uint64_t *x, *y;
    uint64_t *out[3][2]; /* [server][component a, b] */
    uint64_t *again[3];
    size_t index[3];
    struct three_costs costs;
};

static enum err job(struct party *p, void *shared)
{
    struct rings_call *c = shared;
    return c->run(p, c);
}

static struct rings_call *fresh(size_t n, uint64_t seed)
{
    static const uint64_t edges[] = {0,      1,      UINT64_MAX, (uint64_t)1 << 63,
                                     0x8000, 0x7fff, 0x80000000, 0x7fffffff};
    struct rings_call *c = memory_array(1, sizeof *c);
    c->n = n;
    c->x = memory_array(n, 8);
    c->y = memory_array(n, 8);
    for (size_t i = 0; i < n; i++) {
        c->x[i] = i < 8 ? edges[i] : three_random(&seed);
        c->y[i] = i < 64 ? edges[i / 8] : three_random(&seed);
    }
    for (int s = 0; s < 3; s++) {
        c->out[s][0] = memory_array(n, 8);
        c->out[s][1] = memory_array(n, 8);
        c->again[s] = memory_array(n, 8);
    }
    return c;
}

static void finish(struct rings_call **c)
{
    for (int s = 0; s < 3; s++)
        memory_free_all(&(*c)->out[s][0], &(*c)->out[s][1], &(*c)->again[s]);
    memory_free_all(&(*c)->x, &(*c)->y, c);
}

/* --- words ------------------------------------------------------------------------------------ */

#define WORDS ((size_t)70)

static word128 word_of(const uint8_t *v, enum share_ring ring, size_t i)
{
    word128 w = 0;
    memcpy(&w, v + i * ring_size(ring), ring_size(ring));
    return w;
}

/* Words i of z are, modulo the ring, what a step makes of the earlier x, y, bits and z. */
static void assert_steps(enum share_ring ring, const uint8_t *x, const uint8_t *y,
                         const uint64_t *bits)
{
    const size_t bytes = WORDS * ring_size(ring);
    const word128 factor = word_of(y, RING_128, 3);
    for (unsigned step = 0; step < 6; step++) {
        _Alignas(16) uint8_t z[16 * WORDS];
        memcpy(z, y, sizeof z);
        if (step == 0)
            words_add(ring, z, x, WORDS);
        else if (step == 1)
            words_subtract(ring, z, x, WORDS);
        else if (step == 2)
            words_scale(ring, z, x, factor, WORDS);
        else
            words_add_bits(ring, z, step == 3 ? x : NULL, step == 4 ? bits : NULL, y, WORDS);
        for (size_t i = 0; i < WORDS; i++) {
            const word128 a = word_of(x, ring, i), b = word_of(y, ring, i);
            const word128 bit = bits[i / 64] >> i % 64 & 1;
            const word128 all[] = {b + a, b - a, factor * a, a - b, bit - b, -b};
            assert_memory_equal(z + i * ring_size(ring), &all[step], ring_size(ring));
        }
        assert_memory_equal(z + bytes, y + bytes, sizeof z - bytes);
    }
}

TEST(words_are_added_and_scaled)
{
    _Alignas(16) uint64_t x[2 * WORDS], y[2 * WORDS], out[2];
    uint64_t seed = 5;
    for (size_t i = 0; i < 2 * WORDS; i++) {
        x[i] = three_random(&seed);
        y[i] = three_random(&seed);
    }
    for (enum share_ring ring = RING_16; ring <= RING_128; ring++)
        assert_steps(ring, (const uint8_t *)x, (const uint8_t *)y, x);
    for (size_t from = 0; from < 130; from++)
        for (size_t n = 1; n <= 128; n += 7) {
            words_bits_from(out, x, from, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(out[i / 64] >> i % 64 & 1,
                                 x[(from + i) / 64] >> (from + i) % 64 & 1);
        }
}

static void execute(struct rings_call *c, enum err (*run)(struct party *, struct rings_call *))
{
    c->run = run;
    OK(three_run(c->n + 1, job, c, &c->costs));
    for (unsigned s = 0; s < 3; s++)
        assert_memory_equal(c->out[s][1], c->out[(s + 1) % 3][0], 8 * c->n);
}

static uint64_t sum(const struct rings_call *c, size_t i)
{
    return c->out[0][0][i] + c->out[1][0][i] + c->out[2][0][i];
}

static uint64_t sent(const struct rings_call *c)
{
    return c->costs.sent[0] + c->costs.sent[1] + c->costs.sent[2];
}

/* Shares of the low words of v, and the way back. */
#define DEFINE_WIDTH(w)                                                                            \
    static enum err share##w##_of(const struct party *p, struct share##w *x, const uint64_t *v,    \
                                  size_t n, uint64_t seed)                                         \
    {                                                                                              \
        struct share64 wide;                                                                       \
        TRY(three_share64(p, &wide, v, n, seed));                                                  \
        TRY(share##w##_new(x, n));                                                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            x->a[i] = (uint##w##_t)wide.a[i];                                                      \
            x->b[i] = (uint##w##_t)wide.b[i];                                                      \
        }                                                                                          \
        share64_free(&wide);                                                                       \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static void put##w(struct rings_call *c, const struct party *p, struct share##w x)             \
    {                                                                                              \
        for (size_t i = 0; i < x.n; i++) {                                                         \
            c->out[p->index][0][i] = x.a[i];                                                       \
            c->out[p->index][1][i] = x.b[i];                                                       \
        }                                                                                          \
    }

DEFINE_WIDTH(16)
DEFINE_WIDTH(32)
DEFINE_WIDTH(64)

static enum err multiply16(struct party *p, struct share16 out, struct share16 x, struct share16 y)
{
    const struct move_term product = {OPERAND(out), OPERAND(x), OPERAND(y), .words = out.n};
    return move_sums(p, &(struct move_sums){RING_16, &product, 1, 1, false, false});
}

static enum err multiply64(struct party *p, struct share64 out, struct share64 x, struct share64 y)
{
    return ring64_multiply(p, out, x, y);
}

#define DEFINE_RING(w)                                                                             \
    static enum err run_multiply##w(struct party *p, struct rings_call *c)                         \
    {                                                                                              \
        struct share##w x, y, z;                                                                   \
        TRY(share##w##_of(p, &x, c->x, c->n, 1));                                                  \
        TRY(share##w##_of(p, &y, c->y, c->n, 2));                                                  \
        TRY(share##w##_new(&z, c->n));                                                             \
        TRY(multiply##w(p, z, x, y));                                                              \
        TRY(multiply##w(p, x, x, y)); /* in place, the same */                                     \
        for (size_t i = 0; i < c->n; i++)                                                          \
            c->again[p->index][i] = x.a[i];                                                        \
        put##w(c, p, z);                                                                           \
        share##w##_free(&x);                                                                       \
        share##w##_free(&y);                                                                       \
        share##w##_free(&z);                                                                       \
        return ERR_OK;                                                                             \
    }                                                                                              \
    TEST(multiply##w##_at_tile_boundaries)                                                         \
    {                                                                                              \
        const size_t tile = MOVE_TILE * 8 / w;                                                     \
        const size_t lengths[] = {0, 1, 63, 64, 65, tile - 1, tile, tile + 1, 3 * tile + 7};       \
        for (size_t l = 0; l < 9; l++) {                                                           \
            struct rings_call *c CLEAN(finish) = fresh(lengths[l], l);                             \
            execute(c, run_multiply##w);                                                           \
            for (size_t i = 0; i < c->n; i++) {                                                    \
                uint64_t again = c->again[0][i] + c->again[1][i] + c->again[2][i];                 \
                assert_true((uint##w##_t)sum(c, i) == (uint##w##_t)(c->x[i] * c->y[i]));           \
                assert_true((uint##w##_t)again == (uint##w##_t)(c->x[i] * c->y[i]));               \
            }                                                                                      \
            assert_int_equal(c->costs.rounds, 2);                                                  \
            for (int s = 0; s < 3; s++)                                                            \
                assert_int_equal(c->costs.sent[s], 2 * w / 8 * c->n);                              \
        }                                                                                          \
    }                                                                                              \
    static enum err run_bit##w(struct party *p, struct rings_call *c)                              \
    {                                                                                              \
        struct planes b;                                                                           \
        struct share##w out;                                                                       \
        TRY(three_share_planes(p, &b, c->x, c->n, 1, 3));                                          \
        TRY(share##w##_new(&out, c->n));                                                           \
        TRY(convert_bit##w(p, out, planes_plane(&b, 0)));                                          \
        put##w(c, p, out);                                                                         \
        planes_free(&b);                                                                           \
        share##w##_free(&out);                                                                     \
        return ERR_OK;                                                                             \
    }                                                                                              \
    TEST(bits_become_numbers##w)                                                                   \
    {                                                                                              \
        const size_t tile = MOVE_TILE * 8 / w;                                                     \
        const size_t lengths[] = {0, 1, 2, 63, 64, 65, 191, 193, 1000, 3 * tile, 4 * tile + 77};   \
        for (size_t l = 0; l < 11; l++) {                                                          \
            struct rings_call *c CLEAN(finish) = fresh(lengths[l], l);                             \
            execute(c, run_bit##w);                                                                \
            for (size_t i = 0; i < c->n; i++)                                                      \
                assert_int_equal((uint##w##_t)sum(c, i), c->x[i] & 1);                             \
            assert_int_equal(c->costs.rounds, 1);                                                  \
            assert_int_equal(sent(c), 4 * w / 8 * c->n);                                           \
        }                                                                                          \
    }

DEFINE_RING(16)
DEFINE_RING(64)

static enum err multiply32(struct party *p, void *shared)
{
    struct share64 x;
    TRY(party_share64(p, &x, 64));
    const struct move_term product = {OPERAND(x), OPERAND(x), OPERAND(x), .words = x.n};
    const struct move_sums sums = {RING_32, &product, 1, 1, false, false};
    return move_sums(p, &sums) == ERR_MISUSE ? ERR_OK : ERR_DATA;
}

TEST(there_are_no_sums_of_ring32)
{
    OK(three_run(5, multiply32, NULL, NULL));
}

static enum err run_widen16(struct party *p, struct rings_call *c)
{
    struct share16 x CLEAN(share16_free) = {0};
    struct share32 out CLEAN(share32_free) = {0};
    TRY(share16_of(p, &x, c->x, c->n, c->width));
    TRY(share32_new(&out, c->n));
    TRY(truncate_widen16(p, out, x));
    put32(c, p, out);
    return ERR_OK;
}

static enum err run_half32(struct party *p, struct rings_call *c)
{
    struct share32 x CLEAN(share32_free) = {0};
    struct share64 out CLEAN(share64_free) = {0};
    TRY(share32_of(p, &x, c->x, c->n, c->width));
    TRY(share64_new(&out, c->n));
    TRY(truncate_half32(p, out, x));
    put64(c, p, out);
    return ERR_OK;
}

TEST(widening_and_halving_are_exact)
{
    for (unsigned seed = 0; seed < 4; seed++) {
        struct rings_call *c CLEAN(finish) = fresh(5000, seed);
        c->width = seed;
        for (size_t i = 0; i < c->n; i++)
            c->x[i] = i == 0 ? 0x7fff : c->x[i] & 0x7fff;
        execute(c, run_widen16);
        for (size_t i = 0; i < c->n; i++)
            assert_true((uint32_t)sum(c, i) == c->x[i]);
        assert_int_equal(c->costs.rounds, 1);
        assert_int_equal(sent(c), (4 + 4 * 2) * c->n);
        for (size_t i = 0; i < c->n; i++)
            c->x[i] = i == 0 ? 0x7ffffffe : (c->y[i] >> i % 32) & 0x7ffffffe;
        execute(c, run_half32);
        for (size_t i = 0; i < c->n; i++)
            assert_true(sum(c, i) == c->x[i] / 2);
        assert_int_equal(c->costs.rounds, 1);
        assert_int_equal(sent(c), 5 * 8 * c->n);
    }
}

/*
 * x is side[0] x side[2], y is side[1] x side[2]; n is enough room for each, and for x y^T. The
 * result is twice that.
 */
static enum err run_matrix(struct party *p, struct rings_call *c)
{
    const size_t m = c->side[0], n = c->side[1], k = c->side[2];
    struct share16 x CLEAN(share16_free) = {0}, y CLEAN(share16_free) = {0};
    struct share16 out CLEAN(share16_free) = {0};
    TRY(share16_of(p, &x, c->x, m * k, 1));
    TRY(share16_of(p, &y, c->y, n * k, 2));
    TRY(share16_new(&out, m * n));
    move_part_side(p, x.a, x);
    move_part_side(p, y.a, y);
    move_part_matrix(p, out.a, x.a, y.a, m, n, k);
    TRY(move_settle(p, RING_16, OPERAND(out), out.a, m * n, NULL));
    put16(c, p, out);
    return ERR_OK;
}

/*
 * Each server's part is one product of two words, and the three add up to twice the whole, for any
 * words.
 */
TEST(a_sum_of_matrix_products_costs_its_output)
{
    static const size_t sides[][3] = {{1, 1, 1},   {3, 2, 5},   {17, 9, 300}, {4, 130, 33},
                                      {0, 3, 3},   {65, 64, 7}, {2, 2, 0},    {8, 8, 64},
                                      {1, 1, 200}, {3, 3, 31}};
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        const size_t m = sides[s][0], n = sides[s][1], k = sides[s][2];
        struct rings_call *c CLEAN(finish) = fresh(m * k + k * n + m * n, s);
        memcpy(c->side, sides[s], sizeof sides[s]);
        execute(c, run_matrix);
        for (size_t i = 0; i < m * n; i++) {
            uint64_t all = 0;
            for (size_t d = 0; d < k; d++)
                all += c->x[i / n * k + d] * c->y[i % n * k + d];
            assert_true((uint16_t)sum(c, i) == (uint16_t)(2 * all));
        }
        assert_int_equal(c->costs.rounds, 1);
        for (int i = 0; i < 3; i++)
            assert_int_equal(c->costs.sent[i], 2 * m * n);
    }
}

/* Gates of different lengths in one layer, across tiles; outputs that are inputs of other gates. */
static enum err run_layer(struct party *p, struct rings_call *c)
{
    struct planes x CLEAN(planes_free) = {0}, y CLEAN(planes_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, 3, 1));
    TRY(three_share_planes(p, &y, c->y, c->n, 3, 2));
    struct bits x0 = planes_plane(&x, 0), x1 = planes_plane(&x, 1), x2 = planes_plane(&x, 2);
    struct bits y0 = planes_plane(&y, 0), y1 = planes_plane(&y, 1), y2 = planes_plane(&y, 2);
    struct bits short_0 = {y0.a, y0.b, c->n / 2};
    const struct move_term gates[] = {bits_product(x0, x0, x1), bits_product(x1, x0, x2),
                                      bits_product(short_0, x0, x1), bits_product(y1, y1, x1)};
    const struct move_term term = bits_product_plus(y2, x0, x1, y1);
    TRY(bits_and_layer(p, gates, 4)); /* all of them read the old values */
    TRY(bits_terms(p, &term, 1));
    for (size_t w = 0; w < bits_words(c->n) && 5 * w + 4 < c->n; w++)
        for (int side = 0; side < 2; side++) {
            struct bits all[] = {x0, x1, y0, y1, y2};
            for (size_t k = 0; k < 5; k++)
                c->out[p->index][side][5 * w + k] = (side == 0 ? all[k].a : all[k].b)[w];
        }
    return ERR_OK;
}

TEST(gates_of_a_layer_read_before_any_writes)
{
    const size_t n = 64 * (MOVE_TILE / 8 / 3 + 5);
    struct rings_call *c CLEAN(finish) = fresh(n, 11);
    execute(c, run_layer);
    for (size_t i = 0; i < n && 5 * (i / 64) + 4 < n; i++) {
        uint64_t got[5], x0 = c->x[i] & 1, x1 = c->x[i] >> 1 & 1, x2 = c->x[i] >> 2 & 1;
        uint64_t y0 = c->y[i] & 1, y1 = c->y[i] >> 1 & 1;
        for (size_t k = 0; k < 5; k++)
            got[k] = (c->out[0][0][5 * (i / 64) + k] ^ c->out[1][0][5 * (i / 64) + k] ^
                      c->out[2][0][5 * (i / 64) + k]) >>
                         i % 64 &
                     1;
        assert_int_equal(got[0], x0 & x1);
        assert_int_equal(got[1], x0 & x2);
        if (i / 64 < bits_words(n / 2))
            assert_int_equal(got[2], i < n / 2 ? x0 & x1 : got[2]);
        else
            assert_int_equal(got[2], y0);
        assert_int_equal(got[3], y1 & x1);
        assert_int_equal(got[4], (x0 & x1 & x2) ^ (y1 & x1)); /* (x0 x1)(x0 x2) + y1 */
    }
    assert_int_equal(c->costs.rounds, 2);
}

static enum err run_argmax(struct party *p, struct rings_call *c)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1, 2, 3};
    struct share64 x CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, c->x, c->n, 1));
    TRY(argmax_open(p, x, c->width, seed, &c->index[p->index]));
    return ERR_OK;
}

TEST(argmax_of_a_thousand_takes_six_rounds)
{
    struct rings_call *c CLEAN(finish) = fresh(1000, 3);
    size_t best = 0;
    c->width = 64;
    for (size_t i = 0; i < c->n; i++) {
        c->x[i] = (uint64_t)((int64_t)c->x[i] >> 1);
        if ((int64_t)c->x[i] > (int64_t)c->x[best])
            best = i;
    }
    execute(c, run_argmax);
    for (int s = 0; s < 3; s++)
        assert_int_equal(c->index[s], best);
    assert_int_equal(c->costs.rounds, 6);
    assert_int_equal(c->costs.opened_values[OPEN_SELECTED_INDEX], 1000);
}

/* More pairs than are compared at once. */
TEST(argmax_of_many_is_tiled)
{
    struct rings_call *c CLEAN(finish) = fresh(1500, 4);
    c->width = 12;
    for (size_t i = 0; i < c->n; i++)
        c->x[i] = i == 1234 || i == 1400 ? 1023 : c->x[i] % 1023;
    execute(c, run_argmax);
    for (int s = 0; s < 3; s++)
        assert_int_equal(c->index[s], 1234);
    assert_int_equal(c->costs.rounds, 2 * 5 + 1);
}

MAIN(three_each_kernel())
