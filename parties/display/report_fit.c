/* How far the model is from what was measured, marginal by marginal. */
#include "base/memory.h"
#include "parties/display/report_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define SHOWN_MOST 30 /* more are folded away, except those that fit worst */
#define ALL_MOST 500  /* and beyond that left out */

struct report_fitting {
    size_t measurement;
    double error, expected; /* shares of the rows, 0 to 2 and more */
    uint64_t cells;
};

static enum err fit_of(const struct report *r, size_t i, struct report_fitting *f)
{
    const struct measurement *m = &r->found.measurement[i];
    const uint64_t cells = measurement_cells(m, r->of->domain);
    const double rows = fmax(1, released_total(r->of));
    double *counts CLEAN(memory_release) = NULL;
    TRY(memory_new(&counts, cells));
    TRY(r->of->model != NULL ? model_measured(r->of->model, m, counts, r->log)
                             : released_marginal(r->of, &m->clique, counts, r->log));
    *f = (struct report_fitting){i, 0, sqrt(2 / M_PI) * m->sigma * (double)cells / rows, cells};
    for (uint64_t k = 0; k < cells; k++)
        f->error += fabs(counts[k] - m->y[k]) / rows;
    return ERR_OK;
}

static int worst_first(const void *a, const void *b)
{
    const struct report_fitting *x = a, *y = b;
    const double u = x->error / x->expected, v = y->error / y->expected;
    if (u != v)
        return u < v ? 1 : -1;
    return x->measurement < y->measurement ? -1 : 1;
}

static int in_order(const void *a, const void *b)
{
    const struct report_fitting *x = a, *y = b;
    return (x->measurement > y->measurement) - (x->measurement < y->measurement);
}

static void put_row(const struct report *r, const struct report_fitting *f, double most)
{
    const struct measurement *m = &r->found.measurement[f->measurement];
    text_put(r->out, "<tr><td class=\"n hide\">%zu</td><th scope=\"row\">",
             report_round_of(r, f->measurement));
    html_text(r->out, clique_name(&m->clique, r->of->domain).text);
    text_put(r->out, "</th><td class=\"b\">");
    report_chart_bar(r->out, f->error, f->expected, most);
    text_put(r->out,
             "</td><td class=\"n\">%.3f</td><td class=\"n\">%.3f</td>"
             "<td class=\"n hide\">%" PRIu64 "</td><td class=\"n hide\">%.1f</td></tr>\n",
             f->error, f->expected, f->cells, m->sigma);
}

static void put_table(const struct report *r, const struct report_fitting *f, size_t n, double most)
{
    text_put(r->out,
             "<div class=\"wide\"><table class=\"rows\"><thead><tr>"
             "<th scope=\"col\" class=\"n hide\">round</th><th scope=\"col\">marginal</th>"
             "<th scope=\"col\">0 to %.2g</th><th scope=\"col\" class=\"n\">model</th>"
             "<th scope=\"col\" class=\"n\">noise</th><th scope=\"col\" class=\"n hide\">cells</th>"
             "<th scope=\"col\" class=\"n hide\">&sigma;</th></tr></thead><tbody>\n",
             most);
    for (size_t i = 0; i < n; i++)
        put_row(r, &f[i], most);
    text_put(r->out, "</tbody></table></div>\n");
}

static void put_folded(const struct report *r, struct report_fitting *f, double most)
{
    const size_t all = r->found.measurements, n = all < ALL_MOST ? all : ALL_MOST;
    qsort(f, all, sizeof *f, worst_first);
    text_put(r->out, "<p>Of %zu marginals, the %d with the worst fit beside their noise:</p>\n",
             all, SHOWN_MOST);
    put_table(r, f, SHOWN_MOST, most);
    qsort(f, all, sizeof *f, in_order);
    text_put(r->out,
             "<details><summary>%s %zu, in the order in which they were measured"
             "</summary>\n",
             n < all ? "The first" : "All", n);
    put_table(r, f, n, most);
    text_put(r->out, "</details>\n");
}

static void put_known(const struct report *r)
{
    if (r->found.knowns == 0)
        return;
    text_put(r->out,
             "<p>The model was given %zu published margin%s, which it matches exactly and on which "
             "no budget was spent: ",
             r->found.knowns, r->found.knowns == 1 ? "" : "s");
    for (size_t i = 0; i < r->found.knowns; i++) {
        bytes_put_text(r->out, i > 0 ? "; " : "");
        html_text(r->out, clique_name(&r->found.known[i].clique, r->of->domain).text);
    }
    bytes_put_text(r->out, ".</p>\n");
}

enum err report_fit(const struct report *r)
{
    struct report_fitting *f CLEAN(memory_release) = NULL;
    double most = 0;
    TRY(memory_new(&f, r->found.measurements));
    for (size_t i = 0; i < r->found.measurements; i++) {
        TRY(fit_of(r, i, &f[i]));
        most = fmax(most, fmax(f[i].error, f[i].expected));
    }
    text_put(
        r->out,
        "<h2>The model against what was measured</h2>\n"
        "<p>For each measured marginal, how far the model is from the noisy counts, and how far "
        "noise alone is expected to put those from the truth: sums of |difference| as shares of "
        "the rows, 0 for alike and 2 for nothing in common. A bar that stays left of its mark "
        "means that the model agrees with the data as well as anybody can know. Marginals that "
        "were not measured follow from the model; how far off those are cannot be known "
        "without looking at the data.</p>\n"
        "<ul class=\"key\"><li><svg viewBox=\"0 0 14 10\"><rect class=\"model\" y=\"2\" "
        "width=\"14\" height=\"6\"/></svg>model against noisy counts</li><li><svg "
        "viewBox=\"0 0 14 10\"><path class=\"noisy\" d=\"M7 0v10\"/></svg>expected of noise "
        "alone</li></ul>\n");
    put_known(r);
    if (r->found.measurements <= SHOWN_MOST)
        put_table(r, f, r->found.measurements, most);
    else
        put_folded(r, f, most);
    return ERR_OK;
}
