#include "bench/flaim/costs.h"

#include "bench/flaim/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLIENTS 100
/* As the paper counts DistAIM: 8 bytes per element of the closure, two values to each server. */
#define PAPER_BYTES (8 * 6)

void costs_servers_name(const struct trial *t, char name[TRIAL_NAME])
{
    struct trial one = *t;
    char rest[TRIAL_NAME];
    one.seed = 1;
    one.method = "distaim";
    trial_name(&one, rest);
    if (snprintf(name, TRIAL_NAME, "servers%s %s", t->counts ? " counts" : "", rest) >= TRIAL_NAME)
        name[0] = '\0';
}

const json_t *costs_servers(const struct results *r, const struct trial *t)
{
    char name[TRIAL_NAME];
    costs_servers_name(t, name);
    return results_get(r, name);
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/*
 * An upload does not depend on T, but who uploads does. Takes the run over servers at the next
 * larger T if there is one, otherwise at the largest.
 */
static double upload_bytes(const struct results *r, const struct trial *t)
{
    struct trial usual = plan_trial(t->table, t->split, "distaim");
    double bytes = NAN;
    if (strcmp(t->split, usual.split) != 0 || fabs(t->beta - usual.beta) > 1e-9)
        return NAN;
    for (size_t i = PLAN_SERVER_ROUNDS; i-- > 0;) {
        const json_t *servers;
        usual.rounds = plan_server_rounds[i];
        servers = costs_servers(r, &usual);
        if (servers != NULL && (isnan(bytes) || usual.rounds >= t->rounds))
            bytes = number(servers, "sent") + number(servers, "received");
    }
    return bytes;
}

struct costs costs_of(const struct results *r, const struct trial *t)
{
    struct costs c = {
        .clients = results_mean(r, t, "clients").mean, .wire = NAN, .paper = NAN, .server = NAN};
    if (strcmp(t->method, "aim") == 0) {
        c.clients = NAN;
    } else if (strstr(t->method, "flaim") != NULL) {
        c.wire = results_mean(r, t, "wire_sent").mean + results_mean(r, t, "wire_received").mean;
        c.paper = results_mean(r, t, "paper_sent").mean + results_mean(r, t, "paper_received").mean;
        c.server = c.wire * CLIENTS;
    } else if (strcmp(t->method, "distaim-round") != 0) {
        c.wire = upload_bytes(r, t) * c.clients;
        c.paper = PAPER_BYTES * results_mean(r, t, "closure_cells").mean * c.clients;
        c.server = number(costs_servers(r, t), "server_bytes");
    }
    return c;
}
