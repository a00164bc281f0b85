#include "bench/adapt_questions.h"

#include "aim/answer/evaluate.h"

#include <math.h>
#include <stdio.h>

#define SHARE_LEAST 0.001 /* of the rows, for a condition */
#define WITHIN 0.02       /* of exact counts of bins, by which they would answer */

void adapt_values(const struct adapt_moments *m, double value[ADAPT_KINDS])
{
    value[ADAPT_COUNT] = m->rows;
    value[ADAPT_SUM] = m->sum;
    value[ADAPT_AVG] = m->sum / m->rows;
    value[ADAPT_VARIANCE] = m->squares / m->rows - value[ADAPT_AVG] * value[ADAPT_AVG];
}

double adapt_error(double answer, double truth)
{
    return fabs(answer - truth) / fabs(truth);
}

struct adapt_range {
    uint16_t column;
    double low, high;
};

static struct adapt_moments of_rows(const struct table *t, uint16_t y, const struct adapt_range *r,
                                    size_t n)
{
    struct adapt_moments m = {0};
    for (size_t row = 0; row < t->rows; row++) {
        const double x = t->number[y][row];
        bool fits = true;
        for (size_t i = 0; i < n; i++)
            fits &= t->number[r[i].column][row] >= r[i].low &&
                    t->number[r[i].column][row] <= r[i].high;
        m.rows += fits;
        m.sum += fits ? x : 0;
        m.squares += fits ? x * x : 0;
    }
    return m;
}

/* The same from exact counts of bins. */
static struct adapt_moments of_bins(const struct adapt_rows *a, uint16_t y,
                                    const struct adapt_range *r, size_t n)
{
    struct density_part part[ADAPT_RANGES_MAX + 1]
                            [ADAPT_CODES_MAX]; /* the last: of y, if it has no range */
    const struct adapt_range any = {y, -INFINITY, INFINITY};
    struct adapt_moments m = {0};
    size_t own = n;
    for (size_t i = 0; i <= n; i++) {
        const struct adapt_range *at = i < n ? &r[i] : &any;
        own = i < n && at->column == y ? i : own;
        for (uint32_t c = 0; c < a->table->domain->attribute[at->column].size; c++)
            part[i][c] = density_part(a->inside->of[at->column], c, at->low,
                                      nextafter(at->high, INFINITY));
    }
    for (size_t row = 0; row < a->table->rows; row++) {
        const struct density_part *of = &part[own][a->table->column[y][row]];
        double share = 1;
        for (size_t i = 0; i < n; i++)
            share *= part[i][a->table->column[r[i].column][row]].share;
        m.rows += share;
        m.sum += share * of->mean;
        m.squares += share * of->square;
    }
    return m;
}

/* Columns of numbers, in any order. */
static size_t shuffle(const struct table *t, struct random *r, uint16_t *column)
{
    size_t n = 0;
    for (uint16_t c = 0; c < t->domain->attributes; c++)
        if (t->number[c] != NULL) {
            const size_t at = random_below(r, ++n);
            column[n - 1] = column[at];
            column[at] = c;
        }
    return n;
}

/* The truth, and whether enough rows meet it, relative errors say something, and bins suffice. */
static bool is_fair(const struct adapt_rows *a, uint16_t y, const struct adapt_range *r, size_t n,
                    struct adapt_question *q)
{
    const double deviation = evaluate_column(a->table, y).deviation;
    struct adapt_moments m = of_rows(a->table, y, r, n);
    double *truth = q->truth, most = 0;
    adapt_values(&m, truth);
    if (m.rows < fmax(2, SHARE_LEAST * (double)a->table->rows) ||
        fabs(truth[ADAPT_AVG]) < deviation / 10 ||
        truth[ADAPT_VARIANCE] < deviation * deviation / 100)
        return false;
    m = of_bins(a, y, r, n);
    adapt_values(&m, q->binned);
    for (int k = 0; k < ADAPT_KINDS; k++)
        most = fmax(most, adapt_error(q->binned[k], truth[k]));
    return most <= WITHIN;
}

void adapt_draw(const struct adapt_rows *a, struct random *r, bool several,
                struct adapt_question *q)
{
    const struct table *t = a->table;
    uint16_t column[DOMAIN_ATTRIBUTES_MAX], y;
    struct adapt_range range[ADAPT_RANGES_MAX];
    size_t n;
    do {
        const size_t all = shuffle(t, r, column);
        int used;
        n = several ? 2 + random_below(r, (all < ADAPT_RANGES_MAX ? all : ADAPT_RANGES_MAX) - 1)
                    : 1;
        y = column[random_below(r, all)];
        used = snprintf(q->sql, sizeof q->sql,
                        "SELECT COUNT(*), SUM(\"%s\"), VARIANCE(\"%s\") FROM t",
                        t->domain->attribute[y].name, t->domain->attribute[y].name);
        for (size_t i = 0; i < n; i++) {
            const double *x = t->number[column[i]], u = x[random_below(r, t->rows)],
                         v = x[random_below(r, t->rows)];
            range[i] = (struct adapt_range){column[i], fmin(u, v), fmax(u, v)};
            used += snprintf(q->sql + used, sizeof q->sql - (size_t)used,
                             " %s \"%s\" BETWEEN %.10g AND %.10g", i == 0 ? "WHERE" : "AND",
                             t->domain->attribute[column[i]].name, range[i].low, range[i].high);
        }
    } while (!is_fair(a, y, range, n, q));
}
