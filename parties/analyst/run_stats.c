#include "parties/analyst/run_stats.h"

#include "base/date.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/words.h"
#include "parties/study/study_text.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

/* A number, added to the one in `before` if there is one. */
static json_t *integer(uint64_t now, const json_t *before, const char *key)
{
    return json_integer((json_int_t)now + json_integer_value(json_object_get(before, key)));
}

static json_t *real(double now, const json_t *before, const char *key)
{
    return json_real(now + json_number_value(json_object_get(before, key)));
}

static json_t *server_json(const struct net_counters phase[NET_PHASES], const json_t *before)
{
    json_t *phases = json_object();
    for (unsigned k = 0; k < NET_PHASES; k++) {
        const struct net_counters *c = &phase[k];
        const char *name = net_phase_name((enum net_phase)k);
        const json_t *old = json_object_get(before, name);
        json_object_set_new(
            phases, name,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rounds",
                      integer(c->exchanges, old, "rounds"), "payload_sent",
                      integer(c->payload_sent, old, "payload_sent"), "payload_received",
                      integer(c->payload_received, old, "payload_received"), "wire_sent",
                      integer(c->wire_sent, old, "wire_sent"), "wire_received",
                      integer(c->wire_received, old, "wire_received"), "seconds",
                      real(c->seconds, old, "seconds")));
    }
    return phases;
}

/* `owners`: how many owners' rows were counted when it was measured. */
static json_t *round_json(const struct study *study, const struct aim_round *r, uint64_t owners)
{
    return json_pack(
        "{s:i, s:s, s:f, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "round",
        (int)r->round, "marginal", aim_round_name(r, study->workload, study->domain).text, "sigma",
        r->sigma, "epsilon", r->epsilon, "candidates", (int)r->candidates, "marginals",
        (int)r->marginals, "cost", r->cost, "spent", r->spent, "before", r->before, "after",
        r->after, "noise", r->noise, "moved", r->moved, "loss", r->loss, "total", r->total,
        "model_cells", (json_int_t)r->model_cells, "owners", (json_int_t)owners);
}

void run_stats_aim(struct run_stats *s, const struct aim_result *r)
{
    const struct aim_round *last = &r->round[r->rounds - 1];
    size_t measured = 0;
    s->first = r->population[0];
    s->last = r->population[r->measurements - 1];
    s->spent = last->spent + (r->assess != NULL ? r->assess->cost : 0);
    s->goes_on = !last->last;
    s->rounds = json_array();
    for (size_t i = 0; i < r->rounds; i++) {
        measured += r->round[i].marginals;
        json_array_append_new(s->rounds,
                              round_json(s->study, &r->round[i], r->population[measured - 1]));
    }
}

/* Round 0, the one-ways; then round 1, one number for each pair. No owner may come between. */
void run_stats_copula(struct run_stats *s, const struct copula_result *c)
{
    s->first = s->last = c->round[0].population;
    s->spent = c->round[1].spent;
    s->rounds = json_array();
    for (int i = 0; i < 2; i++)
        json_array_append_new(
            s->rounds, json_pack("{s:i, s:s, s:f, s:f, s:f, s:f, s:I}", "round", i, "marginal",
                                 i == 0 ? "all one-ways" : "a number of each pair", "sigma",
                                 i == 0 ? c->measurement[0].sigma : c->sigma, "cost",
                                 c->round[i].cost, "spent", c->round[i].spent, "total",
                                 c->model->total, "owners", (json_int_t)c->round[i].population));
}

/* Round 0, the target's counts; then the steps. */
void run_stats_train(struct run_stats *s, const struct train_result *r)
{
    s->first = s->last = r->population;
    s->spent = r->spent;
    s->rounds = json_array();
    for (unsigned t = 0; t <= r->steps; t++) {
        const struct train_step *step = t > 0 ? &r->step[t - 1] : NULL;
        json_array_append_new(
            s->rounds,
            json_pack("{s:i, s:s, s:f, s:f, s:f, s:I}", "round", (int)t, "marginal",
                      t == 0       ? "the target's counts"
                      : step->lost ? "a lost gradient"
                                   : "a gradient",
                      "sigma", t == 0 ? r->sigma : measure_sigma(step->multiplier, NOISE_BY_ALL),
                      "cost", t == 0 ? r->counts_cost : step->cost, "spent",
                      t == 0 ? r->counts_cost : step->spent, "owners", (json_int_t)r->population));
    }
}

void run_stats_clear(struct run_stats *s)
{
    json_decref(s->rounds);
    s->rounds = NULL;
}

