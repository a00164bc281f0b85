/*
 * parties/server/round_uploads.h - the servers agree on the uploads that a session counts.
 *
 *   all -> all   how many uploads each lists, a digest of the list, and how far the run's last
 *                round is there
 *   all -> all   if lists differ, which branches of them do (branches.h); for each upload there its
 *                id, owner and digest; whether it is counted; whether it is held
 *
 * Before a run's first round, and between rounds, the uploads that all hold alike are
 * counted. A run that goes on in a new session counts at least what its last round did. What has
 * come since (late_uploads: join) is counted at once, unless that round may have to be played again
 * as it was. LEAKS: nothing secret; ids and digests are salted.
 *
 * Which uploads that were, a server knows by itself, whatever others say; if its rounds came from
 * its neighbours (recover.h), it believes the one whose list gives the digest that is in the
 * ledger. Whether a round was opened is believed of all other servers alike. So no server alone can
 * have rows counted that came too late; one that says otherwise is named in the log.
 *
 * A server that tells its two neighbours of different uploads makes them count different ones. They
 * do not find out here, but they mask with different streams, and differ in what they agree on
 * next.
 */
#pragma once

#include "base/log.h"
#include "netio/net.h"
#include "parties/setting/upload.h"
#include "parties/store/store_rounds.h"

struct round_uploads {
    const struct study *study; /* borrowed */
    enum store_standing
        last;             /* of the run's last round here; NONE: there is none, or it has ended */
    uint8_t bound[32];    /* digest of what that round counted */
    struct bytes counted; /* ids that the run has counted, one after another */
    struct upload_name *upload; /* complete uploads here, ordered by id */
    size_t count;
    size_t kept;          /* how many of these are counted; they are moved to the front */
    unsigned passed;      /* the server that others pass vectors on to, or SPLIT_NOBODY */
    struct bytes lacking; /* ids of those here that it does not hold whole */
};

/*
 * Fills in `kept` and `lacking`, and the digest of what is kept. Logs the uploads that not all
 * hold: ERR_MISMATCH if the run has counted one of them.
 */
enum err round_uploads(struct net *net, struct round_uploads *u, uint8_t digest[32],
                       struct log *log) MUST_CHECK;

/* A digest of what is kept, and of where in the session the servers are, for party_topic(). */
void round_uploads_topic(const struct net *net, const uint8_t digest[32],
                         uint8_t topic[SESSION_ID_SIZE]);
