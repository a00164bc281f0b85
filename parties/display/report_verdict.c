/* What a table is worth, in a few sentences, from opened values alone. */
#include "aim/table/series.h"
#include "base/memory.h"
#include "parties/display/assess_words.h"
#include "parties/display/report_private.h"

#include <math.h>

#define NAMED_MOST 8 /* columns */
#define LINKS_MOST 3 /* pairs */

static const char *name_of(const struct report_pairs *p, uint16_t attribute)
{
    return p->r->of->domain->attribute[attribute].name;
}

/* "a, b and c", or "a, b, .. and 40 others". */
static void put_columns(const struct report_pairs *p, const bool *of, size_t count,
                        struct bytes *text)
{
    const size_t named = count > NAMED_MOST ? NAMED_MOST - 1 : count;
    size_t n = 0;
    for (uint16_t a = 0; n < named; a++)
        if (of[a]) {
            text_put(text, "%s%s", n == 0 ? "" : n + 1 == count ? " and " : ", ", name_of(p, a));
            n++;
        }
    if (named < count)
        text_put(text, " and %zu others", count - named);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static void put_link(const struct report_pairs *p, const struct report_pair *pair,
                     struct bytes *text)
{
    const struct association *a = &pair->association;
    text_put(text, "%s and %s (%s %.2f", name_of(p, pair->x), name_of(p, pair->y),
             association_word(a->kind), a->value);
    if (pair->sigma > 0)
        text_put(text, " +- %.2f", REPORT_BAND * a->error);
    text_put(text, ")");
}

static void say_pairs(const struct report_pairs *p, size_t standing, struct bytes *text)
{
    size_t named = 0;
    if (p->measured == 0)
        text_put(text,
                 "No better than independent columns: none of %zu pairs of columns was measured. "
                 "Counts of single columns are all that this table has. With fewer values a "
                 "column (bins) or more epsilon a run measures pairs, if the workload has any.\n",
                 p->count);
    else if (standing == 0)
        text_put(text,
                 "No better than independent columns: %zu of %zu pairs of columns were measured, "
                 "and none shows more than noise and chance would.\n",
                 p->measured, p->count);
    else
        text_put(text,
                 "%zu of %zu pairs of columns were measured, and %zu of them show%s more than "
                 "noise and chance would",
                 p->measured, p->count, standing, standing == 1 ? "s" : "");
    for (size_t i = 0; i < p->listed && named < LINKS_MOST; i++)
        if (p->list[i]->stands) {
            text_put(text, named == 0 ? standing > LINKS_MOST ? "; the strongest: " : ": " : ", ");
            put_link(p, p->list[i], text);
            named++;
        }
    text_put(text, standing > 0 ? ".\n" : "");
}

static enum err say_what_nothing_joins(const struct report_pairs *p, struct bytes *text)
{
    const struct study *s = p->r->study;
    const size_t d = p->r->of->domain->attributes;
    size_t count = d;
    bool *apart CLEAN(memory_release) = NULL;
    TRY(memory_new(&apart, d));
    for (size_t a = 0; a < d; a++)
        apart[a] = true;
    for (size_t i = 0; i < p->count; i++)
        if (p->pair[i].stands)
            apart[p->pair[i].x] = apart[p->pair[i].y] = false;
    for (size_t k = 0; k < s->zeros; k++) /* nor are those of which some values exclude others */
        for (unsigned i = 0; i < s->zero[k].clique.n; i++)
            apart[s->zero[k].clique.attribute[i]] = false;
    for (size_t a = 0; a < d; a++)
        count -= !apart[a];
    if (count == 0 || count == d)
        return ERR_OK;
    text_put(text, "Columns that nothing joins, which are as good as independent of all others: ");
    put_columns(p, apart, count, text);
    text_put(text, ".\n");
    return ERR_OK;
}

/* --- noise ------------------------------------------------------------------------------------ */

/* How many rows in a hundred noise alone is expected to put into a wrong cell. */
static double misplaced(const struct report *r, size_t measurement)
{
    const struct measurement *m = &r->found.measurement[measurement];
    const double moved = sqrt(2 / M_PI) * m->sigma * (double)measurement_cells(m, r->of->domain);
    return fmin(100, 50 * moved / fmax(1, released_total(r->of)));
}

static void say_noise(const struct report *r, struct bytes *text)
{
    const size_t d = r->of->domain->attributes;
    double alone = 0, together = 0;
    size_t worst = 0, several = 0;
    for (size_t i = 0; i < d; i++) {
        alone += misplaced(r, i) / (double)d;
        worst = misplaced(r, i) > misplaced(r, worst) ? i : worst;
    }
    for (size_t i = d; i < r->found.measurements; i++)
        if (r->found.measurement[i].clique.n > 1) {
            together += misplaced(r, i);
            several++;
        }
    text_put(text, "Noise against signal: of 100 %s noise misplaces %.2g in a single column",
             series_counted(r->of->domain), alone);
    if (d > 1)
        text_put(text, " on average, at most %.2g, in %s", misplaced(r, worst),
                 r->of->domain->attribute[worst].name);
    if (several > 0)
        text_put(text, "; in columns measured together %.2g", together / (double)several);
    text_put(text, ".\n");
}

enum err report_verdict(const struct report_pairs *p, struct bytes *text)
{
    size_t standing = 0;
    for (size_t i = 0; i < p->count; i++)
        standing += p->pair[i].stands;
    if (p->count > 0) {
        say_pairs(p, standing, text);
        TRY(say_what_nothing_joins(p, text));
    }
    if (p->r->found.assess != NULL)
        assess_words(p->r->found.assess, text);
    say_noise(p->r, text);
    bytes_put_u8(text, 0);
    return bytes_ok(text);
}