/* What earlier commands of the same run have written, or NULL. */
static json_t *earlier(const char *path, const char *run)
{
    json_auto_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    const char *of = json_string_value(json_object_get(all, "run"));
    return of != NULL && strcmp(of, run) == 0 ? json_incref(all) : NULL;
}

/* Linked rows, the deviation of that number, and the study's minimum; null if there was no look. */
static json_t *linked_json(const struct run_stats *s)
{
    if (s->look.multiplier == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:I}", "rows", s->linked, "sigma", look_sigma(&s->look),
                     "min_linked", (json_int_t)s->study->link.min_linked);
}

static json_t *document(const struct run_stats *s, const char *run, const json_t *before)
{
    json_t *servers = json_array();
    const json_t *analyst = json_object_get(before, "analyst");
    for (unsigned i = 0; i < s->study->servers; i++)
        json_array_append_new(
            servers,
            server_json(s->server[i], json_array_get(json_object_get(before, "servers"), i)));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:o, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o}", "format",
        "trefoil-stats-1", "study", s->study->name, "terms", study_fingerprint(s->study).text,
        "run", run, "version", TREFOIL_VERSION, "finished", date_text(date_now()).text, "rho",
        s->rho, "linked", linked_json(s), "analyst", "bytes_sent",
        integer(s->analyst.sent, analyst, "bytes_sent"), "bytes_received",
        integer(s->analyst.received, analyst, "bytes_received"), "servers", servers, "rounds",
        json_incref(s->rounds), "mpc_s", real(s->mpc_s, before, "mpc_s"), "estimate_s",
        real(s->total_s - s->mpc_s, before, "estimate_s"), "total_s",
        real(s->total_s, before, "total_s"));
}

enum err run_stats_write(const char *folder, const struct run_stats *stats, struct log *log)
{
    char path[FILE_PATH], run[2 * REQUEST_RUN_SIZE + 1];
    char *text CLEAN(memory_release) = NULL;
    json_auto_t *before = NULL, *all = NULL;
    TRY(file_path(path, log, "%s/stats.json", folder));
    sodium_bin2hex(run, sizeof run, stats->run, REQUEST_RUN_SIZE);
    before = earlier(path, run);
    all = document(stats, run, before);
    text = all != NULL ? json_dumps(all, JSON_INDENT(2)) : NULL;
    return text != NULL ? file_write(path, 0644, text, strlen(text), log) : ERR_NOMEM;
}

/* --- in words --------------------------------------------------------------------------------- */

/* Says whose rows were counted, if that is not everybody's from the first round on. */
static void print_owners(FILE *out, const struct run_stats *s)
{
    const size_t most = study_owners_most(s->study);
    if (s->first == s->last && s->last == most)
        return;
    fprintf(out, "owners: the rows of %" PRIu64 " of %zu are counted", s->last, most);
    if (s->first < s->last)
        fprintf(out, "; %" PRIu64 " of them came during the run", s->last - s->first);
    fprintf(out, "\n");
}

static void print_traffic(FILE *out, const struct run_stats *s)
{
    uint64_t bytes = 0, rounds = 0;
    for (unsigned i = 0; i < s->study->servers; i++)
        for (unsigned k = 0; k < NET_PHASES; k++) {
            bytes += s->server[i][k].wire_sent;
            rounds += i == 0 ? s->server[i][k].exchanges : 0;
        }
    if (rounds > 0) /* unless the servers could not end the run */
        fprintf(out, "      between the servers %.1f MB in %" PRIu64 " exchanges\n",
                (double)bytes / 1e6, rounds);
    fprintf(out, "      from here %.1f kB, to here %.1f kB\n", (double)s->analyst.sent / 1e3,
            (double)s->analyst.received / 1e3);
}

void run_stats_print(FILE *out, const struct run_stats *s)
{
    const struct study *study = s->study;
    fprintf(out, "took: servers %s, estimator %s\n", words_time(s->mpc_s).text,
            words_time(s->total_s - s->mpc_s).text);
    print_traffic(out, s);
    print_owners(out, s);
    fprintf(out, "guarantee: (epsilon %g, delta %g) differential privacy for %s\n", study->epsilon,
            study->delta, study_of_persons(study) ? study_unit(study) : "one row");
    fprintf(out, "budget: rho %.4g of %.4g is spent; %.2g is left%s\n", s->spent, s->rho,
            fmax(0, s->rho - s->spent),
            s->goes_on                      ? ";\n        the same command without --rounds goes on"
            : study->approvers.at_least > 0 ? ", too little for a run or beyond its warrant"
                                            : ", too little for a run");
}
