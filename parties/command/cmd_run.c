#include "aim/table/series.h"
#include "base/clock.h"
#include "base/file.h"
#include "parties/analyst/release.h"
#include "parties/analyst/remote.h"
#include "parties/command/adviser.h"
#include "parties/command/command.h"
#include "parties/command/methods.h"
#include "parties/display/progress.h"
#include "parties/display/report.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/client.h"
#include "parties/exchange/price.h"
#include "parties/owner/pin.h"
#include "parties/study/method.h"
#include "parties/study/roster.h"
#include "parties/study/study_text.h"

#include <math.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: trefoil run STUDY --key FILE --out DIR [--warrant FILE] [--rounds N]\n"
    "                   [--wait S] [--rows N] [--seed N] [--quick]\n"
    "       trefoil run STUDY --key FILE --out DIR --continue RUN ...\n"
    "\n"
    "Runs the study: the servers select and measure marginals, and this program fits\n"
    "a model to what they open and writes synthetic data. Spends the study's whole\n"
    "privacy budget, unless --rounds says otherwise. Writes report.html,\n"
    "synthetic.csv, measurements.json, model, errors and stats.json into DIR, and for\n"
    "boards and catalogues README.md and synthetic.csv-metadata.json. With\n"
    "method: copula it measures each attribute and each pair once: no rounds, and no\n"
    "errors. With method: train it makes a classifier, and classifier.json and\n"
    "trajectory.json in place of rows and model. With min_linked it first measures\n"
    "how many rows were linked, and stops, with exit code 6, if they seem to be\n"
    "fewer.\n"
    "\n"
    "The same command with the same --out continues a run, whatever interrupted it:\n"
    "at the round that it was in, at no cost. While a server is away, the run waits.\n"
    "\n"
    "What the servers sign about their ledgers is kept in DIR/heads and beside the\n"
    "key, in NAME.STUDY.heads: a server that comes back with a shorter or a different\n"
    "ledger is refused.\n"
    "\n"
    "  --key FILE   an analyst's private key; its public half is in the study file\n"
    "  --out DIR    created if it does not exist; holds the run's state as well\n"
    "  --warrant FILE   what the study's approvers permit (trefoil approve), where it\n"
    "               has any: without it servers open nothing\n"
    "  --rounds N   stop after N rounds in all: a round selects and measures one\n"
    "               marginal, and a sweep takes two; the same command with a larger\n"
    "               N, or without, goes on later\n"
    "  --wait S     how many seconds a server may be away once the run has begun, and\n"
    "               how long to wait while another run has its turn; default 3600\n"
    "  --rows N     synthetic rows, instead of the noisy total\n"
    "  --seed N     for drawing the rows (not for the noise, which nobody can know);\n"
    "               default 1\n"
    "  --quick      no errors: trefoil query then gives answers without intervals\n"
    "  --continue RUN   continue a run whose --out is lost, in a new --out: the\n"
    "               servers send again what they have opened, at no cost. RUN is the\n"
    "               run's number, 32 digits, from the servers' audit logs. A run\n"
    "               belongs to its analyst: another may continue it once the roster\n"
    "               no longer lists that analyst's key\n"
    "\n"
    "example:\n"
    "  trefoil run study.yaml --key analyst.key --out result\n";

struct run_asked {
    struct study *study;
    struct identity *me;
    struct roster_person self;
    struct bounds *bounds;
    struct netio *netio;
    struct run_state *state;
    struct warrant warrant; /* zeros: none is needed */
    struct witness witness; /* of the servers' ledgers */
    struct client *client;
    struct remote remote;
    double linked; /* what a look showed: rows that were linked */
    struct methods_made made;
    double rho; /* of the study, or what earlier runs left of it */
    struct progress progress;
    struct net_counters stats[STUDY_SERVERS_MOST][NET_PHASES];
    double total_s;
    struct log *log;
};

struct run_terms {
    const char *study, *key, *folder, *warrant;
    bool is_new;         /* the folder was not there */
    const uint8_t *lost; /* the number of a run, or NULL */
    struct aim_wish wish;
    int64_t wait_s, rows, seed;
    bool quick; /* no errors */
};

static void show_wait(void *progress, const char *what)
{
    progress_wait(progress, what);
}

