/*
 * Intervals: every refit answers all questions, and the differences of its answers are added up.
 * Refits are shared out among lanes, which are added up in order, so any number of threads gives
 * the same bytes.
 */
#include "aim/answer/answer_private.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_jobs.h"
#include "aim/model/normal.h"
#include "base/memory.h"

#include <math.h>

#define LANES 10
#define FEW 4 /* deviations of their noise: of fewer rows an interval is that of counts alone */
#define USUAL 1.96 /* deviations of a level of 0.95 */

/* For one value, over the refits that know it. */
struct interval_sum {
    double off, square; /* the difference from the answer, and its square */
    double rows;        /* the square of the difference in rows, over all refits */
    uint32_t known, same;
};

struct intervals {
    struct answer *const *answer;
    size_t answers;
    const struct answer_terms *terms;
    size_t *first;            /* each answer's first value, then the number of all values */
    struct interval_sum *sum; /* for each lane, each value */
};

static size_t values_of(const struct answer *a)
{
    return a->lines * a->question->items;
}

/* --- what refits answer ----------------------------------------------------------------------- */

static enum err answer_again(const struct intervals *v, size_t k, struct interval_sum *sum,
                             struct model_sums *m, const struct densities *inside, uint64_t seed)
{
    const struct answer *a = v->answer[k];
    struct answer *again CLEAN(answer_free) = NULL;
    struct random random = random_of(seed);
    const struct answer_draw draw = {.errors = v->terms->errors, .random = &random};
    TRY(answer_make(&again, m, inside, a->question, &draw, NULL, v->terms->log));
    for (size_t i = 0; i < values_of(a); i++) {
        const struct answer_value *x = &a->value[i], *y = &again->value[i];
        struct interval_sum *s = &sum[v->first[k] + i];
        s->rows += (y->rows - x->rows) * (y->rows - x->rows);
        if (!x->known || !y->known)
            continue;
        s->off += y->number - x->number;
        s->square += (y->number - x->number) * (y->number - x->number);
        s->known++;
        s->same += y->number == x->number;
    }
    return ERR_OK;
}

static bool has_values(const struct intervals *v, size_t k)
{
    return v->first[k + 1] > v->first[k];
}

static enum err refit_answer(void *self, size_t lane, struct model *copy)
{
    const struct intervals *v = self;
    const struct errors *e = v->terms->errors;
    struct interval_sum *sum = v->sum + lane * v->first[v->answers];
    for (size_t r = lane; r < e->refits; r += LANES) {
        struct densities inside CLEAN(densities_clear) = {0};
        struct model_sums *sums CLEAN(model_sums_free) = NULL;
        errors_apply(e, r, model_sums_of(v->terms->model), copy);
        TRY(model_densities(&inside, copy, v->terms->log));
        TRY(model_sums_new(&sums, copy));
        for (size_t k = 0; k < v->answers; k++)
            if (has_values(v, k))
                TRY(answer_again(v, k, sum, sums, &inside, ~(uint64_t)r)); /* a seed no refit has */
    }
    return ERR_OK;
}

static void begun(void *show, size_t lane, size_t of)
{
    const struct answer_terms *t = show;
    if (t->begun != NULL)
        t->begun(t->show, lane * t->errors->refits / of, t->errors->refits);
}

static void add_lanes(struct intervals *v)
{
    size_t n = v->first[v->answers];
    for (size_t lane = 1; lane < LANES; lane++)
        for (size_t i = 0; i < n; i++) {
            const struct interval_sum *s = &v->sum[lane * n + i];
            v->sum[i].off += s->off;
            v->sum[i].square += s->square;
            v->sum[i].rows += s->rows;
            v->sum[i].known += s->known;
            v->sum[i].same += s->same;
        }
}

/* --- intervals -------------------------------------------------------------------------------- */

/*
 * How many standard deviations to either side of the mean hold this share of a Gaussian whose
 * deviation is known from n numbers: Student's t (Cornish and Fisher).
 */
static double student_quantile(double level, double n)
{
    double z = normal_quantile((1 + level) / 2), v = n - 1, cube = z * z * z;
    return z + (cube + z) / (4 * v) + (5 * cube * z * z + 16 * cube + 3 * z) / (96 * v * v);
}

