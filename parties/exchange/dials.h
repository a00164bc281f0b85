/* parties/exchange/dials.h - how owners, analysts and operators reach the servers' gates. */
#ifndef TREFOIL_PARTIES_EXCHANGE_DIALS_H
#define TREFOIL_PARTIES_EXCHANGE_DIALS_H

#include "netio/dial.h"
#include "parties/exchange/request.h"
#include "parties/study/keys.h"
#include "parties/study/study.h"
#include "parties/study/token.h"

/* A dial to one server's gate. */
enum err dials_new(struct dial **dial, struct netio *netio, const struct study *study,
                   const struct identity *me, unsigned server, struct log *log) MUST_CHECK;
/*
 * Puts before a message, which may be empty, what a key that the study does not list says first:
 * who it is, and its token. ERR_RANGE, with the message as it was, if that is too long to go along.
 */
enum err dials_token(const struct public_identity *who, const struct token *token,
                     struct bytes *message) MUST_CHECK;
/*
 * One message (ERR_NOMEM if a write to it failed) and its answer; `reply` points into it. So many
 * milliseconds until it is sent, and then until it is answered.
 */
enum err dials_ask(struct dial *dial, struct bytes *message, struct reply *reply, int64_t send_ms,
                   int64_t answer_ms) MUST_CHECK;

/* Bytes of messages. */
struct traffic {
    uint64_t sent, received;
};

/* All zero: none yet. */
struct dials {
    struct dial *dial[STUDY_SERVERS]; /* NULL where there is none */
    struct traffic gone;              /* over those that have ended */
};
void dials_end(struct dials *l, unsigned server);
/* Over all dials, also those that have ended. */
struct traffic dials_traffic(const struct dials *l);

#endif
