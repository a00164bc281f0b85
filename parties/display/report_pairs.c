/* Pairs of attributes: which were measured, and how strongly they are related. */
#include "base/memory.h"
#include "parties/display/report_private.h"

#include <math.h>
#include <stdlib.h>

/* --- all pairs as a triangle ------------------------------------------------------------------ */

/*
 * A row for each attribute. Its name stands at the end of the row, on the diagonal, where its
 * column begins. Shades show how strong a pair is, marks whether it was measured.
 */
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
    html_between(r->out, "<title>", r->of->domain->attribute[p->x].name, " and ");
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

static void draw_matrix(const struct report *r, const uint16_t *attribute, size_t attributes,
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

/* --- those that are listed -------------------------------------------------------------------- */

#define LISTED_MOST 24                      /* measured pairs in the table */
#define FOLLOWING_MOST 6                    /* pairs that were not measured, after them */
#define HEAT_MOST 12                        /* pictures of measured pairs */
#define PAIR_CELLS_MOST (UINT64_C(1) << 22) /* of a pair, or of a table on the way to it */

void report_pairs_clear(struct report_pairs *p)
{
    memory_free_all(&p->pair, &p->list);
}

/* --- what was measured ------------------------------------------------------------------------ */

/*
 * A cell of the pair is a sum of a larger marginal's cells, with the variance of that sum. Over all
 * measurements, inverse variances add up.
 */
static void note(struct report_pairs *p, size_t i, uint16_t x, uint16_t y)
{
    const struct measurement *m = &p->r->found.measurement[i];
    struct report_pair *pair = &p->pair[report_pair_place(x, y)];
    const struct clique clique = {2, {x, y}};
    const double cells = (double)measurement_cells(m, p->r->of->domain) /
                         (double)clique_cells(&clique, p->r->of->domain);
    const double known = pair->times > 0 ? 1 / (pair->sigma * pair->sigma) : 0;
    const double alone = m->sigma * sqrt(cells);
    pair->sigma = 1 / sqrt(known + 1 / (alone * alone));
    if (pair->times == 0 || alone < pair->least) {
        pair->best = i;
        pair->least = alone;
    }
    pair->first = pair->times == 0 ? report_round_of(p->r, i) : pair->first;
    pair->last = report_round_of(p->r, i);
    pair->alone += m->clique.n == 2;
    pair->times++;
}

static enum err find_measured(struct report_pairs *p)
{
    const size_t d = p->r->of->domain->attributes;
    p->count = d * (d - 1) / 2;
    TRY(memory_new(&p->pair, p->count));
    TRY(memory_new(&p->list, p->count));
    for (uint16_t y = 1; y < d; y++)
        for (uint16_t x = 0; x < y; x++) {
            p->pair[report_pair_place(x, y)].x = x;
            p->pair[report_pair_place(x, y)].y = y;
        }
    for (size_t i = 0; i < p->r->found.measurements; i++) {
        const struct clique *c = &p->r->found.measurement[i].clique;
        for (unsigned k = 1; k < c->n; k++)
            for (unsigned j = 0; j < k; j++)
                note(p, i, c->attribute[j], c->attribute[k]);
    }
    for (size_t i = 0; i < p->count; i++) {
        struct report_pair *pair = &p->pair[i];
        if (p->r->of->copula != NULL) { /* one number, and no cells with a known noise */
            pair->times = pair->alone = 1;
            pair->first = pair->last = 1;
        }
        p->measured += p->pair[i].times > 0;
    }
    return ERR_OK;
}

/* The attributes with the most measured pairs, in the study's order. */
static enum err choose_attributes(struct report_pairs *p)
{
    const size_t d = p->r->of->domain->attributes;
    unsigned *times CLEAN(memory_release) = NULL;
    bool *taken CLEAN(memory_release) = NULL;
    TRY(memory_new(&times, d));
    TRY(memory_new(&taken, d));
    for (size_t i = 0; i < p->count; i++)
        if (p->pair[i].times > 0) {
            times[p->pair[i].x]++;
            times[p->pair[i].y]++;
        }
    for (size_t n = 0; n < d && n < REPORT_MATRIX_MOST; n++) {
        size_t best = d;
        for (size_t a = 0; a < d; a++)
            if (!taken[a] && (best == d || times[a] > times[best]))
                best = a;
        taken[best] = true;
    }
    for (size_t a = 0; a < d; a++)
        if (taken[a])
            p->shown[p->attributes++] = (uint16_t)a;
    return ERR_OK;
}

/* --- how much they have to do with each other ------------------------------------------------- */

/* Does nothing if the model would need too large a table for it. */
static enum err associate(const struct report_pairs *p, struct report_pair *pair)
{
    const struct report *r = p->r;
    const struct clique clique = {2, {pair->x, pair->y}};
    const uint64_t cells = clique_cells(&clique, r->of->domain);
    double *counts CLEAN(memory_release) = NULL;
    if (cells > PAIR_CELLS_MOST ||
        (r->of->model != NULL && model_marginal_cells(r->of->model, &clique) > PAIR_CELLS_MOST))
        return ERR_OK;
    TRY(memory_new(&counts, cells));
    TRY(released_marginal(r->of, &clique, counts, r->log));
    TRY(association_of(&pair->association, r->of->domain, pair->x, pair->y, counts, pair->sigma,
                       &r->of->inside));
    pair->known = true;
    return ERR_OK;
}

static enum err associate_all(struct report_pairs *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->pair[i].times > 0)
            TRY(associate(p, &p->pair[i]));
    for (size_t k = 1; k < p->attributes; k++)
        for (size_t j = 0; j < k; j++) {
            struct report_pair *pair = &p->pair[report_pair_place(p->shown[j], p->shown[k])];
            if (pair->times == 0)
                TRY(associate(p, pair));
        }
    return ERR_OK;
}

