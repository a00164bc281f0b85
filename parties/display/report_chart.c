/* The pictures of a report, 320 units wide, as a small phone. Colours are classes in report.css. */
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"
#include "parties/display/report_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 320.0
#define BAND 2.0       /* standard deviations of noise that are shaded, on either side: 95 % */
#define BARS_MOST 64   /* columns of a chart of numbers; more cells are added up */
#define LABELS_MOST 16 /* rows of a chart of labels; the smaller ones are added up */

/* --- one attribute ---------------------------------------------------------------------------- */

/* A bar: what the model says, the noisy count with its deviation, and in a demo the truth. */
struct bar {
    double model, noisy, sigma, truth;
    uint32_t first, count; /* codes that it stands for */
    bool missing;
};

struct chart {
    const struct report *r;
    const struct domain_attribute *a;
    struct bar *bar;
    size_t bars;
    double low, high; /* of the axis */
};

static void add(struct bar *to, const struct bar *from)
{
    to->model += from->model;
    to->noisy += from->noisy;
    to->sigma = hypot(to->sigma, from->sigma);
    to->truth += from->truth;
    to->count += from->count;
}

static enum err make_bars(struct chart *c, uint16_t attribute)
{
    const struct measurement *m = &c->r->measurement[attribute]; /* in round 0 */
    const struct clique clique = {1, {attribute}};
    double *counts CLEAN(memory_release) = NULL;
    TRY(memory_new(&c->bar, c->a->size));
    c->bars = c->a->size;
    TRY(memory_new(&counts, c->a->size));
    TRY(model_marginal(c->r->model, &clique, counts, c->r->log));
    for (uint32_t i = 0; i < c->a->size; i++)
        c->bar[i] = (struct bar){
            .model = counts[i],
            .noisy = m->y[i],
            .sigma = m->sigma,
            .truth = c->r->truth != NULL ? (double)c->r->truth->one_way[attribute][i] : 0,
            .first = i,
            .count = 1,
            .missing = i == c->a->values};
    return ERR_OK;
}

static void set_axis(struct chart *c)
{
    c->low = 0;
    c->high = 1;
    for (size_t i = 0; i < c->bars; i++) {
        const struct bar *b = &c->bar[i];
        c->low = fmin(c->low, b->noisy - BAND * b->sigma);
        c->high = fmax(c->high, fmax(b->model, b->noisy + BAND * b->sigma));
        if (c->r->truth != NULL)
            c->high = fmax(c->high, b->truth);
    }
}

static double scale(const struct chart *c, double v, double from, double to)
{
    return from + (to - from) * (v - c->low) / (c->high - c->low);
}

static void begin_svg(struct bytes *out, double height)
{
    text_put(out, "<svg viewBox=\"0 0 %g %g\" role=\"img\">", WIDTH, height);
}

/* --- labels: horizontal bars ------------------------------------------------------------------ */

static int larger_first(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    if (x->model != y->model)
        return x->model < y->model ? 1 : -1;
    return x->first < y->first ? -1 : 1;
}

/* Many labels: the largest by the model, in their order of size, and the rest as one. */
static void fold_labels(struct chart *c)
{
    if (c->bars <= LABELS_MOST)
        return;
    qsort(c->bar, c->bars, sizeof *c->bar, larger_first);
    for (size_t i = LABELS_MOST; i < c->bars; i++)
        add(&c->bar[LABELS_MOST - 1], &c->bar[i]);
    c->bar[LABELS_MOST - 1].missing = false;
    c->bars = LABELS_MOST;
}

static void put_label(const struct chart *c, const struct bar *b, size_t characters)
{
    struct bytes *out = c->r->out;
    if (b->count > 1)
        text_put(out, "%u others", (unsigned)b->count);
    else if (b->missing)
        text_put(out, "missing");
    else
        html_text_cut(out, c->a->labels[b->first], characters);
}

static void draw_label_bar(const struct chart *c, const struct bar *b, double y)
{
    const double left = 104, right = 268;
    struct bytes *out = c->r->out;
    double zero = scale(c, 0, left, right), noisy = scale(c, b->noisy, left, right);
    text_put(out, "<text x=\"%g\" y=\"%g\" class=\"t end\">", left - 8, y + 11);
    put_label(c, b, 15);
    text_put(out,
             "</text><rect class=\"model\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"11\"/>"
             "<rect class=\"band\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"15\"/>"
             "<path class=\"noisy\" d=\"M%.1f %gv15\"/>",
             zero, y + 2, fmax(0, scale(c, b->model, left, right) - zero),
             scale(c, b->noisy - BAND * b->sigma, left, right), y,
             2 * BAND * b->sigma / (c->high - c->low) * (right - left), noisy, y);
    if (c->r->truth != NULL)
        text_put(out, "<path class=\"truth\" d=\"M%.1f %gl4 4-4 4-4-4z\"/>",
                 scale(c, b->truth, left, right), y + 3.5);
    text_put(out, "<text x=\"%g\" y=\"%g\" class=\"t end n\">%.0f</text>", WIDTH - 2, y + 11,
             b->model);
}

