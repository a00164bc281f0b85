/* Columns that are tied to each other: which they are, what values they have, drawing them. */
#include "aim/table/density.h"
#include "aim/table/derive_private.h"
#include "aim/table/number.h"
#include "aim/table/step.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define VALUES_MOST (UINT64_C(1) << 22)

/* --- which they are --------------------------------------------------------------------------- */

static bool has(const uint16_t *list, size_t n, size_t x)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

static bool is_tied(const struct derive_plan *p, size_t attribute)
{
    for (size_t i = 0; i < p->derived->from.count; i++)
        if (p->from[i].tied && p->from[i].to == attribute)
            return true;
    return false;
}

/* Takes a tied column and its bases, with all that they were tied to before, into one tie. */
static void join(const struct derive_step *s, uint16_t *tie)
{
    for (uint32_t k = 0; k < s->e->columns; k++)
        for (uint16_t a = 0, old = tie[s->slot[k]]; a < DOMAIN_ATTRIBUTES_MAX; a++)
            tie[a] = tie[a] == old ? tie[s->to] : tie[a];
}

static enum err gather(struct derive_plan *p, const uint16_t *tie, uint16_t which)
{
    struct derive_tie t = {.bases = 0};
    for (uint16_t a = 0; a < p->domain->attributes; a++) {
        if (tie[a] != which)
            continue;
        if (t.columns == DERIVE_TIE)
            return ERR_STUDY;
        t.column[t.columns++] = a;
        if (!is_tied(p, a))
            t.base[t.bases++] = a;
    }
    for (size_t i = 0; i < p->derived->from.count; i++)
        if (p->from[i].tied && tie[p->from[i].to] == which)
            t.from[t.froms++] = (uint16_t)i;
    if (t.froms == 0)
        return ERR_OK;
    TRY(memory_extend(&p->tie, p->ties + 1));
    p->tie[p->ties++] = t;
    return ERR_OK;
}

enum err derive_find_ties(struct derive_plan *p)
{
    uint16_t tie[DOMAIN_ATTRIBUTES_MAX];
    for (uint16_t a = 0; a < DOMAIN_ATTRIBUTES_MAX; a++)
        tie[a] = a;
    for (size_t i = 0; i < p->derived->from.count; i++)
        if (p->from[i].tied)
            join(&p->from[i], tie);
    for (uint16_t which = 0; which < p->domain->attributes; which++)
        TRY(gather(p, tie, which));
    return ERR_OK;
}

size_t derive_ties(const struct derive_plan *p)
{
    return p->ties;
}

const struct derive_tie *derive_tie(const struct derive_plan *p, size_t i)
{
    return &p->tie[i];
}

/* --- all values ------------------------------------------------------------------------------- */

/*
 * The codes of the tied columns, from the bases' values that are set; `code` is of each column. A
 * value that does not fit is set as it counts.
 */
static enum err find_codes(struct derive_plan *p, const struct derive_tie *t, uint32_t *code)
{
    char room[COLUMN_TEXT];
    for (uint16_t k = 0; k < t->froms; k++) {
        const uint32_t to = p->from[t->from[k]].to;
        const struct domain_attribute *a = &p->domain->attribute[to];
        const char *text = derive_from(p, t->from[k]);
        code[to] = domain_code(a, text);
        TRY(derive_set(p, to, code[to], code[to] == a->values ? a->missing : text));
        if (isnan(p->slot[to].counted) || p->slot[to].counted == p->slot[to].number)
            continue;
        derive_print(a, p->slot[to].counted, room);
        TRY(derive_set(p, to, code[to], room));
    }
    return ERR_OK;
}

/* A base's values, counted through: those of code `code` from place 0 on. */
static uint64_t values_of(const struct domain_attribute *a, uint32_t code, int64_t *first)
{
    uint64_t count = 1;
    *first = 0;
    if (code < a->values && domain_has_bins(a))
        *first = domain_multiples(a, code, &count);
    return count;
}

