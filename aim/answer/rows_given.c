#include "aim/answer/rows_given.h"

#include "aim/answer/answer_private.h"
#include "aim/model/given.h"
#include "aim/table/derive.h"
#include "aim/table/rows.h"
#include "base/memory.h"

#include <math.h>

#define TRIES 64                /* for a number as rows have it, before one with all digits */
#define ROUNDS 4096             /* for rows whose tied columns did not fit */
#define TRIAL ((size_t)1 << 14) /* rows that show how many fit */
#define FILTER_MAX 64           /* batches of a copula's rows */
#define FILTER_ROWS ((size_t)1 << 20)

struct rows_given {
    const struct released *released;
    const struct domain *domain;
    struct question *question; /* NULL: rows are completed */
    bool rejects;              /* a case cuts bins of tied columns, so that rows may not fit */
    double mass[CASES_MAX];    /* of the cases up to each, as shares of all rows */
    double *weight[DOMAIN_ATTRIBUTES_MAX]; /* of each case and code */
    const struct table *known;
    struct given *given;
    struct derive_plan *derive;
    struct random random;
    struct table *out;
    size_t left, *row; /* of `out`, that are still to be drawn */
    uint8_t *of;       /* the case of each of these */
};

static void rows_given_clear(struct rows_given *w)
{
    question_free(&w->question);
    given_free(&w->given);
    derive_free(&w->derive);
    table_free(&w->out);
    memory_free_all(&w->row, &w->of);
    for (size_t a = 0; a < DOMAIN_ATTRIBUTES_MAX; a++)
        memory_free(&w->weight[a]);
}

/* A number that is known of a row; a tied column has it as it counts, at the end of its range. */
static double known_number(const struct rows_given *w, uint16_t attribute, size_t row)
{
    const struct domain_attribute *a = &w->domain->attribute[attribute];
    const double x = w->known != NULL ? table_number(w->known, attribute, row) : NAN;
    return isnan(x) || !derive_is_tied(w->derive, attribute)
               ? x
               : fmin(fmax(x, domain_number(a, 0)), domain_last(a));
}

