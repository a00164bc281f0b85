#include "parties/command/command.h"
#include "parties/command/evaluating.h"
#include "parties/command/evaluating_events.h"

static const char help[] =
    "usage: trefoil eval STUDY REAL.csv SYNTHETIC [--model MODEL] [--queries FILE]\n"
    "           [--json] [--worst N] [--delimiter C] [--decimal C]\n"
    "       trefoil eval STUDY SYNTHETIC --sql CONNECTION (--table T | --query Q) ..\n"
    "\n"
    "Says how far synthetic rows are from real ones. SYNTHETIC is a CSV file, or the\n"
    "folder of a result, which stands for its synthetic.csv and model.\n"
    "\n"
    "For each marginal of the workload: the sum over its cells of |share in one -\n"
    "share in the other|. It is 0 if they agree and 2 if they have nothing in common.\n"
    "For each column of numbers: its mean, its deviation, and its correlations.\n"
    "\n"
    "Each figure is shown beside those of two tables that are drawn from the real\n"
    "rows and have as many rows as SYNTHETIC: one with independent columns, and a\n"
    "resample of whole rows, which is as near as another sample would be.\n"
    "\n"
    "Where the study has enforce_person, REAL.csv needs the columns that say whose\n"
    "a row is, and of each person only as many rows are compared as the servers\n"
    "count. Where it has link, REAL.csv has the rows after they are joined.\n"
    "\n"
    "THE OUTPUT IS NOT PRIVATE: it is computed from the real rows without any noise.\n"
    "Whoever may not see those may not see it either. Publishing it, or using it to\n"
    "choose which of several tables to publish, gives away what the budget was spent\n"
    "to protect.\n"
    "\n"
    "  --model MODEL  also the mean log-likelihood of a real row under this model, a\n"
    "                 file or the folder of a result: of its codes, and of its\n"
    "                 numbers as written, each in units of its column's deviation. It\n"
    "                 says how well the model describes the population only if\n"
    "                 REAL.csv was not in the study: hold rows out\n"
    "  --events FILE    in a study with events: these, REAL.csv being the persons and\n"
    "                 SYNTHETIC a result's folder. Compares pairs of columns of\n"
    "                 persons, of events, of both, and of an event and the one before\n"
    "  --queries FILE   also the relative errors of the answers to the questions in a\n"
    "                 file, as for trefoil query, by aggregate: from the model, and\n"
    "                 from rows, scaled to the number of real ones\n"
    "  --json         all of it as JSON\n"
    "  --worst N      print only N marginals and correlations, the worst first;\n"
    "                 default 20, 0 for all\n"
    "  --delimiter C, --decimal C    of REAL.csv, instead of a comma and a point; a\n"
    "                 delimiter may be the word tab\n"
    "  --sql CONNECTION, --table T, --query Q    the real rows are in a database, as\n"
    "                 for trefoil share\n"
    "\n"
    "example:\n"
    "  trefoil eval study.yaml held-out.csv result --queries asked.sql\n";

static enum err run_eval(int argc, char **argv, struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct evaluating e CLEAN(evaluating_clear) = {.worst = 20, .log = log}; /* goes first */
    const char *files[3] = {NULL, NULL, NULL}, *delimiter = NULL, *decimal = NULL, *events = NULL;
    size_t count = 0;
    const struct command_option options[] = {
        {.name = "model", .value = &e.model},
        {.name = "events", .value = &events},
        {.name = "queries", .value = &e.queries},
        {.name = "json", .flag = &e.json},
        {.name = "worst", .number = &e.worst, .most = INT32_MAX},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "sql", .value = &e.sql.connection},
        {.name = "table", .value = &e.sql.table},
        {.name = "query", .value = &e.sql.query},
    };
    TRY(command_options(argc, argv, COUNTED(options), files, 2, 3, &count, log));
    TRY(command_sql(&e.sql, log));
    if (count != (e.sql.connection != NULL ? 2 : 3))
        return log_fail(log, ERR_USAGE,
                        "eval compares real rows, of a CSV file or by --sql, with those of a "
                        "synthetic CSV file or a result");
    TRY(command_csv(delimiter, decimal, e.sql.connection == NULL, &e.csv, log));
    TRY(study_load_draft(&study, files[0], log));
    log_warn(log, "THE OUTPUT BELOW IS NOT PRIVATE: it is computed from real rows without "
                  "noise. Keep it where the real rows are.");
    if (study->domain->series != NULL || events != NULL) {
        const struct source_options real = {
            .csv = count > 2 ? files[1] : NULL, .options = e.csv, .sql = e.sql, .events = events};
        if (e.model != NULL || e.queries != NULL)
            return log_fail(log, ERR_USAGE,
                            "with --events eval compares tables: leave --model and --queries out");
        return evaluating_events(
            &(const struct evaluating_events){study, real, files[count - 1], e.json}, log);
    }
    e.study = study;
    e.real = files[1];
    e.synthetic = files[count - 1];
    return evaluating_run(&e);
}

DEFINE_COMMAND(eval, help, "measure how far synthetic rows are from real ones (not private)");
