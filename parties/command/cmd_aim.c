#include "aim/run/plaintext.h"
#include "aim/sql/database.h"
#include "aim/table/csv.h"
#include "aim/table/series.h"
#include "aim/train/shrink.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/analyst/central.h"
#include "parties/analyst/release.h"
#include "parties/command/command.h"
#include "parties/command/methods.h"
#include "parties/display/progress.h"
#include "parties/exchange/price.h"
#include "parties/owner/pack.h"
#include "parties/owner/source.h"
#include "parties/study/method.h"
#include "parties/study/study_text.h"

static const char help[] =
    "usage: trefoil aim STUDY DATA.csv [DATA.csv ...] --out DIR [--rows N] [--seed N]\n"
    "           [--events FILE] [--delimiter C] [--decimal C] [--quick]\n"
    "       trefoil aim STUDY [DATA.csv ...] --sql CONNECTION (--table T | --query Q)\n"
    "           --out DIR ..\n"
    "\n"
    "Central AIM: one program that sees all rows does what the servers do\n"
    "without seeing any. The algorithm is the same, and so is the guarantee for what\n"
    "comes out, but its user has to be trusted with the data. A study with method:\n"
    "copula makes a Gaussian copula instead, from each column and each pair. Writes\n"
    "measurements.json, model, errors (how far off its answers may be; not for a\n"
    "copula) and synthetic.csv into DIR. Reads at most 64 files; - is standard input.\n"
    "In a study with link the files are the owners' own, in the order in which the\n"
    "study lists the owners, each with its columns and those of person.\n"
    "\n"
    "  --out DIR    created if it does not exist\n"
    "  --events FILE    in a study with events: these, the one DATA.csv being the\n"
    "               persons. Writes two such tables, not synthetic.csv\n"
    "  --rows N     synthetic rows or persons, instead of the noisy total\n"
    "  --seed N     for drawing the rows (the noise is always fresh); default 1\n"
    "  --quick      no errors: trefoil query then gives answers without intervals\n"
    "  --delimiter C, --decimal C    of the CSV files, instead of a comma and a\n"
    "                   point; C may be the word tab\n"
    "  --sql CONNECTION, --table T, --query Q    rows from a database, as for trefoil\n"
    "                   share\n"
    "\n"
    "example:\n"
    "  trefoil aim study.yaml all.csv --out result\n";

static const char train_help[] =
    "usage: trefoil train STUDY DATA.csv [DATA.csv ...] --out DIR\n"
    "           [--delimiter C] [--decimal C]\n"
    "       trefoil train STUDY [DATA.csv ...] --sql CONNECTION\n"
    "           (--table T | --query Q) --out DIR ..\n"
    "\n"
    "Trains the classifier of a study with method: train in one program that sees\n"
    "all rows: what trefoil run does between servers without seeing any. The steps\n"
    "are the same, and so is the guarantee for what comes out, but its user has to be\n"
    "trusted with the data. Writes classifier.json, trajectory.json and report.html\n"
    "into DIR. In a study with link the files are the owners' own, as for trefoil\n"
    "aim.\n"
    "\n"
    "  --out DIR    created if it does not exist\n"
    "  --delimiter C, --decimal C    of the CSV files, instead of a comma and a\n"
    "                   point; C may be the word tab\n"
    "  --sql CONNECTION, --table T, --query Q    rows from a database, as for trefoil\n"
    "                   share\n"
    "\n"
    "example:\n"
    "  trefoil train study.yaml all.csv --out result\n"
    "  trefoil predict result new.csv --out classified.csv\n";

#define FILES_MAX 64

struct sources {
    const char *const *files; /* the study, then CSV files */
    size_t count;
    struct table_csv_options csv;
    struct database_source sql; /* connection NULL: none */
    const char *events;
};

static enum err read_sql(const struct study *study, const struct sources *from, struct table *all,
                         struct log *log)
{
    struct database *database CLEAN(database_close) = NULL;
    struct table *one CLEAN(table_free) = NULL;
    TRY(database_open(&database, study->domain, &from->sql, &from->csv.rows, log));
    TRY(database_read(database, &one));
    return central_append(all, one);
}

/* A table for each owner, with its columns. */
struct owned {
    size_t owners;
    struct domain **columns;
    struct table **table;
};

