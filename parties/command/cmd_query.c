#include "aim/model_densities.h"
#include "aim/model_file.h"
#include "aim/question/questions.h"
#include "base/file.h"
#include "parties/command/command.h"
#include "parties/display/answers.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: trefoil query MODEL [QUESTION ...] [--file FILE] [--json] [--csv]\n"
    "       trefoil query MODEL --columns\n"
    "\n"
    "Answers questions from a released model, exactly: no rows are drawn, and nothing\n"
    "is charged to the budget. MODEL is a model or the folder of a result. Questions\n"
    "are written in a part of SQL, with a ; between two:\n"
    "\n"
    "  SELECT item [, item ..] FROM t [WHERE condition] [GROUP BY column [, column]]\n"
    "\n"
    "Items are COUNT(*), and of a column y COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN,\n"
    "PERCENTILE(y, p), MODE, MIN, MAX and RANGE. Conditions have = <> < <= > >=,\n"
    "BETWEEN, IN, IS NULL, AND, OR, NOT and parentheses. Names that are no plain\n"
    "words stand in double quotes, labels in single ones. How many rows an answer is\n"
    "of stands beside it.\n"
    "\n"
    "  --file FILE   questions from a file, - is the standard input\n"
    "  --json        answers as JSON, with all their digits\n"
    "  --csv         as CSV, an empty line between the answers to two questions\n"
    "  --columns     print the model's columns and what they may hold\n"
    "\n"
    "example:\n"
    "  trefoil query result \"SELECT AVG(age) FROM t WHERE sex = 'f' GROUP BY ward\"\n";

enum form { FORM_TEXT, FORM_CSV, FORM_JSON };

struct asking {
    struct domain *domain;
    struct model *model;
    struct densities inside;
    enum form form;
    size_t asked;
    json_t *list; /* of answers, where they are JSON */
    struct bytes out;
    struct log *log;
};

static void asking_clear(struct asking *k)
{
    densities_clear(&k->inside);
    model_free(&k->model);
    domain_free(&k->domain);
    json_decref(k->list);
    bytes_clear(&k->out);
}

/* --- the model -------------------------------------------------------------------------------- */

static enum err load(struct asking *k, const char *path)
{
    char file[FILE_PATH];
    TRY(command_result(file, path, "model", k->log));
    TRY(model_load(&k->model, &k->domain, file, MODEL_FILE_CELLS, k->log));
    return model_densities(&k->inside, k->model, k->log);
}

static void print_column(const struct domain_attribute *a)
{
    printf("%s: ", a->name);
    switch (a->kind) {
    case DOMAIN_CATEGORICAL:
        for (uint32_t i = 0; i < a->values; i++)
            printf("%s'%s'", i > 0 ? ", " : "", a->labels[i]);
        break;
    case DOMAIN_INTEGER:
        printf("whole numbers from %lld to %lld", (long long)a->min, (long long)a->max);
        break;
    case DOMAIN_NUMERIC:
        printf("numbers from %.10g to %.10g in %u bins", a->edges[0], a->edges[a->values],
               a->values);
        if (a->step > 0)
            printf(", multiples of %.10g", a->step);
        break;
    }
    printf("%s\n", a->missing != NULL ? "; or missing" : "");
}

/* --- questions -------------------------------------------------------------------------------- */

static bool all_together(const struct asking *k, const struct question *q)
{
    for (size_t i = 0; i < q->items; i++) {
        struct scope s = answer_columns(q, i);
        if (s.n > 0 && !model_holds_together(k->model, &s))
            return false;
    }
    return true;
}

static enum err put(struct asking *k, const struct answers_entry *e)
{
    switch (k->form) {
    case FORM_JSON:
        return answers_json(k->list, e);
    case FORM_CSV:
        bytes_put_text(&k->out, k->asked > 0 ? "\n" : "");
        answers_csv(&k->out, e);
        return ERR_OK;
    case FORM_TEXT:
        break;
    }
    if (k->asked > 0)
        bytes_put_u8(&k->out, '\n');
    answers_text(&k->out, e);
    return ERR_OK;
}

static enum err answer_one(struct asking *k, const struct questions_next *next)
{
    struct answer *a CLEAN(answer_free) = NULL;
    struct answers_entry e = {
        .text = next->text, .size = next->size, .together = all_together(k, next->question)};
    TRY(answer_new(&a, k->model, &k->inside, next->question, k->log));
    e.answer = a;
    TRY(put(k, &e));
    k->asked++;
    return ERR_OK;
}

static enum err answer_all(struct asking *k, struct questions *q)
{
    for (;;) {
        struct questions_next next;
        enum err e;
        TRY(questions_next(q, &next));
        if (next.question == NULL)
            return ERR_OK;
        e = answer_one(k, &next);
        question_free(&next.question);
        TRY(e);
    }
}

static enum err answer(struct asking *k, const char *text, const char *file)
{
    struct questions q CLEAN(questions_clear) = {.domain = k->domain, .log = k->log};
    TRY(file != NULL ? questions_file(&q, file) : questions_text(&q, text));
    return answer_all(k, &q);
}

/* Nothing is printed before all is answered. */
static enum err print(struct asking *k)
{
    if (k->form == FORM_JSON) {
        if (json_dumpf(k->list, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) != 0)
            return ERR_SYSTEM;
        putchar('\n');
        return ERR_OK;
    }
    TRY(bytes_ok(&k->out));
    fwrite(k->out.data, 1, k->out.size, stdout);
    return ERR_OK;
}

#define QUESTIONS_MAX 256

static enum err execute(const char *const *given, size_t count, const char *file, enum form form,
                        bool columns, struct log *log)
{
    struct asking k CLEAN(asking_clear) = {.form = form, .log = log};
    TRY(load(&k, given[0]));
    k.list = json_array();
    if (k.list == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; columns && i < k.domain->attributes; i++)
        print_column(&k.domain->attribute[i]);
    for (size_t i = 1; i < count; i++)
        TRY(answer(&k, given[i], NULL));
    if (file != NULL)
        TRY(answer(&k, NULL, file));
    if (columns && k.asked == 0)
        return ERR_OK;
    if (k.asked == 0)
        return log_fail(log, ERR_QUESTION, "there is no question%s%s", file != NULL ? " in " : "",
                        file != NULL ? file : "");
    return print(&k);
}

static enum err run(int argc, char **argv, struct log *log)
{
    const char *given[QUESTIONS_MAX + 1], *file = NULL;
    bool json = false, csv = false, columns = false;
    size_t count = 0;
    const struct command_option options[] = {
        {.name = "file", .value = &file},
        {.name = "json", .flag = &json},
        {.name = "csv", .flag = &csv},
        {.name = "columns", .flag = &columns},
    };
    TRY(command_options(argc, argv, options, 4, given, 1, QUESTIONS_MAX + 1, &count, log));
    if (count == 1 && file == NULL && !columns)
        return log_fail(log, ERR_USAGE,
                        "there is no question: write one behind MODEL, or --file FILE");
    if (json && csv)
        return log_fail(log, ERR_USAGE, "--json and --csv: which of the two?");
    return execute(given, count, file, json ? FORM_JSON : csv ? FORM_CSV : FORM_TEXT, columns, log);
}

const struct command cmd_query = {"query", "answers to questions, from a released model", help,
                                  run};
