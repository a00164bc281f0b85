/*
 * parties/server/openings.h - whether a round may open something, and its lines in the audit log.
 *
 * An engine asks here before each opening (openings_audit()). Nothing that depends on data is
 * opened unless all servers have confirmed that the round is bound. The only exception is
 * whether an upload is sorted, which an honest owner's always is. The line is on disk before
 * anything is sent.
 */
#pragma once

#include "parties/audit/audit.h"
#include "parties/server/round.h"
#include "parties/setting/engine.h"

struct openings {
    struct audit *audit; /* borrowed, as is the log */
    struct log *log;
    bool confirmed;                   /* the round in hand is bound at all servers */
    struct audit_opening common;      /* what the lines of a round have in common */
    double select_cost, measure_cost; /* rho, k^2 included; 0 if a round is asked for again */
    struct bytes what;                /* names of the marginals that are opened */
    bool heads;                       /* neighbours' logs were seen in this session, */
    uint64_t ahead[2];                /* and by how many lines they are longer than ours */
};

/*
 * If some server cannot open the round in hand, and not all others have opened it, the round is
 * lost: paid for, and never answered. ERR_LOST, logged here and in the audit log. Nothing else of
 * that is kept: whoever asks again hears it again, or an answer.
 */
enum err openings_may(const struct openings *o,
                      const enum round_obstacle obstacle[STUDY_SERVERS_MOST]) MUST_CHECK;

/* Sets what the openings of a step cost if a person may have k rows. */
void openings_price(struct openings *o, double k, const struct engine_step *step);

/*
 * Names what a request is about to open: the marginals measured, the one a selection selected, or
 * those of forms; or "pairs:" and all columns; or the sigma of scores and the marginals, or of a
 * gradient and its target; or "score*" and a test's target. If an attribute's codes are merged, the
 * number of groups follows its name: "age/12".
 */
enum err openings_name(struct openings *o, const struct study *study,
                       const struct engine_step *step, size_t selected) MUST_CHECK;

/*
 * An engine calls this before an opening; `self` is a struct openings, `reason` the opening's in
 * the log. ERR_MISUSE for a forbidden opening.
 */
enum err openings_audit(void *self, enum engine_opening opening, const char *reason, size_t values);

/*
 * openings_sign() notes the heads of the neighbours' logs, stated at the same time as `ours`, and
 * signs them. All servers log the same in a session: ERR_MISMATCH, logged, if a log has grown by
 * more lines, or fewer, than that. openings_keep() keeps the neighbours' signatures of ours;
 * ERR_CHEAT, logged, if one is false.
 */
enum err openings_sign(struct openings *o, const struct net *net, const struct audit_head *ours,
                       const struct audit_head theirs[2], uint8_t signature[2][64]) MUST_CHECK;
enum err openings_keep(struct openings *o, const struct net *net, const struct audit_head *ours,
                       const uint8_t signature[2][64]) MUST_CHECK;

/* At the end of a run: has the neighbours sign this server's audit log as it is; signs theirs. */
enum err openings_sign_logs(struct openings *o, struct net *net) MUST_CHECK;