static void owned_clear(struct owned *o)
{
    for (size_t i = 0; i < o->owners && o->table != NULL; i++) {
        table_free(&o->table[i]);
        domain_free(&o->columns[i]);
    }
    memory_free_all(&o->table, &o->columns);
}

static enum err link_owners(const struct study *study, struct sources *from, struct table *all,
                            size_t *linked, struct log *log)
{
    struct owned owned CLEAN(owned_clear) = {.owners = study->owners};
    struct person_rule rule;
    size_t surplus;
    if (from->sql.connection != NULL || from->count != 1 + study->owners)
        return log_fail(log, ERR_USAGE,
                        "this study links the rows of owners: name a CSV file for each of them, "
                        "%zu in all, in the order in which the study lists the owners",
                        study->owners);
    TRY(study_person_rule(study, NULL, &rule, log));
    TRY(memory_new(&owned.columns, study->owners));
    TRY(memory_new(&owned.table, study->owners));
    for (size_t i = 0; i < study->owners; i++) {
        from->csv.rows.key = study_sends_keys(study, i) ? &rule : NULL;
        TRY(pack_domain(&owned.columns[i], study, i));
        TRY(table_read_csv(&owned.table[i], owned.columns[i], from->files[1 + i], &from->csv, log));
    }
    TRY(central_link(all, study, owned.table, linked, &surplus));
    if (surplus > 0)
        log_warn(log,
                 "rows beyond the first of their person at an owner, which are not linked: %zu",
                 surplus);
    return ERR_OK;
}

static enum err read_events(const struct study *study, const struct sources *from,
                            struct table **all, struct log *log)
{
    struct source s CLEAN(source_clear) = {0};
    const struct source_options o = {.csv = from->count > 1 ? from->files[1] : NULL,
                                     .options = from->csv,
                                     .sql = from->sql,
                                     .events = from->events};
    if (from->count > 2)
        return log_fail(log, ERR_USAGE, "name one file of persons, and one of events");
    TRY(source_suits(&o, study, log));
    TRY(source_load_events(&s, study, &o, log));
    return memory_hand_over(all, &s.table);
}

static enum err read_all(const struct study *study, struct sources *from, struct table **all,
                         size_t *linked, struct log *log)
{
    struct progress_reading reading CLEAN(progress_reading_end) = {0};
    struct person_rule rule;
    progress_reading_begin(&reading, &from->csv.rows, log);
    if (study->domain->series != NULL || from->events != NULL)
        return read_events(study, from, all, log);
    TRY(table_new(all, study->domain, 0));
    if (study->link.on)
        return link_owners(study, from, *all, linked, log);
    if (study->person.columns > 0) {
        TRY(study_person_rule(study, NULL, &rule, log));
        TRY(table_keep_keys(*all));
        from->csv.rows.key = &rule;
    }
    for (size_t i = 1; i < from->count; i++) {
        struct table *one CLEAN(table_free) = NULL;
        TRY(table_read_csv(&one, study->domain, from->files[i], &from->csv, log));
        TRY(central_append(*all, one));
    }
    TRY(from->sql.connection != NULL ? read_sql(study, from, *all, log) : ERR_OK);
    return study->enforce_person ? central_bound(*all, study, log) : ERR_OK;
}

/* Takes the look that a run between servers takes, too, and shows its result. */
static enum err take_look(const struct study *study, size_t linked,
                          const struct ledger_limits *limits, struct log *log)
{
    struct look look;
    struct random fresh CLEAN(random_wipe);
    const struct plaintext_noise noise = central_noise(&fresh);
    int64_t value;
    double rows;
    random_fresh(&fresh);
    TRY(price_look(study, limits, &look, log));
    if (look.multiplier == 0)
        return ERR_OK;
    TRY(plaintext_look(&noise, linked, look.multiplier, &value));
    rows = (double)value / (double)look.multiplier;
    progress_linked(stdout, rows, look_sigma(&look));
    if (rows >= study->link.min_linked)
        return ERR_OK;
    return log_fail(log, ERR_DATA,
                    "the study asks for at least %u linked rows (min_linked): compare how the "
                    "owners' files write the columns of person",
                    study->link.min_linked);
}