/* Sets a base to the value at a place of a code. */
static enum err set_value(struct derive_plan *p, uint16_t base, uint32_t code, uint64_t place)
{
    const struct domain_attribute *a = &p->domain->attribute[base];
    char room[COLUMN_TEXT];
    struct step s;
    int64_t first;
    if (code >= a->values)
        return derive_set(p, base, code, a->missing);
    if (!domain_has_bins(a))
        return derive_set(p, base, code, domain_text(a, code, 0, room));
    values_of(a, code, &first);
    if (!step_of(a->step, &s))
        return ERR_STUDY;
    derive_set_number(p, base, step_value(&s, first + (int64_t)place));
    return ERR_OK;
}

static enum err check_values(const struct derive_plan *p, const struct derive_tie *t,
                             struct log *log)
{
    uint64_t all = 1;
    for (uint16_t k = 0; k < t->bases; k++) {
        const struct domain_attribute *a = &p->domain->attribute[t->base[k]];
        uint64_t values = 0;
        int64_t first;
        if (domain_has_bins(a) && a->step == 0)
            return log_fail(log, ERR_STUDY,
                            "attribute %s: others follow from it, so its numbers need a step",
                            a->name);
        for (uint32_t code = 0; code < a->size; code++)
            values += values_of(a, code, &first);
        all = values > VALUES_MOST ? VALUES_MOST + 1 : all * values;
        if (all > VALUES_MOST)
            return log_fail(log, ERR_STUDY,
                            "attribute %s: with the columns that follow from it, it has more than "
                            "%llu values to go through; take coarser units, or do not measure one "
                            "of them",
                            a->name, (unsigned long long)VALUES_MOST);
    }
    return ERR_OK;
}

struct derive_walk {
    struct derive_plan *p;
    const struct derive_tie *t;
    uint32_t code[DOMAIN_ATTRIBUTES_MAX];
    void (*cell)(void *to, const uint32_t *code);
    void *to;
};

static enum err walk(struct derive_walk *w, uint16_t k)
{
    const struct domain_attribute *a = &w->p->domain->attribute[w->t->base[k]];
    if (k == w->t->bases) {
        uint32_t code[DERIVE_TIE];
        bool fits = true; /* `outside: error` refuses a row that has such values */
        TRY(find_codes(w->p, w->t, w->code));
        for (size_t i = 0; i < w->t->columns; i++) {
            code[i] = w->code[w->t->column[i]];
            fits &= code[i] != DOMAIN_NO_CODE;
        }
        if (fits)
            w->cell(w->to, code);
        return ERR_OK;
    }
    for (uint32_t code = 0; code < a->size; code++) {
        int64_t first;
        const uint64_t count = values_of(a, code, &first);
        w->code[w->t->base[k]] = code;
        for (uint64_t i = 0; i < count; i++) {
            TRY(set_value(w->p, w->t->base[k], code, i));
            TRY(walk(w, (uint16_t)(k + 1)));
        }
    }
    return ERR_OK;
}

