#include "aim/forms.h"

#include "base/memory.h"

/* --- permitted or not ------------------------------------------------------------------------- */

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

static enum err check_one(const int64_t *weight, uint32_t query, const struct domain *d,
                          const struct workload *w, const struct score_bounds *bounds,
                          struct log *log)
{
    const uint64_t largest = largest_of(weight, w->query[query].cells);
    if (largest > (uint64_t)FORMS_WEIGHT_MAX)
        return log_fail(log, ERR_REFUSED,
                        "a form of %s has a weight of %llu, more than 2^40; scale the form down",
                        clique_name(&w->query[query].clique, d).text, (unsigned long long)largest);
    if (stays_below(largest, score_total(bounds, query)))
        return ERR_OK;
    return log_fail(log, ERR_REFUSED,
                    "a form of %s has a weight of %llu and may count %llu rows, more than 64 bits "
                    "carry; scale the form down or lower max_rows",
                    clique_name(&w->query[query].clique, d).text, (unsigned long long)largest,
                    (unsigned long long)score_total(bounds, query));
}

enum err forms_check(const struct forms *f, const struct domain *d, const struct workload *w,
                     const struct score_bounds *bounds, struct log *log)
{
    const int64_t *weight = f->weight;
    if (f->count == 0 || f->count > FORMS_MAX)
        return log_fail(log, ERR_REFUSED, "%zu forms: a request has from 1 to %llu", f->count,
                        (unsigned long long)FORMS_MAX);
    for (size_t k = 0; k < f->count; k++) {
        if (f->query[k] >= w->queries || (k > 0 && f->query[k] < f->query[k - 1]))
            return log_fail(log, ERR_REFUSED,
                            "form %zu is of marginal %u: there is none, or it is out of order", k,
                            f->query[k]);
        TRY(check_one(weight, f->query[k], d, w, bounds, log));
        weight += w->query[f->query[k]].cells;
    }
    return ERR_OK;
}

/* --- sensitivity ------------------------------------------------------------------------------ */

typedef unsigned __int128 wide; /* FORMS_MAX squares are below 2^100 */

static void add_wide(mpz_ptr sum, wide v)
{
    const uint64_t words[2] = {(uint64_t)v, (uint64_t)(v >> 64)};
    mpz_t z;
    mpz_init(z);
    mpz_import(z, 2, -1, sizeof *words, 0, 0, words);
    mpz_add(sum, sum, z);
    mpz_clear(z);
}

/* The largest sum of squares in any one cell of `count` forms of a marginal. */
static wide largest_squares(const int64_t *weight, size_t count, uint64_t cells)
{
    wide largest = 0;
    for (uint64_t c = 0; c < cells; c++) {
        wide sum = 0;
        for (size_t k = 0; k < count; k++) {
            const __int128 v = weight[k * cells + c];
            sum += (wide)(v * v);
        }
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

void forms_sensitivity(mpz_ptr squared, const struct forms *f, const struct workload *w)
{
    const int64_t *weight = f->weight;
    mpz_set_ui(squared, 0);
    for (size_t k = 0, n; k < f->count; k += n) {
        const uint64_t cells = w->query[f->query[k]].cells;
        for (n = 1; k + n < f->count && f->query[k + n] == f->query[k]; n++)
            ;
        add_wide(squared, largest_squares(weight, n, cells));
        weight += n * cells;
    }
}

/* --- values ----------------------------------------------------------------------------------- */

int64_t forms_value(const int64_t *weight, const int64_t *counts, uint64_t cells)
{
    uint64_t sum = 0; /* no partial sum need fit */
    for (uint64_t i = 0; i < cells; i++)
        sum += (uint64_t)weight[i] * (uint64_t)counts[i];
    return (int64_t)sum;
}

/* --- products --------------------------------------------------------------------------------- */

size_t products_codes(const struct workload *w)
{
    return (size_t)(w->query[w->one_ways - 1].offset + w->query[w->one_ways - 1].cells);
}

/* max |u_i|; the factors of column i stand where its one-way's cells do. */
static uint64_t largest_factor(const struct products *p, size_t i)
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

enum err products_check(const struct products *p, const struct domain *d,
                        const struct score_bounds *bounds, struct log *log)
{
    const uint64_t total = largest_total(p->workload, bounds);
    const size_t columns = p->workload->one_ways;
    uint64_t first = 0, second = 0; /* the two largest */
    if (columns < 2 || products_count(columns) > FORMS_MAX)
        return log_fail(log, ERR_REFUSED, "products are of 2 to 1,448 columns, not of %zu",
                        columns);
    for (size_t i = 0; i < columns; i++) {
        const uint64_t largest = largest_factor(p, i);
        if (largest > (uint64_t)FORMS_FACTOR_MAX)
            return log_fail(log, ERR_REFUSED,
                            "%s has a factor of %llu, more than 2^20; scale the factors down",
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

void products_sensitivity(mpz_ptr squared, const struct products *p)
{
    mpz_t before, square; /* squares of the columns before; of this one */
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

/* u_i u_j, row-major. */
static void put_products(int64_t *weight, const struct products *p, size_t i, size_t j)
{
    const struct workload_query *first = &p->workload->query[i], *second = &p->workload->query[j];
    const int64_t *u = p->factor + first->offset, *v = p->factor + second->offset;
    for (size_t a = 0; a < first->cells; a++)
        for (size_t b = 0; b < second->cells; b++)
            *weight++ = u[a] * v[b];
}

enum err products_spread(const struct products *p, struct forms *f)
{
    const struct workload *w = p->workload;
    int64_t *weight;
    uint64_t cells = 0;
    *f = (struct forms){0};
    for (size_t q = 0; q < w->queries; q++)
        cells += w->query[q].clique.n == 2 ? w->query[q].cells : 0;
    TRY(memory_new(&f->query, products_count(w->one_ways)));
    TRY(memory_new(&f->weight, cells));
    weight = f->weight;
    for (uint32_t q = 0; q < w->queries; q++) {
        const struct clique *pair = &w->query[q].clique;
        if (pair->n != 2)
            continue;
        f->query[f->count++] = q;
        put_products(weight, p, pair->attribute[0], pair->attribute[1]);
        weight += w->query[q].cells;
    }
    return f->count == products_count(w->one_ways) ? ERR_OK : ERR_MISUSE;
}

void forms_clear(struct forms *f)
{
    memory_free(&f->query);
    memory_free(&f->weight);
    *f = (struct forms){0};
}