/* Narrows a range to the numbers that the conditions on this column leave. */
static void narrow(const struct question *q, uint16_t column, double *least, double *most)
{
    const bool whole = !domain_has_bins(&q->domain->attribute[column]);
    double from = INFINITY, below = -INFINITY;
    for (unsigned k = 0; k < q->where.n; k++) {
        const struct values *v = case_values(&q->where.one[k], column);
        if (v == NULL)
            return;
        for (uint32_t i = 0; i < v->spans; i++) {
            from = fmin(from, q->pool.span[v->first + i].from);
            below = fmax(below, q->pool.span[v->first + i].below);
        }
    }
    *least = fmax(*least, whole ? ceil(from) : from);
    *most = fmin(*most, whole ? floor(below) : nextafter(below, -INFINITY));
}

static void keep_possible(const struct question *q, const struct question_item *item,
                          struct answer_value *v)
{
    const struct domain_attribute *a = item->rows ? NULL : &q->domain->attribute[item->column];
    double least = -INFINITY, most = INFINITY;
    if (a != NULL) {
        least = domain_number(a, 0);
        most = domain_last(a);
    }
    switch (item->aggregate) {
    case AGGREGATE_COUNT:
    case AGGREGATE_VARIANCE:
    case AGGREGATE_STDDEV:
        least = 0;
        most = INFINITY;
        break;
    case AGGREGATE_SHARE:
        least = 0;
        most = 100;
        break;
    case AGGREGATE_CORR:
        least = -1;
        most = 1;
        break;
    case AGGREGATE_SUM:
        least = least >= 0 ? 0 : -INFINITY;
        most = most <= 0 ? 0 : INFINITY;
        break;
    case AGGREGATE_MODE: /* codes */
        least = 0;
        most = a != NULL ? a->values - 1.0 : 0;
        break;
    case AGGREGATE_ARITHMETIC: /* any number */
        break;
    default: /* of numbers themselves */
        narrow(q, item->column, &least, &most);
        break;
    }
    v->low = fmin(v->number, fmax(least, v->low));
    v->high = fmax(v->number, fmin(most, v->high));
}

static bool is_labels(const struct question *q, const struct question_item *item)
{
    return item->aggregate == AGGREGATE_MODE &&
           !domain_has_order(&q->domain->attribute[item->column]);
}

/*
 * The deviation of an answer, and how far off its mean is. Counts cannot be negative, so noise adds
 * rows to empty cells, in proportion to the noise. Refits have sqrt(2) times the model's noise. If
 * they are off to one side by d, the model is off by d / (sqrt(2) - 1).
 */
static double error_of(const struct interval_sum *s)
{
    const double n = s->known, mean = s->off / n;
    const double variance = fmax(0, s->square / n - mean * mean);
    const double aside = fmax(0, mean * mean - variance / n); /* more than chance explains */
    return sqrt(variance + aside / (M_SQRT2 - 1) / (M_SQRT2 - 1));
}

/*
 * Counts of the very cells, if they were measured, have errors that are known to be Gaussian, while
 * refits show only a part of how far a fit is off to one side. So where few rows leave refits
 * nothing to show, the counts alone give the interval. Else it reaches to their side by as much as
 * the answer is further from them than chance explains: one deviation of their distance at a level
 * of 0.95, and more where less has to be held.
 */
static void heed_counts(const struct intervals *v, const struct question_item *item,
                        const struct answer_counted *line, double error, struct answer_value *x)
{
    const double z = normal_quantile((1 + v->terms->level) / 2);
    double low, high, off, chance;
    if (!answer_counted_interval(line, item->aggregate, z, &low, &high))
        return;
    if (!(x->rows >= FEW * sqrt(line->rows_variance))) {
        x->low = line->parted ? fmin(low, x->low) : low;
        x->high = line->parted ? fmax(high, x->high) : high;
        return;
    }
    off = x->number - (low + high) / 2;
    chance = (high - low) / 2 / z;
    chance = USUAL / z * sqrt(fabs(chance * chance - error * error));
    x->low -= fmax(0, off - chance);
    x->high += fmax(0, -off - chance);
}

