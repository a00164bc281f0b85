/*
 * mpc/check/check.h: a flush sends what its definition in docs/protocols.md says, at the stated
 * cost. Relations are in the clear here, and coins are computed from what the servers sent.
 */
#include "harness/cmocka.h"

#include "mpc/circuits/bits.h"
#include "tests/support/check.h"

/* Relations in the clear: lists of one, two and three products, as a log has them. */
#define LISTS 3
#define WORDS 700 /* of each list: two groups */
#define GROUPS 2

struct clear {
    uint64_t x[LISTS][3][GROUPS * KERNEL_GROUP], y[LISTS][3][GROUPS * KERNEL_GROUP];
    uint64_t z[LISTS][GROUPS * KERNEL_GROUP];
};

static void make_clear(struct clear *c)
{
    uint64_t seed = 9;
    memset(c, 0, sizeof *c);
    for (unsigned l = 0; l < LISTS; l++)
        for (unsigned i = 0; i < WORDS; i++)
            for (unsigned k = 0; k <= l; k++) {
                c->x[l][k][i] = three_random(&seed);
                c->y[l][k][i] = three_random(&seed);
                c->z[l][i] ^= c->x[l][k][i] & c->y[l][k][i];
            }
}

static enum err share_words(const struct party *p, struct share64 *x, const uint64_t *words,
                            uint64_t seed)
{
    TRY(share64_new(x, WORDS));
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t c[3] = {three_random(&seed), three_random(&seed), words[i]};
        c[2] ^= c[0] ^ c[1];
        x->a[i] = c[p->index];
        x->b[i] = c[(p->index + 1) % 3];
    }
    return ERR_OK;
}

/* The three lists in one call, in a different order. */
static enum err sum_lists(struct party *p, struct check_play *play)
{
    const struct clear *c = play->self;
    struct share64 x[LISTS][3] = {0}, y[LISTS][3] = {0}, z[LISTS] = {0};
    struct move_term terms[LISTS][LISTS] = {0};
    enum err e = ERR_OK;
    for (unsigned l = 0; e == ERR_OK && l < LISTS; l++) {
        struct move_term *t = terms[LISTS - 1 - l];
        e = share64_new(&z[l], WORDS);
        for (unsigned k = 0; e == ERR_OK && k <= l; k++) {
            e = share_words(p, &x[l][k], c->x[l][k], 10 * l + k);
            if (e == ERR_OK)
                e = share_words(p, &y[l][k], c->y[l][k], 100 + 10 * l + k);
            t[k] = (struct move_term){
                OPERAND(z[l]), OPERAND(x[l][k]), OPERAND(y[l][k]), {NULL, NULL}, WORDS};
        }
    }
    if (e == ERR_OK)
        e = bits_sums(p, terms[0], LISTS, LISTS);
    struct planes out = {z[0].a, z[0].b, 64 * WORDS, 1};
    if (e == ERR_OK)
        e = play_open(p, play, &out);
    for (unsigned l = 0; l < LISTS; l++) {
        share64_free(&z[l]);
        for (unsigned k = 0; k <= l; k++) {
            share64_free(&x[l][k]);
            share64_free(&y[l][k]);
        }
    }
    return e;
}

/* The words of the three messages of a round, added up: masks cancel, so it is what they share. */
static uint64_t shared(const struct check_play *play, uint64_t round, enum net_peer to, size_t word)
{
    uint64_t sum = 0, w;
    for (unsigned s = 0; s < 3; s++) {
        assert_true(8 * word + 8 <= play->sent[s][round][to][0].size);
        memcpy(&w, play->sent[s][round][to][0].data + 8 * word, 8);
        sum ^= w;
    }
    return sum;
}

static uint64_t times(uint64_t x, uint64_t y)
{
    return kernel_field_product(x, y);
}

static bool in_point(unsigned c, unsigned a)
{
    for (unsigned v = 0; v < 6; v++, c /= 3)
        if (c % 3 < 2 && c % 3 != (a >> v & 1))
            return false;
    return true;
}

static unsigned row_point(unsigned a)
{
    unsigned c = 0;
    for (unsigned v = 6; v-- > 0;)
        c = 3 * c + (a >> v & 1);
    return c;
}

static uint64_t row_weight(const uint64_t r[6], unsigned a)
{
    uint64_t w = 1;
    for (unsigned v = 0; v < 6; v++)
        w = times(w, a >> v & 1 ? r[v] : r[v] ^ 1);
    return w;
}

static uint64_t point_weight(const uint64_t r[6], unsigned c)
{
    uint64_t w = 1;
    for (unsigned v = 0; v < 6; v++, c /= 3)
        w = times(w, c % 3 == 0 ? r[v] ^ 1 : c % 3 == 1 ? r[v] : times(r[v], r[v] ^ 1));
    return w;
}

static void draw(struct check_play *play, uint64_t round, uint64_t *to, size_t n)
{
    struct prg *weights CLEAN(prg_free);
    OK(play_coin(play, round, &weights));
    OK(prg_fill(weights, to, n * sizeof *to));
}

