#include "bench/coverage.h"

#include "aim/answer/answer.h"
#include "aim/answer/rows_answer.h"
#include "aim/answer/sorted.h"
#include "aim/budget/budget.h"
#include "aim/model/model_densities.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "base/memory.h"
#include "bench/figures.h"

#include <math.h>
#include <stdio.h>

#define COLUMNS 8
#define CODES_LEAST 3
#define CODES_MOST 80
#define ROWS_LEAST 1000
#define DOUBLINGS 5 /* of these rows: to 16,000 */
#define EPSILON 1
#define DELTA 1e-5
#define ROUNDS 8 /* of a run with fixed ones */
#define LEVEL 0.95
#define TEXT 400
#define NOTHING 30 /* rows: fewer are next to nothing */

enum kind { TOGETHER, JOINED, INDEPENDENT, NEAR_NOTHING, KINDS };
static const char *const kind_words[KINDS] = {"together", "joined", "independent", "near_nothing"};

/* Intervals as they are, and from refits alone, without counts. */
enum { WHOLE, REFITS, WAYS };
static const char *const way_words[WAYS] = {"", "_refits"};

/* Of the items of a kind, by each way. */
struct coverage {
    size_t items[WAYS], held[WAYS], room[WAYS];
    double
        *width[WAYS]; /* half an interval's length, as a share of the truth, which is 1 or more */
};

struct coverage_drawn {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
    struct random random;
};

static void drawn_clear(struct coverage_drawn *d)
{
    table_free(&d->table);
    workload_free(&d->workload);
    domain_free(&d->domain);
}

/* --- a table ---------------------------------------------------------------------------------- */

struct drawn_column {
    uint32_t codes;
    unsigned cause;
    double load, skew;
    bool labels;                /* in no order */
    uint16_t label[CODES_MOST]; /* of each rank */
};

static struct drawn_column draw_column(struct random *r, bool few, bool labels)
{
    struct drawn_column c = {.codes = CODES_LEAST +
                                      (uint32_t)random_below(r, few ? 5 : CODES_MOST - CODES_LEAST),
                             .cause = (unsigned)random_below(r, 2),
                             .load = sqrt(1 - pow(random_double(r), 2)),
                             .skew = exp2(2 * random_double(r) - 0.5),
                             .labels = labels};
    for (uint32_t i = 0; i < c.codes; i++) {
        const uint32_t at = (uint32_t)random_below(r, i + 1);
        c.label[i] = c.label[at];
        c.label[at] = (uint16_t)i;
    }
    return c;
}

static enum err add_column(struct coverage_drawn *d, const char *name, const struct drawn_column *c,
                           struct log *log)
{
    char text[CODES_MOST][12];
    const char *label[CODES_MOST];
    if (!c->labels)
        return domain_add_integer(d->domain, name, 0, c->codes - 1, NULL, DOMAIN_REJECT, log);
    for (uint32_t i = 0; i < c->codes; i++) {
        snprintf(text[i], sizeof text[i], "%u", i);
        label[i] = text[i];
    }
    return domain_add_categorical(d->domain, name, label, c->codes, NULL, DOMAIN_REJECT, log);
}

static uint16_t code_of(const struct drawn_column *c, double x)
{
    const double rank = 0.5 * erfc(-x / M_SQRT2);
    const uint16_t code = (uint16_t)fmin(c->codes - 1, floor(c->codes * pow(rank, c->skew)));
    return c->labels ? c->label[code] : code;
}

static enum err append_row(struct coverage_drawn *d, const struct drawn_column *column)
{
    double z[2 + COLUMNS];
    uint16_t code[COLUMNS];
    random_normals(&d->random, z, 2 + COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct drawn_column *c = &column[i];
        code[i] = code_of(c, c->load * z[c->cause] + sqrt(1 - c->load * c->load) * z[2 + i]);
    }
    TRY(table_append(d->table, code));
    for (size_t i = 0; i < COLUMNS; i++)
        if (d->table->number[i] != NULL)
            d->table->number[i][d->table->rows - 1] = code[i];
    return ERR_OK;
}

static enum err draw(struct coverage_drawn *d, uint64_t seed, struct log *log)
{
    struct drawn_column column[COLUMNS];
    size_t rows;
    d->random = random_of(seed);
    rows = (size_t)ROWS_LEAST << random_below(&d->random, DOUBLINGS);
    TRY(domain_new(&d->domain));
    for (size_t i = 0; i < COLUMNS; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        column[i] = draw_column(&d->random, i % 2 == 0, i % 4 < 2);
        TRY(add_column(d, name, &column[i], log));
    }
    TRY(workload_all(&d->workload, d->domain, 2 + seed % 2, log));
    TRY(table_new(&d->table, d->domain, rows));
    TRY(table_keep_numbers(d->table));
    for (size_t i = 0; i < rows; i++)
        TRY(append_row(d, column));
    return ERR_OK;
}

