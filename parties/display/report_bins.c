/*
 * A histogram of the ranges of an attribute of numbers. Bins are drawn to their width, so that
 * their area shows their rows; inside them is the assumed density.
 */
#include "base/memory.h"
#include "parties/display/report_private.h"

#include <math.h>

#define LEFT 4.0
#define TOP 18.0
#define BOTTOM 126.0
#define STEPS 8      /* of a curve inside a bin */
#define EVEN 0.02    /* a smaller tilt is drawn as none */
#define STEEPEST 1.5 /* a curve may be this many times as high as the highest bar */

struct plot {
    const struct report *r;
    const struct report_slots *s;
    const struct report_bar *bar;
    double *at;       /* where ranges begin and end */
    double low, high; /* of the axis, in rows of the narrowest range's width */
};

/* The height at which rows of a range are drawn. */
static double height(const struct plot *p, size_t i, double rows)
{
    const struct report_slot *slot = &p->s->slot[i];
    return p->s->to_scale ? rows * p->s->narrowest / (slot->high - slot->low) : rows;
}

static double y_of(const struct plot *p, double v)
{
    return BOTTOM + (TOP - BOTTOM) * (fmin(v, p->high) - p->low) / (p->high - p->low);
}

/* The least short number that is not below v. */
static double round_up(double v)
{
    static const double steps[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    const double ten = pow(10, floor(log10(v)));
    size_t i = 0;
    while (i < 10 && steps[i] * ten < v * (1 - 1e-9))
        i++;
    return steps[i] * ten;
}

static double tilt_of(const struct plot *p, size_t i)
{
    const struct report_slot *slot = &p->s->slot[i];
    if (slot->codes > 1)
        return 0;
    return density_tilt(p->r->of->inside.of[p->s->a - p->r->of->domain->attribute], slot->first);
}

/* The density at u, 0 to 1 across a bin; the average is 1. */
static double density_at(double tilt, double u)
{
    return fabs(tilt) < EVEN
               ? 1
               : tilt * exp(tilt * (u - (tilt > 0))) / (1 - exp(-fabs(tilt))) * (tilt > 0 ? 1 : -1);
}

static void set_axis(struct plot *p)
{
    double bars = 0, curves = 0;
    p->low = 0;
    for (size_t i = 0; i < p->s->ranges; i++) {
        const struct report_bar *b = &p->bar[i];
        const double model = height(p, i, b->model), tilt = tilt_of(p, i);
        p->low = fmin(p->low, height(p, i, b->noisy - REPORT_BAND * b->sigma));
        bars = fmax(bars, fmax(model, height(p, i, b->noisy + REPORT_BAND * b->sigma)));
        bars = fmax(bars, p->r->truth != NULL ? height(p, i, b->truth) : 0);
        curves = fmax(curves, model * fmax(density_at(tilt, 0), density_at(tilt, 1)));
    }
    p->high = round_up(fmax(1, fmax(bars, fmin(curves, STEEPEST * bars))));
}

/* --- drawing: one path for all bars, so that the page stays small ----------------------------- */

static void draw_rectangle(const struct plot *p, size_t i, double from, double to)
{
    const double a = y_of(p, from), b = y_of(p, to), gap = fmin(1, (p->at[i + 1] - p->at[i]) / 8);
    text_put(p->r->out, "M%.1f %.1fH%.1fV%.1fH%.1fz", LEFT + p->at[i] + gap, a,
             LEFT + p->at[i + 1] - gap, b, LEFT + p->at[i] + gap);
}

static void draw_curve(const struct plot *p, size_t i, double model, double tilt)
{
    const double width = p->at[i + 1] - p->at[i], gap = fmin(1, width / 8);
    text_put(p->r->out, "M%.1f %.1f", LEFT + p->at[i] + gap, y_of(p, 0));
    for (unsigned k = 0; k <= STEPS; k++) {
        const double u = (double)k / STEPS;
        text_put(p->r->out, "L%.1f %.1f", LEFT + p->at[i] + gap + u * (width - 2 * gap),
                 y_of(p, model * density_at(tilt, u)));
    }
    text_put(p->r->out, "V%.1fz", y_of(p, 0));
}

static void draw_models(const struct plot *p)
{
    text_put(p->r->out, "<path class=\"model\" d=\"");
    for (size_t i = 0; i < p->s->ranges; i++) {
        const double model = height(p, i, p->bar[i].model), tilt = tilt_of(p, i);
        if (fabs(tilt) < EVEN)
            draw_rectangle(p, i, 0, model);
        else
            draw_curve(p, i, model, tilt);
    }
    text_put(p->r->out, "\"/>");
}

static void draw_counts(const struct plot *p)
{
    text_put(p->r->out, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < p->s->ranges; i++) {
        const double noisy = height(p, i, p->bar[i].noisy);
        const double band = height(p, i, REPORT_BAND * p->bar[i].sigma);
        draw_rectangle(p, i, noisy - band, noisy + band);
    }
    text_put(p->r->out, "\"/><path class=\"noisy\" d=\"");
    for (size_t i = 0; i < p->s->ranges; i++)
        text_put(p->r->out, "M%.1f %.1fH%.1f", LEFT + p->at[i],
                 y_of(p, height(p, i, p->bar[i].noisy)), LEFT + p->at[i + 1]);
    text_put(p->r->out, "\"/>");
    if (p->r->truth == NULL)
        return;
    text_put(p->r->out, "<path class=\"truth\" d=\"");
    for (size_t i = 0; i < p->s->ranges; i++)
        text_put(p->r->out, "M%.1f %.1fl3 3-3 3-3-3z", LEFT + (p->at[i] + p->at[i + 1]) / 2,
                 y_of(p, height(p, i, p->bar[i].truth)) - 3);
    text_put(p->r->out, "\"/>");
}

/* Marks an end that is drawn shorter than it is. */
static void draw_break(const struct plot *p, double x)
{
    text_put(p->r->out, "<path class=\"break\" d=\"M%.1f %.1fl4-10m1 10l4-10\"/>", LEFT + x - 5,
             y_of(p, 0) + 5);
}

static void put_edge(const struct plot *p, double at, const char *class, double v)
{
    char room[COLUMN_TEXT];
    text_put(p->r->out, "<text x=\"%.1f\" y=\"%g\" class=\"t%s\">", LEFT + at, y_of(p, 0) + 16,
             class);
    html_text(p->r->out, domain_print(p->s->a, v, 6, room));
    text_put(p->r->out, "</text>");
}

static void draw_axes(const struct plot *p)
{
    const struct report_slots *s = p->s;
    const size_t first = s->cut_low, last = s->ranges - s->cut_high;
    struct bytes *out = p->r->out;
    size_t middle = first;
    while (middle < last && p->at[middle] < (p->at[first] + p->at[last]) / 2)
        middle++;
    text_put(out, "<path class=\"axis\" d=\"M%g %gH%gM%g %.1fH%g\"/>", LEFT, TOP,
             REPORT_WIDTH - LEFT, LEFT, y_of(p, 0), REPORT_WIDTH - LEFT);
    text_put(out, "<text x=\"%g\" y=\"%g\" class=\"t\">axis ends at %.6g rows%s", LEFT, TOP - 6,
             p->high, s->to_scale ? "" : " a bin");
    if (!domain_has_bins(s->a) && s->slot[0].codes == 1)
        text_put(out, " a value");
    else if (s->to_scale)
        text_put(out, " per %.6g", s->narrowest);
    text_put(out, "</text>");
    put_edge(p, 0, "", s->slot[0].low);
    if (s->ranges > 1)
        put_edge(p, p->at[s->ranges], " end", report_slots_last(s));
    if (s->ranges > 2 && middle > 0 && middle < s->ranges)
        put_edge(p, p->at[middle], " mid", s->slot[middle].low);
    if (s->cut_low)
        draw_break(p, p->at[1] / 2);
    if (s->cut_high)
        draw_break(p, (p->at[s->ranges - 1] + p->at[s->ranges]) / 2);
}

static void describe(const struct plot *p)
{
    char low[COLUMN_TEXT], high[COLUMN_TEXT];
    size_t most = 0;
    for (size_t i = 0; i < p->s->ranges; i++)
        if (height(p, i, p->bar[i].model) > height(p, most, p->bar[most].model))
            most = i;
    html_between(p->r->out, "Histogram of ", p->s->a->name, ", ");
    text_put(p->r->out, "%zu bars from ", p->s->ranges);
    html_text(p->r->out, domain_print(p->s->a, p->s->slot[0].low, 6, low));
    html_between(p->r->out, " to ", domain_print(p->s->a, report_slots_last(p->s), 6, high),
                 "; highest: ");
    report_slot_name(p->s, most, 24, p->r->out);
    text_put(p->r->out, ", %.0f rows", p->bar[most].model);
}

enum err report_bins(const struct report *r, const struct report_slots *s,
                     const struct report_bar *bar)
{
    double *at CLEAN(memory_release) = NULL;
    struct plot p = {.r = r, .s = s, .bar = bar};
    TRY(memory_new(&at, s->ranges + 1));
    report_slots_place(s, REPORT_WIDTH - 2 * LEFT, at);
    p.at = at;
    set_axis(&p);
    report_svg(r->out, y_of(&p, p.low) + 20);
    describe(&p);
    text_put(r->out, "\">");
    draw_models(&p);
    draw_counts(&p);
    draw_axes(&p);
    text_put(r->out, "</svg>");
    return ERR_OK;
}