/* Elements: of each group of each product, 64 rows (lanes of the words) of 8 columns. */
#define ELEMENT_GROUPS (GROUPS * (1 + 2 + 3))

struct elements {
    uint64_t u[ELEMENT_GROUPS][64][8], v[ELEMENT_GROUPS][64][8];
};

static void definition_of_elements(const struct clear *c, const uint64_t *sigma,
                                   const uint64_t r[6], struct elements *e)
{
    unsigned at = 0;
    memset(e, 0, sizeof *e);
    for (unsigned l = 0; l < LISTS; l++)
        for (unsigned g = 0; g < GROUPS; g++)
            for (unsigned k = 0; k <= l; k++, at++)
                for (unsigned i = 0; i < KERNEL_GROUP; i++)
                    for (unsigned b = 0; b < 64; b++) {
                        const size_t word = g * KERNEL_GROUP + i;
                        const uint64_t w = row_weight(r, i / 8);
                        if (c->x[l][k][word] >> b & 1)
                            e->u[at][b][i % 8] ^= times(w, sigma[(l * GROUPS + g) * 8 + i % 8]);
                        if (c->y[l][k][word] >> b & 1)
                            e->v[at][b][i % 8] ^= w;
                    }
}

static void sums_of_bits(const struct check_play *play, const struct clear *c,
                         const uint64_t *sigma)
{
    for (unsigned point = 0; point < KERNEL_POINTS; point += point < 30 ? 1 : 23) {
        uint64_t sum = 0;
        for (unsigned q = 0; q < LISTS * GROUPS * 8; q++) {
            const unsigned l = q / 8 / GROUPS;
            const size_t first = q / 8 % GROUPS * KERNEL_GROUP + q % 8;
            uint64_t product = 0;
            for (unsigned k = 0; k <= l; k++) {
                uint64_t x = 0, y = 0;
                for (unsigned a = 0; a < 64; a++)
                    if (in_point(point, a)) {
                        x ^= c->x[l][k][first + 8 * a];
                        y ^= c->y[l][k][first + 8 * a];
                    }
                product ^= x & y;
            }
            sum ^= times(product, sigma[q]);
        }
        assert_int_equal(shared(play, 2, NET_PREV, point), sum);
    }
}

static void sums_of_elements(const struct check_play *play, const struct elements *e)
{
    for (unsigned point = 0; point < KERNEL_POINTS; point += point < 30 ? 1 : 23) {
        uint64_t sum = 0;
        for (unsigned q = 0; q < ELEMENT_GROUPS * 8; q++) {
            uint64_t u = 0, v = 0;
            for (unsigned b = 0; b < 64; b++)
                if (in_point(point, b)) {
                    u ^= e->u[q / 8][b][q % 8];
                    v ^= e->v[q / 8][b][q % 8];
                }
            sum ^= times(u, v);
        }
        assert_int_equal(shared(play, 4, NET_PREV, point), sum);
    }
}

/* The masks follow from what is opened, and the values with them from the masks. */
static void last_fold(const struct check_play *play, const struct elements *e, const uint64_t r[6],
                      uint64_t zeta)
{
    const unsigned m = ELEMENT_GROUPS * 8;
    uint64_t inverse = 1, star = 0, z = 0, square = 0, cross[64] = {0};
    for (unsigned k = 0; k < 63; k++) /* zeta^(2^64 - 2) */
        inverse = times(times(inverse, inverse), zeta);
    inverse = times(inverse, inverse);
    assert_int_equal(times(inverse, zeta), 1);
    for (unsigned q = 0; q < m; q++) {
        const uint64_t u = shared(play, 6, NET_NEXT, q), v = shared(play, 6, NET_NEXT, m + q);
        uint64_t mask_u = u, mask_v = v;
        for (unsigned b = 0; b < 64; b++) {
            mask_u ^= times(row_weight(r, b), e->u[q / 8][b][q % 8]);
            mask_v ^= times(row_weight(r, b), e->v[q / 8][b][q % 8]);
        }
        mask_u = times(mask_u, inverse);
        mask_v = times(mask_v, inverse);
        for (unsigned b = 0; b < 64; b++)
            cross[b] ^= times(mask_u, e->v[q / 8][b][q % 8]) ^ times(mask_v, e->u[q / 8][b][q % 8]);
        square ^= times(mask_u, mask_v);
        star ^= times(u, v);
    }
    for (unsigned b = 0; b < 64; b++) {
        assert_int_equal(shared(play, 4, NET_PREV, KERNEL_POINTS + b), cross[b]);
        z ^= times(zeta, times(row_weight(r, b), cross[b]));
    }
    assert_int_equal(shared(play, 4, NET_PREV, KERNEL_POINTS + 64), square);
    for (unsigned point = 0; point < KERNEL_POINTS; point++)
        z ^= times(point_weight(r, point), shared(play, 4, NET_PREV, point));
    z ^= times(square, times(zeta, zeta));
    assert_int_equal(shared(play, 6, NET_NEXT, 2 * m), z);
    assert_int_equal(z, star);
    assert_int_equal(shared(play, 6, NET_NEXT, 2 * m + 1), 0);
    assert_int_equal(shared(play, 6, NET_NEXT, 2 * m + 2), 0);
    assert_int_equal(play->sent[0][6][NET_NEXT][0].size, 8 * (2 * m + 3));
}

