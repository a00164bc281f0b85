#include "mpc/check/check_claims.h"

#define DIGITS 8 /* of 8 bits in theta */

static size_t words_of(enum share_ring ring)
{
    return ring == RING_128 ? 6 : ring == RING_64 ? 4 : 3;
}

static enum err count_claims(struct party *p, enum share_ring ring, struct claims *c)
{
    c->relations = check_of(p)->numbers.relations[ring];
    c->words = c->relations == 0 ? 0 : words_of(ring);
    c->count = c->relations == 0 ? 0 : CLAIMS;
    c->bits = ring == RING_BITS ? 0 : 8 * (unsigned)ring_size(ring);
    return scratch_array(p->scratch, &c->weight, c->relations);
}

enum err claims_new(struct party *p, struct claims claims[CLAIMS_KINDS], bool matrices,
                    size_t *words)
{
    uint64_t *own, *came;
    *words = 0;
    for (unsigned kind = 0; kind < CLAIMS_KINDS; kind++) {
        if (kind < NUMBERS_RINGS)
            TRY(count_claims(p, (enum share_ring)kind, &claims[kind]));
        else if (matrices)
            claims[kind] = (struct claims){.count = MATRIX_CLAIMS, .words = words_of(RING_16)};
        *words += claims[kind].count * claims[kind].words;
    }
    TRY(scratch_array(p->scratch, &own, *words));
    TRY(scratch_array(p->scratch, &came, *words));
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
    uint64_t *own, *next;
    static const uint64_t one = 1;
    TRY(scratch_array(p->scratch, &own, c->count * c->words));
    TRY(scratch_array(p->scratch, &next, c->count * c->words));
    TRY(draw_masks(c, p->prg[0][PRG_CHECK], own));
    TRY(draw_masks(c, p->prg[1][PRG_CHECK], next));
    for (size_t k = 0; k < c->count * c->words; k++)
        next[k] = ~next[k];
    for (size_t t = 0, at = 0; t < c->count; t++, at += c->words) {
        claims_add(c->claim[0] + at, c->words, own + at, c->words);
        claims_add(c->claim[0] + at, c->words, next + at, c->words);
        claims_add(c->claim[0] + at, c->words, &one, 1);
    }
    return ERR_OK;
}

enum err claims_make(struct party *p, struct claims claims[NUMBERS_RINGS])
{
    for (unsigned ring = 0; ring < NUMBERS_RINGS; ring++) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
        if (claims[ring].words == 0)
            continue;
        TRY(claims_sum(p, (enum share_ring)ring, &claims[ring]));
        TRY(mask(p, &claims[ring]));
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

/* Two's complement: the top bit counts as -2^(64 words - 1). */
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

/* The sum of weighed words, in three words. */
struct claims_adding {
    word128 low;
    uint64_t high;
};

static inline void add_weighed(struct claims_adding *to, uint64_t x, uint64_t weight)
{
    const word128 product = (word128)x * weight;
    to->low += product;
    to->high += to->low < product;
}

static uint64_t added(const struct prime *f, const struct claims_adding *a)
{
    const word128 high = (word128)a->high << 64 | (uint64_t)(a->low >> 64);
    return prime_wide(f, (word128)prime_wide(f, high) << 64 | (uint64_t)a->low);
}

static void add_minus_z(struct claims_adding to[2], const struct check_record *r,
                        const uint64_t *weight, unsigned side)
{
    uint64_t room[NUMBERS_TILE];
    for (size_t at = 0, n; at < r->words; at += n) {
        n = r->words - at < NUMBERS_TILE ? r->words - at : NUMBERS_TILE;
        if (r->ring == RING_128) {
            const uint64_t *z = (const uint64_t *)r->minus_z[side] + 2 * at;
            for (size_t i = 0; i < n; i++)
                for (unsigned k = 0; k < 2; k++)
                    add_weighed(&to[k], z[2 * i + k], weight[at + i]);
        } else {
            const uint64_t *z = check_numbers_words(r->ring, r->minus_z[side], at, n, room);
            for (size_t i = 0; i < n; i++)
                add_weighed(&to[0], z[i], weight[at + i]);
        }
    }
}

void claims_less_z(const struct claims claims[NUMBERS_RINGS], const struct check_numbers *log,
                   const struct prime *f, uint64_t z[2])
{
    struct claims_adding sum[2][2] = {{{0}}};
    struct check_place place = {0, 0};
    struct check_record r;
    while (check_numbers_next(log, &place, &r))
        for (unsigned side = 0; r.has_z && side < 2; side++)
            add_minus_z(sum[side], &r, claims[r.ring].weight + r.relation, side);
    for (unsigned side = 0; side < 2; side++) {
        const uint64_t high = prime_times(f, added(f, &sum[side][1]), f->shift);
        z[side] = prime_less(f, z[side], prime_add(f, added(f, &sum[side][0]), high));
    }
}

void claims_at(struct claims *c, const struct prime *f, uint64_t y, uint64_t kappa, uint64_t z[2])
{
    uint64_t powers[MATRIX_CLAIMS] = {0}, of_y = 1; /* numbers have fewer, and no `at` */
    powers[0] = kappa;
    for (size_t t = 1; t < c->count; t++)
        powers[t] = prime_times(f, powers[t - 1], y);
    for (size_t t = 0; t < c->count; t++)
        for (unsigned side = 0; side < 2; side++) {
            const uint64_t claim = residue(f, c->claim[side] + t * c->words, c->words);
            z[side] = prime_add(f, z[side], prime_times(f, powers[t], claim));
        }
    weights_at(c, f, powers);
    for (size_t t = 0; t < KERNEL_HALF; t++, of_y = prime_times(f, of_y, y))
        for (size_t half = 0; half < 2; half++) {
            const uint64_t power = powers[half * KERNEL_CROSS + t];
            c->at[0][half * KERNEL_HALF + t] = prime_add(f, power, power);
            c->at[1][half * KERNEL_HALF + t] = of_y;
        }
}
