#include "aim/model/sample.h"

#include "aim/model/factor.h"
#include "aim/model/given.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

struct sampling {
    const struct model *model;
    const struct domain *domain; /* of groups instead of codes, until all is drawn */
    struct table *table;
    struct random random;
    uint32_t *order;  /* rows, those of one group together */
    double *fraction; /* room for a number for each value */
    uint16_t *values; /* to hand out within a group */
};

/* --- one group ------------------------------------------------------------------------------- */

/*
 * Fills s->values with `rows` codes distributed as `weight` (any positive sum), in random order.
 * Rows left over by rounding down are drawn systematically: the fractions are laid end to end, and
 * a row goes to each that holds a whole number plus one uniform offset. So a value gets one with a
 * probability of exactly its fraction.
 */
static void round_off(struct sampling *s, const double *weight, uint32_t size, size_t rows)
{
    double sum = 0, reach = 0, next = random_double(&s->random);
    uint32_t most = 0;
    size_t n = 0;
    for (uint32_t v = 0; v < size; v++) {
        sum += weight[v];
        most = weight[v] > weight[most] ? v : most;
    }
    for (uint32_t v = 0; v < size; v++) {
        double count = weight[v] * ((double)rows / sum), whole = floor(count);
        for (size_t i = 0; i < (size_t)whole && n < rows; i++)
            s->values[n++] = (uint16_t)v;
        reach += count - whole;
        if (reach > next && n < rows) {
            s->values[n++] = (uint16_t)v;
            next += 1;
        }
    }
    while (n < rows) /* only where rounding errors lost a row */
        s->values[n++] = (uint16_t)most;
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)random_below(&s->random, i);
        uint16_t swap = s->values[i - 1];
        s->values[i - 1] = s->values[k];
        s->values[k] = swap;
    }
}

/* --- one attribute --------------------------------------------------------------------------- */

/* weight[g * size + v]: the joint distribution of group g of `given` and value v of `attribute`. */
static enum err joint_weights(const struct sampling *s, size_t clique, const struct scope *given,
                              uint16_t attribute, double *weight)
{
    const struct junction_clique *c = &model_junction(s->model)->clique[clique];
    struct scope one = {.n = 1, .attribute = {attribute}};
    struct scope both = scope_union(given, &one);
    struct scope_walk group, value;
    struct factor joint CLEAN(factor_clear) = {0};
    uint32_t size = s->domain->attribute[attribute].size;
    TRY(factor_new(&joint, &both, s->domain));
    factor_sum(&c->scope, model_belief(s->model, clique), &both, s->domain, joint.value);
    scope_walk_start(&group, &both, given, s->domain);
    scope_walk_start(&value, &both, &one, s->domain);
    for (uint64_t i = 0; i < joint.cells; i++) {
        weight[group.place * size + value.place] = joint.value[i];
        scope_walk_next(&group);
        scope_walk_next(&value);
    }
    return ERR_OK;
}

/* Sorts rows by group: group g's are order[start[g] .. start[g+1]-1]. */
static void sort_rows(struct sampling *s, const struct scope *given, uint64_t groups, size_t *start)
{
    memset(start, 0, (groups + 2) * sizeof *start);
    for (size_t row = 0; row < s->table->rows; row++)
        start[table_cell(s->table, given->attribute, given->n, row) + 2]++;
    for (uint64_t g = 2; g < groups + 2; g++)
        start[g] += start[g - 1];
    for (uint32_t row = 0; row < s->table->rows; row++)
        s->order[start[table_cell(s->table, given->attribute, given->n, row) + 1]++] = row;
}

/*
 * Rounding can put a row where the model has no mass at all (a belief that underflows). Such a row
 * follows the attribute's distribution over all groups.
 */
static void mend(double *weight, uint64_t groups, uint32_t size, double *overall)
{
    memset(overall, 0, size * sizeof *overall);
    for (uint64_t g = 0; g < groups; g++)
        for (uint32_t v = 0; v < size; v++)
            overall[v] += weight[g * size + v];
    for (uint64_t g = 0; g < groups; g++) {
        double sum = 0;
        for (uint32_t v = 0; v < size; v++)
            sum += weight[g * size + v];
        if (!(sum > 1e-290)) /* so small that dividing by it would overflow */
            memcpy(weight + g * size, overall, size * sizeof *overall);
    }
}

