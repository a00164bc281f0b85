#include "aim/budget/forms.h"

#include "base/memory.h"

/* Whether max |v| S + FORMS_NOISE is at most 2^63 - 1. */
static bool stays_below(uint64_t largest, uint64_t total)
{
    uint64_t most;
    return !__builtin_mul_overflow(largest, total, &most) && most <= INT64_MAX - FORMS_NOISE;
}

static uint64_t largest_of(const int64_t *weight, uint64_t cells)
{
    uint64_t largest = 0;
    for (uint64_t i = 0; i < cells; i++) {
        const uint64_t v = weight[i] < 0 ? -(uint64_t)weight[i] : (uint64_t)weight[i];
        largest = v > largest ? v : largest;
    }
    return largest;
}

/* max |u_i|; column i's factors are at the offset of its one-way's cells. */
static uint64_t largest_factor(const struct forms *p, size_t i)
{
    const struct workload_query *column = &p->workload->query[i];
    return largest_of(p->factor + column->offset, column->cells);
}

/* The most that any marginal counts. */
static uint64_t largest_total(const struct workload *w, const struct score_bounds *bounds)
{
    uint64_t largest = 0;
    for (uint32_t q = 0; q < w->queries; q++)
        largest = score_total(bounds, q) > largest ? score_total(bounds, q) : largest;
    return largest;
}

size_t forms_groups(const struct forms *p, size_t column)
{
    const struct workload_query *q = &p->workload->query[column];
    int64_t largest = 0;
    for (uint64_t a = 0; a < q->cells; a++)
        if (p->group[q->offset + a] > largest)
            largest = p->group[q->offset + a];
    return (size_t)largest + 1;
}

uint64_t forms_count(const struct forms *p)
{
    uint64_t forms = 0, before = 0; /* groups of the columns before */
    for (size_t i = 0; i < p->workload->one_ways; i++) {
        const uint64_t groups = forms_groups(p, i);
        forms += before * groups;
        before += groups;
    }
    return forms;
}

/* Whether each group's codes share one factor, if the column has several groups. */
static bool scores_by_group(const struct forms *p, size_t column)
{
    const struct workload_query *q = &p->workload->query[column];
    const int64_t *factor = p->factor + q->offset, *group = p->group + q->offset;
    uint64_t first[FORMS_GROUPS_MOST] = {0}; /* each group's first code, plus 1 */
    const bool several = forms_groups(p, column) > 1;
    for (uint64_t a = 0; several && a < q->cells; a++) {
        uint64_t *of = &first[group[a]];
        *of = *of == 0 ? a + 1 : *of;
        if (factor[a] != factor[*of - 1])
            return false;
    }
    return true;
}

static enum err check_groups(const struct forms *p, const struct domain *d, struct log *log)
{
    for (size_t i = 0; i < p->workload->one_ways; i++) {
        const struct workload_query *q = &p->workload->query[i];
        const uint64_t most = q->cells < FORMS_GROUPS_MOST ? q->cells : FORMS_GROUPS_MOST;
        for (uint64_t a = 0; a < q->cells; a++)
            if (p->group[q->offset + a] < 0 || p->group[q->offset + a] >= (int64_t)most)
                return log_fail(log, ERR_REFUSED,
                                "%s has %llu values, and one of them is in group %lld: groups "
                                "count from 0, and there are at most %llu",
                                d->attribute[i].name, (unsigned long long)q->cells,
                                (long long)p->group[q->offset + a], (unsigned long long)most);
        if (!scores_by_group(p, i))
            return log_fail(log, ERR_REFUSED,
                            "%s has several groups, and values of one of them have different "
                            "factors; give a group one factor",
                            d->attribute[i].name);
    }
    return ERR_OK;
}

enum err forms_check(const struct forms *p, const struct domain *d,
                     const struct score_bounds *bounds, struct log *log)
{
    const uint64_t total = largest_total(p->workload, bounds);
    const size_t columns = p->workload->one_ways;
    uint64_t first = 0, second = 0; /* the two largest */
    TRY(check_groups(p, d, log));
    if (columns < 2 || forms_pairs(columns) > FORMS_MAX)
        return log_fail(log, ERR_REFUSED, "products take 2 to 1,448 columns, not %zu", columns);
    if (forms_count(p) > FORMS_MAX)
        return log_fail(log, ERR_REFUSED,
                        "the groups of all columns make %llu products, more than %llu; make "
                        "fewer groups",
                        (unsigned long long)forms_count(p), (unsigned long long)FORMS_MAX);
    for (size_t i = 0; i < columns; i++) {
        const uint64_t largest = largest_factor(p, i);
        if (largest > (uint64_t)FORMS_FACTOR_MAX)
            return log_fail(log, ERR_REFUSED,
                            "%s has a factor of %llu, more than 2^24; scale the factors down",
                            d->attribute[i].name, (unsigned long long)largest);
        second = largest > first ? first : largest > second ? largest : second;
        first = largest > first ? largest : first;
    }
    if (stays_below(first * second, total))
        return ERR_OK;
    return log_fail(log, ERR_REFUSED,
                    "a product of factors is %llu and may count %llu rows, more than 64 bits "
                    "carry; scale the factors down or lower max_rows",
                    (unsigned long long)(first * second), (unsigned long long)total);
}

void forms_sensitivity(mpz_ptr squared, const struct forms *p)
{
    mpz_t before, square; /* the squares of the columns before, and this one's */
    mpz_set_ui(squared, 0);
    mpz_init_set_ui(before, 0);
    mpz_init(square);
    for (size_t i = 0; i < p->workload->one_ways; i++) {
        mpz_set_ui(square, largest_factor(p, i));
        mpz_mul(square, square, square);
        mpz_addmul(squared, square, before);
        mpz_add(before, before, square);
    }
    mpz_clear(before);
    mpz_clear(square);
}

/* Adds a pair's forms, from its counts; the second column has `groups` groups. */
static void add_pair(const struct forms *p, const struct workload_query *pair, size_t groups,
                     const uint64_t *counts, uint64_t *values)
{
    const struct workload_query *first = &p->workload->query[pair->clique.attribute[0]],
                                *second = &p->workload->query[pair->clique.attribute[1]];
    const int64_t *u = p->factor + first->offset, *v = p->factor + second->offset;
    const int64_t *g = p->group + first->offset, *h = p->group + second->offset;
    for (size_t a = 0; a < first->cells; a++)
        for (size_t b = 0; b < second->cells; b++)
            values[(size_t)g[a] * groups + (size_t)h[b]] += (uint64_t)(u[a] * v[b]) *
                                                            counts[a * second->cells + b];
}

enum err forms_add(const struct forms *p, const uint64_t *counts, const size_t *start,
                   uint64_t *values)
{
    const struct workload *w = p->workload;
    size_t *groups CLEAN(memory_release) = NULL;
    uint64_t pairs = 0;
    TRY(memory_new(&groups, w->one_ways));
    for (size_t i = 0; i < w->one_ways; i++)
        groups[i] = forms_groups(p, i);
    for (size_t k = 0; k < w->queries; k++) {
        const struct workload_query *q = &w->query[k];
        if (q->clique.n != 2)
            continue;
        add_pair(p, q, groups[q->clique.attribute[1]], counts + start[k], values);
        values += groups[q->clique.attribute[0]] * groups[q->clique.attribute[1]];
        pairs++;
    }
    return pairs == forms_pairs(w->one_ways) ? ERR_OK : ERR_MISUSE;
}
