#include "aim/answer/released.h"
#include "aim/question/questions.h"
#include "aim/table/lists.h"
#include "aim/table/number.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/command/command.h"
#include "parties/display/answers.h"
#include "parties/display/progress.h"

static const char help[] =
    "usage: trefoil query MODEL [QUESTION ...] [--file FILE] [--level L | --quick]\n"
    "           [--json | --csv [--delimiter C] [--decimal C] [--bom]]\n"
    "       trefoil query MODEL --columns\n"
    "\n"
    "Answers questions from a released model, exactly: no rows are drawn, and nothing\n"
    "is charged to the budget. MODEL is a model or the folder of a result. Questions\n"
    "are written in a subset of SQL, separated by semicolons:\n"
    "\n"
    "  SELECT item [, item ..] FROM t [WHERE condition] [GROUP BY column [, column]]\n"
    "\n"
    "Items are COUNT(*), and for a column y COUNT, SUM, AVG, VARIANCE, STDDEV,\n"
    "MEDIAN, PERCENTILE(y, p), MODE, MIN, MAX and RANGE. SHARE(condition) is the\n"
    "percentage of rows that meet one, CORR(y, z) a correlation. One of + - * / may\n"
    "stand between two items, or one and a number. Conditions are made\n"
    "with =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, AND, OR, NOT and parentheses.\n"
    "Put names that are not plain words in double quotes, labels in single quotes,\n"
    "and dates too: '2021-05-31', all of that day. GROUP BY takes YEAR(y), QUARTER,\n"
    "MONTH, WEEKDAY and HOUR of dates.\n"
    "\n"
    "Each answer comes with an interval, which holds the true value with probability\n"
    "L, and the number of rows that it is based on. Intervals need the file errors\n"
    "beside the model, which run, aim and refit write; without it there are none.\n"
    "\n"
    "  --file FILE   questions from a file; - is standard input\n"
    "  --json        answers as JSON, with all digits that matter\n"
    "  --csv         answers as CSV, separated by empty lines\n"
    "  --delimiter C, --decimal C, --bom    of CSV, instead of a comma, a point and\n"
    "                no mark of UTF-8, which Excel wants; a delimiter may be \"tab\"\n"
    "  --level L     of the intervals, from 0.5 to 0.9999; default 0.95\n"
    "  --quick       no intervals, which take thirty times as long as the answers\n"
    "  --columns     print the model's columns and what they may hold\n"
    "\n"
    "example:\n"
    "  trefoil query result \"SELECT AVG(age) FROM t WHERE sex = 'f' GROUP BY ward\"\n";

enum query_form { FORM_TEXT, FORM_CSV, FORM_JSON };

struct query_asked {
    struct question *question;
    struct answer *answer;
    struct bytes text;
};

struct query_asking {
    struct released model;
    double level; /* of intervals; 0: none are wanted */
    enum query_form form;
    struct csv_form csv;
    size_t asked;
    struct query_asked *one;
    json_t *list; /* of answers, if they are JSON */
    struct bytes out;
    struct progress progress;
    struct log *log;
};

static void asking_clear(struct query_asking *k)
{
    progress_detach(&k->progress, k->log);
    for (size_t i = 0; i < k->asked; i++) {
        answer_free(&k->one[i].answer);
        question_free(&k->one[i].question);
        bytes_clear(&k->one[i].text);
    }
    memory_free(&k->one);
    released_clear(&k->model);
    json_decref(k->list);
    bytes_clear(&k->out);
}

/* --- the model -------------------------------------------------------------------------------- */

static enum err load(struct query_asking *k, const char *path)
{
    char file[FILE_PATH];
    TRY(file_in(file, path, "model", k->log));
    TRY(released_load(&k->model, file, k->log));
    if (k->model.copula != NULL)
        progress_wait(&k->progress, "drawing rows of the copula");
    return released_sums(&k->model, k->log);
}

