/* parties/exchange/dials.h - how owners, analysts and operators reach the servers' gates. */
#pragma once

#include "netio/dial.h"
#include "parties/exchange/message.h"
#include "parties/study/token.h"

/* A dial to one server's gate. */
enum err dials_new(struct dial **dial, struct netio *netio, const struct study *study,
                   const struct identity *me, unsigned server, struct log *log) MUST_CHECK;
/*
 * Puts in front of a message, which may be empty, what a key that the study does not list sends
 * first: who it is, and its token. ERR_RANGE, with the message unchanged, if all of it is too long.
 */
enum err dials_token(const struct public_identity *who, const struct token *token,
                     struct bytes *message) MUST_CHECK;
/*
 * Sends one message (ERR_NOMEM if a write to it failed), which its answer then replaces; `reply`
 * points into that. Waits at most send_ms until it is sent, then answer_ms for the answer.
 */
enum err dials_ask(struct dial *dial, struct bytes *message, struct reply *reply, int64_t send_ms,
                   int64_t answer_ms) MUST_CHECK;

/* Bytes in messages. */
struct dials_traffic {
    uint64_t sent, received;
};

/* All zero: none yet. */
struct dials {
    struct dial *dial[STUDY_SERVERS_MOST]; /* NULL if there is none */
    struct dials_traffic gone;             /* over dials that have ended */
};
void dials_end(struct dials *l, unsigned server);
/* Over all dials, including those that have ended. */
struct dials_traffic dials_traffic(const struct dials *l);