/* Says how far the run in the folder has got, if there is one. */
static void say_begun(struct run_asked *r)
{
    if (run_state_begun(r->state))
        progress_say(&r->progress, "continuing the run that was begun here");
    else if (r->state->lost != NULL)
        progress_say(&r->progress, "asking the servers again for what they opened in that run");
    else
        progress_say(&r->progress, "waiting for the servers to add up the uploads");
}

static void show_adding(void *progress, double share)
{
    char what[80];
    snprintf(what, sizeof what, "the servers add up the uploads: %.0f %%", floor(100 * share));
    progress_wait(progress, what);
}

/* Says what can be done once too few rows were linked. */
static const char *next_of(const struct run_asked *r, char text[320])
{
    static const char mend[] = "Owners may correct their tables and run share --replace for "
                               "another run, with another --out";
    const unsigned looks = r->remote.looks;
    if (looks >= LOOK_TRIES)
        snprintf(text, 320,
                 "That was the last of %u looks that the budget has for all runs, so no other run "
                 "can begin: corrected tables need a new study",
                 LOOK_TRIES);
    else if (looks > 0)
        snprintf(text, 320, "%s: that was look %u of %u that the budget has for all runs", mend,
                 looks, LOOK_TRIES);
    else
        snprintf(text, 320, "%s, if less than %u runs took their look: the budget has no more",
                 mend, LOOK_TRIES);
    return text;
}

/* What was opened is here, however this ends. */
static enum err close_run(struct run_asked *r)
{
    enum err e;
    progress_wait(&r->progress, "closing the session");
    e = remote_close(&r->remote, r->stats);
    if (e != ERR_OK)
        log_warn(r->log, "the servers did not end the run as they should: see above. Nothing that "
                         "they opened is lost; the same command has them end it again");
    return e;
}

static enum err too_few(struct run_asked *r)
{
    const struct study *s = r->study;
    char next[320];
    (void)!close_run(r);
    return log_fail(
        r->log, ERR_DATA,
        "the study asks for at least %u linked rows (min_linked), so the run stops. Ask the owners "
        "whether they all write %s%s in the same way: share --person names the columns, normalise "
        "says which differences do not count, and leading zeros make a text different. %.2g %% of "
        "the budget was spent. %s",
        s->link.min_linked, s->person.column[0], s->person.columns > 1 ? " and the others" : "",
        100 * s->rows_per_person * s->rows_per_person * look_rho(&r->remote.look) / r->rho,
        next_of(r, next));
}

/* Finds with what budget the run begins, or began. */
static enum err find_budget(struct run_asked *r, struct ledger_limits *limits)
{
    const double all = r->rho;
    TRY(remote_begin(&r->remote));
    r->study->left = r->state->left;
    r->study->earlier = r->state->earlier;
    TRY(price_limits(r->study, limits, r->log));
    r->rho = r->progress.rho = limits->rho;
    if (r->study->left > 0)
        progress_say(&r->progress, "earlier runs left this one a rho of %.4g of the study's %.4g",
                     r->rho, all);
    return ERR_OK;
}

/* Finds how many rows were linked, before more is spent. */
static enum err take_look(struct run_asked *r, const struct ledger_limits *limits)
{
    int64_t value;
    TRY(price_look(r->study, limits, &r->remote.look, r->log));
    if (r->remote.look.multiplier == 0)
        return ERR_OK;
    TRY(method_works(r->study, r->log));
    TRY(remote_look(&r->remote, r->state->look_path, &value));
    r->linked = (double)value / (double)r->remote.look.multiplier;
    progress_end(&r->progress);
    progress_linked(stdout, r->linked, look_sigma(&r->remote.look));
    return r->linked < r->study->link.min_linked ? too_few(r) : ERR_OK;
}

