#include "mpc/circuits/argmax.h"

#include "mpc/circuits/compare.h"
#include "mpc/move/open.h"
#include "mpc/move/record.h"

#include <string.h>

#define TILE ((size_t)1 << 20) /* pairs compared at a time: 14 to 25 bytes each on the wire */

/* Walks all pairs a < b in the order (0,1), (0,2) .. (1,2) .. */
struct argmax_pairs {
    size_t m, a, b;
};

/* The next pairs with the same a, at most *n; moves past them. */
static struct argmax_pairs next_pairs(struct argmax_pairs *s, size_t *n)
{
    struct argmax_pairs run;
    if (s->b == s->m)
        *s = (struct argmax_pairs){s->m, s->a + 1, s->a + 2};
    run = *s;
    *n = s->m - s->b < *n ? s->m - s->b : *n;
    s->b += *n;
    return run;
}

static void differences(struct argmax_pairs s, struct share64 out, struct share64 v)
{
    for (size_t k = 0, n; k < out.n; k += n) {
        struct argmax_pairs run = next_pairs(&s, (n = out.n - k, &n));
        for (size_t i = 0; i < n; i++) {
            out.a[k + i] = v.a[run.a] - v.a[run.b + i];
            out.b[k + i] = v.b[run.a] - v.b[run.b + i];
        }
    }
}

#define COEFFICIENTS 512 /* drawn at a time, for half as many pairs */

/*
 * W_q as XOR shares: the coefficients of the comparisons that q lost. b loses where "less" is 0:
 * the complement is carried by component 0.
 */
static enum err pack_losses(struct party *p, struct argmax_pairs s, struct bits less,
                            struct share64 w, struct prg *public)
{
    const uint64_t not_a = p->index == 0 ? UINT64_MAX : 0, not_b = p->index == 2 ? UINT64_MAX : 0;
    for (size_t k = 0, n; k < less.n; k += n) {
        uint64_t c[COEFFICIENTS], sum_a = 0, sum_b = 0;
        struct argmax_pairs run;
        n = less.n - k < COEFFICIENTS / 2 ? less.n - k : COEFFICIENTS / 2;
        run = next_pairs(&s, &n);
        TRY(prg_fill(public, c, 2 * n * sizeof *c));
        for (size_t i = 0; i < n; i++) {
            uint64_t in_a = 0 - (less.a[(k + i) / 64] >> ((k + i) % 64) & 1);
            uint64_t in_b = 0 - (less.b[(k + i) / 64] >> ((k + i) % 64) & 1);
            sum_a ^= in_a & c[2 * i];
            sum_b ^= in_b & c[2 * i];
            w.a[run.b + i] ^= (in_a ^ not_a) & c[2 * i + 1];
            w.b[run.b + i] ^= (in_b ^ not_b) & c[2 * i + 1];
        }
        w.a[run.a] ^= sum_a;
        w.b[run.a] ^= sum_b;
    }
    return ERR_OK;
}

static enum err open_zero(struct party *p, struct share64 w, size_t *index)
{
    struct share64 r;
    uint64_t *opened;
    size_t zeros = 0;
    TRY(party_share64(p, &r, w.n));
    TRY(scratch_array(p->scratch, &opened, w.n));
    TRY(party_random64(p, &r));
    TRY(open_products(p, OPEN_SELECTED_INDEX, w, r, opened));
    for (size_t q = 0; q < w.n; q++)
        if (opened[q] == 0) {
            *index = q;
            zeros++;
        }
    TRY(RECORD(p, ERR_OK, rode(p, zeros == 1)));
    if (zeros == 1)
        return ERR_OK;
    return log_fail(
        p->log, ERR_RANGE,
        "selection: %zu indices look largest instead of one. Chance does that less than once "
        "in 2^47: a server departs from the protocol, or its memory is faulty. Compare the "
        "three servers' programs and machines before the run goes on",
        zeros);
}

/* Where the coefficients come from: the stream begins when the first are drawn. */
struct draw {
    const uint8_t *seed;
    struct prg *public;
};

/* Compares n pairs and adds up who lost. */
static enum err lose(struct party *p, struct argmax_pairs at, size_t n, struct share64 values,
                     unsigned width, struct share64 w, struct draw *draw)
{
    struct share64 d;
    struct bits less;
    TRY(party_share64(p, &d, n));
    TRY(party_bits(p, &less, n));
    differences(at, d, values);
    TRY(compare_top_bit(p, less, d, width));
    if (draw->public == NULL)
        TRY(prg_new(&draw->public, draw->seed));
    return pack_losses(p, at, less, w, draw->public);
}

static enum err lose_all(struct party *p, struct share64 values, unsigned width, struct share64 w,
                         struct draw *draw)
{
    const size_t noted = width <= 49 ? 250 : 450; /* bytes of a pair in a check's log: compare.h */
    const size_t most = record_most(p, noted), tile = most < TILE ? most : TILE;
    size_t left = values.n * (values.n - 1) / 2;
    struct argmax_pairs at = {values.n, 0, 1};
    for (size_t n; left > 0; left -= n) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
        n = left < tile ? left : tile;
        TRY(lose(p, at, n, values, width, w, draw));
        for (size_t over = n, k; over > 0; over -= k)
            next_pairs(&at, (k = over, &k));
    }
    return ERR_OK;
}

static void draw_clear(struct draw *draw)
{
    prg_free(&draw->public);
}

enum err argmax_open(struct party *p, struct share64 values, unsigned width,
                     const uint8_t seed[ARGMAX_SEED_SIZE], size_t *index)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct draw draw CLEAN(draw_clear) = {.seed = seed};
    struct share64 w;
    if (values.n == 0 || values.n > (party_proves(p) ? ARGMAX_MOST_CHECKED : ARGMAX_MOST) ||
        width < 2 || width > 64)
        return ERR_RANGE;
    TRY(party_share64(p, &w, values.n));
    memset(w.a, 0, w.n * sizeof *w.a);
    memset(w.b, 0, w.n * sizeof *w.b);
    TRY(lose_all(p, values, width, w, &draw));
    return open_zero(p, w, index);
}
