/*
 * parties/exchange/lines.h - dials to the servers' gates, by whoever is not a server: owners,
 * analysts, operators.
 */
#ifndef TREFOIL_PARTIES_EXCHANGE_LINES_H
#define TREFOIL_PARTIES_EXCHANGE_LINES_H

#include "netio/dial.h"
#include "parties/exchange/request.h"
#include "parties/study/keys.h"
#include "parties/study/study.h"

/* A dial to one server's gate. */
enum err lines_dial(struct dial **dial, struct netio *netio, const struct study *study,
                    const struct identity *me, unsigned server, struct log *log) MUST_CHECK;
/* One message and its answer; `reply` points into `message`. */
enum err lines_ask(struct dial *dial, struct bytes *message, struct reply *reply,
                   int64_t deadline) MUST_CHECK;

/* All zero: none yet. */
struct lines {
    struct dial *dial[STUDY_SERVERS]; /* NULL where there is none */
    uint64_t sent, received;          /* over those that are gone */
};
void lines_end(struct lines *l, unsigned server);
/* Bytes of messages over all dials, also those that are gone. */
uint64_t lines_sent(const struct lines *l);
uint64_t lines_received(const struct lines *l);

#endif
