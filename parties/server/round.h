/*
 * parties/server/round.h - what servers say to each other around each request, over sealed links.
 *
 *   round_agree    all -> all   verdict, how far the round is and what it opened; digests: 32 fresh
 *                               bytes, request, its price and weights, uploads, roster, range of
 *                               noise, analyst, ledger head (once the round is staged: after its
 *                               debit); head of the audit log; a keyed digest of each noise
 *                               component; a voucher for the debit
 *   round_confirm  all -> all   verdict, the fresh bytes, a digest of what the third server said, a
 *                               signature of the receiver's log; after the debit is on disk
 *   round_values   one -> one   what the round opened, to the one server that lacks it
 *
 * Between two servers there is no third: what would be said of it is zeros.
 *
 * Both statements ride (net_ride()): on the first exchanges of what they permit, or by themselves
 * if net_settle() follows. If anybody's verdict is not ERR_OK, the request ends at all of them with
 * nothing opened. The fresh bytes seed public randomness that nobody could know before the request
 * was bound, nor choose. A server that shows bytes that do not fit its digest ends the session, and
 * so does one that tells its two neighbours different things. LEAKS: nothing secret; the digests
 * are of public, random or salted values, or keyed: of a component of noise, with a key that only
 * its two holders have.
 *
 * ERR_CHEAT, logged, from any of these functions: a server states what no server can have, whatever
 * it was asked, restored from, or left by a crash. What can have such a cause is another error.
 */
#pragma once

#include "base/log.h"
#include "netio/net.h"
#include "parties/audit/audit_file.h"
#include "parties/store/store_rounds.h"

/* Sends the same block to all neighbours, and receives theirs. */
enum err round_broadcast(struct net *net, const void *own, size_t size, void *prev,
                         void *next) MUST_CHECK;

/* What a server says is about to happen. */
enum round_intent {
    ROUND_NOISE, /* noise is made; then the servers state their intent again */
    ROUND_BIND   /* the round is bound now, or was before: something may be opened */
};

/* Why a server cannot open a round that is bound. */
enum round_obstacle {
    ROUND_READY,
    ROUND_NO_NOISE,
    ROUND_TRIED,
    ROUND_OTHER_UPLOADS,
    ROUND_OTHER_NOISE /* never stated: who else holds a component of the noise has another */
};

/* The steps of a round that are left, given how far each server is. */
enum round_course {
    ROUND_SELECT,  /* all; nothing is selected unless the request selects */
    ROUND_MEASURE, /* all but one know the index, and that one takes it from them */
    ROUND_GIVE,    /* all but one have the values, and that one gets them */
    ROUND_ANSWER   /* all have the values */
};

#define ROUND_DIGESTS 9
#define ROUND_OWN_DIGESTS 2 /* the first of them, which differ from server to server */

struct round_statement {
    uint8_t verdict;   /* enum err */
    uint8_t intent;    /* enum round_intent */
    uint8_t standing;  /* enum store_standing: STANDING_NONE for a new round */
    uint8_t obstacle;  /* enum round_obstacle */
    uint8_t late;      /* 1: rows have come that may join the run, and are not counted yet */
    uint64_t selected; /* from STANDING_INDEX on */
    union {
        struct {
            uint8_t values[32]; /* digest of the values, from STANDING_OPENED on */
            uint8_t fresh[32];  /* digest of the fresh bytes; round_agree() fills it in */
            uint8_t request[32], step[32], uploads[32], roster[32], range[32], analyst[32],
                ledger[32];
        };
        uint8_t digest[ROUND_DIGESTS][32]; /* the same, in this order */
    };
    struct audit_head audit;
    /* of the noise's components held with NET_PREV and NET_NEXT; at ROUND_BIND, if noise is here */
    uint8_t replica[2][32];
    uint8_t voucher[IDENTITY_SIGNATURE_SIZE]; /* for the debit (voucher.h); zeros if it is made */
};

/* What the statements together say. */
struct round_agreement {
    enum round_course course;
    unsigned lacks;     /* ROUND_GIVE: the server that gets the values */
    uint64_t selected;  /* from ROUND_MEASURE on */
    uint8_t values[32]; /* digest of the values, from ROUND_GIVE on */
    enum round_obstacle obstacle[STUDY_SERVERS_MOST]; /* of each server; the same at all */
    bool late[STUDY_SERVERS_MOST];                    /* whether rows have come to each */
    struct audit_head audit[2];                       /* of the neighbours' logs */
    struct vouchers vouchers;                         /* as stated: not verified here */
};

#define ROUND_AGREE_SIZE (5 + 8 + ROUND_DIGESTS * 32 + 40 + 2 * 32 + IDENTITY_SIGNATURE_SIZE)
#define ROUND_CONFIRM_SIZE (1 + 32 + 32 + 64)

/* The two exchanges of statements about one round; `net` and `log` are borrowed. */
struct round_talk {
    struct net *net;
    struct log *log;
    struct round_agreement agreement; /* once it is reached */
    uint8_t signature[2][64];         /* the neighbours' of our log; once it is confirmed */
    uint8_t seed[32];                 /* SHA-256 of all fresh bytes, by index; once confirmed */
    /* called with `self` when the neighbours have agreed, or confirmed; may be NULL */
    enum err (*agreed)(void *self), (*confirmed)(void *self);
    void *self;
    /* the rest is round.c's */
    enum err verdict;
    struct round_statement own;
    uint8_t fresh[STUDY_SERVERS_MOST][32],
        said[2][32]; /* fresh: the others' are digests until they show them */
    uint8_t sent[2][ROUND_AGREE_SIZE], came[2][ROUND_AGREE_SIZE];
};

/*
 * Lets a statement ride. If it ends the session, the error is ERR_MISMATCH, logged with the server
 * and the part that differs; ERR_AGAIN, logged, if the noise of a new round is not the same at both
 * holders of a component; or else the worst verdict of all.
 */
void round_agree(struct round_talk *talk, const struct round_statement *own);

/* The digest of a stake's place, as a statement has it. */
void round_digest_stake(const struct stake_place *stake, uint8_t digest[32]);
/*
 * A topic, for party_topic(): a digest of what all must say alike, under a label, and of
 * where in the session they are. round_topic() takes everything in a statement that must be alike.
 */
void round_topic_of(const struct net *net, const char *label, const void *alike, size_t n,
                    uint8_t topic[SESSION_ID_SIZE]);
void round_topic(const struct net *net, const struct round_statement *own,
                 uint8_t topic[SESSION_ID_SIZE]);

/*
 * Once agreed: lets the confirmation ride. `signature`: of the neighbours' logs, for them. If it
 * ends the session: ERR_CHEAT names the server that shows other fresh bytes than it had promised,
 * or that told its two neighbours different things.
 */
void round_confirm(struct round_talk *talk, enum err verdict, const uint8_t signature[2][64]);

/*
 * ROUND_GIVE: sends `values` or, at the server that lacks them, receives that many bytes and checks
 * them. ERR_CHEAT: the giver had stated others.
 */
enum err round_values(struct net *net, const struct round_agreement *agreement,
                      struct bytes *values, struct log *log) MUST_CHECK;

/* Exchange heads of audit logs, then signatures of them, outside any round: to end a run with. */
enum err round_heads(struct net *net, const struct audit_head *own,
                     struct audit_head theirs[2]) MUST_CHECK;
enum err round_signatures(struct net *net, uint8_t signature[2][64]) MUST_CHECK;
