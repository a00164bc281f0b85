#include "aim/forms.h"

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
