#include "parties/analyst/release.h"

#include "aim/answer/errors_file.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_file.h"
#include "aim/model/sample.h"
#include "aim/model/series_draw.h"
#include "aim/run/output.h"
#include "aim/table/csv.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"

#include <math.h>
#include <unistd.h>

enum err release_loop_options(const struct study *study, const struct bounds *bounds,
                              struct aim_options *options, struct log *log)
{
    *options = method_aim(study);
    options->bounds = bounds->counts;
    options->earlier = study->earlier;
    options->slack = price_slack(study);
    TRY(price_limits(study, &options->limits, log));
    TRY(price_look(study, &options->limits, &options->look, log));
    options->assess = price_reserve(study, &options->limits);
    return ERR_OK;
}

enum err release_copula_options(const struct study *study, const struct bounds *bounds,
                                struct copula_options *options, struct log *log)
{
    *options = (struct copula_options){
        .domain = study->domain,
        .pairs = study->workload,
        .bounds = bounds->counts,
        .clip = study->copula_clip,
        .share = study->copula_share,
        .slack = price_slack(study),
        .noise_by = study->noise_by,
    };
    TRY(price_limits(study, &options->limits, log));
    return price_look(study, &options->limits, &options->look, log);
}

/* The folder's files. */
struct files {
    char model[FILE_PATH], synthetic[FILE_PATH], measurements[FILE_PATH];
};

/* Deletes the errors of the model that was there, and writes the measurements. */
static enum err begin(struct files *f, const struct release_terms *t,
                      const struct output_terms *output)
{
    TRY(file_path(f->model, t->log, "%s/errors", t->folder));
    (void)unlink(f->model);
    TRY(file_path(f->model, t->log, "%s/model", t->folder));
    TRY(file_path(f->synthetic, t->log, "%s/synthetic.csv", t->folder));
    TRY(file_path(f->measurements, t->log, "%s/measurements.json", t->folder));
    return output_measurements(f->measurements, output, t->log);
}

static struct output_terms output_of(const struct release_terms *t, double total)
{
    return (struct output_terms){
        .domain = t->study->domain,
        .epsilon = t->study->epsilon,
        .delta = t->study->delta,
        .rho = t->rho,
        .rows_per_person = t->study->rows_per_person,
        .total = total,
    };
}

static size_t rows_of(const struct release_terms *t, double total)
{
    return t->rows != 0 ? t->rows : (size_t)fmax(1, round(total));
}

/* Persons and their events, or rows. */
static enum err draw(const struct files *f, const struct release_terms *t, const struct model *m)
{
    static const struct csv_form usual = {.delimiter = ',', .decimal = '.'};
    struct series_drawn drawn CLEAN(series_drawn_clear) = {0};
    struct table *table CLEAN(table_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    const struct series *series = model_domain(m)->series;
    const size_t rows = rows_of(t, model_total(m));
    TRY(model_densities(&inside, m, t->log));
    if (series != NULL) {
        TRY(series_draw(&drawn, m, &inside, rows, t->seed, t->log));
        return series_write_csv(t->folder, &drawn, series->name, t->seed, &usual, t->log);
    }
    TRY(sample_rows(&table, m, rows, t->seed, t->log));
    return table_write_csv(f->synthetic, table, &inside, t->seed, NULL, t->log);
}

enum err release_write(const struct release_terms *t, const struct aim_result *result)
{
    struct output_terms output = output_of(t, model_total(result->model));
    struct files f;
    output.merges = result->merges;
    output.measurement = result->measurement;
    output.measurements = result->measurements;
    output.sweep = result->sweep;
    output.workload = t->study->workload;
    output.scores = result->scores;
    output.sweeps = result->sweeps;
    output.kept_scores = result->kept_scores;
    output.known = result->known;
    output.knowns = result->knowns;
    output.assess = result->assess;
    TRY(begin(&f, t, &output));
    TRY(model_save(f.model, result->model, t->log));
    return draw(&f, t, result->model);
}

enum err release_copula(const struct release_terms *t, const struct copula_result *result)
{
    struct output_terms output = output_of(t, result->model->total);
    struct table *table CLEAN(table_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    struct files f;
    output.measurement = result->measurement;
    output.measurements = result->measurements;
    output.copula = result;
    TRY(begin(&f, t, &output));
    TRY(copula_save(f.model, result->model, t->log));
    TRY(copula_rows(&table, result->model, rows_of(t, output.total), t->seed, t->log));
    TRY(copula_densities(&inside, result->model));
    return table_write_csv(f.synthetic, table, &inside, t->seed, NULL, t->log);
}

enum err release_errors(const char *folder, const struct aim_result *result,
                        const struct errors_progress *progress, struct log *log)
{
    struct errors *e CLEAN(errors_free) = NULL;
    struct aim_counts counts CLEAN(aim_counts_clear) = {0};
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/errors", folder));
    TRY(aim_counts(result, model_domain(result->model), &counts));
    TRY(errors_new(&e, result->model, counts.all, counts.count, progress, log));
    if (e != NULL)
        return errors_save(path, e, result->model, log);
    log_warn(log,
             "the model has too many parameters for error bars: answers come without intervals");
    return ERR_OK;
}