static enum err play_rounds(struct run_asked *r, struct ledger_limits *limits,
                            const struct run_terms *t)
{
    double begin = clock_now_s();
    TRY(netio_new(&r->netio, r->log));
    TRY(client_new(&r->client, r->netio, r->study, r->me, r->state->run, r->log));
    client_watch(r->client, &r->witness);
    client_permit(r->client, &r->warrant);
    client_show(r->client, show_adding, &r->progress);
    say_begun(r);
    r->remote = (struct remote){.study = r->study,
                                .client = r->client,
                                .state = r->state,
                                .wait_ms = t->wait_s * 1000,
                                .log = r->log,
                                .wait = show_wait,
                                .self = &r->progress};
    TRY(find_budget(r, limits));
    TRY(take_look(r, limits));
    TRY(methods_of(r->study)->run(&r->made,
                                  &(struct methods_run){.study = r->study,
                                                        .bounds = r->bounds,
                                                        .backend = remote_backend(&r->remote),
                                                        .remote = &r->remote,
                                                        .wish = t->wish,
                                                        .progress = &r->progress,
                                                        .log = r->log}));
    r->total_s = clock_now_s() - begin;
    return ERR_OK;
}

static struct run_stats stats_of(const struct run_asked *r)
{
    struct run_stats stats = {
        .study = r->study,
        .look = r->remote.look,
        .linked = r->linked,
        .run = r->state->run,
        .server = r->stats,
        .rho = r->rho,
        .mpc_s = r->remote.seconds,
        .total_s = r->total_s,
        .analyst = client_traffic(r->client),
    };
    methods_stats(&r->made, &stats);
    return stats;
}

/* What the servers signed is kept beside the key and in the folder, since one may be lost. */
static enum err call_witness(struct run_asked *r, const struct run_terms *t)
{
    char path[FILE_PATH];
    r->witness = (struct witness){.study = r->study, .log = r->log};
    TRY(pin_of_study(t->key, r->self.name, r->study, "heads", path, r->log));
    TRY(witness_add(&r->witness, path));
    TRY(file_path(path, r->log, "%s/heads", t->folder));
    return witness_add(&r->witness, path);
}

/* Writes what was opened, and the model and rows that follow from it. */
static enum err release_data(struct run_asked *r, const struct run_terms *t)
{
    progress_wait(&r->progress, "writing what was opened, and what follows from it");
    return methods_release(&r->made, &(struct release_terms){.folder = t->folder,
                                                             .study = r->study,
                                                             .rho = r->rho,
                                                             .rows = (size_t)t->rows,
                                                             .seed = (uint64_t)t->seed,
                                                             .log = r->log});
}

/* Makes the rest, some of it from what the servers counted. */
static enum err release(struct run_asked *r, const struct run_terms *t)
{
    const struct errors_progress refits = {.fitted = progress_refits, .self = &r->progress};
    struct run_stats stats CLEAN(run_stats_clear) = stats_of(r);
    const bool errors = !t->quick && methods_of(r->study)->errors;
    const bool rows = methods_of(r->study)->rows;
    struct bytes verdict CLEAN(bytes_clear) = {0};
    if (r->remote.seconds > 0) { /* else the servers were asked nothing, and what is there holds */
        TRY(run_stats_write(t->folder, &stats, r->log));
        if (rows)
            TRY(report_write(t->folder, r->study, NULL, &verdict, r->log));
    }
    if (errors)
        TRY(release_errors(t->folder, r->made.model, &refits, r->log));
    progress_end(&r->progress);
    run_stats_print(stdout, &stats);
    if (!rows)
        printf("wrote report.html, classifier.json, trajectory.json and stats.json to %s\n",
               t->folder);
    else
        printf("wrote report.html, %s, measurements.json, model%s, stats.json,\n"
               "README.md%s to %s\n",
               study_tables(r->study).text, errors ? ", errors" : "",
               r->study->domain->series == NULL ? " and synthetic.csv-metadata.json" : "",
               t->folder);
    if (verdict.size > 0)
        progress_paragraphs(stdout, (const char *)verdict.data);
    return ERR_OK;
}

/* Servers check it again, each by itself, and whether it is still good. */
static enum err load_warrant(struct run_asked *r, const struct run_terms *t)
{
    if (t->warrant != NULL && r->study->approvers.at_least == 0)
        return log_fail(r->log, ERR_USAGE, "%s has no approvers; leave out --warrant", t->study);
    if (t->warrant != NULL)
        TRY(warrant_load(&r->warrant, t->warrant, r->log));
    return warrant_check(&r->warrant, r->study, r->me->public.sign, r->log);
}