enum err derive_cells(struct derive_plan *p, size_t tie,
                      void (*cell)(void *to, const uint32_t *code), void *to, struct log *log)
{
    struct derive_walk w = {.p = p, .t = &p->tie[tie], .cell = cell, .to = to};
    TRY(check_values(p, w.t, log));
    derive_begin(p);
    return walk(&w, 0);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* All values of a tie's bases, by the cell of the codes that they give. */
struct derive_solutions {
    size_t cells;
    size_t *end;        /* of each cell; the beginning is the end of the one before */
    double *cumulative; /* of each solution: the weights in its cell so far */
    double *number;     /* of each solution and base */
};

void derive_solutions_free(struct derive_solutions **solutions, size_t n)
{
    for (size_t i = 0; *solutions != NULL && i < n; i++) {
        memory_free_all(&(*solutions)[i].end, &(*solutions)[i].cumulative, &(*solutions)[i].number);
    }
    memory_free(solutions);
}

struct filling {
    struct derive_plan *p;
    const struct derive_tie *t;
    struct derive_solutions *s;
    const struct densities *inside;
};

static size_t cell_of(const struct derive_plan *p, const struct derive_tie *t, const uint32_t *code)
{
    size_t cell = 0;
    for (size_t i = 0; i < t->columns; i++)
        cell = cell * p->domain->attribute[t->column[i]].size + code[i];
    return cell;
}

static void count_solution(void *to, const uint32_t *code)
{
    struct filling *f = to;
    f->s->end[cell_of(f->p, f->t, code)]++;
}

/* What the densities of its bins make of it. */
static double weight_of(const struct filling *f, const uint32_t *code)
{
    double weight = 1;
    for (size_t i = 0; i < f->t->columns; i++) {
        const uint16_t a = f->t->column[i];
        if (has(f->t->base, f->t->bases, a) && domain_has_bins(&f->p->domain->attribute[a]) &&
            code[i] < f->p->domain->attribute[a].values)
            weight *= exp(density_log(f->inside->of[a], code[i], f->p->slot[a].number));
    }
    return weight;
}

static void fill_solution(void *to, const uint32_t *code)
{
    struct filling *f = to;
    const size_t cell = cell_of(f->p, f->t, code), at = f->s->end[cell]++;
    f->s->cumulative[at] = weight_of(f, code); /* added up below */
    for (uint16_t k = 0; k < f->t->bases; k++)
        f->s->number[at * f->t->bases + k] = f->p->slot[f->t->base[k]].number;
}

static enum err make_solutions(struct derive_plan *p, size_t tie, const struct densities *inside)
{
    struct derive_solutions *s = &p->solution[tie];
    struct filling f = {.p = p, .t = &p->tie[tie], .s = s, .inside = inside};
    size_t all = 0;
    s->cells = 1;
    for (size_t i = 0; i < f.t->columns; i++)
        if (__builtin_mul_overflow(s->cells, p->domain->attribute[f.t->column[i]].size, &s->cells))
            return ERR_NOMEM;
    TRY(memory_new(&s->end, s->cells));
    TRY(derive_cells(p, tie, count_solution, &f, NULL));
    for (size_t cell = 0; cell < s->cells; cell++) {
        const size_t solutions = s->end[cell];
        s->end[cell] = all; /* its beginning, until they are in place */
        all += solutions;
    }
    TRY(memory_new(&s->cumulative, all));
    TRY(memory_new(&s->number, all * f.t->bases));
    TRY(derive_cells(p, tie, fill_solution, &f, NULL));
    for (size_t cell = 0, at = 0; cell < s->cells; cell++)
        for (double sum = 0; at < s->end[cell]; at++)
            s->cumulative[at] = sum += s->cumulative[at];
    return ERR_OK;
}

/* A number of a bin as a row has it. */
static enum err put_number(struct derive_plan *p, uint16_t base, uint32_t code, double x)
{
    char text[COLUMN_TEXT];
    derive_print(&p->domain->attribute[base], x, text);
    return derive_set(p, base, code, text);
}

/* One of the solutions of the row's cell; a cell without any has none of a model's rows. */
static enum err draw_solution(struct derive_plan *p, size_t tie, const uint16_t *row,
                              struct random *r, double *number)
{
    const struct derive_solutions *s = &p->solution[tie];
    const struct derive_tie *t = &p->tie[tie];
    uint32_t code[DERIVE_TIE];
    size_t cell, low, high;
    double place;
    for (size_t i = 0; i < t->columns; i++)
        code[i] = row[t->column[i]];
    cell = cell_of(p, t, code);
    low = cell > 0 ? s->end[cell - 1] : 0;
    high = s->end[cell];
    if (low == high)
        return ERR_DATA;
    place = random_double(r) * s->cumulative[high - 1];
    for (high--; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (s->cumulative[middle] > place)
            high = middle;
        else
            low = middle + 1;
    }
    memcpy(number, s->number + low * t->bases, t->bases * sizeof *number);
    return ERR_OK;
}

/* Whether a column must have another number. */
static bool differs(const double *number, uint32_t attribute, double x)
{
    return number != NULL && !isnan(number[attribute]) && number[attribute] != x;
}

/* Whether a row has the numbers that all others follow from, so that none is to be drawn. */
static bool bases_known(const struct derive_tie *t, const double *number)
{
    bool all = number != NULL;
    for (uint16_t k = 0; all && k < t->bases; k++)
        all = !isnan(number[t->base[k]]);
    return all;
}

/* Whether all numbers of a tie's columns are known, as those of rows that were drawn before. */
static bool all_known(const struct derive_plan *p, size_t tie, const uint16_t *row,
                      const double *number)
{
    const struct derive_tie *t = &p->tie[tie];
    bool all = number != NULL;
    for (size_t i = 0; all && i < t->columns; i++) {
        const struct domain_attribute *a = &p->domain->attribute[t->column[i]];
        all = !domain_has_order(a) || row[t->column[i]] >= a->values ||
              !isnan(number[t->column[i]]);
    }
    return all;
}

static enum err draw_tie(struct derive_plan *p, size_t tie, const uint16_t *row,
                         const double *number, bool drawn_before, struct random *r)
{
    const struct derive_tie *t = &p->tie[tie];
    const bool known = bases_known(t, number) || (drawn_before && all_known(p, tie, row, number));
    uint32_t found[DOMAIN_ATTRIBUTES_MAX];
    double drawn[DERIVE_TIE];
    bool same = true;
    if (!known)
        TRY(draw_solution(p, tie, row, r, drawn));
    for (uint16_t k = 0; k < t->bases; k++) {
        const uint16_t base = t->base[k];
        const struct domain_attribute *a = &p->domain->attribute[base];
        const double x = known ? number[base] : drawn[k];
        if (domain_has_bins(a) && row[base] < a->values) {
            same &= !differs(number, base, x);
            TRY(put_number(p, base, row[base], x));
        } else {
            TRY(set_value(p, base, row[base], 0));
        }
    }
    TRY(find_codes(p, t, found));
    for (uint16_t k = 0; k < t->froms; k++) {
        const uint32_t to = p->from[t->from[k]].to;
        same &= found[to] == row[to] && !differs(number, to, p->slot[to].number);
    }
    return same ? ERR_OK : ERR_AGAIN;
}

bool derive_is_tied(const struct derive_plan *p, uint16_t attribute)
{
    for (size_t i = 0; i < p->ties; i++)
        if (has(p->tie[i].column, p->tie[i].columns, attribute))
            return true;
    return false;
}

static enum err draw_alone(struct derive_plan *p, uint16_t attribute, uint32_t code, double number,
                           const struct densities *inside, struct random *r)
{
    const struct domain_attribute *a = &p->domain->attribute[attribute];
    char text[COLUMN_TEXT];
    if (code >= a->values)
        return derive_set(p, attribute, code, a->missing);
    if (!domain_has_bins(a))
        return derive_set(p, attribute, code, domain_text(a, code, 0, text));
    if (isnan(number))
        a->kind->draw(a, code, inside->of[attribute], r, text);
    else
        domain_print(a, number, 0, text);
    return derive_set(p, attribute, code, text);
}

double derive_number(const struct derive_plan *p, size_t slot)
{
    return p->slot[slot].number;
}

enum err derive_draw(struct derive_plan *p, const uint16_t *code, const double *number,
                     bool drawn_before, const struct densities *inside, struct random *r)
{
    if (p->solution == NULL && p->ties > 0) {
        TRY(memory_new(&p->solution, p->ties));
        for (size_t i = 0; i < p->ties; i++)
            TRY(make_solutions(p, i, inside));
    }
    derive_begin(p);
    for (size_t i = 0; i < p->ties; i++)
        TRY(draw_tie(p, i, code, number, drawn_before, r));
    for (uint16_t a = 0; a < p->domain->attributes; a++)
        if (!derive_is_tied(p, a))
            TRY(draw_alone(p, a, code[a], number != NULL ? number[a] : NAN, inside, r));
    return ERR_OK;
}
