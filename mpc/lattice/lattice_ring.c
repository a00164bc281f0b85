#include "mpc/lattice/lattice_ring.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* 2^53 less these, all prime and 1 modulo 2 N */
static const uint32_t below[LATTICE_PRIMES] = {311295, 376831, 409599, 819199};

/* A factor and 2^64 times it over the prime, rounded down: with it a product takes no division. */
struct lattice_factor {
    uint64_t w, over;
};

struct lattice_modulus {
    struct prime f;
    struct lattice_factor root[LATTICE_N];    /* of unity: power i's place has i's bits reversed */
    struct lattice_factor inverse[LATTICE_N]; /* of each */
    struct lattice_factor part;               /* 1 / N */
    struct lattice_factor lift;               /* the inverse of q / p modulo p */
    uint64_t cofactor;                        /* q / p modulo 2^64 */
};

struct lattice_ring {
    struct lattice_modulus of[LATTICE_PRIMES];
    uint64_t q; /* modulo 2^64 */
};

/* --- tables: all public ----------------------------------------------------------------------- */

static uint64_t power(const struct prime *f, uint64_t x, uint64_t e)
{
    uint64_t y = 1;
    for (; e > 0; e >>= 1, x = prime_times(f, x, x))
        y = e & 1 ? prime_times(f, y, x) : y;
    return y;
}

static struct lattice_factor factor(const struct prime *f, uint64_t w)
{
    return (struct lattice_factor){w, (uint64_t)(((word128)w << 64) / f->p)};
}

/* A root of -1: some number whose order is 2 N. */
static uint64_t root_of(const struct prime *f)
{
    for (uint64_t g = 2;; g++) {
        const uint64_t root = power(f, g, (f->p - 1) / (2 * LATTICE_N));
        if (power(f, root, LATTICE_N) == f->p - 1)
            return root;
    }
}

static size_t reversed(size_t i)
{
    size_t r = 0;
    for (unsigned b = 0; b < LATTICE_LEVELS; b++)
        r |= (i >> b & 1) << (LATTICE_LEVELS - 1 - b);
    return r;
}

static void make_modulus(struct lattice_modulus *m, unsigned k)
{
    const uint64_t p = ((uint64_t)1 << LATTICE_BITS) - below[k];
    uint64_t root, x = 1, rest = 1, cofactor = 1;
    prime_prepare(&m->f, p);
    root = root_of(&m->f);
    for (size_t i = 0; i < LATTICE_N; i++, x = prime_times(&m->f, x, root)) {
        m->root[reversed(i)] = factor(&m->f, x);
        m->inverse[reversed(i)] = factor(&m->f, power(&m->f, x, p - 2));
    }
    m->part = factor(&m->f, power(&m->f, LATTICE_N, p - 2));
    for (unsigned o = 0; o < LATTICE_PRIMES; o++) {
        const uint64_t other = ((uint64_t)1 << LATTICE_BITS) - below[o];
        rest = o == k ? rest : prime_times(&m->f, rest, other % p);
        cofactor *= o == k ? 1 : other;
    }
    m->lift = factor(&m->f, power(&m->f, rest, p - 2));
    m->cofactor = cofactor;
}

enum err lattice_ring_new(struct lattice_ring **ring)
{
    struct lattice_ring *r = memory_words(1, sizeof *r);
    *ring = r;
    if (r == NULL)
        return ERR_NOMEM;
    r->q = 1;
    for (unsigned k = 0; k < LATTICE_PRIMES; k++) {
        make_modulus(&r->of[k], k);
        r->q *= r->of[k].f.p;
    }
    return ERR_OK;
}

void lattice_ring_free(struct lattice_ring **ring)
{
    memory_free(ring);
}

const struct prime *lattice_prime(const struct lattice_ring *ring, unsigned k)
{
    return &ring->of[k].f;
}

/* --- transforms ------------------------------------------------------------------------------- */

