#include "parties/command/evaluating.h"

#include "aim/question/questions.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/analyst/central.h"

#include <math.h>
#include <string.h>

void evaluating_clear(struct evaluating *e)
{
    progress_detach(&e->progress, e->log);
    evaluation_clear(&e->shown);
    released_clear(&e->released);
}

/* --- what is read ----------------------------------------------------------------------------- */

/* Reads rows from a database or a file. */
static enum err read_rows(const struct evaluating *e, struct table **t,
                          const struct database_source *sql, const char *path,
                          struct table_csv_options options)
{
    struct progress_reading reading CLEAN(progress_reading_end) = {0};
    struct database *database CLEAN(database_close) = NULL;
    options.rows.numbers = true;
    progress_reading_begin(&reading, &options.rows, e->log);
    if (sql == NULL)
        return table_read_csv(t, e->study->domain, path, &options, e->log);
    TRY(database_open(&database, e->study->domain, sql, &options.rows, e->log));
    return database_read(database, t);
}

static enum err read_model(struct evaluating *e, const char *given)
{
    char path[FILE_PATH];
    bool same = false;
    TRY(file_in(path, given, "model", e->log));
    TRY(released_load(&e->released, path, e->log));
    TRY(domain_compare(e->released.domain, e->study->domain, &same));
    if (!same)
        return log_fail(e->log, ERR_MISMATCH, "%s is a model whose domain is not the study's",
                        path);
    e->shown.model = e->released.model != NULL;
    if (!e->shown.model)
        log_warn(e->log, "%s is a copula: the likelihood of rows is left out", path);
    return released_sums(&e->released, e->log);
}

/* Counts rows as servers do: if they bound persons, rows need the columns that say whose. */
static enum err read_real(struct evaluating *e)
{
    const struct database_source *sql = e->sql.connection != NULL ? &e->sql : NULL;
    struct table_csv_options csv = e->csv;
    struct person_rule rule;
    if (!e->study->enforce_person || e->study->link.on) /* joined rows are one a person */
        return read_rows(e, &e->shown.real, sql, e->real, csv);
    TRY(study_person_rule(e->study, NULL, &rule, e->log));
    csv.rows.key = &rule;
    TRY(read_rows(e, &e->shown.real, sql, e->real, csv));
    return central_bound(e->shown.real, e->study, e->log);
}

static enum err read_all(struct evaluating *e)
{
    char path[FILE_PATH];
    TRY(file_in(path, e->synthetic, "synthetic.csv", e->log));
    if (e->model != NULL || strcmp(path, e->synthetic) != 0)
        TRY(read_model(e, e->model != NULL ? e->model : e->synthetic));
    TRY(read_real(e));
    return read_rows(e, &e->shown.side[SIDE_SYNTHETIC], NULL, path,
                     (struct table_csv_options){.rows = {.as_written = true}});
}

/* --- what is compared ------------------------------------------------------------------------- */

static enum err compare_marginals(struct evaluation *s)
{
    for (size_t i = 0; i < SIDE_TABLES; i++) {
        TRY(memory_new(&s->each[i], s->study->asked->cliques));
        TRY(evaluate_tables(s->study->asked, s->real, s->side[i], s->each[i], &s->mean[i]));
    }
    return ERR_OK;
}

static void compare_pair(struct evaluation *s, uint16_t a, uint16_t b)
{
    struct evaluation_pair *p = &s->pair[s->pairs++];
    *p = (struct evaluation_pair){.a = a, .b = b, .real = evaluate_correlation(s->real, a, b)};
    for (size_t i = 0; i < SIDE_TABLES; i++)
        p->of[i] = evaluate_correlation(s->side[i], a, b);
}

static enum err compare_columns(struct evaluation *s)
{
    const struct domain *d = s->study->domain;
    TRY(memory_new(&s->column, d->attributes));
    TRY(memory_new(&s->deviation, d->attributes));
    TRY(memory_new(&s->pair, d->attributes * (d->attributes - 1) / 2));
    for (uint16_t a = 0; a < d->attributes; a++) {
        struct evaluation_column *c = &s->column[s->columns];
        if (!domain_has_order(&d->attribute[a]))
            continue;
        *c = (struct evaluation_column){.attribute = a, .real = evaluate_column(s->real, a)};
        s->deviation[a] = c->real.deviation;
        for (size_t i = 0; i < SIDE_TABLES; i++)
            c->of[i] = evaluate_column(s->side[i], a);
        for (size_t i = 0; i < s->columns; i++)
            compare_pair(s, s->column[i].attribute, a);
        s->columns++;
    }
    return ERR_OK;
}

