/* What would improve the numbers inside bins and what is merged, judged by the study alone. */
#include "aim/answer/sorted.h"
#include "base/memory.h"
#include "parties/study/method.h"
#include "parties/study/study_text.h"

#include <inttypes.h>
#include <math.h>

#define WIDE 4         /* times the median width of bins */
#define MANY_LABELS 50 /* of which a chapter should say which are alike */

struct suggesting {
    FILE *out;
    bool begun;
};

/* Begins a line about a column, after a title above the first. */
static void about(struct suggesting *s, const struct domain_attribute *a)
{
    if (!s->begun)
        fputs("\nSuggestions for numbers inside bins, which are assumed, not counted:\n", s->out);
    s->begun = true;
    fprintf(s->out, "  %s: ", a->name);
}

static double width(const struct domain_attribute *a, uint32_t code)
{
    return a->edges[code + 1] - a->edges[code];
}

/* The median width of all bins that are not spikes; INFINITY if there are fewer than three. */
static enum err usual_width(const struct domain_attribute *a, double *usual)
{
    double *widths CLEAN(memory_release) = memory_array(a->values, sizeof *widths);
    size_t n = 0;
    if (widths == NULL)
        return ERR_NOMEM;
    for (uint32_t code = 0; code < a->values; code++)
        if (!domain_spike(a, code))
            widths[n++] = width(a, code);
    sorted_make(widths, n);
    *usual = n < 3 ? INFINITY : widths[(n - 1) / 2];
    return ERR_OK;
}

static void suggest_step(struct suggesting *s, const struct domain_attribute *a)
{
    for (uint32_t i = 0; i <= a->values; i++)
        if (a->edges[i] != floor(a->edges[i]))
            return;
    if (a->step > 0)
        return;
    about(s, a);
    fputs("rows will have numbers with any digits; if its values are whole, or have\n"
          "    one digit after the point, say step: 1 or step: 0.1\n",
          s->out);
}

static void suggest_edges(struct suggesting *s, const struct domain_attribute *a, double usual)
{
    const uint32_t last = domain_tail_bin(a);
    char low[COLUMN_TEXT], high[COLUMN_TEXT];
    for (uint32_t code = 0; code < a->values; code++) {
        if (width(a, code) < WIDE * usual || (code == last && a->tail != DOMAIN_TAIL_TREND))
            continue;
        about(s, a);
        fprintf(s->out, "the bin from %s to %s is %.3g times as wide as others; ",
                domain_text(a, code, 6, low), domain_text(a, code + 1, 6, high),
                width(a, code) / usual);
        fputs(code == last ? "add edges,\n    say tail: exponential if rows thin out there, or "
                             "tail: {typical: its mean}\n"
                           : "add edges,\n    and spikes for single numbers that many rows have\n",
              s->out);
    }
}

/* Rare codes of a long list are merged with any others, unless a column says which are alike. */
static void suggest_chapters(FILE *out, const struct study *s, uint16_t attribute)
{
    const struct domain_attribute *a = &s->domain->attribute[attribute];
    const struct clique one = {1, {attribute}};
    bool tied = !method_of(s)->selects || domain_has_order(a) || a->values <= MANY_LABELS;
    for (size_t k = 0; k < s->zeros; k++)
        tied |= s->zero[k].clique.n > 1 && clique_contains(&s->zero[k].clique, &one);
    if (!tied)
        fprintf(out,
                "\n%s has %" PRIu32 " values, of which those with few rows will be counted\n"
                "  together, whatever they mean. A measured column of their chapters (from:\n"
                "  lookup(%s, ..)) keeps each within its own.\n",
                a->name, a->values, a->name);
}

enum err study_suggest(FILE *out, const struct study *study)
{
    struct suggesting s = {.out = out};
    for (size_t i = 0; i < study->domain->attributes; i++) {
        const struct domain_attribute *a = &study->domain->attribute[i];
        double usual;
        if (!domain_has_bins(a))
            continue;
        TRY(usual_width(a, &usual));
        suggest_step(&s, a);
        suggest_edges(&s, a, usual);
    }
    for (uint16_t a = 0; a < study->domain->attributes; a++)
        suggest_chapters(out, study, a);
    return ERR_OK;
}
