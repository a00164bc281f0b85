#include "mpc/check_claims.h"

#include <string.h>

#define DIGITS 8 /* of 8 bits in theta */
#define LIMB 36  /* bits; 2^26 of them add up in a word */
#define LIMBS 8  /* most */
#define SUM 5    /* words, most, of a sum of a tile's products: less than 2^(36 limbs) */

static size_t words_of(enum ring ring)
{
    return ring == RING_128 ? 6 : ring == RING_64 ? 4 : 3;
}

static enum err count_claims(struct party *p, enum ring ring, struct claims *c)
{
    c->relations = p->check->numbers.relations[ring];
    c->words = c->relations == 0 ? 0 : words_of(ring);
    c->count = c->relations == 0 ? 0 : CLAIMS;
    c->bits = ring == RING_BITS ? 0 : 8 * (unsigned)ring_size(ring);
    c->weight = scratch_take(p->scratch, c->relations, sizeof *c->weight);
    return c->weight == NULL ? ERR_NOMEM : ERR_OK;
}

enum err claims_new(struct party *p, struct claims claims[CLAIMS_KINDS], bool matrices,
                    size_t *words)
{
    uint64_t *own, *came;
    *words = 0;
    for (unsigned kind = 0; kind < CLAIMS_KINDS; kind++) {
        if (kind < NUMBERS_RINGS)
            TRY(count_claims(p, (enum ring)kind, &claims[kind]));
        else if (matrices)
            claims[kind] = (struct claims){.count = MATRIX_CLAIMS, .words = words_of(RING_16)};
        *words += claims[kind].count * claims[kind].words;
    }
    own = scratch_take(p->scratch, *words, sizeof *own);
    came = scratch_take(p->scratch, *words, sizeof *came);
    if (own == NULL || came == NULL)
        return ERR_NOMEM;
    for (unsigned kind = 0; kind < CLAIMS_KINDS; kind++) {
        claims[kind].claim[0] = own;
        claims[kind].claim[1] = came;
        own += claims[kind].count * claims[kind].words;
        came += claims[kind].count * claims[kind].words;
    }
    return ERR_OK;
}

enum err claims_weigh(struct claims claims[NUMBERS_RINGS], struct prg *weights)
{
    for (unsigned ring = 0; ring < NUMBERS_RINGS; ring++)
        TRY(prg_fill(weights, claims[ring].weight, claims[ring].relations * sizeof(uint64_t)));
    return ERR_OK;
}

/* --- summands --------------------------------------------------------------------------------- */

const uint64_t *claims_words(enum ring ring, const void *v, size_t at, size_t n,
                             uint64_t room[CLAIMS_TILE])
{
    static const uint64_t zeros[CLAIMS_TILE];
    if (v == NULL)
        return zeros;
    if (ring == RING_64)
        return (const uint64_t *)v + at;
    for (size_t i = 0; i < n; i++)
        room[i] = ring == RING_16 ? ((const uint16_t *)v)[at + i] : ((const uint32_t *)v)[at + i];
    return room;
}

static void add_words(uint64_t *sum, size_t words, const uint64_t *x, size_t n)
{
    uint64_t carry = 0;
    for (size_t k = 0; k < words; k++) {
        const word128 t = (word128)sum[k] + (k < n ? x[k] : 0) + carry;
        sum[k] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
}

/* x_a y_a + x_a y_b + x_b y_a to each sum, of up to 64 bits. */
static void add_summands64(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l,
                           size_t at, size_t n)
{
    uint64_t room[4][CLAIMS_TILE];
    const uint64_t *xa = claims_words(r->ring, r->x[l][0], at, n, room[0]);
    const uint64_t *xb = claims_words(r->ring, r->x[l][1], at, n, room[1]);
    const uint64_t *ya = claims_words(r->ring, r->y[l][0], at, n, room[2]);
    const uint64_t *yb = claims_words(r->ring, r->y[l][1], at, n, room[3]);
    for (size_t i = 0; i < n; i++) {
        const word128 first = (word128)xa[i] * ya[i], second = (word128)xa[i] * yb[i];
        const word128 third = (word128)xb[i] * ya[i], two = first + second, three = two + third;
        const word128 old = (word128)sum[i][1] << 64 | sum[i][0], all = old + three;
        sum[i][0] = (uint64_t)all;
        sum[i][1] = (uint64_t)(all >> 64);
        sum[i][2] += (uint64_t)(two < second) + (three < third) + (all < old);
    }
}

static void add_product128(uint64_t sum[SUM], word128 x, word128 y)
{
    const uint64_t x0 = (uint64_t)x, x1 = (uint64_t)(x >> 64);
    const uint64_t y0 = (uint64_t)y, y1 = (uint64_t)(y >> 64);
    const word128 low = (word128)x0 * y0, high = (word128)x1 * y1;
    const word128 one = (word128)x0 * y1, other = (word128)x1 * y0;
    const uint64_t outer[4] = {(uint64_t)low, (uint64_t)(low >> 64), (uint64_t)high,
                               (uint64_t)(high >> 64)};
    const uint64_t inner[2][3] = {{0, (uint64_t)one, (uint64_t)(one >> 64)},
                                  {0, (uint64_t)other, (uint64_t)(other >> 64)}};
    add_words(sum, SUM, outer, 4);
    add_words(sum, SUM, inner[0], 3);
    add_words(sum, SUM, inner[1], 3);
}

static word128 word_at(const void *v, size_t i)
{
    return v == NULL ? 0 : ((const word128 *)v)[i];
}

static void add_summands128(uint64_t (*sum)[SUM], const struct check_record *r, unsigned l,
                            size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const word128 xa = word_at(r->x[l][0], at + i), xb = word_at(r->x[l][1], at + i);
        const word128 ya = word_at(r->y[l][0], at + i), yb = word_at(r->y[l][1], at + i);
        add_product128(sum[i], xa, ya);
        add_product128(sum[i], xa, yb);
        add_product128(sum[i], xb, ya);
    }
}

