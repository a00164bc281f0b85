#include "aim/answer/released.h"
#include "aim/question/questions.h"
#include "aim/sql/database.h"
#include "aim/table/csv.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/analyst/central.h"
#include "parties/command/command.h"
#include "parties/display/evaluation.h"
#include "parties/display/progress.h"

#include <math.h>
#include <string.h>

static const char help[] =
    "usage: trefoil eval STUDY REAL.csv SYNTHETIC [--model MODEL] [--queries FILE]\n"
    "           [--json] [--worst N] [--delimiter C] [--decimal C]\n"
    "       trefoil eval STUDY SYNTHETIC --sql CONNECTION (--table T | --query Q) ..\n"
    "\n"
    "Says how far synthetic rows are from real ones. SYNTHETIC is a CSV file, or the\n"
    "folder of a result, which stands for its synthetic.csv and model.\n"
    "\n"
    "For each marginal of the workload: the sum over its cells of |share in one -\n"
    "share in the other|. It is 0 if they agree and 2 if they have nothing in common.\n"
    "For each column of numbers: its mean, its deviation, and its correlations.\n"
    "\n"
    "Each figure is shown beside those of two tables that are drawn from the real\n"
    "rows and have as many rows as SYNTHETIC: one with independent columns, and a\n"
    "resample of whole rows, which is as near as another sample would be.\n"
    "\n"
    "Where the study has enforce_person, REAL.csv needs the columns that say whose\n"
    "a row is, and of each person only as many rows are compared as the servers\n"
    "count. Where it has link, REAL.csv has the rows after they are joined.\n"
    "\n"
    "THE OUTPUT IS NOT PRIVATE: it is computed from the real rows without any noise.\n"
    "Whoever may not see those may not see it either. Publishing it, or using it to\n"
    "choose which of several tables to publish, gives away what the budget was spent\n"
    "to protect.\n"
    "\n"
    "  --model MODEL  also the mean log-likelihood of a real row under this model, a\n"
    "                 file or the folder of a result: of its codes, and of its\n"
    "                 numbers as written, each in units of its column's deviation. It\n"
    "                 says how well the model describes the population only if\n"
    "                 REAL.csv was not in the study: hold rows out\n"
    "  --queries FILE   also the relative errors of the answers to the questions in a\n"
    "                 file, as for trefoil query, by aggregate: from the model, and\n"
    "                 from rows, scaled to the number of real ones\n"
    "  --json         all of it as JSON\n"
    "  --worst N      print only N marginals and correlations, the worst first;\n"
    "                 default 20, 0 for all\n"
    "  --delimiter C, --decimal C    of REAL.csv, instead of a comma and a point; a\n"
    "                 delimiter may be the word tab\n"
    "  --sql CONNECTION, --table T, --query Q    the real rows are in a database, as\n"
    "                 for trefoil share\n"
    "\n"
    "example:\n"
    "  trefoil eval study.yaml held-out.csv result --queries asked.sql\n";

struct evaluating {
    const char *study_file, *real, *synthetic, *model, *queries;
    struct database_source sql;   /* connection NULL: none */
    struct table_csv_options csv; /* of the real rows */
    bool json;
    int64_t worst;

    struct study *study;
    struct released released; /* all NULL if there is none */
    struct evaluation shown;
    struct progress progress;
    struct log *log;
};

static void evaluating_clear(struct evaluating *e)
{
    progress_detach(&e->progress, e->log);
    evaluation_clear(&e->shown);
    released_clear(&e->released);
    study_free(&e->study);
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

static enum err ask(struct evaluating *e, const struct question *q)
{
    struct evaluation *s = &e->shown;
    struct rows_answer *truth CLEAN(rows_answer_free) = NULL;
    struct answer *answer CLEAN(answer_free) = NULL;
    const double rows = (double)s->real->rows;
    TRY(rows_answer_new(&truth, s->real, q));
    for (size_t i = 0; i < SIDE_TABLES; i++) {
        struct rows_answer *other CLEAN(rows_answer_free) = NULL;
        TRY(rows_answer_new(&other, s->side[i], q));
        TRY(evaluate_rows_answer(&s->answers[i], truth, other,
                                 rows / fmax(1, (double)s->side[i]->rows)));
    }
    if (e->released.sums == NULL)
        return ERR_OK;
    TRY(answer_new(&answer, e->released.sums, &e->released.inside, q, e->log));
    return evaluate_model_answer(&s->answers[SIDE_MODEL], truth, answer,
                                 rows / model_sums_total(e->released.sums));
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
        TRY(ask(e, next.question));
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

static enum err execute(struct evaluating *e)
{
    struct questions q CLEAN(questions_clear) = {.log = e->log};
    TRY(study_load_draft(&e->study, e->study_file, e->log));
    e->shown.study = e->study;
    q.domain = e->study->domain;
    if (e->queries != NULL)
        TRY(questions_file(&q, e->queries));
    log_warn(e->log, "THE OUTPUT BELOW IS NOT PRIVATE: it is computed from real rows without "
                     "noise. Keep it where the real rows are.");
    TRY(read_all(e));
    TRY(compare(e, &q));
    return e->json ? evaluation_json(stdout, &e->shown)
                   : evaluation_text(stdout, &e->shown, (size_t)e->worst);
}

static enum err run_eval(int argc, char **argv, struct log *log)
{
    struct evaluating e CLEAN(evaluating_clear) = {.worst = 20, .log = log};
    const char *files[3] = {NULL, NULL, NULL}, *delimiter = NULL, *decimal = NULL;
    size_t count = 0;
    const struct command_option options[] = {
        {.name = "model", .value = &e.model},
        {.name = "queries", .value = &e.queries},
        {.name = "json", .flag = &e.json},
        {.name = "worst", .number = &e.worst, .most = INT32_MAX},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "sql", .value = &e.sql.connection},
        {.name = "table", .value = &e.sql.table},
        {.name = "query", .value = &e.sql.query},
    };
    TRY(command_options(argc, argv, COUNTED(options), files, 2, 3, &count, log));
    TRY(command_sql(&e.sql, log));
    if (count != (e.sql.connection != NULL ? 2 : 3))
        return log_fail(log, ERR_USAGE,
                        "eval compares real rows, of a CSV file or by --sql, with those of a "
                        "synthetic CSV file or a result");
    TRY(command_csv(delimiter, decimal, e.sql.connection == NULL, &e.csv, log));
    e.study_file = files[0];
    e.real = files[1];
    e.synthetic = files[count - 1];
    return execute(&e);
}

const struct command cmd_eval = {
    .name = "eval",
    .summary = "measure how far synthetic rows are from real ones (not private)",
    .help = help,
    .run = run_eval};
