/* The pictures of a report except those of pairs. Colours are classes in report.css. */
#include "aim/table/series.h"
#include "base/memory.h"
#include "base/words.h"
#include "parties/display/report_private.h"

#include <math.h>

#define RANGES_MOST 104 /* bars of a histogram; more are added up */
#define NAMES_MOST 16   /* rows of a chart of labels; the smaller ones are added up */
#define BUDGET_BARS 48  /* and one for round 0 */

/* A number of rows, short enough for a picture: "8421", "12.3 M". */
static void put_rows(struct bytes *out, double rows)
{
    if (rows < 1e7)
        text_put(out, "%.0f", rows);
    else
        text_put(out, rows < 1e9 ? "%.4g M" : "%.6g M", rows / 1e6);
}

/* --- one attribute ---------------------------------------------------------------------------- */

struct chart {
    const struct report *r;
    const struct domain_attribute *a;
    struct report_slots slots;
    struct report_bar *bar; /* of each slot */
    double low, high;       /* of the axis of names */
};

/* The bars of all slots. A slot's counts are added up, so its noise is that of all its codes. */
static enum err make_bars(struct chart *c, uint16_t attribute)
{
    const struct measurement *m = &c->r->found.measurement[attribute]; /* in round 0 */
    const struct clique clique = {1, {attribute}};
    double *counts CLEAN(memory_release) = NULL;
    TRY(memory_new(&counts, c->a->size));
    TRY(released_marginal(c->r->of, &clique, counts, c->r->log));
    TRY(report_slots_new(&c->slots, c->a, counts, RANGES_MOST, NAMES_MOST));
    TRY(memory_new(&c->bar, c->slots.count));
    for (uint32_t i = 0; i < c->a->size; i++) {
        struct report_bar *b = &c->bar[c->slots.of[i]];
        b->model += counts[i];
        b->noisy += m->y[i];
        b->sigma = hypot(b->sigma, m->sigma);
        b->truth += c->r->truth != NULL ? (double)c->r->truth->one_way[attribute][i] : 0;
    }
    return ERR_OK;
}

static void free_bars(struct chart *c)
{
    report_slots_clear(&c->slots);
    memory_free(&c->bar);
}

static void set_axis(struct chart *c)
{
    c->low = 0;
    /* beside ranges of numbers a bar is as long as its share of all rows */
    c->high = c->slots.ranges > 0 ? fmax(1, released_total(c->r->of)) : 1;
    for (size_t i = c->slots.ranges; i < c->slots.count; i++) {
        const struct report_bar *b = &c->bar[i];
        c->low = fmin(c->low, b->noisy - REPORT_BAND * b->sigma);
        c->high = fmax(c->high, fmax(b->model, b->noisy + REPORT_BAND * b->sigma));
        if (c->r->truth != NULL)
            c->high = fmax(c->high, b->truth);
    }
}

static double scale(const struct chart *c, double v, double from, double to)
{
    return from + (to - from) * (v - c->low) / (c->high - c->low);
}

/* The band of noise can be seen, however little noise there is. */
static void draw_name(const struct chart *c, size_t i, double y)
{
    const double left = 108, right = 262;
    const struct report_bar *b = &c->bar[i];
    struct bytes *out = c->r->out;
    double zero = scale(c, 0, left, right), noisy = scale(c, b->noisy, left, right);
    double band = fmax(1, REPORT_BAND * b->sigma / (c->high - c->low) * (right - left));
    text_put(out, "<text x=\"%g\" y=\"%g\" class=\"t end\">", left - 6, y + 12);
    report_slot_name(&c->slots, i, 15, out);
    text_put(out,
             "</text><rect class=\"model\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"11\"/>"
             "<rect class=\"band\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"15\"/>"
             "<path class=\"noisy\" d=\"M%.1f %gv15\"/>",
             zero, y + 2, fmax(0, scale(c, b->model, left, right) - zero), noisy - band, y,
             2 * band, noisy, y);
    if (c->r->truth != NULL)
        text_put(out, "<path class=\"truth\" d=\"M%.1f %gl4 4-4 4-4-4z\"/>",
                 scale(c, b->truth, left, right), y + 3.5);
    text_put(out, "<text x=\"%g\" y=\"%g\" class=\"t end n\">", REPORT_WIDTH - 2, y + 12);
    put_rows(out, b->model);
    text_put(out, "</text>");
}

static void draw_names(struct chart *c)
{
    const size_t names = c->slots.count - c->slots.ranges;
    if (names == 0)
        return;
    set_axis(c);
    report_svg(c->r->out, 20.0 * (double)names + 4);
    html_text(c->r->out, c->a->name);
    text_put(c->r->out, ": rows by value\">");
    for (size_t i = 0; i < names; i++)
        draw_name(c, c->slots.ranges + i, 20.0 * (double)i + 3);
    text_put(c->r->out, "</svg>");
}

/* Says what is assumed inside bins (docs/study.md), and what in the picture is not to scale. */
static void say_inside(const struct chart *c)
{
    struct bytes *out = c->r->out;
    text_put(out, "<p>Inside bins rows have ");
    if (c->a->step > 0)
        text_put(out, "multiples of %g", c->a->step);
    else
        text_put(out, "any numbers");
    text_put(out, ", with an assumed density that follows the bins on either side.");
    switch (c->a->tail) {
    case DOMAIN_TAIL_TREND:
        break;
    case DOMAIN_TAIL_EXPONENTIAL:
        text_put(out, " The last bin is assumed to be an exponential tail.");
        break;
    case DOMAIN_TAIL_TYPICAL:
        text_put(out, " The mean of the last bin, %g, is declared by the study.", c->a->typical);
        break;
    }
    text_put(out, "</p>");
}

