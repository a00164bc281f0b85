#include "aim/answer/released.h"
#include "aim/copula/copula_model.h"
#include "aim/model/model_file.h"
#include "aim/run/loop.h"
#include "aim/run/output.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/analyst/known.h"
#include "parties/analyst/release.h"
#include "parties/command/command.h"
#include "parties/display/progress.h"
#include "parties/display/report.h"
#include "parties/study/study_text.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: trefoil refit RESULT --out DIR [--iterations N] [--between N]\n"
    "           [--max-mib N] [--impossible FILE] [--known FILE] [--study FILE]\n"
    "           [--rows N] [--seed N] [--quick]\n"
    "\n"
    "Fits the model of a result again, to the same noisy counts, and writes a new\n"
    "result: measurements.json, model, errors (how far off its answers may be) and\n"
    "synthetic.csv. RESULT is the folder of a run, or of trefoil aim. Nothing is\n"
    "charged to the budget. With the run's own iterations the model is the run's.\n"
    "\n"
    "  --out DIR          created if it does not exist; not RESULT\n"
    "  --iterations N     of the last fit; default 1000\n"
    "  --between N        of each earlier fit, one for each round; default 100\n"
    "  --max-mib N        the largest model; default 80, or RESULT's if that is\n"
    "                     larger\n"
    "  --impossible FILE  combinations that cannot occur, besides RESULT's own: YAML\n"
    "                     with the key impossible, as in a study. From public\n"
    "                     knowledge, never from the data\n"
    "  --known FILE       published margins, which the model then matches exactly:\n"
    "                     CSV, lines of columns and, last, `count`. They must agree\n"
    "                     with each other and with what was measured, and must not\n"
    "                     come from the rows of the study\n"
    "  --study FILE       the study of the run: use its iterations, and also write\n"
    "                     report.html and README.md, with the run's stats.json\n"
    "  --rows N           synthetic rows, instead of the noisy total\n"
    "  --seed N           for drawing the rows; default 1\n"
    "  --quick            no errors: trefoil query then gives answers without\n"
    "                     intervals\n"
    "\n"
    "example:\n"
    "  trefoil refit result --iterations 10000 --impossible zeros.yaml --out refitted\n";

/* --- fitting again ---------------------------------------------------------------------------- */

/*
 * Columns, bins and structural zeros come from the result's `model`; noisy counts, sigmas and the
 * guarantee from its measurements.json. With the run's own iterations the model is the run's, byte
 * for byte. It meets margins that are known from elsewhere (parties/analyst/known.h) exactly. The
 * result keeps them, so a further refit of it has them too.
 */
struct refit_terms {
    const char *folder;         /* of the result */
    const char *impossible;     /* further structural zeros: a file, or NULL */
    const char *known;          /* published margins: a file, or NULL */
    unsigned iterations, final; /* between rounds, and at the end */
    unsigned max_mib;           /* 0: 80, or the size of the result's model if that is larger */
};

struct refit {
    struct study *study; /* as far as a release goes: domain, zeros, guarantee */
    struct aim_result *result;
    double rho;
    struct known known; /* the result's own margins, and those of the file */
};

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

