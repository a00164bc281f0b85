#include "aim/answer/rows_given.h"
#include "aim/model/series_draw.h"
#include "aim/table/csv.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/command/command.h"

#include <math.h>
#include <string.h>

static const char help[] =
    "usage: trefoil synth MODEL --out FILE [--rows N] [--seed N]\n"
    "                     [--sampling rounded|independent | --where CONDITION\n"
    "                      | --given FILE [--fill TEXT]]\n"
    "                     [--delimiter C] [--decimal C] [--bom]\n"
    "\n"
    "Draws synthetic rows from a released model, as many and as often as you like:\n"
    "what was protected stays protected, and nothing is charged to the budget.\n"
    "MODEL is a result's folder, or the file model in it.\n"
    "\n"
    "  --out FILE       the CSV file to write; - is standard output. For a model of\n"
    "                   persons and their events: a folder for both tables\n"
    "  --rows N         rows, or persons, instead of the model's noisy total\n"
    "  --seed N         the same seed gives the same rows; default 1\n"
    "  --sampling HOW   rounded (default): marginals as near to the model's as that\n"
    "                   many rows allow; independent: each row drawn by itself, as\n"
    "                   if from a population. A copula has only independent\n"
    "  --where CONDITION    only rows that meet a condition, as after WHERE in a\n"
    "                   question, each drawn by itself; without --rows, as many as\n"
    "                   the model has. Below half a row it refuses. With events, on\n"
    "                   what is of persons\n"
    "  --given FILE     completes the rows of a CSV file: draws the columns that it\n"
    "                   lacks, and leaves what it has as it is\n"
    "  --fill TEXT      draws what this text stands for in the file, too\n"
    "  --delimiter C, --decimal C, --bom    instead of a comma, a point and no mark\n"
    "                   of UTF-8, which Excel wants; a delimiter may be the word tab\n"
    "\n"
    "example:\n"
    "  trefoil synth result --rows 10000 --out rows.csv\n"
    "  trefoil synth result --where \"age >= 60 AND sex = 'f'\" --rows 1000 \\\n"
    "      --out women.csv\n";

struct synth_asked {
    const char *out, *where, *given, *fill;
    int64_t rows, seed;
    enum released_sampling how;
    struct csv_form form;
};

/* The rows of a file, with what they lack. */
static enum err complete(struct table **t, const struct released *r, const struct synth_asked *a,
                         struct log *log)
{
    struct table *known CLEAN(table_free) = NULL;
    size_t *line CLEAN(memory_release) = NULL, never;
    const struct table_csv_options options = {.delimiter = a->form.delimiter,
                                              .rows = {.decimal = a->form.decimal,
                                                       .numbers = true,
                                                       .as_written = true,
                                                       .partial = true,
                                                       .fill = a->fill,
                                                       .places = &line}};
    enum err e;
    TRY(table_read_csv(&known, r->domain, a->given, &options, log));
    e = rows_complete(t, r, known, (uint64_t)a->seed, &never, log);
    if (e != ERR_DATA)
        return e;
    return log_fail(log, e, "%s:%zu: the model has no such row: its values do not occur together",
                    table_csv_name(a->given), line[never]);
}

