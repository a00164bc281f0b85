/*
 * mpc/check/check.h: for numbers, a flush sends what its definition in docs/protocols.md says, at
 * the stated cost. Relations are in the clear here, and coins are computed from what the servers
 * sent.
 */
#include "harness/cmocka.h"

#include "mpc/kernel/prime.h"
#include "tests/support/check.h"

#include <openssl/bn.h>

#define RINGS 5
#define WORDS 75 /* most words of a vector: with two products, two blocks of elements and more */

static const unsigned bits_of[RINGS] = {0, 16, 32, 64, 128}, claim_words[RINGS] = {0, 3, 3, 4, 6};

/* Relations of one call: components of each vector, as words 16 bytes apart. */
struct check_prime_call {
    enum share_ring ring;
    size_t n, start[4];
    bool spans;
    unsigned products;
    word128 x[2][3][WORDS], y[2][3][WORDS], z[3][WORDS];
    int64_t c[2];
    enum record_form form[2];
    unsigned shift[2];
    enum share_ring narrow[2];
};
#define CALLS 6

static word128 below(enum share_ring ring, word128 w)
{
    if (ring == RING_BITS)
        return w & 1;
    return ring == RING_128 ? w : w & (((word128)1 << bits_of[ring]) - 1);
}

static size_t words_of(const struct check_prime_call *c)
{
    return c->spans ? c->start[c->n] : c->n;
}

static size_t relation_of(const struct check_prime_call *c, size_t word)
{
    size_t q = word;
    for (q = c->spans ? 0 : word; c->spans && c->start[q + 1] <= word; q++)
        continue;
    return q;
}

/* Which words x and y of a product are. */
static enum share_ring ring_of(const struct check_prime_call *c, unsigned l, bool is_y)
{
    if (c->form[l] == RECORD_WORDS)
        return c->ring;
    return c->form[l] == RECORD_CHOICE && is_y ? c->narrow[l] : RING_BITS;
}

static word128 factor_of(const struct check_prime_call *c, unsigned l)
{
    return (word128)c->c[l] << c->shift[l];
}

/*
 * In a second product only component 1 carries y; modulo 2^16 only component 2 carries x. In every
 * other word server 2, which takes its b from its a, has a large number there and 0 here.
 */
static struct check_prime_call *make_calls(void)
{
    static struct check_prime_call calls[CALLS];
    const struct check_prime_call shapes[CALLS] = {
        {.ring = RING_64, .n = 70, .products = 2, .c = {1, -3}},
        {.ring = RING_128, .n = 3, .products = 1, .c = {5}},
        {.ring = RING_64, .n = 3, .spans = true, .start = {0, 4, 4, 9}, .products = 1, .c = {1}},
        {.ring = RING_16, .n = 5, .products = 2, .c = {-7, 1}},
        {.ring = RING_32, .n = 75, .products = 1, .c = {1}},
        {.ring = RING_128,
         .n = 66,
         .products = 2,
         .c = {-2, 3},
         .form = {RECORD_BOTH, RECORD_CHOICE},
         .shift = {9, 70},
         .narrow = {RING_BITS, RING_64}},
    };
    uint64_t seed = 3;
    memcpy(calls, shapes, sizeof calls);
    for (struct check_prime_call *c = calls; c < calls + CALLS; c++) {
        for (size_t i = 0; i < words_of(c); i++)
            for (unsigned l = 0; l < c->products; l++)
                for (unsigned k = 0; k < 3; k++) {
                    const word128 a = three_random(&seed), b = three_random(&seed);
                    c->x[l][k][i] = below(ring_of(c, l, false), a << 64 | b);
                    c->y[l][k][i] = below(ring_of(c, l, true), b << 64 | a);
                    if (l == 0 && i % 2 == 0 && k == 0)
                        c->y[l][k][i] = below(ring_of(c, l, true), ~(word128)(b >> 4));
                    if (l == 0 && i % 2 == 0 && k == 2)
                        c->y[l][k][i] = 0;
                    if (l == 1 && k != 1)
                        c->y[l][k][i] = 0;
                    if (l == 1 && k != 2 && c->ring == RING_16)
                        c->x[l][k][i] = 0;
                }
        for (size_t i = 0; i < words_of(c); i++)
            for (unsigned l = 0; l < c->products; l++) {
                const word128 x = c->x[l][0][i] + c->x[l][1][i] + c->x[l][2][i];
                c->z[0][relation_of(c, i)] += factor_of(c, l) * x *
                                              (c->y[l][0][i] + c->y[l][1][i] + c->y[l][2][i]);
            }
        for (size_t q = 0; q < c->n; q++) {
            c->z[1][q] = below(c->ring, three_random(&seed));
            c->z[2][q] = below(c->ring, three_random(&seed));
            c->z[0][q] = below(c->ring, c->z[0][q] - c->z[1][q] - c->z[2][q]);
        }
    }
    return calls;
}

