/*
 * parties/client.h - the analyst's end of a run: the MPC backend of the AIM loop.
 *
 * Each request goes to server 0, its digest to servers 1 and 2; all three answer. The result comes from server
 * 0 and is checked against the digests that the two others give, so that no single server can forge it.
 */
#ifndef TREFOIL_PARTIES_CLIENT_H
#define TREFOIL_PARTIES_CLIENT_H

#include "aim/backend.h"
#include "netio/gate.h"
#include "parties/keys.h"
#include "parties/request.h"
#include "parties/study.h"
#include "parties/worker.h"

struct client;

enum err client_new(struct client **client, struct netio *netio, const struct study *study,
                    const struct identity *me, struct log *log) MUST_CHECK;
void client_free(struct client **client);

/*
 * Starts a session at the servers: they check that all owners' uploads are there, and add them up.
 * `remaining` is what their ledgers have left of rho.
 */
enum err client_open(struct client *client, double *remaining) MUST_CHECK;
/* Ends it and brings each server's counters. */
enum err client_close(struct client *client,
                      struct worker_stats stats[STUDY_SERVERS][NET_PHASES]) MUST_CHECK;

/* Valid while the client is. Errors are logged with the words of the server that gave them. */
struct aim_backend client_backend(struct client *client);

/* Bytes between the analyst and all servers so far. */
uint64_t client_sent(const struct client *client);
uint64_t client_received(const struct client *client);

/* One message to one server's gate and its answer, for share and for status. `reply` points into `message`. */
enum err client_ask(struct dial *dial, struct bytes *message, struct reply *reply,
                    int64_t deadline) MUST_CHECK;
/* A dial to a server's gate. */
enum err client_dial(struct dial **dial, struct netio *netio, const struct study *study,
                     const struct identity *me, unsigned server, struct log *log) MUST_CHECK;

#endif
