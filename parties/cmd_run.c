#include "aim/loop.h"
#include "base/clock.h"
#include "base/file.h"
#include "parties/bounds.h"
#include "parties/client.h"
#include "parties/command.h"
#include "parties/progress.h"
#include "parties/release.h"
#include "parties/report.h"
#include "parties/run_stats.h"
#include "parties/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: trefoil run STUDY --key FILE --out DIR [--rows N] [--seed N]\n"
    "\n"
    "Runs the study: the servers select and measure marginals, this program fits the model to "
    "what\n"
    "they open and writes synthetic data. Spends the study's whole privacy budget.\n"
    "Writes report.html, synthetic.csv, measurements.json, model and stats.json into DIR.\n"
    "\n"
    "  --key FILE   an analyst's private key; its public half stands in the study\n"
    "  --out DIR    made if it is not there\n"
    "  --rows N     synthetic rows, instead of the noisy total\n"
    "  --seed N     of the sampling (not of the noise, which nobody can know); default 1\n"
    "\n"
    "example:\n"
    "  trefoil run study.yaml --key analyst.key --out result\n";

struct run {
    struct study *study;
    struct identity *me;
    struct bounds *bounds;
    struct netio *netio;
    struct client *client;
    struct aim_result *result;
    struct aim_options options;
    struct progress progress;
    struct worker_stats stats[STUDY_SERVERS][NET_PHASES];
    double mpc_s, total_s;
    struct log *log;
};

/* Times what the servers take, apart from the estimator, and shows who is at work. */
struct timed {
    struct aim_backend inner;
    double *seconds;
    struct progress *progress;
};

static enum err timed_measure(void *self, const struct aim_measure *m)
{
    struct timed *t = self;
    double begin = clock_now_s();
    enum err e;
    progress_wait(t->progress, "the servers make noise and measure all one-ways");
    e = t->inner.measure(t->inner.self, m);
    progress_wait(t->progress, "fitting the model");
    *t->seconds += clock_now_s() - begin;
    return e;
}

static enum err timed_select(void *self, struct aim_select *s)
{
    struct timed *t = self;
    double begin = clock_now_s();
    char what[80];
    enum err e;
    snprintf(what, sizeof what, "round %u: the servers choose one of %zu marginals and measure it",
             s->round, s->candidates);
    progress_wait(t->progress, what);
    e = t->inner.select(t->inner.self, s);
    progress_wait(t->progress, "fitting the model");
    *t->seconds += clock_now_s() - begin;
    return e;
}

static enum err play(struct run *r)
{
    double begin = clock_now_s(), remaining;
    struct timed timed = {.seconds = &r->mpc_s, .progress = &r->progress};
    const struct aim_backend backend = {&timed, timed_measure, timed_select};
    TRY(netio_new(&r->netio, r->log));
    TRY(client_new(&r->client, r->netio, r->study, r->me, r->log));
    progress_say(&r->progress, "waiting for the servers to add up the uploads");
    TRY(client_open(r->client, &remaining));
    r->mpc_s = clock_now_s() - begin;
    if (remaining < r->options.limits.rho * (1 - 0x1p-40)) {
        log_error(r->log,
                  "of the study's budget rho = %g only %g is left: an earlier run spent the rest. "
                  "Nothing more was spent now",
                  r->options.limits.rho, remaining);
        TRY(client_close(r->client, r->stats));
        return ERR_BUDGET;
    }
    timed.inner = client_backend(r->client);
    TRY(aim_run(&r->result, &r->options, &backend, r->log));
    progress_wait(&r->progress, "closing the session");
    TRY(client_close(r->client, r->stats));
    r->total_s = clock_now_s() - begin;
    return ERR_OK;
}

static enum err write_stats(const struct run *r, const char *folder)
{
    const struct run_stats stats = {
        .study = r->study,
        .result = r->result,
        .server = r->stats,
        .rho = r->options.limits.rho,
        .mpc_s = r->mpc_s,
        .total_s = r->total_s,
        .analyst_sent = client_sent(r->client),
        .analyst_received = client_received(r->client),
    };
    return run_stats_write(folder, &stats, r->log);
}

