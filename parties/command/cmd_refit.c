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
struct refitting {
    const char *folder;                  /* of the result */
    const char *impossible, *known_file; /* further structural zeros, published margins; or NULL */
    const char *study_file, *out;
    int64_t iterations, between, max_mib, rows, seed; /* 0: not given */
    bool quick;
    struct study *study; /* whose report is written, too; NULL: none */
    struct bytes stats;
    struct study *found; /* in the result, as far as a release goes: domain, zeros, guarantee */
    struct aim_result *result;
    double rho;
    struct known known; /* the result's own margins, and those of the file */
    struct progress progress;
    struct log *log;
};

static void refitting_clear(struct refitting *r)
{
    progress_detach(&r->progress, r->log);
    aim_result_free(&r->result);
    study_free(&r->found);
    known_clear(&r->known);
    bytes_clear(&r->stats);
    study_free(&r->study);
}

/* *bytes: the size of this model. */
static enum err load_model(struct refitting *r, uint64_t *bytes)
{
    struct model *model CLEAN(model_free) = NULL;
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/model", r->folder));
    TRY(released_is_model(path, r->log));
    if (copula_is_file(path))
        return log_fail(r->log, ERR_DATA,
                        "%s is a copula, which follows from its measurements in one step: there is "
                        "nothing to fit again. trefoil synth draws other rows of it",
                        path);
    TRY(memory_new(&r->found, 1));
    TRY(model_load(&model, &r->found->domain, path, MODEL_FILE_CELLS, r->log));
    *bytes = model_cells(model) * sizeof(double);
    return model_zeros(model, &r->found->zero, &r->found->zeros);
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

static enum err load_measurements(struct refitting *r)
{
    struct output_found found CLEAN(output_found_clear) = {0};
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/measurements.json", r->folder));
    TRY(output_read(&found, path, r->found->domain, r->log));
    r->found->epsilon = found.epsilon;
    r->found->delta = found.delta;
    r->found->rows_per_person = found.rows_per_person;
    r->rho = found.rho;
    TRY(memory_new(&r->result, 1));
    *r->result = (struct aim_result){.measurement = found.measurement,
                                     .measurements = found.measurements,
                                     .sweep = found.sweep,
                                     .merges = found.merges,
                                     .assess = found.assess,
                                     .kept_scores = found.scores};
    found = (struct output_found){.known = found.known, .knowns = found.knowns};
    if (found.knowns > KNOWN_MAX)
        return log_fail(r->log, ERR_FORMAT, "%s: known has more than %d margins", path, KNOWN_MAX);
    for (; r->known.count < found.knowns; r->known.count++) {
        r->known.margin[r->known.count] = found.known[r->known.count];
        found.known[r->known.count].y = NULL;
    }
    return number_populations(r->result);
}

/* Adds a structural zero for each known count of 0. */
static enum err add_known_zeros(struct refitting *r)
{
    struct study *s = r->found;
    TRY(memory_extend(&s->zero, s->zeros + r->known.count));
    for (size_t i = 0; i < r->known.count; i++) {
        const struct measurement *m = &r->known.margin[i];
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
static enum err check_codes(const struct refitting *r)
{
    for (size_t i = 0; i < r->known.count; i++) {
        const struct clique *c = &r->known.margin[i].clique;
        if (r->result->merges != NULL && c->n > 1 && merges_touch(r->result->merges, c))
            return log_fail(r->log, ERR_DATA,
                            "%s: the known counts of %s cannot be met: the run measured "
                            "values with few rows together (\"merged\" in measurements.json). Give "
                            "the counts of each column alone",
                            r->known_file != NULL ? r->known_file : "the result's known totals",
                            clique_name(c, r->found->domain).text);
    }
    return ERR_OK;
}

static enum err load_known(struct refitting *r)
{
    if (r->known_file != NULL)
        TRY(known_read(&r->known, r->found->domain, r->known_file, r->log));
    if (r->known.count == 0)
        return ERR_OK;
    TRY(check_codes(r));
    TRY(known_check(&r->known, r->found->domain, r->known_file, r->result->measurement,
                    r->result->measurements, r->log));
    return add_known_zeros(r);
}

/*
 * A few rows may be mistakes in the data; many, a mistake in what cannot occur: tells of the
 * measurement with the largest z of rows in cells that the model cannot have.
 */
static enum err doubt_impossible(const struct refitting *r)
{
    const struct domain *d = r->found->domain;
    const struct measurement *worst = NULL;
    double most = KNOWN_DOUBTED, rows = 0, noise = 0;
    for (size_t i = 0; i < r->result->measurements; i++) {
        const struct measurement *x = &r->result->measurement[i];
        const uint64_t cells = measurement_cells(x, d);
        double *counts CLEAN(memory_release) = NULL;
        double sum = 0, denied = 0, deviation;
        TRY(memory_new(&counts, cells));
        TRY(model_measured(r->result->model, x, counts, r->log));
        for (uint64_t c = 0; c < cells; c++)
            if (counts[c] == 0) {
                sum += x->y[c];
                denied++;
            }
        deviation = x->sigma * sqrt(denied);
        if (!(sum > most * deviation))
            continue;
        most = sum / deviation;
        worst = x;
        rows = sum;
        noise = deviation;
    }
    if (worst != NULL)
        log_warn(r->log,
                 "%s: what cannot occur hardly fits what was measured: some %.0f rows were, of %s, "
                 "with noise of %.2g, and the model has none of them",
                 r->impossible, rows, clique_name(&worst->clique, d).text, noise);
    return ERR_OK;
}

/* Rounding lets margins differ a little, so that not all of them can be met to the last digit. */
static enum err check_met(const struct refitting *r)
{
    double cells = 0;
    for (size_t i = 0; i < r->known.count; i++)
        cells += (double)clique_cells(&r->known.margin[i].clique, r->found->domain);
    if (r->result->off <= 1 + sqrt(cells))
        return ERR_OK;
    return log_fail(r->log, ERR_DATA,
                    "the known counts cannot all hold: the worst is off by %.1f rows; they "
                    "contradict each other, or what cannot occur",
                    r->result->off);
}

/* Options on the command line override the study's. */
static enum err fit(struct refitting *r)
{
    const struct aim_refit_progress shown = {.fitted = progress_fits, .self = &r->progress};
    const struct study *s = r->study;
    struct aim_options options = {.fit_round = s != NULL ? s->iterations : 0,
                                  .fit_final = s != NULL ? s->final_iterations : 0};
    uint64_t bytes = 0;
    TRY(load_model(r, &bytes));
    TRY(load_measurements(r));
    if (r->impossible != NULL)
        TRY(study_add_impossible(r->found, r->impossible, r->log));
    TRY(load_known(r));
    if (r->between != 0)
        options.fit_round = (unsigned)r->between;
    if (r->iterations != 0)
        options.fit_final = (unsigned)r->iterations;
    options.domain = r->found->domain;
    options.known = r->known.margin;
    options.knowns = r->known.count;
    options.zero = r->found->zero;
    options.zeros = r->found->zeros;
    options.model_bytes = bytes > AIM_MODEL_BYTES ? bytes : AIM_MODEL_BYTES;
    if (r->max_mib != 0)
        options.model_bytes = (uint64_t)r->max_mib << 20;
    TRY(aim_refit(r->result, &options, &shown, r->log));
    if (r->impossible != NULL)
        TRY(doubt_impossible(r));
    return check_met(r);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Checks that the new result will not overwrite the old one, nor lie beside another's report. */
static enum err check_folders(const struct refitting *r)
{
    struct stat from, to;
    char report[FILE_PATH];
    if (stat(r->folder, &from) == 0 && stat(r->out, &to) == 0 && from.st_dev == to.st_dev &&
        from.st_ino == to.st_ino)
        return log_fail(r->log, ERR_USAGE, "--out is the result itself; name another folder");
    TRY(file_path(report, r->log, "%s/report.html", r->out));
    if (r->study_file == NULL && file_is_there(report))
        return log_fail(r->log, ERR_USAGE,
                        "%s would not be of the new model: name another folder, or write a new "
                        "report with --study",
                        report);
    return ERR_OK;
}

/* Reads the study and the run's numbers before any time is spent on a fit. */
static enum err load_study(struct refitting *r)
{
    char path[FILE_PATH];
    json_auto_t *stats = NULL;
    TRY(study_load_draft(&r->study, r->study_file, r->log));
    TRY(file_path(path, r->log, "%s/stats.json", r->folder));
    if (access(path, F_OK) != 0)
        return log_fail(r->log, ERR_USAGE,
                        "there is no %s, of which the report of a run is made: leave --study out, "
                        "and give its iterations by --iterations and --between",
                        path);
    TRY(file_read(path, ((size_t)64 << 20), &r->stats, r->log));
    TRY(report_read_json(&stats, r->folder, "stats.json", r->log));
    return report_check_stats(stats, r->study, r->folder, r->log);
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
    r->progress = progress_start(stdout, NULL, 0);
    progress_attach(&r->progress, r->log);
    TRY(fit(r));
    progress_wait(&r->progress, "drawing the synthetic rows");
    TRY(file_folder(r->out, r->log));
    TRY(release_write(&(struct release_terms){.folder = r->out,
                                              .study = r->found,
                                              .rho = r->rho,
                                              .rows = (size_t)r->rows,
                                              .seed = (uint64_t)r->seed,
                                              .log = r->log},
                      r->result));
    if (!r->quick)
        TRY(release_errors(r->out, r->result, &refits, r->log));
    if (r->study != NULL)
        TRY(write_report(r));
    progress_end(&r->progress);
    printf("fitted to %zu measurements; nothing is charged to the budget\n"
           "wrote %smeasurements.json, model%s and %s to %s\n",
           r->result->measurements, r->study != NULL ? "report.html, stats.json, " : "",
           r->quick ? "" : ", errors", study_tables(r->found).text, r->out);
    if (r->known.count > 0)
        printf("known totals: %zu margin%s, met within %.2g rows\n", r->known.count,
               r->known.count == 1 ? "" : "s", r->result->off);
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
        {.name = "impossible", .value = &r.impossible},
        {.name = "known", .value = &r.known_file},
        {.name = "study", .value = &r.study_file},
        {.name = "rows", .number = &r.rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "quick", .flag = &r.quick},
        {.name = "seed", .number = &r.seed, .most = INT64_MAX},
    };
    TRY(command_options(argc, argv, COUNTED(options), &r.folder, 1, 1, NULL, log));
    TRY(check_folders(&r));
    if (r.study_file != NULL)
        TRY(load_study(&r));
    return execute(&r);
}

DEFINE_COMMAND(refit, help, "fit the model again to what was measured");
