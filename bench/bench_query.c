/*
 * bench/bench_query.c - how close answers of `trefoil query` are to the truth, and how long one
 * takes.
 *
 *   bench_query [--json FILE] [--table NAME] [--epsilon E] [--drawn N] [--runs N] [--smoke]
 *
 * First it measures intervals on N drawn tables (20; 0: none), under `drawn` (bench/coverage.h).
 *
 * Then it runs `trefoil aim` at epsilon 1, annealed, on adult (all pairs, delta 1e-5; and in five
 * sweeps, with models of up to 40 MiB, which is what `rounds: auto` makes of it, as adult_sweeps)
 * and bjaq (all triples, 1e-6), has it answer every question of TABLE.queries.json, and scores the
 * answers (bench/queries.h). A table needs TABLE.codes.json, which says what its columns are, its
 * rows (raw/TABLE.raw.csv.gz, raw/TABLE.raw.csv or TABLE.csv) in $TREFOIL_DATA, and its questions
 * in $TREFOIL_QUERIES, or the folder reference/queries beside the data. What is absent is named and
 * left out.
 *
 * For each table the JSON has AGGREGATE_median, _p95 and _items, AGGREGATE_by_group_median and so
 * on, and count_one_median for questions with conditions on one column. It also has
 * AGGREGATE_coverage, how often intervals of a level of 0.95 hold the truth; AGGREGATE_width, the
 * median of half their lengths as shares of the truth; and AGGREGATE_over_error, the same as
 * multiples of the answers' errors: each for all items (all_coverage), for those without GROUP BY
 * (plain_) and for those whose columns were measured together (together_). For both tables together
 * it has coverage; query_ms, the mean CPU time of an answer from a loaded model, without its
 * interval (of the first table).
 *
 * Last, on bjaq (in smoke: on adult), comes ADAPT's experiment, N runs (5) of it, under `adapt`
 * (bench/adapt.h); --table adapt runs it alone. loglik_eps10 is adapt.ours.epsilon10.loglik.
 */
#include "aim/answer/answer.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_file.h"
#include "base/file.h"
#include "bench/adapt.h"
#include "bench/coverage.h"
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "bench/program.h"
#include "bench/queries.h"
#include "bench/study_text.h"
#include "harness/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_S 3600
#define RUNS 5
#define DRAWN 20 /* tables, */
#define DRAWN_SMOKE 3
#define ASKED 200   /* and questions to each */
#define WITHIN 0.02 /* an item counts if exact counts in bins answer it within this */

static const struct ground {
    const char *name, *workload;
    double delta;
    bool adapt; /* of ADAPT's experiment */
    unsigned sweeps;
    const char *key;
} tables[] = {{"adult", "{all: 2}", 1e-5, false, 0, "adult"},
              {"adult", "{all: 2}", 1e-5, false, 5, "adult_sweeps"},
              {"bjaq", "{all: 3}", 1e-6, true, 0, "bjaq"}};

struct query_bench {
    const char *only;
    double epsilon;
    unsigned runs; /* of ADAPT's experiment */
    bool smoke;
    json_t *out;
    struct log log;
    double query_ms;
    size_t intervals, held; /* of all tables */
};

/* --- the study -------------------------------------------------------------------------------- */

/* The rows as a file that the program can read: what is packed is unpacked into the folder. */
static enum err find_rows(const struct support_study *s, const char *name, char path[FILE_PATH],
                          struct log *log)
{
    char command[3 * FILE_PATH];
    TRY(file_path(path, log, "%s/raw/%s.raw.csv.gz", data_folder(), name));
    if (file_is_there(path)) {
        snprintf(command, sizeof command, "gzip -dc '%s' >'%s'", path, support_path(s, "raw.csv"));
        if (system(command) != 0)
            return log_fail(log, ERR_SYSTEM, "%s cannot be unpacked", path);
        return file_path(path, log, "%s", support_path(s, "raw.csv"));
    }
    TRY(file_path(path, log, "%s/raw/%s.raw.csv", data_folder(), name));
    if (!file_is_there(path))
        TRY(file_path(path, log, "%s/%s.csv", data_folder(), name));
    return ERR_OK;
}