/* What it cost and what is left. */
static void say_cost(const struct run *r)
{
    const struct aim_round *last = &r->result->round[r->result->rounds - 1];
    uint64_t bytes = 0, rounds = 0;
    char servers[WORDS_SIZE], estimator[WORDS_SIZE];
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        for (unsigned k = 0; k < NET_PHASES; k++) {
            bytes += r->stats[i][k].wire_sent;
            rounds += i == 0 ? r->stats[i][k].rounds : 0;
        }
    printf("took: servers %s, estimator %s\n"
           "      %.1f MB in %" PRIu64
           " exchanges between the servers; here %.1f kB sent, %.1f kB received\n",
           words_time(r->mpc_s, servers), words_time(r->total_s - r->mpc_s, estimator),
           (double)bytes / 1e6, rounds, (double)client_sent(r->client) / 1e3,
           (double)client_received(r->client) / 1e3);
    printf("guarantee: (epsilon %g, delta %g) differential privacy for %s\n", r->study->epsilon,
           r->study->delta, r->study->rows_per_person == 1 ? "one row" : "all rows of one person");
    printf("budget: rho %.4g of %.4g is spent; %.2g is left, too little for another run\n",
           last->spent, r->options.limits.rho, fmax(0, r->options.limits.rho - last->spent));
}

static enum err execute(struct run *r, const char *study, const char *key, const char *folder,
                        size_t rows, uint64_t seed)
{
    TRY(study_load(&r->study, study, r->log));
    TRY(identity_load(&r->me, key, r->log));
    TRY(bounds_new(&r->bounds, r->study, r->log));
    TRY(release_loop_options(r->study, r->bounds, &r->options, r->log));
    r->progress = progress_start(stdout, r->study, r->options.limits.rho);
    r->log->before = progress_end;
    r->log->self = &r->progress;
    r->options.progress = progress_round;
    r->options.self = &r->progress;
    TRY(file_folder(folder, r->log)); /* before the budget is spent */
    TRY(play(r));
    progress_wait(&r->progress, "drawing the synthetic rows");
    TRY(release_write(folder, r->study, r->result, r->options.limits.rho, rows, seed, r->log));
    TRY(write_stats(r, folder));
    TRY(report_write(folder, r->study, NULL, r->log));
    progress_end(&r->progress);
    say_cost(r);
    printf("wrote report.html, synthetic.csv, measurements.json, model and stats.json to %s\n",
           folder);
    return ERR_OK;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *file = NULL, *key = NULL, *out = NULL, *rows = "0", *seed = "1";
    int64_t row_count = 0, seed_number = 0;
    size_t given;
    struct run r = {.log = log};
    const struct command_option options[] = {
        {.name = "key", .value = &key},
        {.name = "out", .value = &out},
        {.name = "rows", .value = &rows},
        {.name = "seed", .value = &seed},
    };
    enum err e = command_options(argc, argv, options, 4, &file, 1, 1, &given, log);
    if (e == ERR_OK && (key == NULL || out == NULL)) {
        log_error(log, "run needs --key FILE and --out DIR");
        e = ERR_USAGE;
    }
    if (e == ERR_OK)
        e = command_integer("rows", rows, 0, 1000000000, &row_count, log);
    if (e == ERR_OK)
        e = command_integer("seed", seed, 0, INT64_MAX, &seed_number, log);
    if (e == ERR_OK)
        e = execute(&r, file, key, out, (size_t)row_count, (uint64_t)seed_number);
    progress_end(&r.progress);
    log->before = NULL;
    aim_result_free(&r.result);
    client_free(&r.client);
    netio_free(&r.netio);
    bounds_free(&r.bounds);
    identity_free(&r.me);
    study_free(&r.study);
    return command_end(e, log);
}

const struct command cmd_run = {
    .name = "run",
    .summary = "run the study and write synthetic data",
    .help = help,
    .run = run,
};
