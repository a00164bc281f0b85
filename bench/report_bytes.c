#include "bench/report_bytes.h"

#include "bench/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLIENTS 100
/* As the paper counts DistAIM: 8 bytes an element, 2 values to each of 3 servers, the whole closure. */
#define PAPER_BYTES (8 * 6)

void costs_servers_name(const struct trial *t, char name[TRIAL_NAME])
{
    struct trial one = *t;
    char rest[TRIAL_NAME];
    one.seed = 1;
    one.method = "distaim";
    trial_name(&one, rest);
    if (snprintf(name, TRIAL_NAME, "servers%s %s", t->answers ? " answers" : "", rest) >=
        TRIAL_NAME)
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

/* An upload does not depend on T: any run over servers of the same clients tells its size. */
static double upload_bytes(const struct results *r, const struct trial *t)
{
    struct trial usual = plan_trial(t->table, t->split, "distaim");
    const json_t *servers = costs_servers(r, &usual);
    bool same_rows = strcmp(t->split, usual.split) == 0 && fabs(t->beta - usual.beta) < 1e-9;
    return servers != NULL && same_rows ? number(servers, "sent") + number(servers, "received")
                                        : NAN;
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