/* --- a run ------------------------------------------------------------------------------------ */

static enum err run(struct aim_result **result, struct coverage_drawn *d, uint64_t seed,
                    struct log *log)
{
    const unsigned way = (unsigned)(seed % 3);
    const struct aim_options o = {
        .domain = d->domain,
        .workload = d->workload,
        .limits = {.rho = budget_rho(ACCOUNTING_GAUSSIAN, EPSILON, DELTA), .epsilon_slack = 1},
        .accounting = ACCOUNTING_GAUSSIAN,
        .rows = d->table->rows,
        .annealed = way == 0,
        .rounds = way == 1 ? ROUNDS : 0,
        .sweeps = way == 2 ? AIM_SWEEPS : 0,
        .bounds = {.bits = 21}};
    const struct plaintext_noise noise = noise_from_random(&d->random);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct aim_backend backend;
    TRY(plaintext_new(&p, d->workload, d->table, &noise, log));
    backend = plaintext_backend(p);
    return aim_run(result, &o, &backend, log);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Up to three columns: every other time those of a marginal that was measured. */
static struct clique draw_columns(struct coverage_drawn *d, const struct aim_result *r)
{
    const struct measurement *x = &r->measurement[random_below(&d->random, r->measurements)];
    struct clique c = {.n = 1 + (uint16_t)random_below(&d->random, 3)};
    if (random_below(&d->random, 2) == 0)
        return x->clique;
    c.attribute[0] = (uint16_t)random_below(&d->random, COLUMNS);
    for (unsigned i = 1; i < c.n; i++)
        c.attribute[i] = (uint16_t)((c.attribute[i - 1] + 1 + random_below(&d->random, 2)) %
                                    COLUMNS);
    return c;
}

/* Adds a condition on a column: a number or label, or a range or two labels. */
static int draw_condition(struct coverage_drawn *d, uint16_t column, const char *joint, char *text,
                          int room)
{
    const struct domain_attribute *a = &d->domain->attribute[column];
    const unsigned x = (unsigned)random_below(&d->random, a->size);
    const bool one = random_below(&d->random, 2) == 0;
    const unsigned y = one ? x : (unsigned)random_below(&d->random, a->size);
    return snprintf(text, (size_t)room,
                    domain_has_order(a) ? "%s%s BETWEEN %u AND %u" : "%s%s IN ('%u', '%u')", joint,
                    a->name, x < y ? x : y, x < y ? y : x);
}

/* A condition on each column; but numbers are of the last one, unless it has labels. */
static void draw_question(struct coverage_drawn *d, const struct aim_result *r, char text[TEXT])
{
    static const char *const items[] = {"SUM", "AVG", "AVG", "MEDIAN", "VARIANCE"};
    const struct clique c = draw_columns(d, r);
    const struct domain_attribute *last = &d->domain->attribute[c.attribute[c.n - 1]];
    const bool rows = !domain_has_order(last) || random_below(&d->random, 8) < 3;
    int n = rows ? snprintf(text, TEXT, "SELECT COUNT(*) FROM t")
                 : snprintf(text, TEXT, "SELECT %s(%s) FROM t", items[random_below(&d->random, 5)],
                            last->name);
    for (unsigned i = 0; i + !rows < c.n; i++)
        n += draw_condition(d, c.attribute[i], i > 0 ? " AND " : " WHERE ", text + n, TEXT - n);
}

/* Which columns measured marginals link to this one, itself too. */
static struct scope linked(const struct aim_result *r, uint16_t column)
{
    struct scope all = {.n = 1, .attribute = {column}};
    for (unsigned before = 0; before < all.n;) {
        before = all.n;
        for (size_t i = 0; i < r->measurements; i++) {
            const struct scope c = scope_of(&r->measurement[i].clique);
            if (scope_intersect(&c, &all).n > 0)
                all = scope_union(&all, &c);
        }
    }
    return all;
}

static enum kind kind_of(const struct aim_result *r, const struct question *q)
{
    const struct scope s = answer_columns(q, 0);
    const struct scope all = linked(r, s.attribute[0]);
    if (errors_links(r->model, &s) == 0)
        return TOGETHER;
    return scope_intersect(&all, &s).n == s.n ? JOINED : INDEPENDENT;
}

/* --- what intervals hold ---------------------------------------------------------------------- */

struct asked {
    size_t count;
    struct question **question;
    struct answer **answer;
    struct rows_answer **truth;
};

static void asked_clear(struct asked *a)
{
    for (size_t i = 0; i < a->count; i++) {
        answer_free(&a->answer[i]);
        rows_answer_free(&a->truth[i]);
        question_free(&a->question[i]);
    }
    memory_free_all(&a->question, &a->answer, &a->truth);
}

static enum err score(struct coverage *c, int way, const struct answer_value *v, double truth)
{
    TRY(memory_room(&c->width[way], &c->room[way], c->items[way] + 1));
    c->width[way][c->items[way]++] = (v->high - v->low) / 2 / fmax(fabs(truth), 1);
    c->held[way] += v->low <= truth && truth <= v->high;
    return ERR_OK;
}

static enum err score_all(struct coverage of[KINDS], int way, const struct asked *a,
                          const struct aim_result *r)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct answer_value *v = &a->answer[i]->value[0];
        const double truth = a->truth[i]->value[0].number;
        const bool is_count = a->question[i]->item[0].aggregate == AGGREGATE_COUNT;
        const enum kind kind = kind_of(r, a->question[i]);
        if (!v->bounded || !a->truth[i]->value[0].known)
            continue;
        TRY(score(&of[kind], way, v, truth));
        if (kind == TOGETHER && is_count && truth < NOTHING)
            TRY(score(&of[NEAR_NOTHING], way, v, truth));
    }
    return ERR_OK;
}

