/*
 * parties/server/openings.h - what a round opens: whether it may, and its lines in the audit log.
 *
 * A party asks here before each opening (openings_audit()). Nothing that depends on data is opened
 * unless all three servers have confirmed that the round is bound, but whether an upload is sorted,
 * which an honest owner's always is; and the line is on disk before anything is sent.
 */
#ifndef TREFOIL_PARTIES_SERVER_OPENINGS_H
#define TREFOIL_PARTIES_SERVER_OPENINGS_H

#include "parties/audit/audit.h"
#include "parties/server/engine.h"

struct openings {
    struct audit *audit;              /* borrowed */
    bool confirmed;                   /* the round in hand is bound at all three */
    struct audit_opening common;      /* to the lines of a round */
    double select_cost, measure_cost; /* rho, k^2 included; 0 where a round is asked for again */
    struct bytes what;                /* names of the marginals that are opened */
};

/* What the openings of a step cost, where a person may have k rows. */
void openings_price(struct openings *o, double k, const struct engine_step *step);

/*
 * Names what a request is about to open: the marginals measured, of a selection the one selected,
 * those of forms; or "pairs:" and all columns. How many groups an attribute's codes are merged to
 * comes after its name: "age/12".
 */
enum err openings_name(struct openings *o, const struct study *study,
                       const struct engine_step *step, size_t selected) MUST_CHECK;

/* A party's audit hook; `self` is a struct openings. ERR_MISUSE for an opening that may not be. */
enum err openings_audit(void *self, enum open_reason reason, size_t values);

/* Notes the neighbours' heads of their logs, and signs them; keeps their signatures of ours. */
enum err openings_sign(struct openings *o, const struct net *net, const struct audit_head theirs[2],
                       uint8_t signature[2][64]) MUST_CHECK;
enum err openings_keep(struct openings *o, const struct net *net, const struct audit_head *ours,
                       const uint8_t signature[2][64]) MUST_CHECK;

/* Has the neighbours sign this server's audit log as it is, and signs theirs: the end of a run. */
enum err openings_sign_logs(struct openings *o, struct net *net) MUST_CHECK;

#endif