/* --- sums weighed by theta -------------------------------------------------------------------- */

/*
 * For each digit of theta and each of its values a line: what all relations with that digit add up
 * to, in limbs, and both components of their z, each a word, or limbs of Z_2^128. Indices are
 * public.
 */
#define LINE 6       /* words */
#define LINE_WIDE 16 /* of Z_2^128 */
typedef uint64_t word_pair __attribute__((vector_size(16), aligned(8), may_alias));

struct buckets {
    bool wide;
    size_t words, limbs, z_limbs; /* of a line */
    uint64_t *line;
};

static enum err buckets_new(struct party *p, enum ring ring, struct buckets *b)
{
    const size_t all = (size_t)DIGITS << 8;
    b->wide = ring == RING_128;
    b->words = b->wide ? LINE_WIDE : LINE;
    b->limbs = b->wide ? LIMBS : LIMBS / 2;
    b->z_limbs = b->wide ? LIMBS / 2 : 1;
    b->line = scratch_take(p->scratch, all * b->words, sizeof *b->line);
    if (b->line == NULL)
        return ERR_NOMEM;
    memset(b->line, 0, all * b->words * sizeof *b->line);
    return ERR_OK;
}

/* The bucket of each digit of theta. */
static inline word_pair *bucket_of(struct buckets *b, uint64_t theta, size_t d, size_t words)
{
    return (void *)(b->line + (d << 8 | (theta >> 8 * d & 255)) * words);
}

static void put_line(struct buckets *b, uint64_t theta, const uint64_t line[LINE])
{
    const word_pair *from = (const void *)line;
    const word_pair first = from[0], second = from[1], third = from[2];
#pragma GCC unroll 8
    for (size_t d = 0; d < DIGITS; d++) {
        word_pair *to = bucket_of(b, theta, d, LINE);
        to[0] += first;
        to[1] += second;
        to[2] += third;
    }
}

static void put_wide_line(struct buckets *b, uint64_t theta, const uint64_t line[LINE_WIDE])
{
    const word_pair *from = (const void *)line;
    for (size_t d = 0; d < DIGITS; d++) {
        word_pair *to = bucket_of(b, theta, d, LINE_WIDE);
        for (size_t k = 0; k < LINE_WIDE / 2; k++)
            to[k] += from[k];
    }
}

static const uint64_t below_limb = ((uint64_t)1 << LIMB) - 1;

static void to_limbs(uint64_t limb[LIMBS / 2], uint64_t low, uint64_t middle, uint64_t high)
{
    limb[0] = low & below_limb;
    limb[1] = (low >> LIMB | middle << (64 - LIMB)) & below_limb;
    limb[2] = middle >> (2 * LIMB - 64) & below_limb;
    limb[3] = (middle >> (3 * LIMB - 64) | high << (128 - 3 * LIMB)) & below_limb;
}

/* 144 bits are four limbs. */
static void put_sum(const struct buckets *b, uint64_t *line, const uint64_t sum[SUM])
{
    to_limbs(line, sum[0], sum[1], sum[2]);
    if (b->wide)
        to_limbs(line + LIMBS / 2, sum[2] >> 16 | sum[3] << 48, sum[3] >> 16 | sum[4] << 48,
                 sum[4] >> 16);
}

static void put_z(const struct buckets *b, uint64_t *line, word128 za, word128 zb)
{
    uint64_t *z = line + b->limbs;
    if (b->wide) {
        to_limbs(z, (uint64_t)za, (uint64_t)(za >> 64), 0);
        to_limbs(z + b->z_limbs, (uint64_t)zb, (uint64_t)(zb >> 64), 0);
    } else {
        z[0] = (uint64_t)za;
        z[1] = (uint64_t)zb;
    }
}