static int stronger_first(const void *a, const void *b)
{
    const struct report_pair *x = *(const struct report_pair *const *)a,
                             *y = *(const struct report_pair *const *)b;
    const double vx = fabs(x->association.value), vy = fabs(y->association.value);
    if ((x->times > 0) != (y->times > 0))
        return x->times > 0 ? -1 : 1;
    if (vx != vy)
        return vx < vy ? 1 : -1;
    return x < y ? -1 : 1;
}

static void make_list(struct report_pairs *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->pair[i].known)
            p->list[p->listed++] = &p->pair[i];
    if (p->listed > 0)
        qsort(p->list, p->listed, sizeof *p->list, stronger_first);
}

/* --- in words --------------------------------------------------------------------------------- */

static void put_row(const struct report *r, const struct report_pair *p)
{
    const struct association *a = &p->association;
    html_between(r->out, "<tr><th scope=\"row\">", r->of->domain->attribute[p->x].name,
                 " &times; ");
    html_text(r->out, r->of->domain->attribute[p->y].name);
    text_put(r->out, "<small>");
    report_known_from(r, p);
    text_put(r->out, "</small></th><td class=\"b\">");
    report_chart_bar(r->out, fabs(a->value), p->sigma > 0 ? a->alone : -1, 1);
    text_put(r->out, "</td><td class=\"n\">%s %.2f", association_word(a->kind), a->value);
    if (p->sigma > 0)
        text_put(r->out, " &plusmn; %.2f", REPORT_BAND * a->error);
    text_put(r->out, "</td></tr>\n");
}

