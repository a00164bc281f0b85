#include "base/random.h"

#include "base/bytes.h"
#include "base/secret.h"

#include <math.h>
#include <sodium.h>

struct random random_of(uint64_t seed)
{
    struct random r = {.used = sizeof r.stream};
    integer_put(r.key, seed, 8);
    return r;
}

void random_fresh(struct random *r)
{
    *r = (struct random){.used = sizeof r->stream};
    secret_random(r->key, sizeof r->key);
}

void random_wipe(struct random *r)
{
    secret_wipe(r, sizeof *r);
    r->used = sizeof r->stream;
}

static void refill(struct random *r)
{
    uint8_t nonce[crypto_stream_chacha20_NONCEBYTES];
    integer_put(nonce, r->block, sizeof nonce);
    crypto_stream_chacha20(r->stream, sizeof r->stream, nonce, r->key);
    r->block++;
    r->used = 0;
}

uint64_t random_u64(struct random *r)
{
    uint64_t v;
    if (r->used + 8 > sizeof r->stream)
        refill(r);
    v = integer_get(r->stream + r->used, 8);
    r->used += 8;
    return v;
}

uint64_t random_below(struct random *r, uint64_t n)
{
    /* 2^64 mod n: without that many of the lowest, each residue is equally likely */
    const uint64_t skip = -n % n;
    uint64_t v;
    do
        v = random_u64(r);
    while (v < skip);
    return v % n;
}

double random_double(struct random *r)
{
    return (double)(random_u64(r) >> 11) * 0x1p-53;
}

void random_normals(struct random *r, double *z, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        const double radius = sqrt(-2 * log(random_double(r) + 0x1p-54));
        const double angle = 2 * M_PI * random_double(r);
        z[i] = radius * cos(angle);
        if (i + 1 < n)
            z[i + 1] = radius * sin(angle);
    }
}

/* Uniform on (0, 1), with 64 significant bits however small: a fixed grid would cut the tails. */
static long double uniform(struct random *r)
{
    int exponent = -64;
    uint64_t word = random_u64(r);
    while (word == 0 && exponent > -1024) {
        exponent -= 64;
        word = random_u64(r);
    }
    if (word >> 63 == 0) {
        int shift = word != 0 ? __builtin_clzll(word) : 63;
        word = (word << shift) | (shift > 0 ? random_u64(r) >> (64 - shift) : 0);
        exponent -= shift;
    }
    return ldexpl((long double)word, exponent) * (1 - 0x1p-64L) + 0x1p-1100L;
}

int64_t random_gauss(struct random *r)
{
    static const long double pi = 3.141592653589793238462643383279502884L;
    long double radius, angle;
    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    radius = sqrtl(-2 * logl(uniform(r))) * (1 << RANDOM_GAUSS_BITS);
    angle = 2 * pi * ((long double)random_u64(r) * 0x1p-64L);
    r->spare = llrintl(radius * sinl(angle));
    r->has_spare = true;
    return llrintl(radius * cosl(angle));
}

int64_t random_gumbel(struct random *r)
{
    /* The exponential is exact relative to its size near 0, where Gumbel's long tail comes from. */
    long double exponential = -log1pl(-uniform(r));
    return llrintl(-logl(exponential) * (1 << RANDOM_GUMBEL_BITS));
}
