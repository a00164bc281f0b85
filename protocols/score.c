#include "protocols/score.h"

#include "base/memory.h"

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

enum err score_l1(struct party *p, struct share64 out, const struct counts *counts,
                  const struct score_candidate *candidates)
{
    struct cached_span *spans = memory_array(out.n, sizeof *spans);
    enum err e = spans == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t k = 0; e == ERR_OK && k < out.n; k++) {
        size_t q = candidates[k].query;
        if (q >= counts->queries)
            e = ERR_REFUSED;
        else
            e = check(p, candidates[k].estimate, counts->cells[q], counts->bits.width, q);
        if (e == ERR_OK)
            spans[k] = (struct cached_span){counts->start[q], counts->cells[q],
                                            candidates[k].estimate};
    }
    if (e == ERR_OK)
        e = cached_distance(p, out, counts->kept, spans);
    memory_free(&spans);
    return e;
}
