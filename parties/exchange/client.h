/*
 * parties/exchange/client.h - the analyst's end of a run: requests to three servers, their answers.
 *
 * The result of a request comes from server 0 and is checked against digests that the two others
 * give, so no single server can forge it. While there is a client the servers are told that its run
 * lives (parties/exchange/pulse.h).
 */
#ifndef TREFOIL_PARTIES_EXCHANGE_CLIENT_H
#define TREFOIL_PARTIES_EXCHANGE_CLIENT_H

#include "parties/exchange/cost.h"
#include "parties/exchange/dials.h"
#include "parties/exchange/request.h"
#include "parties/exchange/witness.h"
#include "parties/study/keys.h"
#include "parties/study/study.h"

struct client;

/* For one run; `study` and `me` are borrowed. client_free() also after a failure. */
enum err client_new(struct client **client, struct netio *netio, const struct study *study,
                    const struct identity *me, const uint8_t run[REQUEST_RUN_SIZE],
                    struct log *log) MUST_CHECK;
void client_free(struct client **client);
/*
 * From now on keeps in `witness` (borrowed) what the servers sign of their ledgers. A ledger that
 * is shorter than it was seen, or another, ends the run with ERR_MISMATCH.
 */
void client_watch(struct client *client, struct witness *witness);
/* While servers add up uploads, `adding` is told the share that is done, 0 to 1, as it changes. */
void client_show(struct client *client, void (*adding)(void *self, double share), void *self);
/*
 * New connections, to which no earlier answer comes. A server that is gone is asked as soon as it
 * is back.
 */
enum err client_reconnect(struct client *client) MUST_CHECK;

/* Whether a server has answered, if only by an error, what was asked last. */
bool client_answered(const struct client *client);

/* What the servers say of the study's budget when a session begins. */
struct client_opened {
    double remaining;               /* of rho */
    uint32_t rounds;                /* of this run, that are paid for */
    uint8_t last[REQUEST_RUN_SIZE]; /* the run that paid last; zeros if none has */
};

/*
 * Starts a session: the servers check that enough uploads are there, and add them up. Errors, here
 * and below, are logged in the words of the server that gave them; so is who is left out.
 */
enum err client_open(struct client *client, struct client_opened *opened) MUST_CHECK;
/* What to do once, as soon as the next request has left: while the servers work. */
void client_meanwhile(struct client *client, enum err (*work)(void *self), void *self);
/* Sends a request once; `result` is what server 0 answers, confirmed by the two others. */
enum err client_result(struct client *client, const struct bytes *request,
                       struct bytes *result) MUST_CHECK;
/* Ends session and run, and brings each server's counters. */
enum err client_close(struct client *client,
                      struct net_counters stats[STUDY_SERVERS][NET_PHASES]) MUST_CHECK;

/* Between the analyst and all servers so far. */
struct traffic client_traffic(const struct client *client);

#endif