static enum err find_likelihood(struct evaluating *e)
{
    struct evaluation *s = &e->shown;
    struct densities own CLEAN(densities_clear) = {0};
    double codes;
    if (e->released.model == NULL)
        return ERR_OK;
    TRY(evaluate_likelihood(e->released.model, s->real, &codes, &s->impossible));
    s->likelihood.codes = -codes;
    s->likelihood.numbers = evaluate_inside(s->real, &e->released.inside) - codes;
    TRY(evaluate_alone(s->real, &codes));
    TRY(evaluate_densities(s->real, &own));
    s->alone.codes = -codes;
    s->alone.numbers = evaluate_inside(s->real, &own) - codes;
    return ERR_OK;
}

/* Questions that the model refuses are left out of its figures alone. */
static enum err ask_model(struct evaluating *e, const struct questions_next *next,
                          const struct rows_answer *truth)
{
    struct answer *answer CLEAN(answer_free) = NULL;
    enum err refused;
    if (e->released.sums == NULL)
        return ERR_OK;
    refused = answer_new(&answer, e->released.sums, &e->released.inside, next->question, NULL);
    if (refused == ERR_QUESTION)
        log_warn(e->log, "left out of the model's figures, since trefoil query refuses it: %.*s",
                 (int)next->size, next->text);
    if (refused != ERR_OK)
        return refused == ERR_QUESTION ? ERR_OK : refused;
    return evaluate_answer(&e->shown.answers[SIDE_MODEL], truth, answer->value,
                           (double)e->shown.real->rows / model_sums_total(e->released.sums));
}

static enum err ask(struct evaluating *e, const struct questions_next *next)
{
    const struct question *q = next->question;
    struct evaluation *s = &e->shown;
    struct rows_answer *truth CLEAN(rows_answer_free) = NULL;
    const double rows = (double)s->real->rows;
    TRY(rows_answer_new(&truth, s->real, q));
    for (size_t i = 0; i < SIDE_TABLES; i++) {
        struct rows_answer *other CLEAN(rows_answer_free) = NULL;
        TRY(rows_answer_new(&other, s->side[i], q));
        TRY(evaluate_answer(&s->answers[i], truth, other->value,
                            rows / fmax(1, (double)s->side[i]->rows)));
    }
    return ask_model(e, next, truth);
}

static enum err compare_answers(struct evaluating *e, struct questions *q)
{
    e->progress = progress_start(stderr, NULL, 0);
    progress_attach(&e->progress, e->log);
    for (size_t i = 0; i < SIDES; i++)
        e->shown.answers[i].deviation = e->shown.deviation;
    for (;;) {
        struct questions_next next CLEAN(questions_next_clear) = {0};
        TRY(questions_next(q, &next));
        if (next.question == NULL)
            break;
        TRY(ask(e, &next));
        progress_answered(&e->progress, ++e->shown.questions);
    }
    progress_end(&e->progress);
    for (size_t i = 0; i < SIDES; i++)
        evaluate_answers_sort(&e->shown.answers[i]);
    if (e->shown.questions == 0)
        return log_fail(e->log, ERR_QUESTION, "there is no question in %s", e->queries);
    return ERR_OK;
}

static enum err compare(struct evaluating *e, struct questions *q)
{
    struct evaluation *s = &e->shown;
    const size_t rows = s->side[SIDE_SYNTHETIC]->rows;
    TRY(evaluate_draw(&s->side[SIDE_INDEPENDENT], s->real, EVALUATE_COLUMNS, rows, 1));
    TRY(evaluate_draw(&s->side[SIDE_RESAMPLE], s->real, EVALUATE_ROWS, rows, 2));
    TRY(compare_marginals(s));
    TRY(compare_columns(s));
    TRY(find_likelihood(e));
    return e->queries != NULL ? compare_answers(e, q) : ERR_OK;
}

enum err evaluating_run(struct evaluating *e)
{
    struct questions q CLEAN(questions_clear) = {.log = e->log};
    e->shown.study = e->study;
    q.domain = e->study->domain;
    if (e->queries != NULL)
        TRY(questions_file(&q, e->queries));
    TRY(read_all(e));
    TRY(compare(e, &q));
    return e->json ? evaluation_json(stdout, &e->shown)
                   : evaluation_text(stdout, &e->shown, (size_t)e->worst);
}