static enum err read_domain(const char *table, struct bytes *domain, struct log *log)
{
    char path[FILE_PATH];
    json_t *codes;
    TRY(file_path(path, log, "%s/%s.codes.json", data_folder(), table));
    codes = data_json(path, log);
    if (codes == NULL)
        return ERR_FORMAT;
    study_text_codes(codes, true, domain);
    json_decref(codes);
    return bytes_ok(domain);
}

static enum err make_study(struct support_study *s, const struct query_bench *b,
                           const struct ground *t, struct log *log)
{
    static const char *const owner[] = {"    max_rows: 524287\n"};
    struct bytes domain CLEAN(bytes_clear) = {0};
    struct study_options o = {.owners = 1,
                              .annealed = !b->smoke,
                              .sweeps = t->sweeps,
                              .more = t->sweeps > 0 ? "model: {max_mib: 40}\n" : NULL,
                              .rounds = 2,
                              .workload = t->workload,
                              .epsilon = b->epsilon,
                              .accounting = ACCOUNTING_GAUSSIAN,
                              .delta = t->delta,
                              .part = owner};
    TRY(read_domain(t->name, &domain, log));
    o.domain = (const char *)domain.data;
    return support_study_new(s, &o, log);
}

static enum err run(const struct support_study *s, const char *output, const char *const *arguments,
                    struct log *log)
{
    int code = support_run(support_path(s, "%s", output), PATIENCE_S, arguments);
    if (code == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "trefoil %s ended with code %d; its words are in %s",
                    arguments[0], code, s->folder);
}

static enum err make_result(const struct support_study *s, const struct ground *t, struct log *log)
{
    char rows[FILE_PATH];
    TRY(find_rows(s, t->name, rows, log));
    const char *const aim[] = {"aim",    s->path, rows, "--out", support_path(s, "result"),
                               "--rows", "1000",  NULL};
    return run(s, "aim.log", aim, log);
}

/* --- questions -------------------------------------------------------------------------------- */

static enum err ask(const struct support_study *s, const struct queries *q, json_t **answers,
                    struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    const char *const arguments[] = {"query",  support_path(s, "result"),
                                     "--file", support_path(s, "questions.sql"),
                                     "--json", NULL};
    queries_text(q, &text);
    TRY(bytes_ok(&text));
    TRY(file_write(support_path(s, "questions.sql"), 0600, text.data, text.size, log));
    TRY(run(s, "answers.json", arguments, log));
    *answers = data_json(support_path(s, "answers.json"), log);
    return *answers != NULL ? ERR_OK : ERR_FORMAT;
}