/* --- what the servers do ---------------------------------------------------------------------- */

static void *packed(struct party *p, enum share_ring ring, const word128 *v, size_t n)
{
    const size_t size = bits_of[ring] / 8;
    uint8_t *out;
    bool any = false;
    if (scratch_take(p->scratch, &out, n + 64, ring == RING_BITS ? 1 : size) != ERR_OK)
        abort();
    if (ring == RING_BITS)
        memset(out, 0, n + 64);
    for (size_t i = 0; i < n; i++) {
        if (ring == RING_BITS)
            out[i / 8] = (uint8_t)(out[i / 8] | (unsigned)v[i] << i % 8);
        else
            memcpy(out + i * size, &v[i], size);
        any = any || v[i] != 0;
    }
    return any ? out : NULL;
}

static enum err note_call(struct party *p, const struct check_prime_call *c)
{
    const unsigned a = p->index, b = (a + 1) % 3;
    struct record_product products[2];
    const size_t n = words_of(c);
    for (unsigned l = 0; l < c->products; l++) {
        const enum share_ring x = ring_of(c, l, false), y = ring_of(c, l, true);
        products[l] = (struct record_product){
            {packed(p, x, c->x[l][a], n), packed(p, x, c->x[l][b], n)},
            {packed(p, y, c->y[l][a], n), packed(p, y, c->y[l][b], n)},
            c->c[l],
            c->form[l],
            c->shift[l],
            c->narrow[l]};
    }
    const struct move_operand z = {packed(p, c->ring, c->z[a], c->n),
                                   packed(p, c->ring, c->z[b], c->n)};
    const struct record_sums of = {
        .products = products, .count = c->products, .start = c->spans ? c->start : NULL};
    return record_numbers(p, c->ring, &of, z, c->n);
}

/* first uses up n words of the streams of masks. */
static enum err note_all(struct party *p, struct check_play *play)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    uint64_t word;
    for (size_t i = 0; i < 2 * play->n; i++)
        TRY(prg_fill(p->prg[i % 2][PRG_CHECK], &word, sizeof word));
    for (const struct check_prime_call *c = play->self;
         c < (const struct check_prime_call *)play->self + CALLS; c++)
        TRY(note_call(p, c));
    return record_prove(p);
}

/* --- the definition --------------------------------------------------------------------------- */

static uint64_t P;

static uint64_t plus(uint64_t x, uint64_t y)
{
    return (uint64_t)(((word128)x + y) % P);
}

static uint64_t times(uint64_t x, uint64_t y)
{
    return (uint64_t)((word128)x * y % P);
}

static uint64_t minus(uint64_t x, uint64_t y)
{
    return plus(x, P - y % P);
}

static uint64_t power(uint64_t x, uint64_t e)
{
    uint64_t y = 1;
    for (; e > 0; e >>= 1, x = times(x, x))
        y = e & 1 ? times(y, x) : y;
    return y;
}

