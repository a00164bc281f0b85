/*
 * parties/server/play.h - one round at one server: agreed on by all servers, paid for, opened, and
 * answered again at will.
 *
 *   each         prepare   check the request against the study, the ledger, and what is bound
 *   each         supply    noise that was made ahead, if any is missing
 *   all -> all   agree     only if noise is still missing; then it is made, independent of data
 *   each         stage     the round's noise, sealed: on disk
 *   all -> all   agree     request, uploads, range, noise, ledger head (parties/server/round.h); a
 *                          voucher that the debit is staged (parties/exchange/voucher.h)
 *   each         bind      debit, and range bound to this request, with all vouchers: one
 *                          transaction, on disk
 *   all -> all   confirm   that it is bound; fresh bytes; what was heard in `agree`
 *   each         count     the attempt: on disk before a part of an opening is sent
 *   all          select    the index: on disk before anything else happens
 *   all          measure   the values: on disk before the analyst gets them
 *
 * A new selection does not wait to be agreed on: agree and confirm ride on its first two exchanges.
 * Nothing is opened before all servers have confirmed (parties/server/openings.h). Until then the
 * selection's masks come from streams derived from everything that the servers have to agree on.
 *
 * All servers stage the noise before anybody binds, so a crash cannot lose it: a server that was to
 * bind and did not takes over the debit, noise and all, when the next session begins and one that
 * has bound shows the vouchers (round_ledger.h). So whatever crashes, at any step, the analyst
 * sends the same request again and gets the same values at no cost: either from disk alone, or
 * played from the first step that is not on disk at all servers, with the same noise and uploads
 * and fresh masks. Any other request for a round that is bound is refused for ever.
 *
 * What all but one have opened is not opened again: that one takes the index, or the values, from
 * them. So nobody can make two others open something anew by claiming to lack it. Where two lack
 * it, it is opened again, but not without end: after ROUND_ATTEMPTS attempts at any one server the
 * round is lost (ERR_LOST): paid for, and never answered. Under a check a round opens the same
 * values however often, and checks are counted instead (parties/settings/three/guard.h).
 */
#pragma once

#include "parties/server/openings.h"
#include "parties/setting/split.h"
#include "parties/store/store_rounds.h"

#include <stdatomic.h>

/* A server's state for all rounds of a session; it borrows what it points to. */
struct play {
    const struct study *study;
    const struct split *split;
    const struct identity *me;
    const struct ledger_limits *limits; /* of a ledger without debits */
    struct store *store;
    uint8_t analyst[32];    /* signing key of the analyst who asks */
    struct warrant warrant; /* by which the session was opened, where the study has approvers */
    struct net *net;
    struct engine engine;
    struct openings openings;
    atomic_uint *adding;     /* how far the uploads are added up: status.h */
    uint8_t uploads[32];     /* digest of what the engine has counted */
    struct bytes upload_ids; /* the same, by id */
    bool late;               /* after a round: all have rows that may join before the next */
    bool told_late[STUDY_SERVERS_MOST]; /* a server was named that has none, while this one has */
    size_t here;                        /* owners whose rows are here */
    /* rounds until rows that could not join are tried again, in whatever session */
    unsigned patience;
    /* Told when data leave before they are agreed on, and when all have agreed, or not; or NULL. */
    void (*expect)(void *self, bool heard);
    void *expect_self;
    struct log *log;
};

/*
 * Plays a request for a round; `digest` is that of its bytes. `result` gets
 * the answer's payload.
 */
enum err play_round(struct play *play, const struct request *request,
                    const uint8_t digest[REQUEST_DIGEST_SIZE], struct bytes *result) MUST_CHECK;