static enum err execute(struct run_asked *r, struct run_terms *t)
{
    enum err e, closed = ERR_OK;
    struct ledger_limits limits;
    TRY(study_load(&r->study, t->study, r->log));
    if (!method_of(r->study)->selects && t->wish.rounds > 0)
        return log_fail(r->log, ERR_USAGE,
                        "%s has method: %s, which has no rounds; leave out --rounds", t->study,
                        method_of(r->study)->word);
    TRY(identity_load(&r->me, t->key, r->log));
    TRY(roster_find(r->study, &r->me->public, ROLE_ANALYST, &r->self, r->log));
    TRY(load_warrant(r, t));
    TRY(bounds_new(&r->bounds, r->study, r->log));
    TRY(price_limits(r->study, &limits, r->log));
    r->rho = limits.rho;
    r->progress = progress_start(stdout, r->study, r->rho);
    progress_attach(&r->progress, r->log);
    t->is_new = !file_is_there(t->folder);
    TRY(file_folder(t->folder, r->log)); /* before the budget is spent */
    TRY(run_state_open(&r->state, t->folder, r->study, t->lost, r->log));
    TRY(call_witness(r, t));
    e = play_rounds(r, &limits, t);
    if (e == ERR_OK)
        e = release_data(r, t); /* before the servers have another chance to fail */
    if (e == ERR_OK)
        closed = close_run(r);
    witness_advise(&r->witness);
    TRY(e);
    TRY(release(r, t));
    return closed;
}

static void end(struct run_asked *r)
{
    progress_detach(&r->progress, r->log);
    methods_clear(&r->made);
    client_free(&r->client);
    run_state_close(&r->state);
    netio_free(&r->netio);
    bounds_free(&r->bounds);
    identity_free(&r->me);
    study_free(&r->study);
}

/* A refused run holds no place at the servers; after other failures the same command goes on. */
static bool is_refusal(enum err e)
{
    return e == ERR_REFUSED || e == ERR_BUDGET || e == ERR_BUSY;
}

/* Removes what was made for a run that has not begun. */
static void drop_folder(const char *folder)
{
    static const char *const names[] = {"run.state", "heads", "run.lock", NULL};
    file_drop_folder(folder, names);
}

/* --- the command line ------------------------------------------------------------------------- */

/* Reads the number of a run as an audit log writes it. */
static enum err read_run(const char *text, uint8_t number[REQUEST_RUN_SIZE], struct log *log)
{
    size_t n = 0;
    if (sodium_hex2bin(number, REQUEST_RUN_SIZE, text, strlen(text), NULL, &n, NULL) == 0 &&
        n == REQUEST_RUN_SIZE)
        return ERR_OK;
    return log_fail(log, ERR_USAGE,
                    "--continue needs the number of a run: %u digits and letters a to f",
                    2 * REQUEST_RUN_SIZE);
}

static enum err run_run(int argc, char **argv, struct log *log)
{
    const char *lost = NULL;
    uint8_t number[REQUEST_RUN_SIZE];
    struct run_terms t = {.wait_s = 3600, .seed = 1};
    struct run_asked r = {.log = log};
    struct adviser adviser CLEAN(adviser_stop) = {0};
    const struct command_option options[] = {
        {.name = "key", .value = &t.key, .needed = "FILE"},
        {.name = "out", .value = &t.folder, .needed = "DIR"},
        {.name = "warrant", .value = &t.warrant},
        {.name = "rounds", .number = &t.wish.rounds, .least = 1, .most = STUDY_ROUNDS_MAX},
        {.name = "wait", .number = &t.wait_s, .most = 30 * 86400},
        {.name = "rows", .number = &t.rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "seed", .number = &t.seed, .most = INT64_MAX},
        {.name = "quick", .flag = &t.quick},
        {.name = "continue", .value = &lost},
    };
    enum err e;
    TRY(command_options(argc, argv, COUNTED(options), &t.study, 1, 1, NULL, log));
    if (lost != NULL) {
        TRY(read_run(lost, number, log));
        t.lost = number;
    }
    TRY(adviser_start(&adviser, argc, argv, log));
    e = execute(&r, &t);
    if (!is_refusal(e) || (r.state != NULL && run_state_begun(r.state)))
        t.is_new = false;
    end(&r);
    if (t.is_new)
        drop_folder(t.folder);
    return e;
}

DEFINE_COMMAND(run, help, "run the study and write synthetic data");