/* Word `at` of a message of each server, which are shares modulo p. */
static uint64_t shared(const struct check_play *play, uint64_t round, enum net_peer to,
                       size_t message, size_t at)
{
    uint64_t sum = 0, w;
    for (unsigned s = 0; s < 3; s++) {
        const struct bytes *sent = &play->sent[s][round][to][message];
        assert_true(8 * at + 8 <= sent->size);
        memcpy(&w, sent->data + 8 * at, 8);
        sum = plus(sum, w % P);
    }
    return sum;
}

/* An element: its relation's weight theta, and both factors, whole and modulo p. */
struct element {
    uint64_t theta, u, v;
    enum share_ring ring;
    const struct check_prime_call *call;
    size_t word;
    unsigned product;
};
#define ELEMENTS (2 * 70 + 3 + 9 + 2 * 5 + 75 + 2 * 66)
#define BLOCKS ((ELEMENTS + 63) / 64)

static void add_number(BIGNUM *sum, word128 w)
{
    uint8_t bytes[16];
    memcpy(bytes, &w, 16);
    BIGNUM *part = BN_lebin2bn(bytes, 16, NULL);
    BN_add(sum, sum, part);
    BN_free(part);
}

/* The three components of a factor, times what is taken modulo 2^K, added up as they are. */
static void add_up(BIGNUM *sum, const word128 component[3][WORDS], size_t i, enum share_ring ring,
                   word128 factor)
{
    BN_zero(sum);
    for (unsigned k = 0; k < 3; k++)
        add_number(sum, below(ring, component[k][i] * factor));
}

/* Where a span ends, so does a run of words. */
static size_t run_from(const struct check_prime_call *c, size_t word)
{
    const size_t end = c->spans ? c->start[relation_of(c, word) + 1] : c->n;
    return end - word < 64 ? end - word : 64;
}

/* Whole tiles of 64 words are blocks, product by product; here all the rest follows them. */
static size_t list_elements(const struct check_prime_call *calls,
                            uint64_t (*const theta)[RINGS][256], struct element *out)
{
    size_t n = 0;
    for (unsigned whole = 1; whole < 2; whole--) {
        size_t before[RINGS] = {0};
        for (const struct check_prime_call *c = calls; c < calls + CALLS;
             before[c->ring] += c->n, c++)
            for (size_t at = 0, k; at < words_of(c); at += k) {
                k = run_from(c, at);
                for (size_t j = 0; (k == 64) == (whole == 1) && j < k * c->products; j++)
                    out[n++] = (struct element){
                        .theta = (*theta)[c->ring][before[c->ring] + relation_of(c, at + j % k)],
                        .ring = c->ring,
                        .call = c,
                        .word = at + j % k,
                        .product = (unsigned)(j / k)};
            }
    }
    return n;
}

/* X Y, times the extra factor for bits. */
static void multiply_up(BIGNUM *product, const struct element *e, BN_CTX *ctx)
{
    const struct check_prime_call *c = e->call;
    const unsigned l = e->product;
    const bool words = c->form[l] == RECORD_WORDS;
    BIGNUM *y = BN_new(), *factor = BN_new();
    add_up(product, c->x[l], e->word, ring_of(c, l, false), words ? factor_of(c, l) : 1);
    add_up(y, c->y[l], e->word, ring_of(c, l, true), 1);
    BN_zero(factor);
    add_number(factor, words ? 1 : below(c->ring, factor_of(c, l)));
    BN_mul(product, product, y, ctx);
    BN_mul(product, product, factor, ctx);
    BN_free(y);
    BN_free(factor);
}

/*
 * The sum of theta_t Z over a ring's relations, where each component of z is subtracted from 2^K.
 */