static enum err refit_run(struct refit *f, const struct refit_terms *terms,
                          const struct aim_refit_progress *progress, struct log *log)
{
    struct aim_options options = {.fit_round = terms->iterations, .fit_final = terms->final};
    uint64_t bytes = 0;
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

static void refit_clear(struct refit *f)
{
    aim_result_free(&f->result);
    study_free(&f->study);
    known_clear(&f->known);
}

/* --- the command ------------------------------------------------------------------------------ */

struct refitting {
    struct refit_terms terms;
    const char *study_file, *out;
    int64_t iterations, between, max_mib, rows, seed; /* 0: not given */
    struct study *study;                              /* NULL: no report */
    bool quick;
    struct bytes stats;
    struct refit refit;
    struct progress progress;
    struct log *log;
};

static void refitting_clear(struct refitting *r)
{
    progress_detach(&r->progress, r->log);
    refit_clear(&r->refit);
    bytes_clear(&r->stats);
    study_free(&r->study);
}

/* Checks that the new result will not overwrite the old one. */
static enum err check_folders(const struct refitting *r)
{
    struct stat from, to;
    if (stat(r->terms.folder, &from) == 0 && stat(r->out, &to) == 0 && from.st_dev == to.st_dev &&
        from.st_ino == to.st_ino)
        return log_fail(r->log, ERR_USAGE, "--out is the result itself; name another folder");
    return ERR_OK;
}

/* Reads the study and the run's numbers before any time is spent on a fit. */
static enum err load_study(struct refitting *r)
{
    char path[FILE_PATH];
    json_auto_t *stats = NULL;
    TRY(study_load_draft(&r->study, r->study_file, r->log));
    TRY(file_path(path, r->log, "%s/stats.json", r->terms.folder));
    if (access(path, F_OK) != 0)
        return log_fail(r->log, ERR_USAGE,
                        "there is no %s, of which the report of a run is made: leave --study out, "
                        "and give its iterations by --iterations and --between",
                        path);
    TRY(file_read(path, ((size_t)64 << 20), &r->stats, r->log));
    TRY(report_read_json(&stats, r->terms.folder, "stats.json", r->log));
    return report_check_stats(stats, r->study, r->terms.folder, r->log);
}

/* Options on the command line override the study's. */
static void take_numbers(struct refitting *r)
{
    const struct study *s = r->study;
    r->terms.iterations = (unsigned)r->between;
    r->terms.final = (unsigned)r->iterations;
    r->terms.max_mib = (unsigned)r->max_mib;
    if (r->between == 0 && s != NULL)
        r->terms.iterations = s->iterations;
    if (r->iterations == 0 && s != NULL)
        r->terms.final = s->final_iterations;
}

static enum err write_report(const struct refitting *r)
{
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/stats.json", r->out));
    TRY(file_write(path, 0644, r->stats.data, r->stats.size, r->log));
    return report_write(r->out, r->study, NULL, NULL, r->log);
}

static enum err execute(struct refitting *r)
{
    const struct errors_progress refits = {.fitted = progress_refits, .self = &r->progress};
    const struct aim_refit_progress shown = {.fitted = progress_fits, .self = &r->progress};
    r->progress = progress_start(stdout, NULL, 0);
    progress_attach(&r->progress, r->log);
    TRY(refit_run(&r->refit, &r->terms, &shown, r->log));
    progress_wait(&r->progress, "drawing the synthetic rows");
    TRY(file_folder(r->out, r->log));
    TRY(release_write(r->out, r->refit.study, r->refit.result, r->refit.rho, (size_t)r->rows,
                      (uint64_t)r->seed, r->log));
    if (!r->quick)
        TRY(release_errors(r->out, r->refit.result, &refits, r->log));
    if (r->study != NULL)
        TRY(write_report(r));
    progress_end(&r->progress);
    printf("fitted to %zu measurements; nothing is charged to the budget\n"
           "wrote %smeasurements.json, model%s and %s to %s\n",
           r->refit.result->measurements, r->study != NULL ? "report.html, stats.json, " : "",
           r->quick ? "" : ", errors", study_tables(r->refit.study).text, r->out);
    if (r->refit.known.count > 0)
        printf("known totals: %zu margin%s, met within %.2g rows\n", r->refit.known.count,
               r->refit.known.count == 1 ? "" : "s", r->refit.result->off);
    return ERR_OK;
}

static enum err run_refit(int argc, char **argv, struct log *log)
{
    struct refitting r CLEAN(refitting_clear) = {.seed = 1, .log = log};
    const struct command_option options[] = {
        {.name = "out", .value = &r.out, .needed = "DIR"},
        {.name = "iterations", .number = &r.iterations, .least = 1, .most = 1000000},
        {.name = "between", .number = &r.between, .least = 1, .most = 1000000},
        {.name = "max-mib", .number = &r.max_mib, .least = 1, .most = 65536},
        {.name = "impossible", .value = &r.terms.impossible},
        {.name = "known", .value = &r.terms.known},
        {.name = "study", .value = &r.study_file},
        {.name = "rows", .number = &r.rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "quick", .flag = &r.quick},
        {.name = "seed", .number = &r.seed, .most = INT64_MAX},
    };
    TRY(command_options(argc, argv, COUNTED(options), &r.terms.folder, 1, 1, NULL, log));
    TRY(check_folders(&r));
    if (r.study_file != NULL)
        TRY(load_study(&r));
    take_numbers(&r);
    return execute(&r);
}

const struct command cmd_refit = {.name = "refit",
                                  .summary = "fit the model again to what was measured",
                                  .help = help,
                                  .run = run_refit};