static void draw_labels(struct chart *c)
{
    fold_labels(c);
    set_axis(c);
    begin_svg(c->r->out, 20.0 * (double)c->bars + 4);
    for (size_t i = 0; i < c->bars; i++)
        draw_label_bar(c, &c->bar[i], 20.0 * (double)i + 3);
    text_put(c->r->out, "</svg>");
}

/* --- numbers: columns ------------------------------------------------------------------------- */

/* Many cells: as many neighbours a column as it takes; the missing value stays by itself. */
static void fold_numbers(struct chart *c)
{
    uint32_t each = (c->a->values + BARS_MOST - 1) / BARS_MOST;
    size_t n = 0;
    if (each <= 1)
        return;
    for (size_t i = 0; i < c->bars; i++)
        if (i % each == 0 || c->bar[i].missing)
            c->bar[n++] = c->bar[i];
        else
            add(&c->bar[n - 1], &c->bar[i]);
    c->bars = n;
}

static double edge(const struct chart *c, uint32_t code)
{
    return c->a->kind == DOMAIN_INTEGER ? (double)(c->a->min + code) : c->a->edges[code];
}

/* Where column i begins and ends. A missing value stands apart, at the right. */
static void place(const struct chart *c, size_t i, double *x, double *width)
{
    bool missing = c->a->missing != NULL;
    double room = missing ? WIDTH - 66 : WIDTH - 8;
    double each = room / (double)(c->bars - (missing ? 1 : 0));
    *width = c->bar[i].missing ? 22 : each;
    *x = c->bar[i].missing ? WIDTH - 33 : 4 + each * (double)i;
}

static void draw_column(const struct chart *c, size_t i, double top, double bottom)
{
    const struct bar *b = &c->bar[i];
    struct bytes *out = c->r->out;
    double x, width, zero = scale(c, 0, bottom, top), model = scale(c, b->model, bottom, top);
    double gap, high = scale(c, b->noisy + BAND * b->sigma, bottom, top);
    place(c, i, &x, &width);
    gap = fmin(2, width / 8);
    text_put(out,
             "<rect class=\"model\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
             "<rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
             "<path class=\"noisy\" d=\"M%.1f %.1fh%.1f\"/>",
             x + gap, fmin(model, zero), fmax(0.1, width - 2 * gap), fmax(0, zero - model),
             x + gap / 2, high, fmax(0.1, width - gap),
             scale(c, b->noisy - BAND * b->sigma, bottom, top) - high, x + gap / 2,
             scale(c, b->noisy, bottom, top), fmax(0.1, width - gap));
    if (c->r->truth != NULL)
        text_put(out, "<path class=\"truth\" d=\"M%.1f %.1fl3 3-3 3-3-3z\"/>", x + width / 2,
                 scale(c, b->truth, bottom, top) - 3);
}

static void draw_scale(const struct chart *c, double bottom)
{
    struct bytes *out = c->r->out;
    bool missing = c->a->missing != NULL;
    double right = missing ? WIDTH - 62 : WIDTH - 4;
    uint32_t last = c->a->kind == DOMAIN_INTEGER ? c->a->values - 1 : c->a->values;
    text_put(out,
             "<path class=\"axis\" d=\"M4 %.1fH%g\"/>"
             "<text x=\"4\" y=\"%.1f\" class=\"t\">%.6g</text>"
             "<text x=\"%g\" y=\"%.1f\" class=\"t mid\">%.6g</text>"
             "<text x=\"%g\" y=\"%.1f\" class=\"t end\">%.6g</text>",
             bottom, right, bottom + 14, edge(c, 0), (4 + right) / 2, bottom + 14,
             edge(c, last / 2), right, bottom + 14, edge(c, last));
    if (missing)
        text_put(out, "<text x=\"%g\" y=\"%.1f\" class=\"t end\">missing</text>", WIDTH - 2,
                 bottom + 14);
}

static void draw_numbers(struct chart *c)
{
    const double top = 16, bottom = 122;
    fold_numbers(c);
    set_axis(c);
    begin_svg(c->r->out, 140);
    text_put(c->r->out, "<text x=\"4\" y=\"10\" class=\"t\">%.0f rows</text>", c->high);
    for (size_t i = 0; i < c->bars; i++)
        draw_column(c, i, top, bottom);
    draw_scale(c, scale(c, 0, bottom, top));
    text_put(c->r->out, "</svg>");
}

static void free_bars(struct chart *c)
{
    memory_free(&c->bar);
}

