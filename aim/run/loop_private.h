/* aim/run/loop_private.h - the state of a run, shared by loop.c and the other loop_*.c. */
#pragma once

#include "aim/run/loop.h"

struct loop {
    const struct aim_options *options;
    const struct aim_backend *backend;
    struct log *log;
    struct ledger *ledger;
    struct aim_result *result;
    struct schedule schedule;
    struct ask ask;         /* of this round; its arrays are owned, its merges are the result's */
    struct ask_terms terms; /* of its price */
    struct ask_price price;
    uint64_t room; /* for estimates */
    size_t measurements_most;
    bool alone;   /* estimates are of independent columns */
    bool refused; /* the backend permits no more, whatever the budget has: the run is not over */
    struct clique_name name;
    /* Of a sweep's round: the marginals that the model was farthest from; and of the next, while
     * this one is still to be shown. */
    char why[400], why_next[400];
    unsigned reasons;
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

/* Iterations of the fit after a round. */
unsigned loop_fit_iterations(const struct aim_options *o);
/* Fit a new model to all measurements of the result, starting from its last one. */
enum err loop_fit_round(const struct aim_options *o, struct aim_result *r, double *loss,
                        struct log *log) MUST_CHECK;
enum err loop_fit_final(const struct aim_options *o, struct aim_result *r,
                        struct log *log) MUST_CHECK;
/* Of a run that counts in units of persons (loop_persons.c): its result, or a round, in persons. */
void loop_in_persons(struct aim_result *r, const struct domain *d);
struct aim_round loop_round_in_persons(const struct aim_round *r, double units);
/*
 * Whether a measurement is of the number of events alone; what it then says of that number and the
 * stage together, in new memory.
 */
bool loop_is_number(const struct measurement *x, const struct domain *d);
enum err loop_stages(struct measurement *x, const struct domain *d) MUST_CHECK;
/* Takes in all marginals of a measurement. */
enum err loop_take(struct loop *l, const struct ask_told *told) MUST_CHECK;
/* Adds how far the model is from measurements, from this one on, to `before` of a round; or, with
 * the noise that they have, to `after`. */
enum err loop_compare(struct loop *l, size_t from, bool before, struct aim_round *r) MUST_CHECK;
/* Takes in what was measured, fits, and notes how far the marginal moved. */
enum err loop_learn(struct loop *l, struct aim_round *r, const struct ask_told *told) MUST_CHECK;

/* Has the request count in the run's groups, with the bounds that these give. */
enum err loop_merge(struct loop *l) MUST_CHECK;
/* Prices the request, as far as it is known. */
enum err loop_price(struct loop *l, struct log *log) MUST_CHECK;
/*
 * Prices the request, debits it and asks for it, with estimates if it needs them; and debits it
 * once more for each time that it was lost. A first debit that fails is logged to `spent`.
 */
enum err loop_buy(struct loop *l, struct ask_told *told, struct log *spent) MUST_CHECK;
/*
 * Finds the candidates of a round that may use up to this share of what a model may hold. Where
 * only what was measured before fits the share, what has little noise may use all of it.
 */
void loop_find_candidates(struct loop *l, double share);
/* The same for what is priced and debited: has a candidate selected and measured. *query: which. */
enum err loop_choose(struct loop *l, struct ask_told *told, uint32_t *query) MUST_CHECK;

/* --- sweeps (loop_sweeps.c, loop_set.c) ------------------------------------------------------- */

/* One more round of a sweep. ERR_BUDGET: lost rounds leave too little for it. */
enum err loop_sweep(struct loop *l) MUST_CHECK;
/* The set to measure with this much rho, and this share of what a model may hold, from the last
 * scores: as the request has it. */
enum err loop_choose_set(struct loop *l, double rho, double share) MUST_CHECK;

/* --- the end (loop_assess.c) ------------------------------------------------------------------ */

/* Opens distances with what is set aside for that; none, and a warning, if that is lost. */
enum err loop_assess(struct loop *l) MUST_CHECK;
/* Writes the state that loop_pack() made, with the assessment. */
enum err loop_keep_assess(struct loop *l, struct bytes *state) MUST_CHECK;

/* Ends a round. The next request need not wait until the round is written and shown. */
enum err loop_leave(struct loop *l, struct aim_round *r, double spent_before) MUST_CHECK;
/* Writes and shows the round that has ended; does neither a second time. */
enum err loop_settle(struct loop *l) MUST_CHECK;

/* The state after a round, for options->state_file; then the state from there. */
enum err loop_pack(const struct loop *l, struct bytes *out) MUST_CHECK;
/* If there is no such file, *found is false and nothing changes. */
enum err loop_load(struct loop *l, bool *found) MUST_CHECK;
