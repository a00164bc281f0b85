#include "base/file.h"
#include "parties/analyst/refit.h"
#include "parties/analyst/release.h"
#include "parties/command/command.h"
#include "parties/display/progress.h"
#include "parties/display/report.h"
#include "parties/study/study_text.h"

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
