#include "parties/analyst/refit.h"

#include "aim/model_file.h"
#include "aim/output.h"
#include "base/file.h"
#include "base/memory.h"

/* *bytes: of a model as large as this one. */
static enum err load_model(struct refit *f, const char *folder, uint64_t *bytes, struct log *log)
{
    struct model *model CLEAN(model_free) = NULL;
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/model", folder));
    TRY(memory_new(&f->study, 1));
    TRY(model_load(&model, &f->study->domain, path, MODEL_FILE_CELLS, log));
    *bytes = model_cells(model) * sizeof(double);
    return model_zeros(model, &f->study->zero, &f->study->zeros);
}

/* Measurements of one population have the same total. */
static enum err number_populations(struct aim_result *r)
{
    TRY(memory_new(&r->population, r->measurements));
    for (size_t i = 0; i < r->measurements; i++)
        while (r->measurement[r->population[i]].total != r->measurement[i].total)
            r->population[i]++;
    return ERR_OK;
}

static enum err load_measurements(struct refit *f, const char *folder, struct log *log)
{
    struct output_found found CLEAN(output_found_clear) = {0};
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/measurements.json", folder));
    TRY(output_read(&found, path, f->study->domain, log));
    f->study->epsilon = found.epsilon;
    f->study->delta = found.delta;
    f->study->rows_per_person = found.rows_per_person;
    f->rho = found.rho;
    TRY(memory_new(&f->result, 1));
    f->result->measurement = found.measurement;
    f->result->measurements = found.measurements;
    found.measurement = NULL;
    return number_populations(f->result);
}

enum err refit_run(struct refit *f, const struct refit_terms *terms,
                   const struct aim_refit_progress *progress, struct log *log)
{
    struct aim_options options = {.fit_round = terms->iterations, .fit_final = terms->final};
    uint64_t bytes;
    TRY(load_model(f, terms->folder, &bytes, log));
    TRY(load_measurements(f, terms->folder, log));
    if (terms->impossible != NULL)
        TRY(study_add_impossible(f->study, terms->impossible, log));
    options.domain = f->study->domain;
    options.zero = f->study->zero;
    options.zeros = f->study->zeros;
    options.model_bytes = bytes > AIM_MODEL_BYTES ? bytes : AIM_MODEL_BYTES;
    if (terms->max_mib != 0)
        options.model_bytes = (uint64_t)terms->max_mib << 20;
    return aim_refit(f->result, &options, progress, log);
}

void refit_clear(struct refit *f)
{
    aim_result_free(&f->result);
    study_free(&f->study);
}
