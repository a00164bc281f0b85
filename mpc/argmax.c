#include "mpc/argmax.h"

#include "base/memory.h"
#include "mpc/compare.h"
#include "mpc/open.h"
#include "mpc/ring.h"

uint64_t argmax_field_product(uint64_t x, uint64_t y)
{
    uint64_t z = 0;
    for (unsigned i = 0; i < 64; i++) {
        z ^= x & (0 - (y & 1));
        y >>= 1;
        x = (x << 1) ^ (0x1b & (0 - (x >> 63)));
    }
    return z;
}

/* v_a - v_b for all pairs a < b, in the order (0,1), (0,2) .. (1,2) .. */
static void differences(struct share64 out, struct share64 v)
{
    size_t k = 0;
    for (size_t a = 0; a < v.n; a++)
        for (size_t b = a + 1; b < v.n; b++, k++) {
            out.a[k] = v.a[a] - v.a[b];
            out.b[k] = v.b[a] - v.b[b];
        }
}

/* W_q as XOR shares: the coefficients of the comparisons that q lost. */
static enum err pack_losses(struct party *p, struct bits less, struct share64 w, struct prg *public)
{
    size_t k = 0;
    for (size_t a = 0; a < w.n; a++)
        for (size_t b = a + 1; b < w.n; b++, k++) {
            uint64_t c[2];
            TRY(prg_fill(public, c, sizeof c));
            uint64_t in_a = 0 - (less.a[k / 64] >> (k % 64) & 1);
            uint64_t in_b = 0 - (less.b[k / 64] >> (k % 64) & 1);
            w.a[a] ^= in_a & c[0];
            w.b[a] ^= in_b & c[0];
            /* b loses where "less" is 0: the complement is carried by component 0 */
            w.a[b] ^= (p->index == 0 ? ~in_a : in_a) & c[1];
            w.b[b] ^= (p->index == 2 ? ~in_b : in_b) & c[1];
        }
    return ERR_OK;
}

static enum err open_zero(struct party *p, struct share64 w, uint64_t *z, uint64_t *opened,
                          size_t *index)
{
    struct share64 r = {0};
    size_t zeros = 0;
    enum err e = share64_new(&r, w.n);
    if (e == ERR_OK)
        e = party_random64(p, &r);
    if (e == ERR_OK)
        e = party_zero_bits(p, z, w.n);
    for (size_t q = 0; e == ERR_OK && q < w.n; q++)
        z[q] ^= argmax_field_product(w.a[q], r.a[q] ^ r.b[q]) ^
                argmax_field_product(w.b[q], r.a[q]);
    if (e == ERR_OK)
        e = open_summands(p, OPEN_SELECTED_INDEX, z, w.n, opened);
    for (size_t q = 0; e == ERR_OK && q < w.n; q++)
        if (opened[q] == 0) {
            *index = q;
            zeros++;
        }
    if (e == ERR_OK && zeros != 1) {
        log_error(p->log,
                  "selection: %zu indices look largest instead of one (this happens with "
                  "probability below 2^-52); run the round again",
                  zeros);
        e = ERR_RANGE;
    }
    share64_free(&r);
    return e;
}

enum err argmax_open(struct party *p, struct share64 values, unsigned width,
                     const uint8_t seed[ARGMAX_SEED_SIZE], size_t *index)
{
    size_t m = values.n, pairs;
    struct share64 d = {0}, w = {0};
    struct bits less = {0};
    struct prg *public = NULL;
    uint64_t *z = memory_words(m, sizeof *z), *opened = memory_words(m, sizeof *opened);
    enum err e = z == NULL || opened == NULL ? ERR_NOMEM : ERR_OK;
    if (m == 0 || m > 65536 || width < 2 || width > 64)
        e = ERR_RANGE;
    pairs = m * (m - 1) / 2;
    if (e == ERR_OK)
        e = share64_new(&d, pairs);
    if (e == ERR_OK)
        e = share64_new(&w, m);
    if (e == ERR_OK)
        e = bits_new(&less, pairs);
    if (e == ERR_OK)
        e = prg_new(&public, seed);
    if (e == ERR_OK) {
        differences(d, values);
        e = compare_top_bit(p, less, d, width);
    }
    if (e == ERR_OK)
        e = pack_losses(p, less, w, public);
    if (e == ERR_OK)
        e = open_zero(p, w, z, opened, index);
    share64_free(&d);
    share64_free(&w);
    bits_free(&less);
    prg_free(&public);
    memory_wipe_free(&z, m * sizeof *z);
    memory_free(&opened);
    return e;
}
