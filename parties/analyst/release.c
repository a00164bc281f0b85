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
#include "base/memory.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"

#include <math.h>
#include <unistd.h>

enum err release_loop_options(const struct study *study, const struct bounds *bounds,
                              struct aim_options *options, struct log *log)
{
    const struct ask_slack slack = price_slack(study);
    *options = method_aim(study);
    options->bounds = bounds->counts;
    options->earlier = study->earlier;
    options->slack = (struct ask_slack){.marginal = slack.marginal, .select = slack.select};
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
        .slack.marginal = price_slack(study).marginal,
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
static enum err begin(struct files *f, const char *folder, const struct output_terms *terms,
                      struct log *log)
{
    TRY(file_path(f->model, log, "%s/errors", folder));
    (void)unlink(f->model);
    TRY(file_path(f->model, log, "%s/model", folder));
    TRY(file_path(f->synthetic, log, "%s/synthetic.csv", folder));
    TRY(file_path(f->measurements, log, "%s/measurements.json", folder));
    return output_measurements(f->measurements, terms, log);
}

static struct output_terms output_of(const struct study *study, double rho, double total)
{
    return (struct output_terms){
        .domain = study->domain,
        .epsilon = study->epsilon,
        .delta = study->delta,
        .rho = rho,
        .rows_per_person = study->rows_per_person,
        .total = total,
    };
}

static size_t rows_of(double total)
{
    return (size_t)fmax(1, round(total));
}

/* Persons and their events, or rows. */
static enum err draw(const struct files *f, const char *folder, const struct model *m, size_t rows,
                     uint64_t seed, struct log *log)
{
    static const struct csv_form usual = {.delimiter = ',', .decimal = '.'};
    struct series_drawn drawn CLEAN(series_drawn_clear) = {0};
    struct table *table CLEAN(table_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    const struct series *series = model_domain(m)->series;
    TRY(model_densities(&inside, m, log));
    if (series != NULL) {
        TRY(series_draw(&drawn, m, &inside, rows, seed, log));
        return series_write_csv(folder, &drawn, series->name, seed, &usual, log);
    }
    TRY(sample_rows(&table, m, rows, seed, log));
    return table_write_csv(f->synthetic, table, &inside, seed, log);
}

enum err release_write(const char *folder, const struct study *study,
                       const struct aim_result *result, double rho, size_t rows, uint64_t seed,
                       struct log *log)
{
    const double total = model_total(result->model);
    struct output_terms terms = output_of(study, rho, total);
    struct files f;
    terms.merges = result->merges;
    terms.measurement = result->measurement;
    terms.measurements = result->measurements;
    terms.sweep = result->sweep;
    terms.workload = study->workload;
    terms.scores = result->scores;
    terms.sweeps = result->sweeps;
    terms.kept_scores = result->kept_scores;
    terms.known = result->known;
    terms.knowns = result->knowns;
    terms.assess = result->assess;
    TRY(begin(&f, folder, &terms, log));
    TRY(model_save(f.model, result->model, log));
    return draw(&f, folder, result->model, rows != 0 ? rows : rows_of(total), seed, log);
}

enum err release_copula(const char *folder, const struct study *study,
                        const struct copula_result *result, double rho, size_t rows, uint64_t seed,
                        struct log *log)
{
    const double total = result->model->total;
    struct output_terms terms = output_of(study, rho, total);
    struct table *table CLEAN(table_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    struct files f;
    terms.measurement = result->measurement;
    terms.measurements = result->measurements;
    terms.copula = result;
    TRY(begin(&f, folder, &terms, log));
    TRY(copula_save(f.model, result->model, log));
    TRY(copula_rows(&table, result->model, rows != 0 ? rows : rows_of(total), seed, log));
    TRY(copula_densities(&inside, result->model));
    return table_write_csv(f.synthetic, table, &inside, seed, log);
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
