#include "aim/table/csv.h"
#include "aim/train/classifier.h"
#include "base/file.h"
#include "parties/command/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: trefoil predict RESULT TABLE.csv [--out FILE] [--check]\n"
    "           [--delimiter C] [--decimal C]\n"
    "\n"
    "Says the class of each row, by the classifier of a run with method: train.\n"
    "RESULT is the folder of the run, or its classifier.json. The table has the\n"
    "study's columns, the target only for --check.\n"
    "\n"
    "  --out FILE   write the rows, with the columns predicted and score; - is\n"
    "               standard output. With two classes the score is that of the\n"
    "               second, and from .5 on it is the class; with more it is the\n"
    "               largest. A score is no probability\n"
    "  --check      print how often the classifier is right, which classes it takes\n"
    "               for which, and with two classes the AUC. These figures are of\n"
    "               the table's rows, and not private\n"
    "  --delimiter C, --decimal C    of the CSV files, instead of a comma and a\n"
    "               point; C may be the word tab\n"
    "\n"
    "example:\n"
    "  trefoil predict result new.csv --out classified.csv\n";

struct predicting {
    struct classifier *c;
    struct domain *columns; /* of the table: with the target, or without */
    struct table *table;
    struct table_csv_options csv;
    uint16_t *column[DOMAIN_ATTRIBUTES_MAX]; /* by the classifier's columns */
    struct csv_form form;
    struct bytes text; /* of the rows with their class */
    size_t line, field;
};

static void clear(struct predicting *p)
{
    bytes_clear(&p->text);
    table_free(&p->table);
    domain_free(&p->columns);
    classifier_free(&p->c);
}

static enum err read_table(struct predicting *p, const char *path, bool target, struct log *log)
{
    const struct features *f = p->c->features;
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < f->domain->attributes; i++)
        if (target || i != f->target)
            attribute[count++] = (uint16_t)i;
    TRY(domain_pick(&p->columns, p->c->domain, attribute, count));
    TRY(table_read_csv(&p->table, p->columns, path, &p->csv, log));
    for (size_t k = 0; k < count; k++)
        p->column[attribute[k]] = p->table->column[k];
    return ERR_OK;
}

/* --- the rows, with two columns more ---------------------------------------------------------- */

static enum err put_field(void *self, char *text, size_t length)
{
    struct predicting *p = self;
    (void)length;
    if (p->field++ > 0)
        bytes_put_u8(&p->text, (uint8_t)p->form.delimiter);
    csv_put(&p->text, text, &p->form, false);
    return bytes_ok(&p->text);
}

/* The class of a row, and its score. */
static void put_class(struct predicting *p, size_t row)
{
    const struct features *f = p->c->features;
    double score[FEATURES_CLASSES_MAX];
    char room[COLUMN_TEXT], number[40];
    uint32_t class;
    classifier_scores(p->c, p->column, row, score);
    class = classifier_choice(p->c, score);
    csv_put(&p->text, classifier_class(f, class, room), &p->form, false);
    bytes_put_u8(&p->text, (uint8_t)p->form.delimiter);
    snprintf(number, sizeof number, "%.6f", score[f->classes == 2 ? 0 : class]);
    csv_put_number(&p->text, number, &p->form);
}

/* The first line has the names. */
static enum err end_row(void *self)
{
    struct predicting *p = self;
    bytes_put_u8(&p->text, (uint8_t)p->form.delimiter);
    if (p->line == 0) {
        bytes_put_text(&p->text, "predicted");
        bytes_put_u8(&p->text, (uint8_t)p->form.delimiter);
        bytes_put_text(&p->text, "score");
    } else if (p->line <= p->table->rows)
        put_class(p, p->line - 1);
    else
        return ERR_DATA; /* the file has grown since it was read */
    bytes_put_u8(&p->text, '\n');
    p->line++;
    p->field = 0;
    return bytes_ok(&p->text);
}

static enum err write_rows(struct predicting *p, const char *from, const char *out, struct log *log)
{
    const struct csv_sink sink = {put_field, end_row, p};
    struct csv_place place;
    TRY(csv_split(from, p->form.delimiter, &sink, &place, log));
    if (strcmp(out, "-") != 0) {
        TRY(file_write(out, 0644, p->text.data, p->text.size, log));
        printf("wrote %zu rows with their class to %s\n", p->table->rows, out);
        return ERR_OK;
    }
    if (fwrite(p->text.data, 1, p->text.size, stdout) == p->text.size && fflush(stdout) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "cannot write to the standard output");
}

/* --- how often it is right -------------------------------------------------------------------- */

static enum err print_check(const struct predicting *p, struct log *log)
{
    struct classifier_check check CLEAN(classifier_check_clear) = {0};
    const struct features *f = p->c->features;
    char room[COLUMN_TEXT];
    TRY(classifier_check(&check, p->c, p->table));
    if (check.rows == 0)
        return log_fail(log, ERR_DATA, "the table has no row with a class, to check");
    printf("right about %zu of %zu rows: accuracy %.4f\n", check.right, check.rows,
           (double)check.right / (double)check.rows);
    if (!isnan(check.auc))
        printf("AUC %.4f\n", check.auc);
    printf("rows of a class, by the class that they are taken for:\n");
    for (uint32_t i = 0; i < f->classes; i++) {
        printf("  %-20s", classifier_class(f, i, room));
        for (uint32_t k = 0; k < f->classes; k++)
            printf(" %8llu", (unsigned long long)check.confused[i * f->classes + k]);
        putchar('\n');
    }
    printf("These figures are of the table's rows, and not private.\n");
    return ERR_OK;
}

static enum err run_predict(int argc, char **argv, struct log *log)
{
    const char *given[2], *out = NULL, *delimiter = NULL, *decimal = NULL;
    char path[FILE_PATH];
    bool check = false;
    struct predicting p CLEAN(clear) = {0};
    const struct command_option options[] = {
        {.name = "out", .value = &out},
        {.name = "check", .flag = &check},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
    };
    TRY(command_options(argc, argv, COUNTED(options), given, 2, 2, NULL, log));
    if (out == NULL && !check)
        return log_fail(log, ERR_USAGE, "give --out FILE for the classes, or --check, or both");
    if (out != NULL && strcmp(given[1], "-") == 0)
        return log_fail(log, ERR_USAGE, "--out reads the table twice, so it has to be a file");
    TRY(command_csv(delimiter, decimal, true, &p.csv, log));
    TRY(command_csv_form(delimiter, decimal, &p.form, log));
    TRY(file_in(path, given[0], "classifier.json", log));
    TRY(classifier_load(&p.c, path, log));
    TRY(read_table(&p, given[1], check, log));
    TRY(check ? print_check(&p, log) : ERR_OK);
    return out != NULL ? write_rows(&p, given[1], out, log) : ERR_OK;
}

DEFINE_COMMAND(predict, help, "classify rows with a trained classifier");
