#include "parties/analyst/refit.h"

#include "aim/answer/released.h"
#include "aim/copula/copula_model.h"
#include "aim/model/model_file.h"
#include "aim/run/output.h"
#include "base/file.h"
#include "base/memory.h"

#include <math.h>

/* *bytes: the size of this model. */
static enum err load_model(struct refit *f, const char *folder, uint64_t *bytes, struct log *log)
{
    struct model *model CLEAN(model_free) = NULL;
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/model", folder));
    TRY(released_is_model(path, log));
    if (copula_is_file(path))
        return log_fail(log, ERR_DATA,
                        "%s is a copula, which follows from its measurements in one step: there is "
                        "nothing to fit again. trefoil synth draws other rows of it",
                        path);
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
    f->result->sweep = found.sweep;
    found.sweep = NULL;
    f->result->merges = found.merges;
    found.merges = NULL;
    f->result->assess = found.assess;
    found.assess = NULL;
    f->result->kept_scores = found.scores;
    found.scores = NULL;
    if (found.knowns > KNOWN_MAX)
        return log_fail(log, ERR_FORMAT, "%s: known has more than %d margins", path, KNOWN_MAX);
    for (; f->known.count < found.knowns; f->known.count++) {
        f->known.margin[f->known.count] = found.known[f->known.count];
        found.known[f->known.count].y = NULL;
    }
    return number_populations(f->result);
}

/* Adds a structural zero for each known count of 0. */
static enum err add_known_zeros(struct refit *f)
{
    struct study *s = f->study;
    TRY(memory_extend(&s->zero, s->zeros + f->known.count));
    for (size_t i = 0; i < f->known.count; i++) {
        const struct measurement *m = &f->known.margin[i];
        const uint64_t cells = clique_cells(&m->clique, s->domain);
        struct workload_zeros z = {.clique = m->clique};
        uint32_t *cell;
        TRY(memory_new(&cell, cells));
        z.cell = cell;
        for (uint64_t c = 0; c < cells; c++)
            if (m->y[c] <= 0)
                cell[z.cells++] = (uint32_t)c;
        if (z.cells > 0)
            s->zero[s->zeros++] = z;
        else
            memory_free(&cell);
    }
    return ERR_OK;
}

/* A run that merged codes knows several columns together only by groups of codes. */
static enum err check_codes(const struct refit *f, const char *path, struct log *log)
{
    for (size_t i = 0; i < f->known.count; i++) {
        const struct clique *c = &f->known.margin[i].clique;
        if (f->result->merges != NULL && c->n > 1 && merges_touch(f->result->merges, c))
            return log_fail(log, ERR_DATA,
                            "%s: the known counts of %s cannot be met: the run measured "
                            "values with few rows together (\"merged\" in measurements.json). Give "
                            "the counts of each column alone",
                            path != NULL ? path : "the result's known totals",
                            clique_name(c, f->study->domain).text);
    }
    return ERR_OK;
}

static enum err load_known(struct refit *f, const char *path, struct log *log)
{
    if (path != NULL)
        TRY(known_read(&f->known, f->study->domain, path, log));
    if (f->known.count == 0)
        return ERR_OK;
    TRY(check_codes(f, path, log));
    TRY(known_check(&f->known, f->study->domain, path, f->result->measurement,
                    f->result->measurements, log));
    return add_known_zeros(f);
}

/* The largest z of rows that were measured in cells that the model cannot have. */
static enum err find_denied(const struct aim_result *r, const struct domain *d,
                            const struct measurement **worst, double *rows, double *noise,
                            struct log *log)
{
    double most = KNOWN_DOUBTED;
    for (size_t i = 0; i < r->measurements; i++) {
        const struct measurement *x = &r->measurement[i];
        const uint64_t cells = measurement_cells(x, d);
        double *counts CLEAN(memory_release) = NULL;
        double sum = 0, denied = 0, deviation;
        TRY(memory_new(&counts, cells));
        TRY(model_measured(r->model, x, counts, log));
        for (uint64_t c = 0; c < cells; c++)
            if (counts[c] == 0) {
                sum += x->y[c];
                denied++;
            }
        deviation = x->sigma * sqrt(denied);
        if (!(sum > most * deviation))
            continue;
        most = sum / deviation;
        *worst = x;
        *rows = sum;
        *noise = deviation;
    }
    return ERR_OK;
}

/* A few rows may be mistakes in the data; many, a mistake in what cannot occur. */
static enum err doubt_impossible(const struct refit *f, const char *path, struct log *log)
{
    const struct measurement *worst = NULL;
    double rows = 0, noise = 0;
    TRY(find_denied(f->result, f->study->domain, &worst, &rows, &noise, log));
    if (worst != NULL)
        log_warn(log,
                 "%s: what cannot occur hardly fits what was measured: some %.0f rows were, of %s, "
                 "with noise of %.2g, and the model has none of them",
                 path, rows, clique_name(&worst->clique, f->study->domain).text, noise);
    return ERR_OK;
}

/* Rounding lets margins differ a little, so that not all of them can be met to the last digit. */
static enum err check_met(const struct refit *f, struct log *log)
{
    double cells = 0;
    for (size_t i = 0; i < f->known.count; i++)
        cells += (double)clique_cells(&f->known.margin[i].clique, f->study->domain);
    if (f->result->off <= 1 + sqrt(cells))
        return ERR_OK;
    return log_fail(log, ERR_DATA,
                    "the known counts cannot all hold: the worst is off by %.1f rows; they "
                    "contradict each other, or what cannot occur",
                    f->result->off);
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
    TRY(load_known(f, terms->known, log));
    options.domain = f->study->domain;
    options.known = f->known.margin;
    options.knowns = f->known.count;
    options.zero = f->study->zero;
    options.zeros = f->study->zeros;
    options.model_bytes = bytes > AIM_MODEL_BYTES ? bytes : AIM_MODEL_BYTES;
    if (terms->max_mib != 0)
        options.model_bytes = (uint64_t)terms->max_mib << 20;
    TRY(aim_refit(f->result, &options, progress, log));
    if (terms->impossible != NULL)
        TRY(doubt_impossible(f, terms->impossible, log));
    return check_met(f, log);
}

void refit_clear(struct refit *f)
{
    aim_result_free(&f->result);
    study_free(&f->study);
    known_clear(&f->known);
}