static void set_interval(const struct intervals *v, struct answer *a, size_t at,
                         const struct interval_sum *s, const struct answer_counted *line)
{
    const struct question_item *item = &a->question->item[at % a->question->items];
    const struct errors *e = v->terms->errors;
    struct answer_value *x = &a->value[at];
    double half;
    if (!x->known || aggregate_is_extreme(item->aggregate) || 2 * s->known < e->refits)
        return;
    x->agreed = (double)s->same / s->known;
    if (is_labels(a->question, item)) /* labels have no order */
        return;
    half = student_quantile(v->terms->level, s->known) * error_of(s);
    if (item->aggregate == AGGREGATE_MODE)
        half = rint(half);
    x->bounded = true;
    x->low = x->number - half;
    x->high = x->number + half;
    heed_counts(v, item, line, error_of(s), x);
    keep_possible(a->question, item, x);
}

/* Answers the extremes again, now that the error of their rows is known. */
static enum err set_extremes(const struct intervals *v, size_t k)
{
    struct answer *a = v->answer[k], *again CLEAN(answer_free) = NULL;
    const struct interval_sum *sum = v->sum + v->first[k];
    const double n = (double)v->terms->errors->refits;
    double *error CLEAN(memory_release) = NULL;
    struct answer_ends ends = {.errors = student_quantile(v->terms->level, n)};
    TRY(memory_new(&error, values_of(a)));
    for (size_t i = 0; i < values_of(a); i++)
        error[i] = sqrt(sum[i].rows / n);
    ends.error = error;
    TRY(answer_make(&again, v->terms->model, v->terms->inside, a->question, NULL, &ends,
                    v->terms->log));
    for (size_t i = 0; i < values_of(a); i++)
        if (aggregate_is_extreme(a->question->item[i % a->question->items].aggregate))
            a->value[i] = again->value[i];
    return ERR_OK;
}

/* Whether everything behind an item was measured, or the errors of the rest were learned. */
static bool can_tell(const struct answer_terms *t, const struct question *q, size_t item)
{
    struct scope s = answer_columns(q, item);
    return t->errors->learned || errors_links(model_sums_of(t->model), &s) == 0;
}

static enum err set_item(const struct intervals *v, size_t k, size_t item)
{
    struct answer *a = v->answer[k];
    const size_t items = a->question->items;
    struct answer_counted *line CLEAN(memory_release) = NULL;
    TRY(memory_new(&line, a->lines));
    TRY(answer_counted(v->terms, a, item, line));
    for (size_t i = 0; i < a->lines; i++)
        set_interval(v, a, i * items + item, &v->sum[v->first[k] + i * items + item], &line[i]);
    return ERR_OK;
}

static enum err set_answer(const struct intervals *v, size_t k)
{
    struct answer *a = v->answer[k];
    bool extremes = false;
    for (size_t i = 0; i < a->question->items; i++)
        extremes |= aggregate_is_extreme(a->question->item[i].aggregate);
    for (size_t item = 0; item < a->question->items; item++)
        if (can_tell(v->terms, a->question, item))
            TRY(set_item(v, k, item));
    return extremes ? set_extremes(v, k) : ERR_OK;
}

/* 0 if there are too many for intervals. */
static size_t count_values(const struct answer *a)
{
    return values_of(a) <= ANSWER_INTERVALS ? values_of(a) : 0;
}

static void clear(struct intervals *v)
{
    memory_free_all(&v->first, &v->sum);
}

enum err answer_intervals(struct answer *const *answers, size_t n, const struct answer_terms *terms)
{
    struct intervals v CLEAN(clear) = {.answer = answers, .answers = n, .terms = terms};
    struct answer_terms shown = *terms;
    const struct model_jobs jobs = {.jobs = LANES,
                                    .play = refit_answer,
                                    .self = &v,
                                    .begun = begun,
                                    .show = &shown,
                                    .log = terms->log};
    TRY(memory_new(&v.first, n + 1));
    for (size_t k = 0; k < n; k++)
        v.first[k + 1] = v.first[k] + count_values(answers[k]);
    TRY(memory_new(&v.sum, LANES * v.first[n]));
    TRY(model_jobs_run(&jobs, model_sums_of(terms->model)));
    add_lanes(&v);
    for (size_t k = 0; k < n; k++)
        if (has_values(&v, k))
            TRY(set_answer(&v, k));
    return ERR_OK;
}
