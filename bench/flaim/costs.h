/* bench/flaim/costs.h - what a method costs clients and servers, computed from the results. */
#pragma once

#include "bench/flaim/results.h"

/* NAN: not known, or none. Clients' costs: sent and received, mean over all of them. */
struct costs {
    double clients;     /* share of clients that take part: divide by it for their mean */
    double wire, paper; /* of a client */
    double server;      /* coordinator and clients (FLAIM), or between three servers (DistAIM) */
};

struct costs costs_of(const struct results *r, const struct trial *t);

/* What servers measured in this trial's run, or NULL. Its name in the results: */
const json_t *costs_servers(const struct results *r, const struct trial *t);
void costs_servers_name(const struct trial *t, char name[TRIAL_NAME]);
