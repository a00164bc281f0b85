/*
 * parties/exchange/client.h - the analyst's end of a run: requests to the servers, their answers.
 *
 * The result of a request comes from server 0 and is checked against digests from the two others,
 * so no single server can forge it. As long as a client exists, it tells the servers that its run
 * is alive (parties/exchange/pulse.h).
 */
#pragma once

#include "parties/exchange/cost.h"
#include "parties/exchange/dials.h"
#include "parties/exchange/request.h"
#include "parties/exchange/witness.h"

struct client;

/* For one run; `study` and `me` are borrowed. Call client_free() after a failure too. */
enum err client_new(struct client **client, struct netio *netio, const struct study *study,
                    const struct identity *me, const uint8_t run[REQUEST_RUN_SIZE],
                    struct log *log) MUST_CHECK;
void client_free(struct client **client);
/*
 * From now on keeps in `witness` (borrowed) what the servers sign about their ledgers. A ledger
 * that is shorter than before, or a different one, ends the run with ERR_MISMATCH.
 */
void client_watch(struct client *client, struct witness *witness);
/* What permits the run, where the study has approvers; borrowed. */
void client_permit(struct client *client, const struct warrant *warrant);
/* While servers add up uploads, calls `adding` when the share that is done, 0 to 1, changes. */
void client_show(struct client *client, void (*adding)(void *self, double share), void *self);
/*
 * Makes new connections, on which no earlier answer arrives. A server that is down is asked as soon
 * as it is back.
 */
enum err client_reconnect(struct client *client) MUST_CHECK;

/* Whether a server has answered the last request, even if only with an error. */
bool client_answered(const struct client *client);

/* What the servers say about the study's budget when a session begins. */
struct client_opened {
    double remaining;               /* of rho */
    uint32_t rounds;                /* of this run that are paid for */
    uint8_t last[REQUEST_RUN_SIZE]; /* the run that paid last; zeros if none has */
    bool may;                       /* whether this run may begin, or has begun */
    double left;                    /* the budget with which it begins, or began; 0: all of it */
    uint32_t looks;                 /* that other runs had taken */
};

/*
 * Starts a session: the servers check that enough uploads are there, and add them up. Errors, here
 * and below, are logged in the words of the server that reported them. Owners that are left out are
 * logged too.
 */
enum err client_open(struct client *client, struct client_opened *opened) MUST_CHECK;
/* Calls `work` once, as soon as the next request is sent: while the servers work. */
void client_meanwhile(struct client *client, enum err (*work)(void *self), void *self);
/* Sends a request once; `result` is server 0's answer, confirmed by the two others. */
enum err client_result(struct client *client, const struct bytes *request,
                       struct bytes *result) MUST_CHECK;
/* Ends session and run, and gets each server's counters. */
enum err client_close(struct client *client, struct net_counters stats[][NET_PHASES]) MUST_CHECK;

/* The traffic so far between the analyst and all servers. */
struct dials_traffic client_traffic(const struct client *client);