/* Two tables in a folder. */
static enum err draw_persons(const struct released *model, const struct synth_asked *a,
                             struct log *log)
{
    struct series_drawn drawn CLEAN(series_drawn_clear) = {0};
    const char *name = model->domain->series->name;
    const char *out = a->out;
    const uint64_t seed = (uint64_t)a->seed;
    struct table *flat CLEAN(table_free) = NULL;
    size_t persons = (size_t)a->rows;
    if (a->how != SAMPLING_ANY || a->given != NULL || strcmp(out, "-") == 0)
        return log_fail(log, ERR_USAGE,
                        "this model is of persons and their events: leave --sampling and --given "
                        "out, and name a folder with --out, for persons.csv and %s.csv",
                        name);
    if (persons == 0)
        persons = (size_t)fmax(1, round(released_total(model)));
    if (a->where != NULL)
        TRY(rows_where(&flat, model, a->where, (size_t)a->rows, seed, log));
    TRY(flat != NULL ? series_draw_of(&drawn, model->model, &model->inside, flat, seed, log)
                     : series_draw(&drawn, model->model, &model->inside, persons, seed, log));
    TRY(file_folder(out, log));
    TRY(series_write_csv(out, &drawn, name, (uint64_t)a->seed, &a->form, log));
    printf("wrote %zu persons with %zu %s to %s/persons.csv and %s/%s.csv\n", drawn.persons->rows,
           drawn.events->rows, name, out, out, name);
    return ERR_OK;
}

static enum err execute(const char *given, const struct synth_asked *a, struct log *log)
{
    char path[FILE_PATH];
    struct released model CLEAN(released_clear) = {0};
    struct table *t CLEAN(table_free) = NULL;
    const size_t rows = (size_t)a->rows;
    const uint64_t seed = (uint64_t)a->seed;
    TRY(file_in(path, given, "model", log));
    TRY(released_load(&model, path, log));
    if (model.domain->series != NULL)
        return draw_persons(&model, a, log);
    TRY(a->where != NULL   ? rows_where(&t, &model, a->where, rows, seed, log)
        : a->given != NULL ? complete(&t, &model, a, log)
                           : released_rows(&t, &model, rows, seed, a->how, log));
    TRY(table_write_csv(a->out, t, &model.inside, seed, &a->form, log));
    if (strcmp(a->out, "-") != 0)
        printf("wrote %zu rows of %zu attributes to %s\n", t->rows, t->domain->attributes, a->out);
    return ERR_OK;
}

static enum err check_asked(const struct synth_asked *a, struct log *log)
{
    if ((a->where != NULL || a->given != NULL) && a->how == SAMPLING_ROUNDED)
        return log_fail(log, ERR_USAGE,
                        "such rows are drawn one by one: leave out --sampling rounded");
    if (a->given != NULL && (a->where != NULL || a->rows > 0))
        return log_fail(log, ERR_USAGE,
                        "--given completes a file's rows, as many as it has: leave "
                        "out %s",
                        a->where != NULL ? "--where" : "--rows");
    if (a->fill != NULL && a->given == NULL)
        return log_fail(log, ERR_USAGE,
                        "--fill is about the rows of --given FILE, which is not "
                        "there");
    return ERR_OK;
}

static enum err run_synth(int argc, char **argv, struct log *log)
{
    const char *path, *sampling = NULL, *delimiter = NULL, *decimal = NULL;
    struct synth_asked a = {.seed = 1, .how = SAMPLING_ANY};
    const struct command_option options[] = {
        {.name = "out", .value = &a.out, .needed = "FILE"},
        {.name = "rows", .number = &a.rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "seed", .number = &a.seed, .most = INT64_MAX},
        {.name = "sampling", .value = &sampling},
        {.name = "where", .value = &a.where},
        {.name = "given", .value = &a.given},
        {.name = "fill", .value = &a.fill},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "bom", .flag = &a.form.bom},
    };
    TRY(command_options(argc, argv, COUNTED(options), &path, 1, 1, NULL, log));
    TRY(command_csv_form(delimiter, decimal, &a.form, log));
    if (sampling != NULL && strcmp(sampling, "independent") == 0)
        a.how = SAMPLING_INDEPENDENT;
    else if (sampling != NULL && strcmp(sampling, "rounded") == 0)
        a.how = SAMPLING_ROUNDED;
    else if (sampling != NULL)
        return log_fail(log, ERR_USAGE, "--sampling is rounded or independent, not %s", sampling);
    TRY(check_asked(&a, log));
    return execute(path, &a, log);
}

DEFINE_COMMAND(synth, help, "draw synthetic rows from a released model");