/* What is assumed inside bins (docs/study.md). */
static void say_inside(const struct chart *c)
{
    struct bytes *out = c->r->out;
    text_put(out, "<p>Inside bins rows have ");
    if (c->a->step > 0)
        text_put(out, "multiples of %g", c->a->step);
    else
        text_put(out, "any numbers");
    text_put(out, ", by a density that is assumed: it follows the bins on either side.");
    switch (c->a->tail) {
    case DOMAIN_TAIL_TREND:
        break;
    case DOMAIN_TAIL_EXPONENTIAL:
        text_put(out, " The last bin is taken for an exponential tail.");
        break;
    case DOMAIN_TAIL_TYPICAL:
        text_put(out, " The mean of the last bin, %g, is declared by the study.", c->a->typical);
        break;
    }
    text_put(out, "</p>");
}

enum err report_chart_attribute(const struct report *r, uint16_t attribute)
{
    struct chart c CLEAN(free_bars) = {.r = r, .a = &r->domain->attribute[attribute]};
    TRY(make_bars(&c, attribute));
    text_put(r->out, "<figure><figcaption>");
    html_text(r->out, c.a->name);
    text_put(r->out, "</figcaption>");
    if (c.a->kind == DOMAIN_CATEGORICAL)
        draw_labels(&c);
    else
        draw_numbers(&c);
    if (c.a->kind == DOMAIN_NUMERIC)
        say_inside(&c);
    text_put(r->out, "</figure>\n");
    return ERR_OK;
}

/* --- bars, budget, phases --------------------------------------------------------------------- */

void report_chart_bar(struct bytes *out, double value, double expected, double most)
{
    double unit = 100 / fmax(most, 1e-9);
    text_put(out,
             "<svg class=\"bar\" viewBox=\"0 0 100 14\" preserveAspectRatio=\"none\" "
             "aria-hidden=\"true\"><rect class=\"model\" y=\"3\" width=\"%.1f\" height=\"8\"/>"
             "<path class=\"noisy\" d=\"M%.1f 0v14\"/></svg>",
             fmin(100, value * unit), fmin(99.5, expected * unit));
}

/* What of a round's cost is for measuring: marginals / (2 sigma^2), and k^2 times that. */
static double measuring(const struct report *r, size_t round)
{
    const json_t *o = report_round(r, round);
    double sigma = report_number(o, "sigma"), k = r->study->rows_per_person;
    double marginals = round == 0 ? (double)r->study->workload->one_ways : 1;
    return k * k * marginals / (2 * sigma * sigma);
}

void report_chart_budget(const struct report *r)
{
    const double left = 38, right = WIDTH - 4, bottom = 124, height = 116;
    size_t rounds = json_array_size(json_object_get(r->stats, "rounds"));
    double rho = report_number(r->stats, "rho"), before = 0;
    double width = (right - left) / (double)rounds, gap = fmin(2, width / 8);
    begin_svg(r->out, 142);
    for (unsigned k = 0; k <= 2; k++)
        text_put(r->out,
                 "<path class=\"axis\" d=\"M%g %.1fH%g\"/><text x=\"%g\" y=\"%.1f\" class=\"t "
                 "end\">%u %%</text>",
                 left, bottom - height * k / 2, right, left - 4, bottom + 4 - height * k / 2,
                 50 * k);
    for (size_t i = 0; i < rounds; i++) {
        double cost = report_number(report_round(r, i), "cost") / rho * height;
        double measure = fmin(cost, measuring(r, i) / rho * height), y = bottom - before;
        double x = left + width * (double)i + gap;
        text_put(r->out,
                 "<rect class=\"model\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
                 "<rect class=\"select\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                 x, y - measure, width - 2 * gap, measure, x, y - cost, width - 2 * gap,
                 cost - measure);
        before += cost;
    }
    text_put(r->out,
             "<text x=\"%g\" y=\"138\" class=\"t\">round 0</text>"
             "<text x=\"%g\" y=\"138\" class=\"t end\">round %zu</text></svg>",
             left, right, rounds - 1);
}

void report_chart_phases(const struct report *r)
{
    double seconds[STUDY_SERVERS] = {0}, most = 1e-9;
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        for (size_t k = 0; k < REPORT_PHASES; k++)
            seconds[i] += report_number(report_phase(r, i, k), "seconds");
        most = fmax(most, seconds[i]);
    }
    begin_svg(r->out, 36 * STUDY_SERVERS + 2);
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        double x = 4, y = 36.0 * i;
        text_put(r->out, "<text x=\"4\" y=\"%g\" class=\"t\">", y + 11);
        html_text(r->out, r->study->server[i].name);
        text_put(r->out, "</text><text x=\"316\" y=\"%g\" class=\"t end\">%s</text>", y + 11,
                 words_time(seconds[i]).text);
        for (size_t k = 0; k < REPORT_PHASES; k++) {
            double w = report_number(report_phase(r, i, k), "seconds") / most * 312;
            text_put(r->out,
                     "<rect class=\"p%zu\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"14\"/>", k,
                     x, y + 15, w);
            x += w;
        }
    }
    text_put(r->out, "</svg>");
}