static enum err load_errors(struct query_asking *k, const char *path)
{
    char model[FILE_PATH], file[FILE_PATH];
    if (k->level == 0)
        return ERR_OK;
    if (k->model.copula != NULL) {
        log_warn(k->log, "no intervals: %s is a copula, whose errors are not known", path);
        return ERR_OK;
    }
    TRY(file_in(model, path, "model", k->log));
    TRY(released_errors(&k->model, model, file, k->log));
    if (k->model.errors == NULL)
        log_warn(k->log, "no intervals: there is no %s; trefoil refit makes a result with one",
                 file);
    return ERR_OK;
}

static void print_column(const struct domain_attribute *a)
{
    char range[DOMAIN_RANGE];
    printf("%s: ", a->name);
    for (uint32_t i = 0; !domain_has_order(a) && i < a->values; i++)
        printf("%s'%s'", i > 0 ? ", " : "", a->labels[i]);
    if (domain_has_order(a))
        printf("%ss from %s", a->kind->noun, domain_range(a, 10, range));
    if (domain_has_bins(a))
        printf(" in %u bins", a->values);
    if (a->step > 0)
        printf(", multiples of %.10g", a->step);
    printf("%s\n", a->missing != NULL ? "; or missing" : "");
}

/* --- questions -------------------------------------------------------------------------------- */

static enum err put(struct query_asking *k, const struct answers_entry *e, bool first)
{
    char left[100];
    switch (k->form) {
    case FORM_JSON:
        return answers_json(k->list, e);
    case FORM_CSV:
        if (answers_left_out(e->answer, left, sizeof left))
            log_warn(k->log, "%s, left out of the answer to %.*s", left, (int)e->size, e->text);
        bytes_put_text(&k->out, first ? "" : "\n");
        return answers_csv(&k->out, e);
    case FORM_TEXT:
        break;
    }
    bytes_put_text(&k->out, first ? "" : "\n");
    return answers_text(&k->out, e);
}

/* Takes over the question. */
static enum err answer_one(struct query_asking *k, struct questions_next *next)
{
    struct query_asked *one;
    enum err e;
    TRY(memory_extend(&k->one, k->asked + 1));
    one = &k->one[k->asked++];
    *one = (struct query_asked){.question = next->question};
    next->question = NULL;
    bytes_put(&one->text, next->text, next->size);
    TRY(bytes_ok(&one->text));
    e = answer_new(&one->answer, k->model.sums, &k->model.inside, one->question, k->log);
    if (e == ERR_QUESTION) /* what is said has no place */
        log_error(k->log, "there is no answer to %.*s", (int)one->text.size,
                  (const char *)one->text.data);
    return e;
}

/* Finds the intervals of all answers together, so that each refit is made once. */
static enum err find_intervals(struct query_asking *k)
{
    const struct answer_terms terms = {.model = k->model.sums,
                                       .inside = &k->model.inside,
                                       .errors = k->model.errors,
                                       .level = k->level,
                                       .begun = progress_intervals,
                                       .show = &k->progress,
                                       .log = k->log};
    struct answer **list CLEAN(memory_release) = NULL;
    if (k->model.errors == NULL)
        return ERR_OK;
    TRY(memory_new(&list, k->asked));
    for (size_t i = 0; i < k->asked; i++)
        list[i] = k->one[i].answer;
    return answer_intervals(list, k->asked, &terms);
}

static enum err put_all(struct query_asking *k)
{
    for (size_t i = 0; i < k->asked; i++) {
        const struct query_asked *one = &k->one[i];
        struct answers_entry e = {.text = (const char *)one->text.data,
                                  .size = one->text.size,
                                  .answer = one->answer,
                                  .together = true,
                                  .csv = &k->csv,
                                  .level = k->model.errors != NULL ? k->level : 0,
                                  .copula = k->model.copula != NULL,
                                  .learned = k->model.errors != NULL && k->model.errors->learned};
        for (size_t item = 0; item < one->question->items; item++) {
            e.item[item] = released_item_together(&k->model, one->question, item);
            e.together &= e.item[item];
        }
        TRY(put(k, &e, i == 0));
    }
    return ERR_OK;
}