/* CPU time of an answer, over all questions. */
static enum err time_answers(const struct support_study *s, const struct queries *q, double *ms,
                             struct log *log)
{
    struct domain *d CLEAN(domain_free) = NULL;
    struct model *m CLEAN(model_free) = NULL;
    struct model_sums *sums CLEAN(model_sums_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    struct bytes text CLEAN(bytes_clear) = {0};
    struct question_text from = {0};
    size_t count = 0;
    double begin;
    queries_text(q, &text);
    bytes_put_u8(&text, 0);
    TRY(bytes_ok(&text));
    from.text = (const char *)text.data;
    TRY(model_load(&m, &d, support_path(s, "result/model"), MODEL_FILE_CELLS, log));
    TRY(model_densities(&inside, m, log));
    TRY(model_sums_new(&sums, m));
    begin = cpu_s();
    for (;; count++) {
        struct question *question CLEAN(question_free) = NULL;
        struct answer *a CLEAN(answer_free) = NULL;
        TRY(question_parse(&question, d, &from, log));
        if (question == NULL)
            break;
        TRY(answer_new(&a, sums, &inside, question, log));
    }
    *ms = count > 0 ? 1e3 * (cpu_s() - begin) / (double)count : 0;
    return ERR_OK;
}

/* --- the experiment of ADAPT ------------------------------------------------------------------ */

static enum err measure_adapt(struct query_bench *b, const struct ground *t)
{
    struct support_study s; /* for a folder */
    struct bytes domain CLEAN(bytes_clear) = {0};
    struct adapt_plan plan = {.workload = t->workload, .delta = t->delta, .smoke = b->smoke};
    char rows[FILE_PATH];
    const json_t *ours;
    TRY(make_study(&s, b, t, &b->log));
    TRY(find_rows(&s, t->name, rows, &b->log));
    TRY(read_domain(t->name, &domain, &b->log));
    plan.domain = (const char *)domain.data;
    plan.rows = rows;
    plan.runs = b->smoke ? 1 : b->runs;
    TRY(adapt_measure(figures_object(b->out, "adapt"), &plan, &b->log));
    ours = json_object_get(json_object_get(b->out, "adapt"), "ours");
    figures_put(b->out,
                json_number_value(json_object_get(json_object_get(ours, "epsilon10"), "loglik")),
                "loglik_eps10");
    support_study_free(&s);
    return ERR_OK;
}

/* --- the report ------------------------------------------------------------------------------- */

static void put_score(json_t *out, const char *key, const struct queries_score *s)
{
    if (s->items == 0)
        return;
    printf("  %-20s %5zu items, %3zu missing   median %.4f   95 %% %.4f", key, s->items, s->missing,
           s->median, s->p95);
    if (s->intervals > 0)
        printf("   coverage %.3f of %zu, +- %.4f", (double)s->held / (double)s->intervals,
               s->intervals, s->width);
    if (s->intervals > 0 && s->over_error < 1e9) /* else most answers are exact */
        printf(", %.1f errors", s->over_error);
    printf("\n");
    figures_put(out, s->median, "%s_median", key);
    figures_put(out, s->p95, "%s_p95", key);
    figures_put(out, (double)s->items, "%s_items", key);
    if (s->intervals == 0)
        return;
    figures_put(out, (double)s->held / (double)s->intervals, "%s_coverage", key);
    figures_put(out, s->width, "%s_width", key);
    figures_put(out, s->over_error, "%s_over_error", key);
}

static enum err report(struct query_bench *b, json_t *out, const struct queries *q,
                       const json_t *answers)
{
    static const char *const names[] = {"COUNT",      "SUM",  "AVG",     "MEDIAN",
                                        "PERCENTILE", "MODE", "VARIANCE"};
    static const struct {
        const char *key;
        struct queries_choice choice;
    } sets[] = {{"count_one", {.aggregate = "COUNT", .shape = QUERIES_PLAIN, .columns = 1}},
                {"plain", {.shape = QUERIES_PLAIN}},
                {"together", {.shape = QUERIES_ANY, .together = true}},
                {"all", {.shape = QUERIES_ANY}}};
    struct queries_score s;
    char key[64];
    for (int grouped = 0; grouped < 2; grouped++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            struct queries_choice choice = {
                .aggregate = names[i], .shape = grouped != 0 ? QUERIES_BY_GROUP : QUERIES_PLAIN};
            TRY(queries_score(&s, q, answers, &choice, WITHIN));
            snprintf(key, sizeof key, "%s%s", names[i], grouped != 0 ? "_by_group" : "");
            for (char *c = key; *c != '\0'; c++)
                *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
            put_score(out, key, &s);
        }
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        TRY(queries_score(&s, q, answers, &sets[i].choice, WITHIN));
        put_score(out, sets[i].key, &s);
    }
    b->intervals += s.intervals; /* of all */
    b->held += s.held;
    return ERR_OK;
}

