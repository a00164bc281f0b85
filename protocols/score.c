#include "protocols/score.h"

#include "base/memory.h"
#include "mpc/compare.h"
#include "mpc/convert.h"
#include "mpc/ring.h"

#include <string.h>

/* The candidates' cells side by side, each from a word on, as in `struct counts`. */
struct gathered {
    size_t *start;
    struct share64 x, s, weighted;
    struct planes bits; /* one more than the counts have: C may be 2^l */
    struct bits less;
    uint64_t *estimate, *ceiling, *planes;
};

static void gathered_free(struct gathered *g)
{
    memory_free(&g->start);
    share64_free(&g->x);
    share64_free(&g->s);
    share64_free(&g->weighted);
    planes_free(&g->bits);
    bits_free(&g->less);
    memory_free(&g->estimate);
    memory_free(&g->ceiling);
    memory_free(&g->planes);
}

static enum err gathered_new(struct gathered *g, const struct counts *counts,
                             const struct score_candidate *candidates, size_t m)
{
    unsigned width = counts->bits.width + 1;
    size_t n = 0;
    g->start = memory_array(m + 1, sizeof *g->start);
    if (g->start == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < m; k++) {
        size_t q = candidates[k].query;
        if (q >= counts->queries)
            return ERR_REFUSED;
        g->start[k] = n;
        n += counts->start[q + 1] - counts->start[q];
    }
    g->start[m] = n;
    TRY(share64_new(&g->x, n));
    TRY(share64_new(&g->s, n));
    TRY(share64_new(&g->weighted, m));
    TRY(planes_new(&g->bits, width, n));
    TRY(bits_new(&g->less, n));
    g->estimate = memory_words(n, sizeof *g->estimate);
    g->ceiling = memory_words(n, sizeof *g->ceiling);
    g->planes = memory_words(bits_words(n) * width, sizeof *g->planes);
    return g->estimate == NULL || g->ceiling == NULL || g->planes == NULL ? ERR_NOMEM : ERR_OK;
}

static enum err check(struct party *p, const uint64_t *c, size_t cells, unsigned bits, size_t query)
{
    uint64_t limit = (uint64_t)1 << (bits + SCORE_BITS), sum = 0;
    for (size_t j = 0; j < cells; j++) {
        if (c[j] > limit || sum > 2 * limit - c[j]) {
            log_error(p->log,
                      "score: the estimates of marginal %zu exceed what its counts can be "
                      "(cell %zu); the request is refused",
                      query, j);
            return ERR_REFUSED;
        }
        sum += c[j];
    }
    return ERR_OK;
}

static enum err gather(struct party *p, struct gathered *g, const struct counts *counts,
                       const struct score_candidate *candidates, size_t m)
{
    size_t from_words = bits_words(counts->x.n), to_words = bits_words(g->x.n);
    for (size_t k = 0; k < m; k++) {
        size_t q = candidates[k].query, from = counts->start[q], to = g->start[k];
        size_t lanes = g->start[k + 1] - to, cells = counts->cells[q];
        TRY(check(p, candidates[k].estimate, cells, counts->bits.width, q));
        ring64_copy(share64_view(g->x, to, lanes), share64_view(counts->x, from, lanes));
        for (unsigned b = 0; b < counts->bits.width; b++) {
            size_t src = b * from_words + from / 64, dst = b * to_words + to / 64;
            memcpy(g->bits.a + dst, counts->bits.a + src, lanes / 8);
            memcpy(g->bits.b + dst, counts->bits.b + src, lanes / 8);
        }
        for (size_t j = 0; j < cells; j++) {
            uint64_t c = candidates[k].estimate[j];
            g->estimate[to + j] = c;
            g->ceiling[to + j] = (c + (1 << SCORE_BITS) - 1) >> SCORE_BITS;
        }
    }
    bits_slice64(g->ceiling, g->x.n, g->bits.width, g->planes);
    return ERR_OK;
}

static enum err evaluate(struct party *p, struct share64 out, struct gathered *g)
{
    const uint64_t one = (uint64_t)1 << SCORE_BITS;
    TRY(compare_public(p, g->less, &g->bits, g->planes));
    TRY(convert_bit64(p, g->s, g->less));
    TRY(ring64_inner(p, out, g->s, g->x, g->start));
    ring64_scale(out, out, 0 - 2 * one);
    ring64_sum(g->weighted, g->x, g->start);
    ring64_add_scaled(out, g->weighted, one);
    ring64_sum_public(g->weighted, g->s, g->estimate, g->start);
    ring64_add_scaled(out, g->weighted, 2);
    for (size_t k = 0; k < out.n; k++) {
        uint64_t sum = 0;
        for (size_t j = g->start[k]; j < g->start[k + 1]; j++)
            sum += g->estimate[j];
        ring64_add_public(p, share64_view(out, k, 1), 0 - sum);
    }
    return ERR_OK;
}

enum err score_l1(struct party *p, struct share64 out, const struct counts *counts,
                  const struct score_candidate *candidates)
{
    struct gathered g = {0};
    enum err e = gathered_new(&g, counts, candidates, out.n);
    if (e == ERR_OK)
        e = gather(p, &g, counts, candidates, out.n);
    if (e == ERR_OK)
        e = evaluate(p, out, &g);
    gathered_free(&g);
    return e;
}