static void take_off_z(BIGNUM *sum, const struct check_prime_call *calls,
                       uint64_t (*const theta)[RINGS][256], enum share_ring ring, unsigned t)
{
    size_t before = 0;
    for (const struct check_prime_call *c = calls; c < calls + CALLS; c++)
        for (size_t q = 0; c->ring == ring && q < c->n; q++, before++)
            for (unsigned k = 0; ((*theta)[ring][before] >> t & 1) != 0 && k < 3; k++)
                add_number(sum, below(ring, 0 - c->z[k][q]));
}

/* The sum of theta_t (X Y - Z) over a ring's relations, and what the servers claim. */
static void claims_are_whole_sums(const struct check_play *play, const struct element *e, size_t n,
                                  uint64_t (*const theta)[RINGS][256])
{
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *x = BN_new(), *sum = BN_new(), *claimed = BN_new(), *wrap = BN_new();
    size_t at = 0;
    for (unsigned ring = 1; ring < RINGS; ring++)
        for (unsigned t = 0; t < 64; t++, at += claim_words[ring]) {
            BN_zero(sum);
            BN_zero(claimed);
            for (size_t i = 0; i < n; i++) {
                if (e[i].ring != ring || (e[i].theta >> t & 1) == 0)
                    continue;
                multiply_up(x, &e[i], ctx);
                BN_add(sum, sum, x);
            }
            take_off_z(sum, play->self, theta, (enum share_ring)ring, t);
            for (unsigned s = 0; s < 3; s++) {
                const uint8_t *w = play->sent[s][1][NET_PREV][2].data + 8 * at;
                BN_lebin2bn(w, 8 * (int)claim_words[ring], x);
                BN_zero(wrap);
                BN_set_bit(wrap, 64 * (int)claim_words[ring]);
                if (w[8 * claim_words[ring] - 1] >> 7)
                    BN_sub(x, x, wrap);
                BN_add(claimed, claimed, x);
            }
            assert_int_equal(BN_cmp(sum, claimed), 0);
        }
    for (unsigned s = 0; s < 3; s++)
        assert_int_equal(play->sent[s][1][NET_PREV][2].size, 8 * at);
    BN_free(x);
    BN_free(sum);
    BN_free(claimed);
    BN_free(wrap);
    BN_CTX_free(ctx);
}

static void to_prime(struct element *e, size_t n, uint64_t y, const uint64_t kappa[RINGS])
{
    for (size_t i = 0; i < n; i++) {
        const struct check_prime_call *c = e[i].call;
        uint64_t weight = 0, power_of_y = kappa[e[i].ring];
        for (unsigned t = 0; t < 64; t++, power_of_y = times(power_of_y, y))
            if (e[i].theta >> t & 1)
                weight = plus(weight, power_of_y);
        const unsigned l = e[i].product;
        const uint64_t factor = (uint64_t)(below(c->ring, factor_of(c, l)) % P);
        for (unsigned k = 0; k < 3; k++) {
            word128 x = c->x[l][k][e[i].word], v = c->y[l][k][e[i].word];
            if (c->form[l] == RECORD_WORDS)
                x = below(c->ring, x * factor_of(c, l)) % P;
            if (c->form[l] == RECORD_CHOICE)
                x = times((uint64_t)x, factor);
            if (c->form[l] == RECORD_BOTH)
                v = times((uint64_t)v, factor);
            e[i].u = plus(e[i].u, times(weight, (uint64_t)x));
            e[i].v = plus(e[i].v, (uint64_t)(v % P));
        }
    }
}

static uint64_t row_weight(const uint64_t r[4], unsigned a)
{
    uint64_t w = 1;
    for (unsigned v = 0; v < 4; v++)
        w = times(w, a >> v & 1 ? r[v] : minus(1, r[v]));
    return w;
}

static uint64_t point_weight(const uint64_t r[4], unsigned c)
{
    uint64_t w = 1;
    for (unsigned v = 0; v < 4; v++, c /= 3)
        w = times(w, c % 3 == 0 ? minus(1, r[v]) : c % 3 == 1 ? r[v] : times(r[v], minus(r[v], 1)));
    return w;
}

