/*
 * What relations add up to at this server, weighed by theta: a relation becomes a line of limbs,
 * and lines with the same digit of theta share a bucket.
 */
#include "mpc/check/check_claims.h"

#include <string.h>

#define LIMB 36   /* bits; 2^28 of them add up in a word */
#define SUM 5     /* words that a tile's sum takes at most; it is below 2^(36 limbs) */
#define LINES 256 /* at a time */

struct buckets {
    const struct kernel *kernel;
    size_t limbs; /* of a line: 4, or 8 in Z_2^128; 1 in Z_2^16, whose sums stay below 2^61 */
    uint64_t *bucket, *line, *theta;
    size_t lines;
};

static enum err buckets_new(struct party *p, enum share_ring ring, struct buckets *b)
{
    const size_t words = KERNEL_BUCKETS * (b->limbs = ring == RING_128  ? 8
                                                      : ring == RING_16 ? 1
                                                                        : 4);
    b->kernel = p->kernel;
    b->lines = 0;
    TRY(scratch_array(p->scratch, &b->bucket, words));
    TRY(scratch_array(p->scratch, &b->line, LINES * b->limbs));
    TRY(scratch_array(p->scratch, &b->theta, LINES));
    memset(b->bucket, 0, words * sizeof *b->bucket);
    return ERR_OK;
}

static void drain(struct buckets *b)
{
    b->kernel->add_lines(b->bucket, b->theta, b->line, b->limbs, b->lines);
    b->lines = 0;
}

/* --- a relation's sum ------------------------------------------------------------------------- */

/* sum += low + 2^128 high */
static inline void add_wide(uint64_t sum[SUM], word128 low, word128 high)
{
    const word128 first = ((word128)sum[1] << 64 | sum[0]) + low;
    const word128 second = ((word128)sum[3] << 64 | sum[2]) + high, carry = first < low;
    sum[4] += (uint64_t)(second < high) + (uint64_t)(second + carry < carry);
    sum[0] = (uint64_t)first;
    sum[1] = (uint64_t)(first >> 64);
    sum[2] = (uint64_t)(second + carry);
    sum[3] = (uint64_t)((second + carry) >> 64);
}

static inline void add_product(uint64_t sum[SUM], word128 x, word128 y)
{
    const uint64_t x0 = (uint64_t)x, x1 = (uint64_t)(x >> 64);
    const uint64_t y0 = (uint64_t)y, y1 = (uint64_t)(y >> 64);
    const word128 low = (word128)x0 * y0, one = (word128)x0 * y1, two = (word128)x1 * y0;
    const word128 middle = (low >> 64) + (uint64_t)one + (uint64_t)two;
    add_wide(sum, middle << 64 | (uint64_t)low,
             (word128)x1 * y1 + (one >> 64) + (two >> 64) + (middle >> 64));
}

/* x_a y_a + x_a y_b + x_b y_a, of up to 64 bits. */
static void add_words64(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l, size_t at,
                        size_t n)
{
    uint64_t room[4][NUMBERS_TILE];
    const uint64_t *xa = check_numbers_words(r->ring, r->x[l][0], at, n, room[0]);
    const uint64_t *xb = check_numbers_words(r->ring, r->x[l][1], at, n, room[1]);
    const uint64_t *ya = check_numbers_words(r->ring, r->y[l][0], at, n, room[2]);
    const uint64_t *yb = check_numbers_words(r->ring, r->y[l][1], at, n, room[3]);
    for (size_t i = 0; i < n; i++) {
        const word128 first = (word128)xa[i] * ya[i], second = (word128)xa[i] * yb[i];
        const word128 third = (word128)xb[i] * ya[i], two = first + second, three = two + third;
        const word128 old = (word128)sum[i][1] << 64 | sum[i][0], all = old + three;
        sum[i][0] = (uint64_t)all;
        sum[i][1] = (uint64_t)(all >> 64);
        sum[i][2] += (uint64_t)(two < second) + (three < third) + (all < old);
    }
}

/* x_a (y_a + y_b) is one product; x_a is also added 128 bits further up if that sum has a carry. */
static void add_words128(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l, size_t at,
                         size_t n)
{
    const word128 *xa = r->x[l][0], *xb = r->x[l][1], *ya = r->y[l][0], *yb = r->y[l][1];
    for (size_t i = 0; xa != NULL && i < n; i++) {
        const word128 first = ya == NULL ? 0 : ya[at + i], second = yb == NULL ? 0 : yb[at + i];
        const word128 both = first + second;
        const uint64_t carry = 0 - (uint64_t)(both < first); /* a mask of 128 bits may branch */
        add_product(sum[i], xa[at + i], both);
        add_wide(sum[i], 0, xa[at + i] & ((word128)carry << 64 | carry));
    }
    for (size_t i = 0; xb != NULL && ya != NULL && i < n; i++)
        add_product(sum[i], xb[at + i], ya[at + i]);
}

/* All ones where bit `at` of a vector is 1. */
static inline uint64_t mask_at(const uint64_t *bits, size_t at)
{
    return bits == NULL ? 0 : 0 - (bits[at / 64] >> at % 64 & 1);
}

