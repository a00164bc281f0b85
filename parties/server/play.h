/*
 * parties/server/play.h - one round at one server: agreed on by all three, paid for, opened, and
 * answered again at will.
 *
 *   each         prepare   the request against the study, the ledger, and what is bound already
 *   each         take      noise that was made ahead, if any is missing (parties/server/ahead.h)
 *   all -> all   agree     only if noise is missing yet; then it is made: independent of data
 *   each         stage     the round's noise, sealed: on disk
 *   all -> all   agree     request, uploads, range, noise, ledger head (parties/server/round.h)
 *   each         bind      debit, and range bound to this request: one transaction, on disk
 *   all -> all   confirm   that it is; fresh bytes; what was heard in `agree`
 *   each         count     the attempt: on disk before a part of an opening is sent
 *   all          select    the index: on disk before more happens
 *   all          measure   the values: on disk before the analyst gets them
 *
 * A new selection does not wait for that: agree and confirm ride on its first two exchanges.
 * Nothing is opened before all three have confirmed (parties/server/openings.h), and until then its
 * masks come from streams that follow from all that the three have to agree on.
 *
 * What is staged at all before anybody binds cannot be lost by a crash: a server that was to bind
 * and did not takes the debit over when the next session begins (round_ledger.h), noise and all. So
 * whatever crashes, at any step, the analyst sends the same request again and gets the same values,
 * for nothing: from the first step that is not on disk at all three on, with the same noise and
 * uploads and fresh masks, or from disk alone. Another request for a round that is bound is refused
 * for ever.
 *
 * What two servers have opened is opened no more: the third takes the index, or the values, from
 * them. So nobody makes two others open a thing anew by claiming to lack it. Where two lack it, it
 * is opened again, and that has an end: after ROUND_ATTEMPTS attempts at any one server the round
 * is lost (ERR_LOST): paid for, and never answered. Under a check it opens the same however often,
 * and what is counted is checks (parties/server/guard.h).
 */
#ifndef TREFOIL_PARTIES_SERVER_PLAY_H
#define TREFOIL_PARTIES_SERVER_PLAY_H

#include "parties/server/ahead.h"
#include "parties/server/engine.h"
#include "parties/server/openings.h"
#include "parties/store/store_rounds.h"

#include <stdatomic.h>

/* A server within a session, for all rounds of it; borrowed where pointed to. */
struct play {
    const struct study *study;
    const struct ledger_limits *limits; /* of a ledger without debits */
    struct store *store;
    uint8_t analyst[32]; /* signing key of the analyst who asks */
    struct net *net;
    const struct session *session;
    struct engine *engine;
    struct ahead ahead; /* blocks of noise that this session may take */
    struct openings openings;
    atomic_uint *adding;     /* how far adding uploads up is: status.h */
    uint8_t uploads[32];     /* digest of what the engine has counted */
    struct bytes upload_ids; /* the same, by id */
    bool late;               /* after a round: all three have rows that may join before the next */
    size_t here;             /* owners whose rows are here */
    /* rounds before rows that could not join are tried again, in whatever session */
    unsigned patience;
    /* Told when data leave that nobody has agreed on yet, and when all have, or not; or NULL. */
    void (*expect)(void *self, bool heard);
    void *expect_self;
    struct log *log;
};

/*
 * Plays a request for a round (request_is_round()); `digest` is of its bytes. `result` gets
 * the answer's payload.
 */
enum err play_round(struct play *play, const struct request *request,
                    const uint8_t digest[REQUEST_DIGEST_SIZE], struct bytes *result) MUST_CHECK;

#endif