/* The sign of row a at a point: infinity has the sign at 1 minus that at 0. 0: it is not there. */
static int in_point(unsigned c, unsigned a)
{
    int sign = 1;
    for (unsigned v = 0; v < 4; v++, c /= 3) {
        if (c % 3 < 2 && c % 3 != (a >> v & 1))
            return 0;
        if (c % 3 == 2 && (a >> v & 1) == 0)
            sign = -sign;
    }
    return sign;
}

static unsigned row_point(unsigned a)
{
    return (a & 1) + 3 * (a >> 1 & 1) + 9 * (a >> 2 & 1) + 27 * (a >> 3 & 1);
}

static void sums_at_points(const struct check_play *play, const struct element *e)
{
    uint64_t rows = 0, z = 0;
    for (unsigned point = 0; point < 81; point++) {
        uint64_t sum = 0;
        for (size_t column = 0; column < 4 * BLOCKS; column++) {
            uint64_t u = 0, v = 0;
            for (unsigned a = 0; a < 16; a++) {
                const struct element *at = &e[column / 4 * 64 + 4 * a + column % 4];
                const int sign = in_point(point, a);
                u = sign > 0 ? plus(u, at->u) : sign < 0 ? minus(u, at->u) : u;
                v = sign > 0 ? plus(v, at->v) : sign < 0 ? minus(v, at->v) : v;
            }
            sum = plus(sum, times(u, v));
        }
        assert_int_equal(shared(play, 3, NET_PREV, 2, point), sum);
    }
    for (unsigned a = 0; a < 16; a++)
        rows = plus(rows, shared(play, 3, NET_PREV, 2, row_point(a)));
    for (size_t i = 0; i < 64 * BLOCKS; i++)
        z = plus(z, times(e[i].u, e[i].v));
    assert_int_equal(rows, z);
}

/* The masks follow from what is opened, and the values with them from the masks. */
static void last_fold(const struct check_play *play, const struct element *e, const uint64_t r[4],
                      uint64_t zeta)
{
    const uint64_t inverse = power(zeta, P - 2);
    const size_t first = 3, m = 4 * BLOCKS; /* after what is opened of bits */
    uint64_t cross[16] = {0}, square = 0, z = 0, star = 0;
    for (size_t column = 0; column < m; column++) {
        const uint64_t u = shared(play, 5, NET_NEXT, 0, first + column);
        const uint64_t v = shared(play, 5, NET_NEXT, 0, first + m + column);
        const struct element *at = &e[column / 4 * 64 + column % 4];
        uint64_t mask_u = u, mask_v = v;
        for (unsigned a = 0; a < 16; a++) {
            mask_u = minus(mask_u, times(row_weight(r, a), at[4 * a].u));
            mask_v = minus(mask_v, times(row_weight(r, a), at[4 * a].v));
        }
        mask_u = times(mask_u, inverse);
        mask_v = times(mask_v, inverse);
        for (unsigned a = 0; a < 16; a++)
            cross[a] = plus(cross[a], plus(times(mask_u, at[4 * a].v), times(mask_v, at[4 * a].u)));
        square = plus(square, times(mask_u, mask_v));
        star = plus(star, times(u, v));
    }
    for (unsigned a = 0; a < 16; a++) {
        assert_int_equal(shared(play, 3, NET_PREV, 2, 81 + a), cross[a]);
        z = plus(z, times(zeta, times(row_weight(r, a), cross[a])));
    }
    assert_int_equal(shared(play, 3, NET_PREV, 2, 81 + 16), square);
    for (unsigned point = 0; point < 81; point++)
        z = plus(z, times(point_weight(r, point), shared(play, 3, NET_PREV, 2, point)));
    z = plus(z, times(square, times(zeta, zeta)));
    assert_int_equal(shared(play, 5, NET_NEXT, 0, first + 2 * m), z);
    assert_int_equal(z, star);
    assert_int_equal(shared(play, 5, NET_NEXT, 0, first + 2 * m + 1), 0);
}

