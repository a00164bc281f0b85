#include "base/lattice_plan.h"

#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

#define RESULT_POLYS 3 /* of a product */

/* --- which columns meet ----------------------------------------------------------------------- */

/* sum[u][v]: how many pairs of columns before u and v are wanted. */
struct lattice_wanted {
    size_t columns;
    uint32_t *sum;
};

static uint32_t *wanted_at(const struct lattice_wanted *w, size_t u, size_t v)
{
    return &w->sum[u * (w->columns + 1) + v];
}

static void wanted_free(struct lattice_wanted *w)
{
    memory_free(&w->sum);
}

static enum err wanted_new(struct lattice_wanted *w, const struct lattice_shape *s,
                           const size_t *first)
{
    const size_t n = w->columns = first[s->attributes];
    TRY(memory_new(&w->sum, (n + 1) * (n + 1)));
    for (size_t p = 0; p < s->pairs; p++) {
        const uint32_t a = s->pair[p][0], b = s->pair[p][1];
        for (size_t u = first[a]; u < first[a + 1]; u++)
            for (size_t v = first[b]; v < first[b + 1]; v++)
                *wanted_at(w, u + 1, v + 1) = 1;
    }
    for (size_t u = 1; u <= n; u++)
        for (size_t v = 1; v <= n; v++)
            *wanted_at(w, u, v) += *wanted_at(w, u - 1, v) + *wanted_at(w, u, v - 1) -
                                   *wanted_at(w, u - 1, v - 1);
    return ERR_OK;
}

static bool tiles_meet(const struct lattice_wanted *w, const struct lattice_plan *p, size_t i,
                       size_t j)
{
    const size_t u = i * p->left, v = j * p->right;
    const size_t u_end = u + p->left < w->columns ? u + p->left : w->columns;
    const size_t v_end = v + p->right < w->columns ? v + p->right : w->columns;
    return *wanted_at(w, u_end, v_end) + *wanted_at(w, u, v) !=
           *wanted_at(w, u_end, v) + *wanted_at(w, u, v_end);
}

/* --- the fewest bytes ------------------------------------------------------------------------- */

static size_t parts(size_t n, size_t of)
{
    return (n + of - 1) / of;
}

static void lay_out(struct lattice_plan *p, const struct lattice_wanted *w, size_t left,
                    size_t right)
{
    p->left = left;
    p->right = right;
    p->lefts = parts(w->columns, left);
    p->rights = parts(w->columns, right);
    p->rows = LATTICE_N / (left * right);
    p->rows = p->rows < p->shape.rows ? p->rows : p->shape.rows;
    p->blocks = parts(p->shape.rows, p->rows);
}

static void count_results(struct lattice_plan *p, const struct lattice_wanted *w)
{
    p->results = 0;
    for (size_t i = 0; i < p->lefts; i++)
        for (size_t j = 0; j < p->rights; j++)
            p->results += tiles_meet(w, p, i, j);
}

size_t lattice_plan_fresh(const struct lattice_plan *plan)
{
    return plan->blocks * (plan->lefts + plan->rights);
}

size_t lattice_upload_size(const struct lattice_plan *plan)
{
    return LATTICE_SEED + (1 + lattice_plan_fresh(plan)) * LATTICE_POLY_SIZE;
}

/* No tiles of these sizes take fewer polynomials: each result has at most left x right pairs. */
static size_t least_polys(const struct lattice_plan *p, const struct lattice_wanted *w)
{
    const size_t pairs = *wanted_at(w, w->columns, w->columns);
    return lattice_plan_fresh(p) + RESULT_POLYS * parts(pairs, p->left * p->right);
}

static size_t polys_of(struct lattice_plan *p, const struct lattice_wanted *w)
{
    count_results(p, w);
    return lattice_plan_fresh(p) + RESULT_POLYS * p->results;
}

/*
 * The first sizes of the fewest polynomials. To count results takes long: it is done only where
 * there may be fewer than those of the sizes that promise most.
 */
