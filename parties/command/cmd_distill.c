#include "aim/run/trajectory.h"
#include "aim/table/csv.h"
#include "aim/train/classifier.h"
#include "aim/train/distill.h"
#include "base/file.h"
#include "base/text.h"
#include "parties/command/command.h"

static const char help[] =
    "usage: trefoil distill RESULT [--per-class N] [--seed N]\n"
    "\n"
    "Makes a few rows from which others can train a classifier of their own, from\n"
    "what a run with method: train and numbers: all has opened: no more is spent of\n"
    "the budget. A step on these rows is what it was on all rows. Writes\n"
    "distilled.csv into the folder RESULT, with real numbers in the study's columns,\n"
    "and the class. The rows resemble nobody's: they are no synthetic data.\n"
    "\n"
    "  --per-class N    rows of each class; default 10\n"
    "  --seed N         for the rows that it begins with; default 1\n"
    "\n"
    "example:\n"
    "  trefoil distill result --per-class 10\n";

static enum err write_rows(const char *path, const struct features *f, const struct distill_rows *d,
                           struct log *log)
{
    const struct csv_form form = {.delimiter = ',', .decimal = '.'};
    struct bytes out CLEAN(bytes_clear) = {0};
    char room[COLUMN_TEXT];
    double min[DOMAIN_ATTRIBUTES_MAX]; /* of each feature: the number of code 0 */
    for (size_t i = 0; i < f->domain->attributes; i++) {
        if (f->column[i].kind == FEATURES_NONE)
            continue;
        min[f->column[i].first] = domain_number(&f->domain->attribute[i], 0);
        csv_put(&out, f->domain->attribute[i].name, &form, false);
        bytes_put_u8(&out, ',');
    }
    csv_put(&out, f->domain->attribute[f->target].name, &form, false);
    bytes_put_u8(&out, '\n');
    for (size_t row = 0; row < d->rows; row++) {
        for (size_t i = 0; i < d->count; i++)
            text_put(&out, "%.6g,", min[i] + d->value[row * d->count + i]);
        csv_put(&out, classifier_class(f, d->label[row], room), &form, false);
        bytes_put_u8(&out, '\n');
    }
    TRY(bytes_ok(&out));
    return file_write(path, 0644, out.data, out.size, log);
}

static enum err execute(const char *folder, unsigned per_class, uint64_t seed, struct log *log)
{
    struct classifier *c CLEAN(classifier_free) = NULL;
    struct trajectory t CLEAN(trajectory_clear) = {0};
    struct distill_rows d CLEAN(distill_clear) = {0};
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/classifier.json", folder));
    TRY(classifier_load(&c, path, log));
    if (c->features->norm2 == 0)
        return log_fail(log, ERR_USAGE,
                        "%s is of a study without numbers: all; only rows of numbers can be "
                        "distilled. method: aim makes synthetic rows of labels",
                        path);
    TRY(file_path(path, log, "%s/trajectory.json", folder));
    TRY(trajectory_load(&t, path, c->features, log));
    TRY(distill(&d, &(struct distill_terms){.features = c->features,
                                            .steps = t.steps,
                                            .weight = t.weight,
                                            .gradient = t.gradient,
                                            .per_class = per_class,
                                            .iterations = DISTILL_ITERATIONS,
                                            .seed = seed}));
    TRY(file_path(path, log, "%s/distilled.csv", folder));
    TRY(write_rows(path, c->features, &d, log));
    printf("wrote %zu rows to %s; their gradients are off by %.2g of those that were opened\n",
           d.rows, path, d.loss);
    return ERR_OK;
}

static enum err run_distill(int argc, char **argv, struct log *log)
{
    const char *folder;
    int64_t per_class = 10, seed = 1;
    const struct command_option options[] = {
        {.name = "per-class", .number = &per_class, .least = 1, .most = 1000},
        {.name = "seed", .number = &seed, .most = INT64_MAX},
    };
    TRY(command_options(argc, argv, COUNTED(options), &folder, 1, 1, NULL, log));
    return execute(folder, (unsigned)per_class, (uint64_t)seed, log);
}

DEFINE_COMMAND(distill, help, "make a few rows that teach what a run has learned");