/* A wrong sum would leave a remainder: here it is computed from the relations themselves. */
static void first_remainder(const struct check_play *play, const struct clear *c,
                            const uint64_t *weights)
{
    const uint64_t *sigma = weights + 6;
    uint64_t sum = 0;
    for (unsigned a = 0; a < 64; a++)
        sum ^= times(row_weight(weights, a), shared(play, 2, NET_PREV, row_point(a)));
    for (unsigned l = 0; l < LISTS; l++)
        for (unsigned i = 0; i < GROUPS * KERNEL_GROUP; i++) {
            const uint64_t w = sigma[(l * GROUPS + i / KERNEL_GROUP) * 8 + i % 8];
            sum ^= times(times(c->z[l][i], w), row_weight(weights, i % KERNEL_GROUP / 8));
        }
    assert_int_equal(sum, 0);
}

/* Three coins, sums at points, those of the last fold, and what is opened, with a digest. */
static void flush_costs(const struct check_play *play, size_t groups)
{
    const size_t coin = 2 * (16 + 32 + 32), opened = 2 * 8 * groups + 3;
    for (unsigned s = 0; s < 3; s++) {
        size_t bytes = 0;
        for (uint64_t round = 1; round < 7; round++)
            for (unsigned to = 0; to < 2; to++)
                bytes += play->sent[s][round][to][0].size;
        assert_int_equal(bytes, 3 * coin + 8 * (729 + 729 + 65 + opened) + 32);
    }
}

TEST(a_flush_sends_what_its_definition_says)
{
    static const struct check_limits limits;
    struct clear *c CLEAN(memory_release) = memory_array(1, sizeof *c);
    struct elements *e CLEAN(memory_release) = memory_array(1, sizeof *e);
    uint64_t weights[6 + LISTS * GROUPS * 8], r[6], last[7];
    struct check_play play CLEAN(play_free) = {
        .job = sum_lists, .limits = &limits, .n = WORDS, .cheat = NOBODY, .self = c};
    make_clear(c);
    play_run(&play);
    assert_int_equal(play.rounds, 8);
    flush_costs(&play, ELEMENT_GROUPS);
    assert_memory_equal(play.opened[0].data, c->z[0], 8 * WORDS);
    draw(&play, 1, weights, 6 + LISTS * GROUPS * 8);
    draw(&play, 3, r, 6);
    draw(&play, 5, last, 7);
    sums_of_bits(&play, c, weights + 6);
    first_remainder(&play, c, weights);
    definition_of_elements(c, weights + 6, r, e);
    sums_of_elements(&play, e);
    last_fold(&play, e, last, last[6]);
}

/* --- a relation that does not hold ------------------------------------------------------------ */

#define WRONG_BIT 5

/* Zero times zero is one in a single lane, and all three servers note the same. */
static enum err note_wrongly(struct party *p, struct check_play *play)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes x, z;
    TRY(party_planes(p, &x, 1, 64 * KERNEL_GROUP));
    TRY(party_planes(p, &z, 1, 64 * KERNEL_GROUP));
    bits_zero(planes_flat(&x));
    bits_zero(planes_flat(&z));
    z.a[play->n] = (uint64_t)(p->index == 0) << WRONG_BIT;
    z.b[play->n] = (uint64_t)(p->index == 2) << WRONG_BIT;
    const struct move_term term = bits_product(planes_flat(&z), planes_flat(&x), planes_flat(&x));
    TRY(record_bits(p, &term, 1));
    return record_prove(p);
}

/* Its remainder is the error, weighted by its row, its block and its lane. */
TEST(a_remainder_is_what_its_definition_says)
{
    static const struct check_limits limits;
    static const size_t words[] = {0, 77, KERNEL_GROUP - 1};
    for (unsigned k = 0; k < 3; k++) {
        struct check_play play CLEAN(play_free) = {
            .job = note_wrongly, .limits = &limits, .n = words[k], .cheat = 0};
        uint64_t weights[6 + 8], wanted;
        play_run(&play);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(play.result[s], ERR_CHEAT);
        draw(&play, 0, weights, 6 + 8);
        wanted = times(row_weight(weights, (unsigned)words[k] / 8), weights[6 + words[k] % 8]);
        assert_int_equal(shared(&play, 5, NET_NEXT, 2 * 8 + 1),
                         times(wanted, (uint64_t)1 << WRONG_BIT));
    }
}

MAIN(three_each_kernel())