/* As owners do before they share. */
static void shrink(const struct study *study, struct table *t, struct log *log)
{
    const size_t rows = study->features->norm2 > 0 ? shrink_rows(t, study->features) : 0;
    if (rows > 0)
        log_warn(log, "rows that are longer than norm, and were shrunk: %zu", rows);
}

static enum err execute(struct sources *from, const char *folder, size_t rows, uint64_t seed,
                        bool quick, bool trains, struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct methods_made made CLEAN(methods_clear) = {0};
    struct progress progress;
    const struct errors_progress refits = {.fitted = progress_refits, .self = &progress};
    const struct methods *method;
    struct table *table CLEAN(table_free) = NULL;
    struct ledger_limits limits = {0};
    size_t linked = 0;
    TRY(study_load_draft(&study, from->files[0], log));
    log_warn(log,
             "this is central %s: it reads every row in the clear, so whoever runs it is the "
             "trusted curator that trefoil run does without",
             trains ? "training" : "AIM");
    TRY(method_of(study)->gradients == trains
            ? ERR_OK
            : log_fail(log, ERR_USAGE, "%s has method: %s; use trefoil %s", from->files[0],
                       method_of(study)->word, trains ? "aim" : "train"));
    TRY(read_all(study, from, &table, &linked, log));
    TRY(central_check(table, study, log));
    if (trains)
        shrink(study, table, log);
    TRY(file_folder(folder, log));
    TRY(price_limits(study, &limits, log));
    TRY(take_look(study, linked, &limits, log));
    method = methods_of(study);
    quick |= !method->errors;
    progress = progress_start(stdout, study, limits.rho);
    TRY(methods_central(&made, study, table, NULL, &progress, log));
    TRY(methods_release(&made, &(struct release_terms){.folder = folder,
                                                       .study = study,
                                                       .rho = limits.rho,
                                                       .rows = rows,
                                                       .seed = seed,
                                                       .log = log}));
    TRY(quick ? ERR_OK : release_errors(folder, made.model, &refits, log));
    progress_end(&progress);
    if (method->rows)
        printf("wrote measurements.json, model%s and %s to %s\n", quick ? "" : ", errors",
               study_tables(study).text, folder);
    else
        printf("wrote classifier.json, trajectory.json and report.html to %s\n", folder);
    return ERR_OK;
}

#define FOR_ROWS 4 /* options that say what rows are drawn, the last ones: training draws none */

static enum err run_either(int argc, char **argv, bool trains, struct log *log)
{
    const char *files[FILES_MAX + 1], *out = NULL, *delimiter = NULL, *decimal = NULL;
    int64_t rows = 0, seed = 1;
    bool quick = false;
    struct sources from = {.files = files};
    const struct command_option options[] = {
        {.name = "out", .value = &out, .needed = "DIR"},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "sql", .value = &from.sql.connection},
        {.name = "table", .value = &from.sql.table},
        {.name = "query", .value = &from.sql.query},
        {.name = "rows", .number = &rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "seed", .number = &seed, .most = INT64_MAX},
        {.name = "quick", .flag = &quick},
        {.name = "events", .value = &from.events},
    };
    const size_t count = sizeof options / sizeof *options - (trains ? FOR_ROWS : 0);
    TRY(command_options(argc, argv, options, count, files, 1, FILES_MAX + 1, &from.count, log));
    if (from.count < 2 && from.sql.connection == NULL)
        return log_fail(log, ERR_USAGE, "%s needs the rows: CSV files after the study, or --sql",
                        argv[0]);
    TRY(command_sql(&from.sql, log));
    TRY(command_csv(delimiter, decimal, from.count > 1, &from.csv, log));
    return execute(&from, out, (size_t)rows, (uint64_t)seed, quick, trains, log);
}

static enum err run_aim(int argc, char **argv, struct log *log)
{
    return run_either(argc, argv, false, log);
}

static enum err run_train(int argc, char **argv, struct log *log)
{
    return run_either(argc, argv, true, log);
}

DEFINE_COMMAND(aim, help, "run AIM centrally, for somebody who may see all rows");

DEFINE_COMMAND(train, train_help, "train a classifier centrally, by one who may see all rows");