static void add_chosen64(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l, size_t at,
                         size_t n)
{
    uint64_t room[2][NUMBERS_TILE];
    const uint64_t *ya = check_numbers_words(r->narrow[l], r->y[l][0], at, n, room[0]);
    const uint64_t *yb = check_numbers_words(r->narrow[l], r->y[l][1], at, n, room[1]);
    for (size_t i = 0; i < n; i++) {
        const uint64_t a = mask_at(r->x[l][0], at + i), b = mask_at(r->x[l][1], at + i);
        add_product(sum[i], r->factor[l], (word128)(ya[i] & a) + (yb[i] & a) + (ya[i] & b));
    }
}

static void add_chosen128(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l, size_t at,
                          size_t n)
{
    for (unsigned k = 0; k < 3; k++) {
        const uint64_t *x = r->x[l][k == 2];
        const word128 *y = r->y[l][k == 1];
        for (size_t i = 0; x != NULL && y != NULL && i < n; i++) {
            const uint64_t chosen = mask_at(x, at + i);
            add_product(sum[i], r->factor[l], y[at + i] & ((word128)chosen << 64 | chosen));
        }
    }
}

static void add_both(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l, size_t at,
                     size_t n)
{
    const uint64_t low = (uint64_t)r->factor[l], high = (uint64_t)(r->factor[l] >> 64);
    for (size_t i = 0; i < n; i++) {
        const uint64_t xa = mask_at(r->x[l][0], at + i), xb = mask_at(r->x[l][1], at + i);
        const uint64_t ya = mask_at(r->y[l][0], at + i), yb = mask_at(r->y[l][1], at + i);
        const uint64_t times = (xa & ya & 1) + (xa & yb & 1) + (xb & ya & 1);
        const word128 first = (word128)low * times;
        const word128 second = (word128)high * times + (first >> 64);
        add_wide(sum[i], second << 64 | (uint64_t)first, second >> 64);
    }
}

static void add_summands(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l, size_t at,
                         size_t n)
{
    switch (r->form[l]) {
    case RECORD_WORDS:
        (r->ring == RING_128 ? add_words128 : add_words64)(sum, r, l, at, n);
        break;
    case RECORD_CHOICE:
        (r->narrow[l] == RING_128 ? add_chosen128 : add_chosen64)(sum, r, l, at, n);
        break;
    case RECORD_BOTH:
        add_both(sum, r, l, at, n);
        break;
    }
}

/* Whether there is a summand; which components are zero follows from the protocol alone. */
static bool is_there(const struct check_record *r, unsigned l)
{
    void *const *x = r->x[l], *const *y = r->y[l];
    return (x[0] != NULL && (y[0] != NULL || y[1] != NULL)) || (x[1] != NULL && y[0] != NULL);
}