static void choose(struct lattice_plan *p, const struct lattice_wanted *w)
{
    const size_t most = w->columns < LATTICE_TILE ? w->columns : LATTICE_TILE;
    size_t best = SIZE_MAX, left = 1, right = 1;
    for (size_t k = 0; k < most * most; k++) {
        lay_out(p, w, 1 + k / most, 1 + k % most);
        if (least_polys(p, w) >= best)
            continue;
        best = least_polys(p, w);
        left = p->left;
        right = p->right;
    }
    lay_out(p, w, left, right);
    best = polys_of(p, w) + 1;
    for (size_t k = 0; k < most * most; k++) {
        lay_out(p, w, 1 + k / most, 1 + k % most);
        if (least_polys(p, w) >= best || polys_of(p, w) >= best)
            continue;
        best = polys_of(p, w);
        left = p->left;
        right = p->right;
    }
    lay_out(p, w, left, right);
    count_results(p, w);
}

/* --- a plan ----------------------------------------------------------------------------------- */

static bool shape_fits(const struct lattice_shape *s)
{
    size_t columns = 0;
    for (size_t a = 0; a < s->attributes; a++) {
        if (s->size[a] > LATTICE_COLUMNS - columns)
            return false;
        columns += s->size[a];
    }
    for (size_t p = 0; p < s->pairs; p++)
        if (s->pair[p][0] >= s->pair[p][1] || s->pair[p][1] >= s->attributes)
            return false;
    return s->rows > 0 && s->pairs > 0 && columns > 0;
}

static enum err list_results(struct lattice_plan *p, const struct lattice_wanted *w)
{
    size_t k = 0;
    TRY(memory_new(&p->result, p->results));
    for (size_t i = 0; i < p->lefts; i++)
        for (size_t j = 0; j < p->rights; j++)
            if (tiles_meet(w, p, i, j)) {
                p->result[k][0] = i;
                p->result[k++][1] = j;
            }
    return ERR_OK;
}

enum err lattice_plan_new(struct lattice_plan **plan, const struct lattice_shape *shape)
{
    struct lattice_plan *p CLEAN(lattice_plan_free) = NULL;
    struct lattice_wanted wanted CLEAN(wanted_free) = {0};
    *plan = NULL;
    if (!shape_fits(shape))
        return ERR_RANGE;
    TRY(memory_new(&p, 1));
    p->shape = *shape;
    TRY(memory_new(&p->size, shape->attributes));
    TRY(memory_new(&p->pair, shape->pairs));
    memcpy(p->size, shape->size, shape->attributes * sizeof *p->size);
    memcpy(p->pair, shape->pair, shape->pairs * sizeof *p->pair);
    p->shape.size = p->size;
    p->shape.pair = (const uint32_t(*)[2])p->pair;
    TRY(memory_new(&p->first, shape->attributes + 1));
    for (size_t a = 0; a < shape->attributes; a++)
        p->first[a + 1] = p->first[a] + shape->size[a];
    TRY(wanted_new(&wanted, shape, p->first));
    choose(p, &wanted);
    if (p->blocks > LATTICE_BLOCKS)
        return ERR_RANGE;
    TRY(list_results(p, &wanted));
    return memory_hand_over(plan, &p);
}

void lattice_plan_free(struct lattice_plan **plan)
{
    if (*plan != NULL) {
        memory_free(&(*plan)->size);
        memory_free(&(*plan)->pair);
        memory_free(&(*plan)->first);
        memory_free(&(*plan)->result);
    }
    memory_free(plan);
}

/* --- what comes out --------------------------------------------------------------------------- */

/* The columns of an attribute that are in a tile. */
struct lattice_range {
    size_t begin, end;
};

static struct lattice_range range_in(const struct lattice_plan *p, size_t attribute, size_t begin,
                                     size_t columns)
{
    const size_t first = p->first[attribute], end = p->first[attribute + 1];
    return (struct lattice_range){begin > first ? begin : first,
                                  begin + columns < end ? begin + columns : end};
}

void lattice_plan_take(const struct lattice_plan *plan, size_t result, const uint64_t *words,
                       uint64_t *const *out)
{
    const size_t left = plan->result[result][0] * plan->left;
    const size_t right = plan->result[result][1] * plan->right;
    for (size_t p = 0; p < plan->shape.pairs; p++) {
        const uint32_t a = plan->shape.pair[p][0], b = plan->shape.pair[p][1];
        const struct lattice_range u = range_in(plan, a, left, plan->left);
        const struct lattice_range v = range_in(plan, b, right, plan->right);
        for (size_t i = u.begin; i < u.end; i++)
            for (size_t j = v.begin; j < v.end; j++)
                out[p][(i - plan->first[a]) * plan->shape.size[b] + j - plan->first[b]] =
                    words[plan->rows - 1 + plan->rows * (i - left + (j - right) * plan->left)];
    }
}
