#include "aim/sql/bins.h"

#include "aim/table/number.h"
#include "base/memory.h"
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A comparison: a value is below the cut, or not. All values between two neighbouring cuts have the
 * same code.
 */
struct cut {
    double at;
    bool at_most; /* a value is below if it is `at` or less; otherwise only if it is less */
};

struct bins_tree {
    const struct domain_attribute *attribute;
    enum bins_of of;
    const char *value; /* in SQL */
    struct cut *cut;
    long *code; /* before the first cut, between, after the last */
    size_t cuts;
};

/* A number in digits that SQL reads back exactly. */
static void put_number(struct bytes *sql, double x, bool is_double)
{
    char text[64];
    double back;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (number_double(text, &back) && back == x)
            break;
    }
    if (is_double && strchr(text, 'e') == NULL)
        strcat(text, "e0"); /* a double in standard SQL, where 0.5 is a decimal */
    text_put(sql, x < 0 ? "(%s)" : "%s", text);
}

bool bins_short(double x)
{
    char text[64];
    double back;
    snprintf(text, sizeof text, "%.*g", BINS_DIGITS, x);
    return number_double(text, &back) && back == x;
}

/* --- codes ------------------------------------------------------------------------------------ */

long bins_marked(const struct domain_attribute *a, const char *text)
{
    uint32_t code = domain_code(a, text);
    if (code == DOMAIN_NO_CODE)
        return BINS_NO_CODE;
    return domain_fits(a, text) ? (long)code : -(long)code - 1;
}

static bool whole_values(const struct bins_tree *t)
{
    return t->of == BINS_OF_WHOLE || t->attribute->whole;
}

/* A number as a text that has its code. */
static void print(const struct bins_tree *t, double x, char text[COLUMN_TEXT])
{
    if (t->of == BINS_OF_DATE)
        domain_print(t->attribute, x, 0, text);
    else
        number_print(text, COLUMN_TEXT, x, -1);
}

/* A number just after a cut, as text. */
static void behind(const struct bins_tree *t, size_t cut, char text[COLUMN_TEXT])
{
    const struct cut *c = &t->cut[cut];
    double x = c->at_most ? nextafter(c->at, DBL_MAX) : c->at;
    if (whole_values(t))
        x = c->at_most ? floor(c->at) + 1 : ceil(c->at);
    print(t, x, text);
}

static void find_codes(struct bins_tree *t)
{
    const struct cut *first = &t->cut[0];
    char text[COLUMN_TEXT];
    double below = whole_values(t) ? ceil(first->at) - 1 : nextafter(first->at, -DBL_MAX);
    print(t, below, text);
    t->code[0] = bins_marked(t->attribute, text);
    for (size_t i = 0; i < t->cuts; i++) {
        behind(t, i, text);
        t->code[i + 1] = bins_marked(t->attribute, text);
    }
}

/* Drops cuts that have the same code on both sides. */
static void join(struct bins_tree *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->cuts; i++)
        if (t->code[i + 1] != t->code[n]) {
            t->cut[n] = t->cut[i];
            t->code[++n] = t->code[i + 1];
        }
    t->cuts = n;
}

static int by_value(const void *a, const void *b)
{
    const struct cut *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->at_most - y->at_most;
}

static void add_cuts(struct bins_tree *t, const double *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        t->cut[t->cuts++] = (struct cut){at[i], false};
        t->cut[t->cuts++] = (struct cut){at[i], true};
    }
}

/* Both sides of every number that matters, so that codes here follow from domain_code() alone. */
static enum err find_cuts(struct bins_tree *t)
{
    const struct domain_attribute *a = t->attribute;
    const size_t edges = (size_t)a->values + 1;
    TRY(memory_new(&t->cut, 2 * (edges + a->missing_numbers)));
    TRY(memory_new(&t->code, 2 * (edges + a->missing_numbers) + 1));
    add_cuts(t, a->edges, edges);
    add_cuts(t, a->missing_number, a->missing_numbers);
    qsort(t->cut, t->cuts, sizeof *t->cut, by_value);
    find_codes(t);
    join(t);
    return ERR_OK;
}

static void tree_clear(struct bins_tree *t)
{
    memory_free_all(&t->cut, &t->code);
}

/* --- expressions ------------------------------------------------------------------------------ */

void bins_put_code(struct bytes *sql, bool quoted, long code)
{
    text_put(sql, quoted ? "'%ld'" : code < 0 ? "(%ld)" : "%ld", code);
}

/* The beginning of a unit as a literal of standard SQL. */
static void put_time(struct bytes *sql, double x, enum calendar_unit unit)
{
    const struct calendar_time t = calendar_time((int64_t)x, unit);
    text_put(sql, unit == CALENDAR_DAY ? "DATE '%04d-%02d-%02d'" : "TIMESTAMP '%04d-%02d-%02d",
             t.year, t.month, t.day);
    if (unit != CALENDAR_DAY)
        text_put(sql, " %02d:%02d:%02d'", t.hour, t.minute, t.second);
}

static void put_cut(const struct bins_tree *t, struct bytes *sql, const struct cut *c)
{
    if (t->of == BINS_OF_DATE) {
        text_put(sql, "%s < ", t->value);
        put_time(sql, c->at + c->at_most, t->attribute->calendar->unit);
        return;
    }
    if (t->of == BINS_OF_WHOLE) {
        double least = c->at_most ? floor(c->at) + 1 : ceil(c->at); /* the least not below */
        text_put(sql, least < 0 ? "%s < (%.0f)" : "%s < %.0f", t->value, least);
        return;
    }
    text_put(sql, "%s %s ", t->value, c->at_most ? "<=" : "<");
    put_number(sql, c->at, t->of == BINS_OF_DOUBLE);
}

/* The cuts from `low` up to but not including `high`. */
static void put_tree(const struct bins_tree *t, struct bytes *sql, size_t low, size_t high)
{
    size_t middle = low + (high - low) / 2;
    if (low == high) {
        bins_put_code(sql, t->of == BINS_AS_TEXT, t->code[low]);
        return;
    }
    bytes_put_text(sql, "CASE WHEN ");
    put_cut(t, sql, &t->cut[middle]);
    bytes_put_text(sql, " THEN ");
    put_tree(t, sql, low, middle);
    bytes_put_text(sql, " ELSE ");
    put_tree(t, sql, middle + 1, high);
    bytes_put_text(sql, " END");
}

enum err bins_put(const struct domain_attribute *a, enum bins_of of, const char *value,
                  struct bytes *sql)
{
    struct bins_tree t CLEAN(tree_clear) = {.attribute = a, .of = of, .value = value};
    TRY(find_cuts(&t));
    put_tree(&t, sql, 0, t.cuts);
    return bytes_ok(sql);
}
