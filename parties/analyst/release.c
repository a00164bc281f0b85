#include "parties/analyst/release.h"

#include "aim/model_densities.h"
#include "aim/model_file.h"
#include "aim/output.h"
#include "aim/sample.h"
#include "aim/table/csv.h"
#include "base/file.h"
#include "parties/exchange/price.h"
#include "parties/study/bounds.h"

#include <math.h>

enum err release_loop_options(const struct study *study, const struct bounds *bounds,
                              struct aim_options *options, struct log *log)
{
    const struct price_slack slack = price_slack(study);
    *options = (struct aim_options){
        .domain = study->domain,
        .workload = study->workload,
        .zero = study->zero,
        .zeros = study->zeros,
        .rounds = study->rounds,
        .annealed = study->annealed,
        .bounds = bounds->counts,
        .score = study->score,
        .select_slack = slack.select,
        .measure_slack = slack.marginal,
        .model_bytes = (uint64_t)study->max_mib << 20,
        .fit_round = study->iterations,
        .fit_final = study->final_iterations,
    };
    return price_limits(study, &options->limits, log);
}

enum err release_write(const char *folder, const struct study *study,
                       const struct aim_result *result, double rho, size_t rows, uint64_t seed,
                       struct log *log)
{
    const struct output_terms terms = {
        .domain = study->domain,
        .epsilon = study->epsilon,
        .delta = study->delta,
        .rho = rho,
        .rows_per_person = study->rows_per_person,
        .total = model_total(result->model),
        .measurement = result->measurement,
        .measurements = result->measurements,
    };
    struct table *table CLEAN(table_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    char model[FILE_PATH], synthetic[FILE_PATH], measurements[FILE_PATH];
    TRY(file_path(model, log, "%s/model", folder));
    TRY(file_path(synthetic, log, "%s/synthetic.csv", folder));
    TRY(file_path(measurements, log, "%s/measurements.json", folder));
    TRY(output_measurements(measurements, &terms, log));
    TRY(model_save(model, result->model, log));
    if (rows == 0)
        rows = (size_t)fmax(1, round(model_total(result->model)));
    TRY(sample_rows(&table, result->model, rows, seed, log));
    TRY(model_densities(&inside, result->model, log));
    return table_write_csv(synthetic, table, &inside, seed, log);
}