/* Every remainder of a ring is 0 modulo 2^K; four rings, and all that is opened. */
static void remainders_are_zero(const struct check_play *play)
{
    size_t at = 3 + 8 * BLOCKS + 2;
    for (unsigned ring = 1; ring < RINGS; ring++)
        for (unsigned t = 0; t < 64; t++, at += 2) {
            word128 sum = 0, w;
            for (unsigned s = 0; s < 3; s++) {
                memcpy(&w, play->sent[s][5][NET_NEXT][0].data + 8 * at, 16);
                assert_true(below(ring, w) == w); /* what is above would reveal carries */
                sum += w;
            }
            assert_true(below(ring, sum) == 0);
        }
    for (unsigned s = 0; s < 3; s++) {
        assert_int_equal(play->sent[s][5][NET_NEXT][0].size, 8 * at);
        assert_int_equal(play->sent[s][3][NET_PREV][2].size, 8 * (81 + 16 + 1));
    }
}

static struct prg *coin_of(struct check_play *play, uint64_t round, size_t skipped)
{
    uint64_t words[8];
    struct prg *coin;
    OK(play_coin(play, round, &coin));
    OK(prg_fill(coin, words, 8 * skipped));
    return coin;
}

static uint64_t drawn(struct prg *coin)
{
    uint64_t x;
    do {
        OK(prg_fill(coin, &x, 8));
        x >>= 5;
    } while (x >= P);
    return x;
}

TEST(every_word_of_a_flush_of_numbers_is_masked)
{
    static const struct check_limits limits;
    struct check_play play CLEAN(play_free) = {
        .job = note_all, .limits = &limits, .cheat = NOBODY, .self = make_calls()};
    struct check_play other CLEAN(play_free) = play;
    other.n = 1;
    play_run(&play);
    play_run(&other);
    play_masked(&play, &other, 1, NET_PREV, 2, 0);              /* claims */
    play_masked(&play, &other, 3, NET_PREV, 2, 0);              /* sums at points, and of masks */
    play_masked(&play, &other, 5, NET_NEXT, 0, 2 * BLOCKS * 4); /* U*, V* */
}

TEST(a_flush_of_numbers_sends_what_its_definition_says)
{
    static const struct check_limits limits;
    static const size_t relations[RINGS] = {0, 5, 75, 73, 69};
    static struct element e[64 * BLOCKS];
    static uint64_t theta[RINGS][256];
    struct check_prime_call *calls = make_calls();
    struct check_play play CLEAN(play_free) = {
        .job = note_all, .limits = &limits, .cheat = NOBODY, .self = calls};
    uint64_t y, kappa[RINGS] = {0}, r[4];
    play_run(&play);
    assert_int_equal(play.rounds, 6);
    struct prg *coin = coin_of(&play, 0, 6);
    for (unsigned ring = 1; ring < RINGS; ring++)
        OK(prg_fill(coin, theta[ring], 8 * relations[ring]));
    prg_free(&coin);
    assert_int_equal(list_elements(calls, &theta, e), ELEMENTS);
    claims_are_whole_sums(&play, e, ELEMENTS, &theta);
    coin = coin_of(&play, 2, 6);
    do {
        OK(prg_fill(coin, &P, 8));
        P = P >> 6 | (uint64_t)1 << 58 | 1;
    } while (!prime_is(P));
    y = drawn(coin);
    for (unsigned ring = 1; ring < RINGS; ring++)
        kappa[ring] = drawn(coin);
    prg_free(&coin);
    to_prime(e, ELEMENTS, y, kappa);
    sums_at_points(&play, e);
    coin = coin_of(&play, 4, 7);
    for (unsigned v = 0; v < 4; v++)
        r[v] = drawn(coin);
    last_fold(&play, e, r, drawn(coin));
    prg_free(&coin);
    remainders_are_zero(&play);
}