static void put_table(const struct report_pairs *p)
{
    struct bytes *out = p->r->out;
    size_t measured = 0, following = 0;
    text_put(out, "<div class=\"wide\"><table class=\"rows\"><caption>Pairs, the strongest first"
                  "</caption><thead><tr><th scope=\"col\">pair</th><th scope=\"col\">0 to 1</th>"
                  "<th scope=\"col\" class=\"n\">strength</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < p->listed; i++)
        if (p->list[i]->times > 0 ? measured++ < LISTED_MOST : following++ < FOLLOWING_MOST)
            put_row(p->r, p->list[i]);
    text_put(out, "</tbody></table></div>\n");
    if (measured > LISTED_MOST)
        text_put(out, "<p class=\"soft\">%zu weaker measured pairs are left out.</p>\n",
                 measured - LISTED_MOST);
    if (following > FOLLOWING_MOST)
        text_put(out,
                 "<p class=\"soft\">Of the pairs that were not measured, the table shows the %d "
                 "strongest.</p>\n",
                 FOLLOWING_MOST);
    if (measured < p->measured)
        text_put(out,
                 "<p class=\"soft\">%zu measured pairs have too many cells for this page.</p>\n",
                 p->measured - measured);
}

static enum err put_pictures(const struct report_pairs *p)
{
    struct bytes *out = p->r->out;
    size_t drawn = 0, measured = 0;
    for (size_t i = 0; i < p->listed; i++)
        measured += p->list[i]->times > 0;
    if (measured == 0)
        return ERR_OK;
    text_put(out, "<h3>Measured pairs</h3>\n<p>The darker a cell, the more rows the model puts "
                  "there. <b>+</b> marks cells with more rows than if the two had nothing to do "
                  "with each other, <b>&minus;</b> those with fewer: by more than noise explains "
                  "(2&sigma;), and by at least a tenth.");
    if (measured > HEAT_MOST)
        text_put(out, " Of %zu pairs, the %d strongest are drawn.", measured, HEAT_MOST);
    text_put(out, "</p>\n<div class=\"grid\">\n");
    for (size_t i = 0; i < p->listed && drawn < HEAT_MOST; i++)
        if (p->list[i]->times > 0) {
            TRY(report_heat(p->r, p->list[i]));
            drawn++;
        }
    text_put(out, "</div>\n");
    return ERR_OK;
}

static const char what_strengths_are[] =
    "r is the correlation of two columns of numbers, -1 to 1; eta, how much labels explain of "
    "numbers, and V (Cram&eacute;r's) of two columns of labels go from 0 to 1. ";

static void say_what_of_copula(const struct report_pairs *p)
{
    struct bytes *out = p->r->out;
    const double sigma = report_number(report_round(p->r, 1), "sigma");
    text_put(out,
             "<h2>Pairs of attributes</h2>\n<p>For each of %zu pairs one number was measured: the "
             "sum over all rows of the product of two scores, with noise of standard deviation "
             "%.4g. It gives one correlation of the normal variables that stand for the two, and "
             "the tables here are those of such variables, cut at the shares of the values. Any "
             "other dependence between two attributes was not measured.</p>\n<p>%s</p>\n",
             p->count, sigma, what_strengths_are);
}

static void say_what(const struct report_pairs *p)
{
    struct bytes *out = p->r->out;
    if (p->r->of->copula != NULL) {
        say_what_of_copula(p);
        return;
    }
    text_put(out, "<h2>Pairs of attributes</h2>\n<p>%zu of %zu pairs were measured together",
             p->measured, p->count);
    text_put(
        out,
        p->measured == 0
            ? ": in the model every attribute is independent of the others.</p>\n"
            : ", by themselves or within a larger marginal. What the model says about the others "
              "is an assumption: that two attributes have no more to do with each other than "
              "follows from what was measured. So they have a value but no uncertainty.</p>\n");
    if (p->measured == 0)
        return;
    text_put(out,
             "<p>%s&plusmn; is twice the standard deviation that the noise of the measured pair "
             "gives, which covers the truth in about 95 of 100 cases. It does not cover what "
             "bins%s leave out, nor how rows happened to be sampled. The mark in a bar shows what "
             "such noise alone would give.</p>\n",
             what_strengths_are,
             p->r->found.merges != NULL ? ", and values measured together," : "");
}

enum err report_pairs_find(struct report_pairs *p, const struct report *r)
{
    *p = (struct report_pairs){.r = r};
    TRY(find_measured(p));
    TRY(choose_attributes(p));
    TRY(associate_all(p));
    TRY(report_signal(p));
    make_list(p);
    return ERR_OK;
}

enum err report_pairs(const struct report_pairs *p)
{
    if (p->count == 0)
        return ERR_OK;
    say_what(p);
    if (p->measured == 0)
        return ERR_OK;
    draw_matrix(p->r, p->shown, p->attributes, p->pair);
    put_table(p);
    return put_pictures(p);
}