static enum err measure(struct query_bench *b, const struct ground *t, const char *folder)
{
    struct support_study s;
    struct queries q CLEAN(queries_clear) = {0};
    json_t *answers = NULL, *out;
    double ms = 0;
    enum err e;
    TRY(make_study(&s, b, t, &b->log));
    e = queries_read(&q, folder, t->name, &b->log);
    if (e == ERR_OK)
        e = make_result(&s, t, &b->log);
    if (e == ERR_OK)
        e = ask(&s, &q, &answers, &b->log);
    if (e == ERR_OK)
        e = time_answers(&s, &q, &ms, &b->log);
    if (e == ERR_OK) {
        printf("%s: %zu questions, %.2f ms of CPU each\n", t->key, json_array_size(q.list), ms);
        out = figures_object(b->out, t->key);
        e = report(b, out, &q, answers);
        figures_put(out, ms, "ms");
        b->query_ms = b->query_ms > 0 ? b->query_ms : ms;
        support_study_free(&s); /* otherwise the folder shows what happened */
    }
    json_decref(answers);
    return e;
}

static bool is_there(const char *folder, const char *table)
{
    char path[FILE_PATH], codes[FILE_PATH];
    return file_path(path, NULL, "%s/%s.queries.json", folder, table) == ERR_OK &&
           file_path(codes, NULL, "%s/%s.codes.json", data_folder(), table) == ERR_OK &&
           file_is_there(path) && file_is_there(codes);
}

static enum err measure_all(struct query_bench *b)
{
    char folder[FILE_PATH];
    const char *named = getenv("TREFOIL_QUERIES");
    TRY(file_path(folder, &b->log, named != NULL ? "%s" : "%s/../reference/queries",
                  named != NULL ? named : data_folder()));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct ground *t = &tables[i];
        const bool adapt = t->adapt || (b->smoke && i == 0);
        const bool questions = b->only == NULL || strcmp(b->only, t->key) == 0;
        if (!questions && !(adapt && strcmp(b->only, "adapt") == 0))
            continue;
        if (!is_there(folder, t->name)) {
            printf("%s: left out, since %s has no %s.queries.json, or %s no %s.codes.json\n",
                   t->name, folder, t->name, data_folder(), t->name);
            continue;
        }
        if (questions)
            TRY(measure(b, t, folder));
        if (adapt && (b->only == NULL || !questions))
            TRY(measure_adapt(b, t));
    }
    return ERR_OK;
}

/* Not where one of the folder's tables is asked for. */
static enum err measure_drawn(struct query_bench *b, unsigned drawn)
{
    if (b->only != NULL || drawn == 0)
        return ERR_OK;
    if (b->smoke && drawn > DRAWN_SMOKE)
        drawn = DRAWN_SMOKE;
    printf("%u drawn tables:\n", drawn);
    return coverage_measure(figures_object(b->out, "drawn"), drawn, b->smoke ? ASKED / 5 : ASKED,
                            &b->log);
}

int main(int argc, char **argv)
{
    struct figures f;
    struct query_bench b = {.epsilon = 1,
                            .runs = RUNS,
                            .log = {.file = stderr, .level = LOG_ERROR, .prefix = "bench_query: "}};
    unsigned drawn = DRAWN;
    const struct figures_option options[] = {{.name = "table", .text = &b.only},
                                             {.name = "epsilon", .number = &b.epsilon},
                                             {.name = "drawn", .count = &drawn, .zero = true},
                                             {.name = "runs", .count = &b.runs}};
    enum err e;
    figures_begin(&f, argc, argv, options, sizeof options / sizeof *options);
    b.smoke = f.smoke;
    b.out = f.out;
    program_choose();
    e = measure_drawn(&b, drawn);
    if (e == ERR_OK)
        e = measure_all(&b);
    figures_put(f.out, (double)b.held / (double)b.intervals, "coverage");
    figures_put(f.out, b.query_ms, "query_ms");
    return figures_end(&f, e != ERR_OK);
}
