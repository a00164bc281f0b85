#include "protocols/score.h"

#include "mpc/move/crew.h"

/* `limit`: what 2^l is on their grid */
static enum err check_estimates(struct party *p, const uint64_t *c, size_t cells, uint64_t limit,
                                size_t query)
{
    uint64_t sum = 0;
    for (size_t j = 0; j < cells; j++) {
        if (c[j] > limit || sum > 2 * limit - c[j])
            return log_fail(p->log, ERR_REFUSED,
                            "score: the estimates of marginal %zu exceed what its counts can be "
                            "(cell %zu); the request is refused",
                            query, j);
        sum += c[j];
    }
    return ERR_OK;
}

static enum err check_candidate(struct party *p, const struct counts *counts,
                                const struct score_candidate *c, uint64_t unit)
{
    if (c->query >= counts->queries || unit > (UINT64_C(1) << 62) >> counts->bits)
        return ERR_REFUSED;
    return check_estimates(p, c->estimate, counts->cells[c->query], unit << counts->bits, c->query);
}

/* Candidates, and where the part of each lane begins among them. */
struct scoring {
    struct share64 out;
    const struct cached *kept;
    struct cached_span *spans;
    uint64_t unit;
    size_t *start; /* parts + 1 */
};

static enum err score_part(void *self, struct party *lane, size_t part)
{
    const struct scoring *s = self;
    const size_t from = s->start[part], n = s->start[part + 1] - from;
    return n > 0 ? cached_distance(lane, share64_view(s->out, from, n), s->kept, s->spans + from,
                                   s->unit)
                 : ERR_OK;
}

/* Shares out candidates so that all parts have about as many cells. */
static void share_out(struct scoring *s, size_t cells, size_t parts)
{
    size_t before = 0, part = 0;
    for (size_t k = 0; k < s->out.n; before += s->spans[k++].cells)
        while (part < parts && before >= cells / parts * part)
            s->start[part++] = k;
    while (part <= parts)
        s->start[part++] = s->out.n;
}

enum err score_l1(struct party *p, struct share64 out, const struct counts *counts,
                  const struct score_candidate *candidates, uint64_t unit)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t parts = crew_lanes(p);
    size_t cells = 0;
    struct scoring s = {.out = out, .kept = counts->kept, .unit = unit};
    TRY(scratch_array(p->scratch, &s.spans, out.n));
    TRY(scratch_array(p->scratch, &s.start, parts + 1));
    for (size_t k = 0; k < out.n; k++) {
        const size_t q = candidates[k].query;
        TRY(check_candidate(p, counts, &candidates[k], unit));
        s.spans[k] = (struct cached_span){counts->start[q], counts->cells[q],
                                          candidates[k].estimate};
        cells += counts->cells[q];
    }
    share_out(&s, cells, parts);
    return crew_run(p, parts, score_part, &s);
}

/* sum C^2 - 2 sum C x of one component; component 0 alone carries the public part. */
static uint64_t without_squares(const uint64_t *x, const uint64_t *estimate, size_t cells,
                                bool first)
{
    uint64_t sum = 0;
    for (size_t j = 0; j < cells; j++) {
        uint64_t c = (estimate[j] + (1 << (SCORE_BITS - 1))) >> SCORE_BITS;
        sum += first ? c * (c - 2 * x[j]) : 0 - 2 * c * x[j];
    }
    return sum;
}

enum err score_l2(struct party *p, struct share64 out, const struct counts *counts,
                  const struct score_candidate *candidates)
{
    if (counts->squares.n != counts->queries)
        return ERR_MISUSE;
    for (size_t k = 0; k < out.n; k++) {
        const struct score_candidate *c = &candidates[k];
        TRY(check_candidate(p, counts, c, SCORE_UNIT));
        const struct share64 x = counts_query(counts, c->query);
        out.a[k] = counts->squares.a[c->query] +
                   without_squares(x.a, c->estimate, x.n, p->index == 0);
        out.b[k] = counts->squares.b[c->query] +
                   without_squares(x.b, c->estimate, x.n, p->index == 2);
    }
    return ERR_OK;
}