static enum err answer_all(struct query_asking *k, struct questions *q)
{
    for (;;) {
        struct questions_next next CLEAN(questions_next_clear) = {0};
        TRY(questions_next(q, &next));
        if (next.question == NULL)
            return ERR_OK;
        TRY(answer_one(k, &next));
        progress_answered(&k->progress, k->asked);
    }
}

static enum err answer(struct query_asking *k, const char *text, const char *file)
{
    struct questions q CLEAN(questions_clear) = {.domain = k->model.domain, .log = k->log};
    TRY(file != NULL ? questions_file(&q, file) : questions_text(&q, text));
    return answer_all(k, &q);
}

/* Nothing is printed before everything is answered. */
static enum err print(struct query_asking *k)
{
    TRY(k->form == FORM_JSON ? list_print(k->list, JSON_INDENT(1), &k->out) : bytes_ok(&k->out));
    fwrite(k->out.data, 1, k->out.size, stdout);
    return ERR_OK;
}

static enum err execute(struct query_asking *k, const char *const *given, size_t count,
                        const char *file, bool columns)
{
    k->progress = progress_start(stderr, NULL, 0);
    progress_attach(&k->progress, k->log);
    TRY(load(k, given[0]));
    k->list = json_array();
    if (k->list == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; columns && i < k->model.domain->attributes; i++)
        print_column(&k->model.domain->attribute[i]);
    for (size_t i = 1; i < count; i++)
        TRY(answer(k, given[i], NULL));
    if (file != NULL)
        TRY(answer(k, NULL, file));
    if (columns && k->asked == 0)
        return ERR_OK;
    if (k->asked == 0)
        return log_fail(k->log, ERR_QUESTION, "there is no question%s%s",
                        file != NULL ? " in " : "", file != NULL ? file : "");
    TRY(load_errors(k, given[0]));
    TRY(find_intervals(k));
    progress_end(&k->progress);
    if (k->form == FORM_CSV)
        csv_begin(&k->out, &k->csv);
    TRY(put_all(k));
    return print(k);
}

#define QUESTIONS_MAX 256

static enum err run_query(int argc, char **argv, struct log *log)
{
    const char *given[QUESTIONS_MAX + 1], *file = NULL, *level = NULL;
    const char *delimiter = NULL, *decimal = NULL;
    struct query_asking k CLEAN(asking_clear) = {.level = 0.95, .log = log};
    bool json = false, csv = false, columns = false, quick = false;
    size_t count = 0;
    const struct command_option options[] = {
        {.name = "file", .value = &file},
        {.name = "level", .value = &level},
        {.name = "json", .flag = &json},
        {.name = "csv", .flag = &csv},
        {.name = "columns", .flag = &columns},
        {.name = "quick", .flag = &quick},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "bom", .flag = &k.csv.bom},
    };
    TRY(command_options(argc, argv, COUNTED(options), given, 1, QUESTIONS_MAX + 1, &count, log));
    if (count == 1 && file == NULL && !columns)
        return log_fail(log, ERR_USAGE,
                        "there is no question: write one after MODEL, or --file FILE");
    if (json && csv)
        return log_fail(log, ERR_USAGE, "--json and --csv exclude each other; leave one out");
    if (columns && (json || csv))
        return log_fail(log, ERR_USAGE, "--columns is for people: it has no --json or --csv");
    if (level != NULL && !(number_double(level, &k.level) && k.level >= 0.5 && k.level <= 0.9999))
        return log_fail(log, ERR_USAGE, "--level must be a number from 0.5 to 0.9999, not %s",
                        level);
    if (!csv && (delimiter != NULL || decimal != NULL || k.csv.bom))
        return log_fail(log, ERR_USAGE, "--delimiter, --decimal and --bom are for --csv; add it");
    TRY(command_csv_form(delimiter, decimal, &k.csv, log));
    if (level != NULL && quick)
        return log_fail(log, ERR_USAGE, "--level and --quick: --quick leaves the intervals out");
    k.form = json ? FORM_JSON : csv ? FORM_CSV : FORM_TEXT;
    k.level = quick ? 0 : k.level;
    return execute(&k, given, count, file, columns);
}

DEFINE_COMMAND(query, help, "answer questions from a released model");