static void say_scale(const struct chart *c)
{
    const struct report_slots *s = &c->slots;
    if (s->ranges > 0 && !s->to_scale)
        text_put(c->r->out, "<p>The bins' widths differ too much to be drawn to scale: all are "
                            "equally wide, and as high as their rows.</p>");
    else if (s->cut_low || s->cut_high)
        text_put(c->r->out, "<p>%s drawn shorter than %s, at the break.</p>",
                 !s->cut_low    ? "The last bin is"
                 : !s->cut_high ? "The first bin is"
                                : "The first and the last bin are",
                 s->cut_low && s->cut_high ? "they are" : "it is");
}

enum err report_chart_attribute(const struct report *r, uint16_t attribute)
{
    struct chart c CLEAN(free_bars) = {.r = r, .a = &r->of->domain->attribute[attribute]};
    TRY(make_bars(&c, attribute));
    html_between(r->out, "<figure><figcaption>", c.a->name, "</figcaption>");
    if (c.slots.ranges > 0)
        TRY(report_bins(r, &c.slots, c.bar));
    draw_names(&c);
    say_scale(&c);
    if (domain_has_bins(c.a))
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
             "aria-hidden=\"true\"><rect class=\"model\" y=\"3\" width=\"%.1f\" height=\"8\"/>",
             fmin(100, value * unit));
    if (expected >= 0)
        text_put(out, "<path class=\"noisy\" d=\"M%.1f 0v14\"/>", fmin(99.5, expected * unit));
    text_put(out, "</svg>");
}

/*
 * The part of a round's cost that is for measuring: k^2 marginals / (2 sigma^2), of what is paid.
 */
static double measuring(const struct report *r, size_t round)
{
    const json_t *o = report_round(r, round);
    double sigma = report_number(o, "sigma") / measure_spread(r->study->noise_by);
    /* with events, rows_per_person counts units, and sigma persons */
    double k = (double)r->study->rows_per_person / series_units(r->study->domain);
    double marginals = round == 0 ? (double)r->study->workload->one_ways : 1;
    if (r->study->sweeps > 0 && round > 0)
        return report_number(o, "marginals") > 0 ? report_number(o, "cost") : 0;
    return r->of->copula != NULL ? report_number(o, "cost") /* all of it: nothing is chosen */
                                 : k * k * marginals / (2 * sigma * sigma);
}

/* Round 0 has its own bar; of the others, each bar has as many as necessary. */
void report_chart_budget(const struct report *r)
{
    const double left = 42, right = REPORT_WIDTH - 4, bottom = 124, height = 116;
    const size_t rounds = json_array_size(json_object_get(r->stats, "rounds"));
    const size_t each = rounds > 1 ? (rounds - 2) / BUDGET_BARS + 1 : 1;
    const size_t bars = 1 + (rounds - 1 + each - 1) / each;
    const double width = (right - left) / (double)bars, gap = fmin(2, width / 8);
    double rho = report_number(r->stats, "rho"), before = 0;
    report_svg(r->out, 142);
    text_put(r->out, "Budget by round, added up: %zu rounds after round 0\">", rounds - 1);
    for (unsigned k = 0; k <= 2; k++)
        text_put(r->out,
                 "<path class=\"axis\" d=\"M%g %.1fH%g\"/><text x=\"%g\" y=\"%.1f\" class=\"t "
                 "end\">%u %%</text>",
                 left, bottom - height * k / 2, right, left - 4, bottom + 4 - height * k / 2,
                 50 * k);
    for (size_t i = 0, bar = 0; i < rounds; bar++) {
        double cost = 0, measure = 0, y = bottom - before, x = left + width * (double)bar + gap;
        for (size_t end = bar == 0 ? 1 : i + each; i < end && i < rounds; i++) {
            double of_round = report_number(report_round(r, i), "cost") / rho * height;
            cost += of_round;
            measure += fmin(of_round, measuring(r, i) / rho * height);
        }
        text_put(r->out,
                 "<rect class=\"model\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
                 "<rect class=\"select\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                 x, y - measure, width - 2 * gap, measure, x, y - cost, width - 2 * gap,
                 cost - measure);
        before += cost;
    }
    text_put(r->out, "<text x=\"%g\" y=\"138\" class=\"t\">round 0</text>", left);
    if (each > 1)
        text_put(r->out, "<text x=\"%g\" y=\"138\" class=\"t mid\">%zu rounds a bar</text>",
                 (left + right) / 2, each);
    text_put(r->out, "<text x=\"%g\" y=\"138\" class=\"t end\">round %zu</text></svg>", right,
             rounds - 1);
}

void report_chart_phases(const struct report *r)
{
    double seconds[STUDY_SERVERS_MOST] = {0}, most = 1e-9;
    for (unsigned i = 0; i < r->study->servers; i++) {
        for (size_t k = 0; k < REPORT_PHASES; k++)
            seconds[i] += report_number(report_phase(r, i, k), "seconds");
        most = fmax(most, seconds[i]);
    }
    report_svg(r->out, 36 * r->study->servers + 2);
    text_put(r->out, "Time of each server by phase, as in the table below\">");
    for (unsigned i = 0; i < r->study->servers; i++) {
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
