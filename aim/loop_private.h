/* aim/loop_private.h - the state of a run, shared by loop.c and the other loop_*.c. */
#ifndef TREFOIL_AIM_LOOP_PRIVATE_H
#define TREFOIL_AIM_LOOP_PRIVATE_H

#include "aim/loop.h"

struct loop {
    const struct aim_options *options;
    const struct aim_backend *backend;
    struct log *log;
    struct ledger *ledger;
    struct aim_result *result;
    struct schedule schedule;
    double epsilon;      /* of this round, slack taken off */
    uint64_t multiplier; /* of this round's measurement */
    size_t candidates;
    uint32_t *query;           /* of each candidate */
    struct select_terms terms; /* of this round's selection */
    struct select_plan plan;
    uint64_t *scale; /* from select_plan(), and the penalty */
    uint64_t *penalty;
    uint64_t *estimate; /* cells of all candidates, one after the other */
    uint64_t room;      /* for them */
    struct clique_name name;
    /* A round that has ended: its state is still to be written, and the round to be shown. */
    struct aim_round *ended;
    struct bytes unsaved;
};

uint64_t loop_model_limit(const struct aim_options *o); /* cells */

/*
 * Whether scores have room for the counts of groups. For squares: whether these counts are as easy
 * to score as those of codes, since larger ones take more noise.
 */
enum err loop_merges_fit(const struct loop *l, bool *fit) MUST_CHECK;

/* Fit a new model to all measurements of the result, starting from its last one. */
enum err loop_fit_round(const struct aim_options *o, struct aim_result *r, double *loss,
                        struct log *log) MUST_CHECK;
enum err loop_fit_final(const struct aim_options *o, struct aim_result *r,
                        struct log *log) MUST_CHECK;

/* What a round selected, and its noisy counts. */
struct chosen {
    uint32_t query;
    int64_t *values; /* the caller frees them, also after an error */
    uint64_t population;
    unsigned lost; /* how often the request was debited in vain */
};

/* Finds the candidates of a round that may use up to this share of what a model may hold. */
void loop_find_candidates(struct loop *l, double share);
/* Plans how they are scored; ERR_RANGE, logged, if there is no way. */
enum err loop_plan(struct loop *l, struct log *log) MUST_CHECK;
/* Selects one of them by the plan, and has it measured. */
enum err loop_choose(struct loop *l, unsigned round, struct chosen *chosen) MUST_CHECK;

/* Writes and shows the round that has ended; does neither a second time. */
enum err loop_settle(struct loop *l) MUST_CHECK;

/* The state after a round, for options->state_file; then the state from there. */
enum err loop_pack(const struct loop *l, struct bytes *out) MUST_CHECK;
/* If there is no such file, *found is false and nothing changes. */
enum err loop_load(struct loop *l, bool *found) MUST_CHECK;

#endif