/* Whether there is a summand; the protocol alone says which components are zero. */
static bool is_there(const struct check_record *r, unsigned l)
{
    const void *const *x = r->x[l], *const *y = r->y[l];
    return (x[0] != NULL && (y[0] != NULL || y[1] != NULL)) || (x[1] != NULL && y[0] != NULL);
}

static void add_sums(const struct buckets *b, const struct check_record *r, size_t at, size_t n,
                     uint64_t *line)
{
    uint64_t sum[CLAIMS_TILE][SUM] = {{0}};
    for (unsigned l = 0; l < r->products; l++)
        if (is_there(r, l))
            (b->wide ? add_summands128 : add_summands64)(sum, r, l, at, n);
    for (size_t i = 1; r->one && i < n; i++)
        add_words(sum[0], SUM, sum[i], SUM);
    for (size_t i = 0; r->products > 0 && i < (r->one ? 1 : n); i++)
        put_sum(b, line + i * b->words, sum[i]);
}

static void add_z(const struct buckets *b, const struct check_record *r, size_t at, size_t n,
                  uint64_t *line)
{
    uint64_t room[2][CLAIMS_TILE];
    const uint64_t *z[2] = {room[0], room[1]};
    for (unsigned side = 0; !b->wide && side < 2; side++)
        z[side] = claims_words(r->ring, r->z[side], at, n, room[side]);
    for (size_t i = 0; i < n; i++)
        put_z(b, line + i * b->words, b->wide ? word_at(r->z[0], at + i) : z[0][i],
              b->wide ? word_at(r->z[1], at + i) : z[1][i]);
}

static void add_tile(struct buckets *b, const struct claims *c, const struct check_record *r,
                     size_t at, size_t n)
{
    const uint64_t *theta = c->weight + r->relation + (r->one ? 0 : at);
    const size_t lines = r->one ? 1 : n;
    uint64_t line[CLAIMS_TILE * LINE_WIDE];
    memset(line, 0, lines * b->words * sizeof *line);
    add_sums(b, r, at, n, line);
    if (r->has_z)
        add_z(b, r, at, n, line);
    for (size_t i = 0; i < lines; i++)
        (b->wide ? put_wide_line : put_line)(b, theta[i], line + i * b->words);
}

/* A number of limbs that have been added up. */
static void from_limbs(uint64_t *out, size_t words, const uint64_t *limb, size_t limbs)
{
    memset(out, 0, words * sizeof *out);
    for (size_t k = 0; k < limbs && k * LIMB / 64 < words; k++) {
        const word128 part = (word128)limb[k] << k * LIMB % 64;
        const uint64_t of[2] = {(uint64_t)part, (uint64_t)(part >> 64)};
        add_words(out + k * LIMB / 64, words - k * LIMB / 64, of, 2);
    }
}

/* Coefficient t: what stands in all buckets whose digit has its bit. */
static void empty_buckets(const struct buckets *b, struct claims *c)
{
    for (size_t t = 0; t < CLAIMS; t++) {
        uint64_t line[LINE_WIDE] = {0};
        for (size_t digit = 0; digit < 256; digit++)
            for (size_t k = 0; k < b->words && (digit >> t % 8 & 1) != 0; k++)
                line[k] += b->line[((t / 8) << 8 | digit) * b->words + k];
        from_limbs(c->claim[0] + t * c->words, c->words, line, b->limbs);
        for (unsigned side = 0; side < 2; side++) {
            uint64_t z[2];
            from_limbs(z, 2, line + b->limbs + side * b->z_limbs, b->z_limbs);
            c->remainder[side][t] = -((word128)z[1] << 64 | z[0]);
        }
    }
}

/* --- claims ----------------------------------------------------------------------------------- */

static enum err draw_masks(const struct claims *c, struct prg *prg, uint64_t *m)
{
    TRY(prg_fill(prg, m, c->count * c->words * sizeof *m));
    for (size_t t = 0; t < c->count; t++)
        m[(t + 1) * c->words - 1] >>= 2;
    return ERR_OK;
}

static enum err mask(struct party *p, struct claims *c)
{
    uint64_t *own = scratch_take(p->scratch, c->count * c->words, sizeof *own);
    uint64_t *next = scratch_take(p->scratch, c->count * c->words, sizeof *next);
    static const uint64_t one = 1;
    if (own == NULL || next == NULL)
        return ERR_NOMEM;
    TRY(draw_masks(c, p->prg[0][PRG_CHECK], own));
    TRY(draw_masks(c, p->prg[1][PRG_CHECK], next));
    for (size_t k = 0; k < c->count * c->words; k++)
        next[k] = ~next[k];
    for (size_t t = 0, at = 0; t < c->count; t++, at += c->words) {
        add_words(c->claim[0] + at, c->words, own + at, c->words);
        add_words(c->claim[0] + at, c->words, next + at, c->words);
        add_words(c->claim[0] + at, c->words, &one, 1);
    }
    return ERR_OK;
}