static enum err start(struct rows_given *w, size_t rows)
{
    table_free(&w->out);
    memory_free_all(&w->row, &w->of);
    w->left = rows;
    TRY(table_new(&w->out, w->domain, rows));
    TRY(table_keep_numbers(w->out));
    w->out->rows = rows;
    for (uint16_t a = 0; a < w->domain->attributes; a++)
        for (size_t i = 0; w->out->number[a] != NULL && i < rows; i++)
            w->out->number[a][i] = known_number(w, a, i);
    TRY(memory_new(&w->row, rows));
    TRY(memory_new(&w->of, rows));
    for (size_t i = 0; i < rows; i++)
        w->row[i] = i;
    return ERR_OK;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Whether a code and its number, if it is a bin's, are what a case asks for. */
static bool fits(const struct rows_given *w, const struct case_part *part, uint32_t code,
                 double number)
{
    const struct domain_attribute *a = &w->domain->attribute[part->column];
    if (code >= a->values)
        return part->values.missing;
    return values_hold(&w->question->pool, part->values,
                       domain_has_bins(a) ? number : domain_number(a, code));
}

/* A number of the part of a bin that a case leaves, in the form that rows have if it can be. */
static double draw_part(struct rows_given *w, const struct case_part *part, uint32_t code)
{
    const struct domain_attribute *a = &w->domain->attribute[part->column];
    const struct density *density = w->released->inside.of[part->column];
    const struct values_span *span = w->question->pool.span + part->values.first;
    double x = NAN, sum = 0, at;
    char text[COLUMN_TEXT];
    for (unsigned i = 0; i < TRIES; i++) {
        a->kind->draw(a, code, density, &w->random, text);
        if (domain_parse(a, text, &x) && fits(w, part, code, x))
            return x;
    }
    for (uint32_t i = 0; i < part->values.spans; i++)
        sum += density_part(density, code, span[i].from, span[i].below).share;
    at = random_double(&w->random) * sum;
    for (uint32_t i = 0; i < part->values.spans && at >= 0; i++) {
        const double share = density_part(density, code, span[i].from, span[i].below).share;
        if (share > 0)
            x = density_quantile(density, code, span[i].from, span[i].below,
                                 random_double(&w->random));
        at -= share;
    }
    return x;
}

/* Draws tied columns as `number` has them, and fills in theirs. *again: they do not fit. */
static enum err draw_tied(struct rows_given *w, const uint16_t *code, double *number, bool *again)
{
    const enum err e = derive_draw(w->derive, code, number, false, &w->released->inside,
                                   &w->random);
    *again = e == ERR_AGAIN;
    if (e != ERR_OK)
        return *again ? ERR_OK : e;
    for (uint16_t a = 0; a < w->domain->attributes; a++)
        if (derive_is_tied(w->derive, a) && domain_has_order(&w->domain->attribute[a]))
            number[a] = derive_number(w->derive, a);
    return ERR_OK;
}

/* Finds a row's numbers that must fit; *again: they do not. */
static enum err settle(struct rows_given *w, unsigned k, const uint16_t *code, double *number,
                       bool *again)
{
    const struct one_case *c = w->question != NULL ? &w->question->where.one[k] : NULL;
    bool tied = false;
    *again = false;
    for (uint16_t a = 0; c == NULL && a < w->domain->attributes; a++)
        tied |= !isnan(number[a]) && derive_is_tied(w->derive, a);
    for (unsigned i = 0; c != NULL && i < c->parts; i++) {
        const uint16_t a = c->part[i].column;
        const uint32_t size = w->domain->attribute[a].size;
        tied |= derive_is_tied(w->derive, a);
        if (!derive_is_tied(w->derive, a) && w->weight[a][k * size + code[a]] < 1)
            number[a] = draw_part(w, &c->part[i], code[a]);
    }
    if (tied)
        TRY(draw_tied(w, code, number, again));
    for (unsigned i = 0; tied && c != NULL && i < c->parts; i++)
        *again |= derive_is_tied(w->derive, c->part[i].column) &&
                  !fits(w, &c->part[i], code[c->part[i].column], number[c->part[i].column]);
    return ERR_OK;
}

/* Takes a drawn row over, if it fits. */
static enum err take(struct rows_given *w, const struct table *t, size_t from, size_t to,
                     unsigned k, bool *again)
{
    uint16_t code[DOMAIN_ATTRIBUTES_MAX];
    double number[DOMAIN_ATTRIBUTES_MAX];
    for (size_t a = 0; a < w->domain->attributes; a++) {
        code[a] = t->column[a][from];
        number[a] = table_number(w->out, a, to);
    }
    TRY(settle(w, k, code, number, again));
    for (size_t a = 0; !*again && a < w->domain->attributes; a++) {
        w->out->column[a][to] = code[a];
        if (w->out->number[a] != NULL)
            w->out->number[a][to] = number[a];
    }
    return ERR_OK;
}

/* --- cases ------------------------------------------------------------------------------------ */

/* The share of each code that each case leaves; of a tied column, whether it leaves any. */
static enum err weigh(struct rows_given *w)
{
    const struct answer_state state = {.question = w->question, .inside = &w->released->inside};
    const struct cases *cases = &w->question->where;
    for (unsigned k = 0; k < cases->n; k++)
        for (unsigned i = 0; i < cases->one[k].parts; i++) {
            const struct case_part *p = &cases->one[k].part[i];
            const uint32_t size = w->domain->attribute[p->column].size;
            double **of = &w->weight[p->column];
            if (*of == NULL)
                TRY(memory_new(of, (size_t)CASES_MAX * size));
            for (uint32_t code = 0; code < size; code++) {
                const double x = answer_part(&state, p->column, p->values, code, INFINITY).share;
                (*of)[k * size + code] = derive_is_tied(w->derive, p->column) ? x > 0 : fmin(x, 1);
                w->rejects |= (*of)[k * size + code] > x + 1e-9;
            }
        }
    return ERR_OK;
}

/* A case by the masses of all; CASES_MAX: none, where they do not add up to `all`. */
static unsigned pick(struct rows_given *w, double all)
{
    const double at = random_double(&w->random) * all;
    for (unsigned k = 0; k < w->question->where.n; k++)
        if (at < w->mass[k])
            return k;
    return CASES_MAX;
}

/* How many rows there are to draw. */
static enum err find_rows(struct rows_given *w, double share, size_t *rows, struct log *log)
{
    const double there = share * released_total(w->released);
    if (there < 0.5)
        return log_fail(log, ERR_QUESTION,
                        "the model has %.2g rows for which the condition holds: of less than half "
                        "a row nothing is known",
                        there);
    if (*rows == 0)
        *rows = (size_t)fmax(1, round(there));
    return ERR_OK;
}

/* --- a tree's rows ---------------------------------------------------------------------------- */

/* What is known of a column in the rows that are left; returns whether anything is. */
static bool tell(const struct rows_given *w, uint16_t attribute, uint32_t *code)
{
    bool any = false;
    for (size_t i = 0; i < w->left; i++) {
        const uint16_t known = w->known != NULL ? w->known->column[attribute][w->row[i]] : ROWS_ANY;
        code[i] = known != ROWS_ANY ? known : GIVEN_ANY;
        if (w->question != NULL &&
            case_values(&w->question->where.one[w->of[i]], attribute) != NULL)
            code[i] = w->domain->attribute[attribute].size + w->of[i];
        any |= code[i] != GIVEN_ANY;
    }
    return any;
}

static enum err draw_left(struct rows_given *w, struct table **t, double *chance, struct log *log)
{
    struct given_column column[DOMAIN_ATTRIBUTES_MAX];
    uint32_t *code CLEAN(memory_release) = NULL;
    size_t n = 0;
    TRY(memory_new(&code, w->domain->attributes * w->left));
    for (uint16_t a = 0; a < w->domain->attributes; a++)
        if (tell(w, a, code + n * w->left)) {
            column[n] = (struct given_column){a, code + n * w->left, w->weight[a]};
            n++;
        }
    return given_rows(t, w->given, column, n, w->left, random_u64(&w->random), chance, log);
}

/* Draws the rows that are left and keeps those that fit; ERR_DATA: row *never cannot occur. */
static enum err draw_round(struct rows_given *w, size_t *never, struct log *log)
{
    struct table *t CLEAN(table_free) = NULL;
    double *chance CLEAN(memory_release) = NULL;
    size_t left = 0;
    TRY(memory_new(&chance, w->left));
    for (size_t i = 0; w->question != NULL && i < w->left; i++)
        w->of[i] = (uint8_t)pick(w, w->mass[w->question->where.n - 1]);
    TRY(draw_left(w, &t, chance, log));
    for (size_t i = 0; i < w->left; i++) {
        bool again;
        *never = w->row[i];
        if (chance[i] == -INFINITY)
            return ERR_DATA;
        TRY(take(w, t, i, w->row[i], w->of[i], &again));
        if (again)
            w->row[left++] = w->row[i];
    }
    w->left = left;
    *never = w->row[0];
    return ERR_OK;
}

static enum err draw_tree(struct rows_given *w, size_t *never, struct log *log)
{
    for (unsigned round = 0; w->left > 0 && round < ROUNDS; round++)
        TRY(draw_round(w, never, log));
    return w->left == 0 ? ERR_OK : ERR_DATA;
}

/* The cases' masses: chances of rows of which that is known. */
static enum err find_masses(struct rows_given *w, struct log *log)
{
    const unsigned cases = w->question->where.n;
    struct table *t CLEAN(table_free) = NULL;
    TRY(start(w, cases));
    for (unsigned k = 0; k < cases; k++)
        w->of[k] = (uint8_t)k;
    TRY(draw_left(w, &t, w->mass, log));
    for (unsigned k = 0; k < cases; k++)
        w->mass[k] = exp(w->mass[k]) + (k > 0 ? w->mass[k - 1] : 0);
    return ERR_OK;
}

static enum err where_tree(struct rows_given *w, size_t rows, struct log *log)
{
    size_t never;
    double share;
    enum err e;
    TRY(given_new(&w->given, w->released->model));
    TRY(find_masses(w, log));
    share = w->mass[w->question->where.n - 1];
    if (w->rejects && share > 0) {
        TRY(start(w, TRIAL));
        TRY(draw_round(w, &never, log));
        share *= (TRIAL - (double)w->left) / TRIAL;
    }
    TRY(find_rows(w, share, &rows, log));
    TRY(start(w, rows));
    e = draw_tree(w, &never, log);
    return e != ERR_DATA ? e
                         : log_fail(log, ERR_QUESTION,
                                    "next to none of the numbers of columns that follow from each "
                                    "other meet the condition");
}

/* --- a copula's rows -------------------------------------------------------------------------- */

/* The masses of a single row: how much of it each case takes. */
static double take_masses(struct rows_given *w, const struct table *t, size_t row)
{
    double sum = 0;
    for (unsigned k = 0; k < w->question->where.n; k++) {
        const struct one_case *c = &w->question->where.one[k];
        double mass = 1;
        for (unsigned i = 0; i < c->parts; i++) {
            const uint16_t a = c->part[i].column;
            mass *= w->weight[a][k * w->domain->attribute[a].size + t->column[a][row]];
        }
        w->mass[k] = sum += mass;
    }
    return sum;
}

static enum err where_copula(struct rows_given *w, size_t rows, struct log *log)
{
    for (unsigned batch = 0; batch < FILTER_MAX && (batch == 0 || w->left > 0); batch++) {
        struct table *t CLEAN(table_free) = NULL;
        double share = 0;
        bool again;
        TRY(copula_rows(&t, w->released->copula, FILTER_ROWS, random_u64(&w->random), log));
        for (size_t i = 0; batch == 0 && i < t->rows; i++)
            share += take_masses(w, t, i) / FILTER_ROWS;
        if (batch == 0) {
            TRY(find_rows(w, share, &rows, log));
            TRY(start(w, rows));
        }
        for (size_t i = 0; w->left > 0 && i < t->rows; i++) {
            const unsigned k = take_masses(w, t, i) > 0 ? pick(w, 1) : CASES_MAX;
            if (k == CASES_MAX)
                continue;
            TRY(take(w, t, i, w->left - 1, k, &again));
            w->left -= !again;
        }
    }
    return w->left == 0 ? ERR_OK
                        : log_fail(log, ERR_QUESTION,
                                   "%zu of %zu rows were found among %zu million of this model, "
                                   "which is a copula; ask for fewer",
                                   rows - w->left, rows, FILTER_MAX * FILTER_ROWS >> 20);
}

/* --- all -------------------------------------------------------------------------------------- */

enum err rows_where(struct table **t, const struct released *r, const char *condition, size_t rows,
                    uint64_t seed, struct log *log)
{
    struct rows_given w CLEAN(rows_given_clear) = {
        .released = r, .domain = r->domain, .random = random_of(seed)};
    struct scope asked;
    *t = NULL;
    TRY(derive_new(&w.derive, r->domain));
    TRY(question_condition(&w.question, r->domain, condition, log));
    asked = answer_columns(w.question, 0);
    TRY(answer_check_events(w.question, &asked, log));
    if (w.question->where.n == 0)
        return find_rows(&w, 0, &rows, log);
    TRY(weigh(&w));
    TRY((r->model != NULL ? where_tree : where_copula)(&w, rows, log));
    return memory_hand_over(t, &w.out);
}

enum err rows_complete(struct table **t, const struct released *r, const struct table *known,
                       uint64_t seed, size_t *never, struct log *log)
{
    struct rows_given w CLEAN(rows_given_clear) = {
        .released = r, .domain = r->domain, .known = known, .random = random_of(seed)};
    *t = NULL;
    TRY(released_has_rows(r, log));
    if (r->model == NULL)
        return log_fail(log, ERR_USAGE,
                        "this model is a copula, which cannot complete rows: that needs another "
                        "kind of model");
    TRY(derive_new(&w.derive, r->domain));
    TRY(given_new(&w.given, r->model));
    TRY(start(&w, known->rows));
    TRY(draw_tree(&w, never, log));
    return memory_hand_over(t, &w.out);
}