/* Less than 2 p, whatever x is. */
static inline uint64_t times(const struct prime *f, uint64_t x, const struct lattice_factor *w)
{
    return x * w->w - prime_high(x, w->over) * f->p;
}

/* A level adds at most 2 p to a word, and 13 levels leave it below 2^58. */
static void values(const struct lattice_modulus *m, uint64_t *x)
{
    const struct prime *f = &m->f;
    for (size_t half = LATTICE_N / 2, groups = 1; half > 0; half /= 2, groups *= 2)
        for (size_t g = 0; g < groups; g++) {
            const struct lattice_factor *w = &m->root[groups + g];
            uint64_t *low = x + 2 * g * half, *high = low + half;
            for (size_t i = 0; i < half; i++) {
                const uint64_t v = times(f, high[i], w);
                high[i] = low[i] + 2 * f->p - v;
                low[i] += v;
            }
        }
    for (size_t i = 0; i < LATTICE_N; i++)
        x[i] = prime_short(f, x[i]);
}

/* Words stay below 2 p. */
static void coefficients(const struct lattice_modulus *m, uint64_t *x)
{
    const struct prime *f = &m->f;
    const uint64_t twice = 2 * f->p;
    for (size_t half = 1, groups = LATTICE_N / 2; groups > 0; half *= 2, groups /= 2)
        for (size_t g = 0; g < groups; g++) {
            const struct lattice_factor *w = &m->inverse[groups + g];
            uint64_t *low = x + 2 * g * half, *high = low + half;
            for (size_t i = 0; i < half; i++) {
                const uint64_t sum = low[i] + high[i] - twice;
                high[i] = times(f, low[i] + twice - high[i], w);
                low[i] = sum + (twice & -(sum >> 63));
            }
        }
    for (size_t i = 0; i < LATTICE_N; i++)
        x[i] = prime_below(f, times(f, x[i], &m->part));
}

void lattice_values(const struct lattice_ring *ring, struct lattice_poly *x)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        values(&ring->of[k], x->w[k]);
}

void lattice_coefficients(const struct lattice_ring *ring, struct lattice_poly *x)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        coefficients(&ring->of[k], x->w[k]);
}

/* --- arithmetic ------------------------------------------------------------------------------- */

void lattice_add_product(const struct lattice_ring *ring, struct lattice_poly *sum,
                         const struct lattice_poly *x, const struct lattice_poly *y)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        for (size_t i = 0; i < LATTICE_N; i++)
            sum->w[k][i] = prime_wide(&ring->of[k].f,
                                      (word128)x->w[k][i] * y->w[k][i] + sum->w[k][i]);
}

void lattice_add_products(const struct lattice_ring *ring, struct lattice_poly *sum,
                          const struct lattice_poly *x, const struct lattice_poly *y,
                          const struct lattice_poly *u, const struct lattice_poly *v)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        for (size_t i = 0; i < LATTICE_N; i++)
            sum->w[k][i] = prime_wide(&ring->of[k].f, (word128)x->w[k][i] * y->w[k][i] +
                                                          (word128)u->w[k][i] * v->w[k][i] +
                                                          sum->w[k][i]);
}

void lattice_add(const struct lattice_ring *ring, struct lattice_poly *sum,
                 const struct lattice_poly *x)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        for (size_t i = 0; i < LATTICE_N; i++)
            sum->w[k][i] = prime_add(&ring->of[k].f, sum->w[k][i], x->w[k][i]);
}

void lattice_negate(const struct lattice_ring *ring, struct lattice_poly *x)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        for (size_t i = 0; i < LATTICE_N; i++)
            x->w[k][i] = prime_less(&ring->of[k].f, 0, x->w[k][i]);
}

/* --- integers --------------------------------------------------------------------------------- */

/* An integer of a few bits, modulo p. */
static inline uint64_t residue(const struct prime *f, int8_t a)
{
    const uint64_t wide = (uint64_t)(int64_t)a;
    return wide + (f->p & -(wide >> 63));
}