static enum err make(struct party *p, enum ring ring, struct claims *c)
{
    struct check_place place = {0, 0};
    struct check_record r;
    struct buckets b;
    TRY(buckets_new(p, ring, &b));
    while (check_numbers_next(&p->check->numbers, &place, &r))
        for (size_t at = 0, n; r.ring == ring && at < r.words; at += n) {
            n = r.words - at < CLAIMS_TILE ? r.words - at : CLAIMS_TILE;
            add_tile(&b, c, &r, at, n);
        }
    empty_buckets(&b, c);
    return mask(p, c);
}

enum err claims_make(struct party *p, struct claims claims[NUMBERS_RINGS])
{
    for (unsigned ring = 0; ring < NUMBERS_RINGS; ring++) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
        if (claims[ring].words > 0)
            TRY(make(p, ring, &claims[ring]));
    }
    return ERR_OK;
}

enum err claims_of_matrices(struct party *p, struct claims *c, const struct check_folded *folded)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    word128 claim[MATRIX_CLAIMS];
    check_matrix_claims(p, folded, claim);
    c->bits = folded->bits;
    for (size_t t = 0; t < c->count; t++) {
        uint64_t *words = c->claim[0] + t * c->words;
        words[0] = (uint64_t)claim[t];
        words[1] = (uint64_t)(claim[t] >> 64);
        words[2] = 0 - (words[1] >> 63);
        for (unsigned side = 0; side < 2; side++)
            c->remainder[side][t] = -(word128)folded->wanted[side][t];
    }
    return mask(p, c);
}

word128 claims_modulo(const struct claims *c, word128 x)
{
    return c->bits == 128 ? x : x & (((word128)1 << c->bits) - 1);
}

void claims_settle(struct claims claims[CLAIMS_KINDS])
{
    for (struct claims *c = claims; c < claims + CLAIMS_KINDS; c++)
        for (size_t t = 0; t < c->count; t++)
            for (unsigned side = 0; side < 2; side++) {
                const uint64_t *claim = c->claim[side] + t * c->words;
                const word128 low = (word128)claim[1] << 64 | claim[0];
                c->remainder[side][t] = claims_modulo(c, c->remainder[side][t] + low);
            }
}

/* --- modulo a prime --------------------------------------------------------------------------- */

/* Two's complement: -2^(64 words - 1) counts in the place of that bit. */
static uint64_t residue(const struct prime *f, const uint64_t *x, size_t words)
{
    uint64_t r = 0, over = 1;
    for (size_t k = words; k-- > 0;) {
        r = prime_wide(f, (word128)r << 64 | x[k]);
        over = prime_times(f, over, f->shift);
    }
    return prime_less(f, r, over & -(x[words - 1] >> 63));
}

/* kappa theta(y), by digits: eight numbers below p add up to less than 2^62. */
static void weights_at(struct claims *c, const struct prime *f, const uint64_t powers[CLAIMS])
{
    uint64_t table[DIGITS][256];
    for (size_t d = 0; d < DIGITS; d++) {
        table[d][0] = 0;
        for (size_t v = 1; v < 256; v++) {
            const size_t low = (size_t)__builtin_ctz((unsigned)v);
            table[d][v] = prime_add(f, table[d][v & (v - 1)], powers[8 * d + low]);
        }
    }
    for (size_t q = 0; q < c->relations; q++) {
        const uint64_t theta = c->weight[q];
        uint64_t sum = 0;
#pragma GCC unroll 8
        for (size_t d = 0; d < DIGITS; d++)
            sum += table[d][theta >> 8 * d & 255];
        c->weight[q] = prime_short(f, sum);
    }
}

void claims_at(struct claims *c, const struct prime *f, uint64_t y, uint64_t kappa, uint64_t z[2])
{
    uint64_t powers[MATRIX_CLAIMS], of_y = 1;
    powers[0] = kappa;
    for (size_t t = 1; t < c->count; t++)
        powers[t] = prime_times(f, powers[t - 1], y);
    for (size_t t = 0; t < c->count; t++)
        for (unsigned side = 0; side < 2; side++) {
            const uint64_t claim = residue(f, c->claim[side] + t * c->words, c->words);
            z[side] = prime_add(f, z[side], prime_times(f, powers[t], claim));
        }
    weights_at(c, f, powers);
    for (size_t t = 0; t < KERNEL_ROWS; t++, of_y = prime_times(f, of_y, y)) {
        c->at[0][t] = prime_add(f, powers[t], powers[t]);
        c->at[1][t] = of_y;
    }
}