static enum err ask(struct asked *a, struct coverage_drawn *d, const struct aim_result *r,
                    struct model_sums *sums, const struct densities *inside, unsigned questions,
                    struct log *log)
{
    TRY(memory_new(&a->question, questions));
    TRY(memory_new(&a->answer, questions));
    TRY(memory_new(&a->truth, questions));
    for (a->count = 0; a->count < questions; a->count++) {
        char text[TEXT];
        struct question_text from = {.text = text};
        const size_t k = a->count;
        draw_question(d, r, text);
        TRY(question_parse(&a->question[k], d->domain, &from, log));
        TRY(answer_new(&a->answer[k], sums, inside, a->question[k], log));
        TRY(rows_answer_new(&a->truth[k], d->table, a->question[k]));
    }
    return ERR_OK;
}

static enum err measure_table(struct coverage of[KINDS], uint64_t seed, unsigned questions,
                              struct log *log)
{
    struct coverage_drawn d CLEAN(drawn_clear) = {0};
    struct aim_result *r CLEAN(aim_result_free) = NULL;
    struct errors *errors CLEAN(errors_free) = NULL;
    struct model_sums *sums CLEAN(model_sums_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    struct asked asked CLEAN(asked_clear) = {0};
    struct answer_terms terms = {.inside = &inside, .level = LEVEL, .log = log};
    TRY(draw(&d, seed, log));
    TRY(run(&r, &d, seed, log));
    TRY(errors_new(&errors, r->model, r->measurement, r->measurements, NULL, log));
    TRY(model_densities(&inside, r->model, log));
    TRY(model_sums_new(&sums, r->model));
    TRY(ask(&asked, &d, r, sums, &inside, questions, log));
    terms.model = sums;
    for (int way = 0; way < WAYS; way++) {
        struct errors as = *errors;
        as.counts = way == REFITS ? 0 : errors->counts;
        terms.errors = &as;
        TRY(answer_intervals(asked.answer, asked.count, &terms));
        TRY(score_all(of, way, &asked, r));
    }
    return ERR_OK;
}

static void show(json_t *out, struct coverage *c, const char *kind)
{
    const double n = (double)c->items[WHOLE];
    if (n == 0)
        return;
    printf("  %-12s %5zu items", kind, c->items[WHOLE]);
    figures_put(out, n, "%s_items", kind);
    for (int way = 0; way < WAYS; way++) {
        double width;
        sorted_make(c->width[way], c->items[way]);
        width = sorted_quantile(c->width[way], c->items[way], 0.5);
        printf(way == WHOLE ? "   coverage %.3f, width %.4f" : "   by refits alone %.3f, %.4f",
               (double)c->held[way] / n, width);
        figures_put(out, (double)c->held[way] / n, "%s_coverage%s", kind, way_words[way]);
        figures_put(out, width, "%s_width%s", kind, way_words[way]);
    }
    printf("\n");
}

enum err coverage_measure(json_t *out, unsigned tables, unsigned questions, struct log *log)
{
    struct coverage of[KINDS] = {{.items = {0}}};
    enum err e = ERR_OK;
    for (uint64_t seed = 1; e == ERR_OK && seed <= tables; seed++)
        e = measure_table(of, seed, questions, log);
    for (int k = 0; k < KINDS; k++) {
        if (e == ERR_OK)
            show(out, &of[k], kind_words[k]);
        for (int way = 0; way < WAYS; way++)
            memory_free(&of[k].width[way]);
    }
    return e;
}