void lattice_small(const struct lattice_ring *ring, struct lattice_poly *x, const int8_t *a,
                   const int8_t *b)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++) {
        const struct prime *f = &ring->of[k].f;
        for (size_t i = 0; i < LATTICE_N; i++) {
            const uint64_t low = a != NULL ? residue(f, a[i]) : 0;
            const uint64_t high = b != NULL ? residue(f, b[i]) : 0;
            x->w[k][i] = prime_wide(f, (word128)high * f->shift + low);
        }
    }
}

/*
 * x = sum of y_k q / p_k - (some multiple) q, y_k its remainder times the inverse of q / p_k.
 * Conversions are of signed words: those of unsigned ones branch on the top bit.
 */
bool lattice_low(const struct lattice_ring *ring, const struct lattice_poly *x,
                 uint64_t low[LATTICE_N])
{
    unsigned outside = 0;
    for (size_t i = 0; i < LATTICE_N; i++) {
        double parts = 0.5;
        low[i] = 0;
        for (unsigned k = 0; k < LATTICE_PRIMES; k++) {
            const struct lattice_modulus *m = &ring->of[k];
            const uint64_t y = prime_below(&m->f, times(&m->f, x->w[k][i], &m->lift));
            parts += (double)(int64_t)y / (double)m->f.p;
            low[i] += y * m->cofactor;
        }
        low[i] -= (uint64_t)(int64_t)parts * ring->q;
        parts -= (double)(int64_t)parts + 0.5;
        outside |= (unsigned)(parts < -0.25) | (unsigned)(parts > 0.25);
    }
    return outside == 0;
}

/* --- bytes ------------------------------------------------------------------------------------ */

#define MASK (((uint64_t)1 << LATTICE_BITS) - 1)

/*
 * Eight words are 53 bytes: what is left of one word and the next fill whole words of the stream.
 */
static void pack(const uint64_t *w, uint8_t *out)
{
    for (size_t i = 0; i < LATTICE_N; i += 8, out += LATTICE_BITS) {
        uint64_t to[8] = {0};
        for (unsigned j = 0; j < 8; j++) {
            const unsigned at = j * LATTICE_BITS / 64, shift = j * LATTICE_BITS % 64;
            const word128 x = (word128)w[i + j] << shift;
            to[at] |= (uint64_t)x;
            to[at + 1 < 8 ? at + 1 : at] |= (uint64_t)(x >> 64);
        }
        memcpy(out, to, LATTICE_BITS);
    }
}

/* The top bit of what is returned is 1 if a word is not below p. */
static uint64_t unpack(uint64_t *w, const uint8_t *in, uint64_t p)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < LATTICE_N; i += 8, in += LATTICE_BITS) {
        uint64_t from[8] = {0};
        memcpy(from, in, LATTICE_BITS);
        for (unsigned j = 0; j < 8; j++) {
            const unsigned at = j * LATTICE_BITS / 64, shift = j * LATTICE_BITS % 64;
            const word128 x = (word128)from[at + 1 < 8 ? at + 1 : at] << 64 | from[at];
            w[i + j] = (uint64_t)(x >> shift) & MASK;
            wrong |= p - 1 - w[i + j];
        }
    }
    return wrong;
}

void lattice_pack(const struct lattice_poly *x, uint8_t out[LATTICE_POLY_SIZE])
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        pack(x->w[k], out + k * LATTICE_POLY_SIZE / LATTICE_PRIMES);
}

enum err lattice_unpack(const struct lattice_ring *ring, const uint8_t in[LATTICE_POLY_SIZE],
                        struct lattice_poly *x)
{
    uint64_t wrong = 0;
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        wrong |= unpack(x->w[k], in + k * LATTICE_POLY_SIZE / LATTICE_PRIMES, ring->of[k].f.p);
    return wrong >> 63 == 0 ? ERR_OK : ERR_DATA;
}