/* A tile begins with -z, or 0. */
static void begin_tile(uint64_t (*sum)[SUM], const struct check_record *r, size_t at, size_t n)
{
    uint64_t room[NUMBERS_TILE];
    const uint64_t *z = NULL;
    if (r->has_z && r->ring == RING_128)
        z = (const uint64_t *)r->minus_z[0] + 2 * at;
    else if (r->has_z)
        z = check_numbers_words(r->ring, r->minus_z[0], at, n, room);
    for (size_t i = 0; i < n; i++) {
        sum[i][0] = z == NULL ? 0 : r->ring == RING_128 ? z[2 * i] : z[i];
        sum[i][1] = z != NULL && r->ring == RING_128 ? z[2 * i + 1] : 0;
        sum[i][2] = sum[i][3] = sum[i][4] = 0;
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

static const uint64_t below_limb = ((uint64_t)1 << LIMB) - 1;

static void to_limbs(uint64_t limb[4], uint64_t low, uint64_t middle, uint64_t high)
{
    limb[0] = low & below_limb;
    limb[1] = (low >> LIMB | middle << (64 - LIMB)) & below_limb;
    limb[2] = middle >> (2 * LIMB - 64) & below_limb;
    limb[3] = (middle >> (3 * LIMB - 64) | high << (128 - 3 * LIMB)) & below_limb;
}

/* 144 bits are four limbs. */
static void put_line(struct buckets *b, const uint64_t sum[SUM], uint64_t theta)
{
    uint64_t *line = b->line + b->lines * b->limbs;
    to_limbs(line, sum[0], sum[1], sum[2]);
    if (b->limbs == 8)
        to_limbs(line + 4, sum[2] >> 16 | sum[3] << 48, sum[3] >> 16 | sum[4] << 48, sum[4] >> 16);
    b->theta[b->lines++] = theta;
}

/* --- words of 16 bits ------------------------------------------------------------------------- */

/* c (x + y), or zeros for what is missing */
static void narrow_words(uint64_t out[NUMBERS_TILE], uint64_t c, const uint16_t *x,
                         const uint16_t *y, size_t at, size_t n)
{
    static const uint16_t zeros[NUMBERS_TILE];
    x = x != NULL ? x + at : zeros;
    y = y != NULL ? y + at : zeros;
    for (size_t i = 0; i < n; i++)
        out[i] = c * ((uint64_t)x[i] + y[i]);
}

/* sum += c where a word's bits are 1 */
static void add_both_narrow(const struct kernel *k, uint64_t sum[NUMBERS_TILE], uint64_t bits,
                            uint64_t c, size_t n)
{
    uint64_t y[NUMBERS_TILE];
    for (size_t i = 0; i < n; i++)
        y[i] = c;
    k->bit_times64(sum, &bits, y, sum, n);
}

/* sum += the products of component `side` of x with those of y that it meets */
static void add_narrow(const struct kernel *k, uint64_t sum[NUMBERS_TILE],
                       const struct check_record *r, unsigned l, unsigned side, size_t at, size_t n)
{
    const void *ya = r->y[l][0], *yb = side == 0 ? r->y[l][1] : NULL;
    const uint64_t *bits = r->x[l][side], *of_y[2] = {ya, yb};
    const uint64_t c = r->form[l] == RECORD_WORDS ? 1 : (uint64_t)r->factor[l];
    uint64_t x[NUMBERS_TILE], y[NUMBERS_TILE];
    if (r->x[l][side] == NULL)
        return;
    for (unsigned v = 0; r->form[l] == RECORD_BOTH && v < 2; v++)
        if (of_y[v] != NULL)
            add_both_narrow(k, sum, bits[at / 64] & of_y[v][at / 64], c, n);
    if (r->form[l] == RECORD_BOTH)
        return;
    narrow_words(y, c, ya, yb, at, n);
    if (r->form[l] == RECORD_CHOICE) {
        k->bit_times64(sum, bits + at / 64, y, sum, n);
        return;
    }
    narrow_words(x, 1, r->x[l][side], NULL, at, n);
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i] * y[i];
}

/* As add_tile(): lines need no limbs. */
static void add_narrow_tile(struct buckets *b, const uint64_t *weight, const struct check_record *r,
                            size_t at, size_t n)
{
    uint64_t sum[NUMBERS_TILE];
    narrow_words(sum, 1, r->minus_z[0], NULL, at, n);
    for (unsigned l = 0; l < r->products; l++)
        for (unsigned side = 0; side < 2; side++)
            add_narrow(b->kernel, sum, r, l, side, at, n);
    for (size_t i = 1; r->one && i < n; i++)
        sum[0] += sum[i];
    b->kernel->add_lines(b->bucket, weight + r->relation + (r->one ? 0 : at), sum, 1,
                         r->one ? 1 : n);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Words [at, at + n) of a record; if they are of one relation, they make one line. */
static void add_tile(struct buckets *b, const uint64_t *weight, const struct check_record *r,
                     size_t at, size_t n)
{
    uint64_t sum[NUMBERS_TILE][SUM];
    begin_tile(sum, r, at, n);
    for (unsigned l = 0; l < r->products; l++)
        if (is_there(r, l))
            add_summands(sum, r, l, at, n);
    for (size_t i = 1; r->one && i < n; i++)
        claims_add(sum[0], SUM, sum[i], SUM);
    if (b->lines + NUMBERS_TILE > LINES)
        drain(b);
    for (size_t i = 0; i < (r->one ? 1 : n); i++)
        put_line(b, sum[i], weight[r->relation + (r->one ? 0 : at + i)]);
}

/* Makes a number from limbs that have been added up. */
static void from_limbs(uint64_t *out, size_t words, const uint64_t *limb, size_t limbs)
{
    memset(out, 0, words * sizeof *out);
    for (size_t k = 0; k < limbs && k * LIMB / 64 < words; k++) {
        const word128 part = (word128)limb[k] << k * LIMB % 64;
        const uint64_t of[2] = {(uint64_t)part, (uint64_t)(part >> 64)};
        claims_add(out + k * LIMB / 64, words - k * LIMB / 64, of, 2);
    }
}

/*
 * Coefficient t is the sum of all buckets whose digit has its bit: the upper half, which is added
 * to the lower before the next bit.
 */
static void empty(struct buckets *b, struct claims *c)
{
    for (size_t t = CLAIMS; t-- > 0;) {
        const size_t half = ((size_t)1 << t % 8) * b->limbs;
        uint64_t *lower = b->bucket + (t / 8 << 8) * b->limbs, *upper = lower + half, sum[8] = {0};
        for (size_t k = 0; k < half; k++) {
            sum[k % b->limbs] += upper[k];
            lower[k] += upper[k];
        }
        from_limbs(c->claim[0] + t * c->words, c->words, sum, b->limbs);
    }
}

enum err claims_sum(struct party *p, enum share_ring ring, struct claims *c)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct check_place place = {0, 0};
    struct check_record r;
    struct buckets b;
    TRY(buckets_new(p, ring, &b));
    while (check_numbers_next(&check_of(p)->numbers, &place, &r))
        for (size_t at = 0, n; r.ring == ring && at < r.words; at += n) {
            n = r.words - at < NUMBERS_TILE ? r.words - at : NUMBERS_TILE;
            (ring == RING_16 ? add_narrow_tile : add_tile)(&b, c->weight, &r, at, n);
        }
    drain(&b);
    empty(&b, c);
    return ERR_OK;
}
