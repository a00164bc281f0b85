/*
 * All pairs as a triangle, with a row for each attribute. Its name stands at the end of the row, on
 * the diagonal, where its column begins. Shades show how strong a pair is, marks whether it was
 * measured.
 */
#include "parties/display/report_private.h"

#include <math.h>

#define NAME 92.0      /* room for the last row's name */
#define CELL_MOST 26.0 /* units */
#define FEW 12         /* this many attributes fit a phone's width */
#define SHADES 5       /* classes s1 .. s5 of report.css; the least has none */

/* 0: below 0.05; then up to 0.1, 0.2, 0.4, 0.6 and above. */
static unsigned shade_of(const struct report_pair *p)
{
    static const double from[SHADES] = {0.05, 0.1, 0.2, 0.4, 0.6};
    const double v = fabs(p->association.value);
    unsigned n = 0;
    while (n < SHADES && v >= from[n])
        n++;
    return n;
}

static void put_title(const struct report *r, const struct report_pair *p)
{
    text_put(r->out, "<title>");
    html_text(r->out, r->of->domain->attribute[p->x].name);
    text_put(r->out, " and ");
    html_text(r->out, r->of->domain->attribute[p->y].name);
    text_put(r->out, ": %s",
             p->times > 0 ? p->alone > 0 ? "measured" : "measured with others" : "not measured");
    if (p->known)
        text_put(r->out, ", %s %.2f", association_word(p->association.kind), p->association.value);
    text_put(r->out, "</title>");
}

/* A disc: the pair itself; a ring: within a larger marginal. */
static void put_cell(const struct report *r, const struct report_pair *p, double x, double y,
                     double size)
{
    const double c = size / 2;
    text_put(r->out, "<g>");
    put_title(r, p);
    text_put(r->out,
             "<rect class=\"cell%s%.0u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
             shade_of(p) > 0 ? " s" : "", shade_of(p), x + .5, y + .5, size - 1, size - 1);
    if (p->times > 0)
        text_put(r->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>",
                 p->alone > 0 ? "disc" : "ring", x + c, y + c, fmax(1.8, size / 6));
    text_put(r->out, "</g>");
}

static void put_key(struct bytes *out)
{
    static const char *const words[SHADES + 1] = {"below 0.05", "0.05", "0.1",
                                                  "0.2",        "0.4",  "0.6 and more"};
    text_put(out,
             "<ul class=\"key\"><li><svg viewBox=\"0 0 14 10\"><circle class=\"disc\" cx=\"7\" "
             "cy=\"5\" r=\"3\"/></svg>measured</li><li><svg viewBox=\"0 0 14 10\"><circle "
             "class=\"ring\" cx=\"7\" cy=\"5\" r=\"3\"/></svg>measured with others</li>");
    for (unsigned i = 0; i <= SHADES; i++)
        text_put(out,
                 "<li><svg viewBox=\"0 0 14 10\"><rect class=\"cell%s%.0u\" x=\".5\" y=\".5\" "
                 "width=\"13\" height=\"9\"/></svg>%s</li>",
                 i > 0 ? " s" : "", i, words[i]);
    text_put(out, "</ul>\n");
}

void report_matrix(const struct report *r, const uint16_t *attribute, size_t attributes,
                   const struct report_pair *pairs)
{
    const double size = fmin(CELL_MOST, (REPORT_WIDTH - NAME) / (double)(attributes - 1));
    const double text = fmin(12, size + 2); /* units */
    size_t measured = 0;
    for (size_t k = 1; k < attributes; k++)
        for (size_t j = 0; j < k; j++)
            measured += pairs[report_pair_place(attribute[j], attribute[k])].times > 0;
    put_key(r->out);
    text_put(r->out, "<div class=\"figure%s\">", attributes > FEW ? " large" : "");
    report_svg(r->out, size * (double)attributes + 2);
    text_put(r->out,
             "Matrix of %zu attributes: %zu pairs were measured. The table below has them.\">",
             attributes, measured);
    for (size_t k = 0; k < attributes; k++) {
        for (size_t j = 0; j < k; j++)
            put_cell(r, &pairs[report_pair_place(attribute[j], attribute[k])], size * (double)j,
                     size * (double)k, size);
        text_put(r->out, "<text class=\"t\" style=\"font-size:%.3gpx\" x=\"%.1f\" y=\"%.1f\">",
                 text, size * (double)k + 3, size * (double)k + size / 2 + text / 3);
        html_text_cut(r->out, r->of->domain->attribute[attribute[k]].name,
                      k + 3 < attributes ? 20 : 13);
        text_put(r->out, "</text>");
    }
    text_put(r->out, "</svg></div>\n");
    if (attributes < r->of->domain->attributes)
        text_put(
            r->out,
            "<p class=\"soft\">The matrix has the %zu attributes with the most measured pairs; %zu "
            "are left out.</p>\n",
            attributes, r->of->domain->attributes - attributes);
}
