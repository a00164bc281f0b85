#include "protocols/records_private.h"

#include <stdlib.h>

size_t records_side_rows(const struct records_shape *shape, const struct records_side *s)
{
    size_t rows = 1;
    for (size_t k = 0; k < s->n; k++)
        rows *= shape->size[s->attribute[k]];
    return rows;
}

/* How many queries of three or more attributes contain both. */
static size_t uses_of_pair(const struct records_query *queries, size_t count, uint16_t a,
                           uint16_t b)
{
    size_t uses = 0;
    for (size_t q = 0; q < count; q++) {
        bool has_a = false, has_b = false;
        for (size_t k = 0; k < queries[q].n; k++) {
            has_a = has_a || queries[q].attribute[k] == a;
            has_b = has_b || queries[q].attribute[k] == b;
        }
        uses += queries[q].n > 2 && has_a && has_b;
    }
    return uses;
}

static void split_query(const struct records_shape *shape, const struct records_query *queries,
                        size_t count, struct records_plan *plan)
{
    const struct records_query *q = plan->query;
    size_t best[2] = {0, 1};
    double cheapest = 0;
    plan->left = (struct records_side){1, {q->attribute[0]}};
    if (q->n == 2)
        plan->right = (struct records_side){1, {q->attribute[1]}};
    if (q->n < 3)
        return;
    /* the pair that is cheapest for each marginal that may use it */
    for (size_t i = 0; i < q->n; i++)
        for (size_t j = i + 1; j < q->n; j++) {
            uint16_t a = q->attribute[i], b = q->attribute[j];
            double cost = (double)shape->size[a] * shape->size[b] /
                          (double)uses_of_pair(queries, count, a, b);
            if ((i == 0 && j == 1) || cost < cheapest) {
                cheapest = cost;
                best[0] = i;
                best[1] = j;
            }
        }
    plan->left = (struct records_side){2, {q->attribute[best[0]], q->attribute[best[1]]}};
    for (size_t k = 0; k < q->n; k++)
        if (k != best[0] && k != best[1])
            plan->right.attribute[plan->right.n++] = q->attribute[k];
}

static int by_left_side(const void *x, const void *y)
{
    const struct records_plan *a = x, *b = y;
    if (a->left.n != b->left.n)
        return a->left.n < b->left.n ? -1 : 1;
    for (size_t k = 0; k < a->left.n; k++)
        if (a->left.attribute[k] != b->left.attribute[k])
            return a->left.attribute[k] < b->left.attribute[k] ? -1 : 1;
    return a->query < b->query ? -1 : a->query > b->query;
}

enum err records_plans(const struct records_shape *shape, struct records_query *queries,
                       size_t count, struct records_plan *plans, size_t *total)
{
    *total = 0;
    for (size_t q = 0; q < count; q++) {
        size_t cells = 1;
        if (queries[q].n == 0 || queries[q].n > RECORDS_ORDER_MAX)
            return ERR_RANGE;
        for (size_t k = 0; k < queries[q].n; k++)
            cells *= shape->size[queries[q].attribute[k]];
        if (cells != queries[q].out.n)
            return ERR_RANGE;
        plans[q] = (struct records_plan){.query = &queries[q], .cells = cells};
        split_query(shape, queries, count, &plans[q]);
        *total += cells;
    }
    qsort(plans, count, sizeof *plans, by_left_side);
    return ERR_OK;
}

size_t records_place(const struct records_shape *shape, const struct records_plan *plan, size_t i)
{
    uint16_t order[RECORDS_ORDER_MAX];
    size_t code[RECORDS_ORDER_MAX], n = 0, at = 0;
    for (size_t k = 0; k < plan->left.n; k++)
        order[n++] = plan->left.attribute[k];
    for (size_t k = 0; k < plan->right.n; k++)
        order[n++] = plan->right.attribute[k];
    for (size_t k = n; k-- > 0;) {
        code[k] = i % shape->size[order[k]];
        i /= shape->size[order[k]];
    }
    for (size_t k = 0; k < n; k++) { /* the query's attributes, ascending */
        size_t from = 0;
        while (from + 1 < n && order[from] != plan->query->attribute[k])
            from++;
        /* cppcheck-suppress uninitvar ; set above for all n */
        at = at * shape->size[order[from]] + code[from];
    }
    return at;
}
