#include "parties/analyst/run_stats.h"

#include "base/date.h"
#include "base/file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *server_json(const struct net_counters phase[NET_PHASES])
{
    json_t *phases = json_object();
    for (unsigned k = 0; k < NET_PHASES; k++)
        json_object_set_new(
            phases, net_phase_name((enum net_phase)k),
            json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "rounds", (json_int_t)phase[k].rounds,
                      "payload_sent", (json_int_t)phase[k].payload_sent, "payload_received",
                      (json_int_t)phase[k].payload_received, "wire_sent",
                      (json_int_t)phase[k].wire_sent, "wire_received",
                      (json_int_t)phase[k].wire_received, "seconds", phase[k].seconds));
    return phases;
}

/* `owners`: whose rows were counted when it was measured. */
static json_t *round_json(const struct study *study, const struct aim_round *r, uint64_t owners)
{
    char name[256] = "all one-ways";
    if (r->query != AIM_NO_QUERY)
        clique_name(&study->workload->query[r->query].clique, study->domain, name, sizeof name);
    return json_pack("{s:i, s:s, s:f, s:f, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I}",
                     "round", (int)r->round, "marginal", name, "sigma", r->sigma, "epsilon",
                     r->epsilon, "candidates", (int)r->candidates, "cost", r->cost, "spent",
                     r->spent, "before", r->before, "after", r->after, "noise", r->noise, "moved",
                     r->moved, "loss", r->loss, "total", r->total, "model_cells",
                     (json_int_t)r->model_cells, "owners", (json_int_t)owners);
}

static json_t *document(const struct run_stats *s)
{
    char terms[STUDY_FINGERPRINT_SIZE], finished[DATE_SIZE];
    json_t *servers = json_array(), *rounds = json_array();
    study_fingerprint(s->study, terms);
    date_text(date_now(), finished);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        json_array_append_new(servers, server_json(s->server[i]));
    for (size_t i = 0; i < s->result->rounds; i++) /* the one-ways in one, then one in each */
        json_array_append_new(
            rounds, round_json(s->study, &s->result->round[i],
                               s->result->population[s->study->workload->one_ways - 1 + i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:{s:I, s:I}, s:o, s:o, s:f, s:f, s:f}",
                     "format", "trefoil-stats-1", "study", s->study->name, "terms", terms,
                     "version", TREFOIL_VERSION, "finished", finished, "rho", s->rho, "analyst",
                     "bytes_sent", (json_int_t)s->analyst_sent, "bytes_received",
                     (json_int_t)s->analyst_received, "servers", servers, "rounds", rounds, "mpc_s",
                     s->mpc_s, "estimate_s", s->total_s - s->mpc_s, "total_s", s->total_s);
}

enum err run_stats_write(const char *folder, const struct run_stats *stats, struct log *log)
{
    char path[FILE_PATH];
    json_t *all = document(stats);
    char *text = all != NULL ? json_dumps(all, JSON_INDENT(2)) : NULL;
    enum err e = text != NULL ? file_path(path, log, "%s/stats.json", folder) : ERR_NOMEM;
    if (e == ERR_OK)
        e = file_write(path, 0644, text, strlen(text), log);
    free(text);
    json_decref(all);
    return e;
}
