#include "aim/run/loop_links.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum err links_begin(struct loop_links *l, const struct workload *w, const double *score,
                     double rows)
{
    *l = (struct loop_links){.workload = w, .rows = fmax(1, rows)};
    TRY(memory_new(&l->score, w->queries));
    TRY(memory_new(&l->known, w->one_ways * w->one_ways));
    TRY(memory_new(&l->before, w->one_ways * w->one_ways));
    for (size_t q = 0; q < w->queries; q++)
        l->score[q] = fmin(1, fmax(0, score[q]) / l->rows);
    return ERR_OK;
}

void links_clear(struct loop_links *l)
{
    memory_free_all(&l->score, &l->known, &l->before);
}

/* Every way that goes from x to y. */
static void pass(struct loop_links *l, size_t x, size_t y)
{
    const size_t d = l->workload->one_ways;
    const struct clique pair = {2, {(uint16_t)(x < y ? x : y), (uint16_t)(x < y ? y : x)}};
    const double t = l->score[workload_find(l->workload, &pair)];
    for (size_t a = 0; a < d; a++)
        for (size_t b = 0; b < d; b++) {
            const double to = a == x ? 1 : l->before[a * d + x],
                         from = b == y ? 1 : l->before[y * d + b];
            if (a != b)
                l->known[a * d + b] = fmax(l->known[a * d + b], to * t * from);
        }
}

/* By how much its pairs are better known than before, in squares of shares. */
static double gained(const struct loop_links *l, const struct clique *c,
                     const struct clique *joined)
{
    const size_t d = l->workload->one_ways;
    double sum = 0;
    for (unsigned i = 0; i < c->n; i++)
        for (unsigned k = i + 1; k < c->n; k++) {
            const uint16_t x = c->attribute[i], y = c->attribute[k];
            const size_t at = x * d + y;
            if (clique_place(joined, x) == joined->n || clique_place(joined, y) == joined->n)
                sum += l->known[at] * l->known[at] - l->before[at] * l->before[at];
        }
    return sum;
}

void links_join(struct loop_links *l, const struct clique *joined, double *r)
{
    const struct workload *w = l->workload;
    memcpy(l->before, l->known, w->one_ways * w->one_ways * sizeof *l->known);
    for (unsigned i = 0; i < joined->n; i++)
        for (unsigned k = 0; k < joined->n; k++)
            if (i != k)
                pass(l, joined->attribute[i], joined->attribute[k]);
    for (size_t q = 0; q < w->queries; q++)
        if (r[q] > 0 && w->query[q].clique.n > 1)
            r[q] = sqrt(
                fmax(0, r[q] * r[q] - l->rows * l->rows * gained(l, &w->query[q].clique, joined)));
}