static enum err sample_attribute(struct sampling *s, size_t clique, const struct scope *given,
                                 uint16_t attribute)
{
    uint32_t size = s->domain->attribute[attribute].size;
    uint64_t groups = scope_cells(given, s->domain);
    double *weight CLEAN(memory_release) = NULL;
    size_t *start CLEAN(memory_release) = NULL;
    TRY(memory_new(&weight, groups * size));
    TRY(memory_new(&start, groups + 2));
    TRY(joint_weights(s, clique, given, attribute, weight));
    mend(weight, groups, size, s->fraction);
    sort_rows(s, given, groups, start);
    for (uint64_t g = 0; g < groups; g++) {
        size_t rows = start[g + 1] - start[g];
        if (rows == 0)
            continue;
        round_off(s, weight + g * size, size, rows);
        for (size_t i = 0; i < rows; i++)
            s->table->column[attribute][s->order[start[g] + i]] = s->values[i];
    }
    return ERR_OK;
}

/* Replaces an attribute's groups by codes, by their shares. */
static enum err sample_codes(struct sampling *s, uint16_t attribute)
{
    const struct merges *m = model_merges(s->model);
    const double *share = model_share(s->model, attribute);
    const struct scope one = {.n = 1, .attribute = {attribute}};
    const uint32_t *code = m->code[attribute];
    size_t *start CLEAN(memory_release) = NULL;
    double *weight CLEAN(memory_release) = NULL;
    TRY(memory_new(&start, (size_t)m->groups[attribute] + 2));
    TRY(memory_new(&weight, m->codes[attribute]));
    sort_rows(s, &one, m->groups[attribute], start);
    for (uint32_t k = 0; k < m->codes[attribute]; k++)
        weight[k] = share[code[k]];
    for (uint32_t from = 0, below; from < m->codes[attribute]; from = below) {
        const uint32_t g = m->group[attribute][code[from]];
        const size_t rows = start[g + 1] - start[g];
        below = merges_below(m, attribute, from);
        round_off(s, weight + from, below - from, rows);
        for (size_t i = 0; i < rows; i++) {
            const uint32_t drawn = code[from + s->values[i]];
            s->table->column[attribute][s->order[start[g] + i]] = (uint16_t)drawn;
        }
    }
    return ERR_OK;
}

/* --- all ------------------------------------------------------------------------------------- */

static enum err sample_all(struct sampling *s)
{
    const struct junction *j = model_junction(s->model);
    for (size_t i = 0; i < j->cliques; i++) {
        struct scope given = j->clique[i].separator;
        for (unsigned k = 0; k < j->clique[i].scope.n; k++) {
            struct scope one = {.n = 1, .attribute = {j->clique[i].scope.attribute[k]}};
            if (scope_has(&given, one.attribute[0]))
                continue;
            TRY(sample_attribute(s, i, &given, one.attribute[0]));
            given = scope_union(&given, &one);
        }
    }
    for (uint16_t a = 0; a < s->domain->attributes; a++)
        if (model_share(s->model, a) != NULL)
            TRY(sample_codes(s, a));
    s->table->domain = model_domain(s->model);
    return ERR_OK;
}

static void clear(struct sampling *s)
{
    table_free(&s->table);
    memory_free_all(&s->order, &s->values, &s->fraction);
}

enum err sample_rows(struct table **t, const struct model *m, size_t rows, uint64_t seed,
                     struct log *log)
{
    struct sampling s CLEAN(clear) = {.model = m, .domain = model_grouped(m)};
    *t = NULL;
    if (rows >= UINT32_MAX)
        return log_fail(log, ERR_RANGE, "%zu rows are more than can be sampled; ask for fewer",
                        rows);
    TRY(table_new(&s.table, s.domain, rows));
    s.table->rows = rows;
    s.random = random_of(seed);
    s.order = memory_array(rows, sizeof *s.order);
    s.values = memory_array(rows, sizeof *s.values);
    s.fraction = memory_array(DOMAIN_SIZE_MAX, sizeof *s.fraction);
    if (s.order == NULL || s.values == NULL || s.fraction == NULL || sample_all(&s) != ERR_OK)
        return log_fail(log, ERR_NOMEM, "no memory to sample %zu rows; ask for fewer", rows);
    return memory_hand_over(t, &s.table);
}

enum err sample_independent(struct table **t, const struct model *m, size_t rows, uint64_t seed,
                            struct log *log)
{
    struct given *g CLEAN(given_free) = NULL;
    double *chance CLEAN(memory_release) = NULL;
    TRY(given_new(&g, m));
    TRY(memory_new(&chance, rows));
    return given_rows(t, g, NULL, 0, rows, seed, chance, log);
}
