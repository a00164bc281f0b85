/*
 * parties/server/engine.h - a server's secret state within a session, and what it does with a
 * request.
 *
 * Three engines with the same study and uploads, given one request, produce the same public
 * integers. The order within a round (docs/protocols.md):
 *   engine_prepare   checks the request against the study and prices it; local
 *   engine_reserve   makes the noise that is missing; this does not depend on data
 *   range_cut        takes the round's range of noise off the tape (protocols/range.h)
 *   (the caller agrees with the other two, debits, and confirms)
 *   engine_select    makes what scores need, if it is not there, then opens the index
 *   engine_measure   opens the noisy marginals, or forms
 * Forms of a copula whose owners send records are made from the uploads, which are read again.
 * The last two steps depend only on the uploads, the request and the range: with the same ones they
 * open the same values again, under fresh masks. After a round that all three played afresh, not
 * from what was kept, range_return() gives back what it did not use: a selection's range has
 * Gaussians for the largest candidate, and few candidates are that large.
 *
 * parties/server/collect.c adds uploads to the engine's tally; parties/server/play.c takes the
 * steps.
 */
#ifndef TREFOIL_PARTIES_SERVER_ENGINE_H
#define TREFOIL_PARTIES_SERVER_ENGINE_H

#include "aim/budget/ledger.h"
#include "mpc/check/check.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"
#include "parties/exchange/request.h"
#include "parties/server/tally.h"
#include "parties/study/study.h"
#include "protocols/range.h"
#include "protocols/select.h"

/* Reads the uploads of the tally again, and gives them to `take`, some at a time. */
struct engine_uploads {
    enum err (*read)(void *self,
                     enum err (*take)(void *taker, const struct upload *uploads, size_t count),
                     void *taker);
    void *self;
};

/* The cells that a request counts in: the study's, or merged ones (engine_merge.h). */
struct engine_scope {
    const struct merges *merges; /* NULL: none */
    struct counts *counts;
    struct score_bounds bounds;
};

/* The merges of the last request that had any. */
struct engine_merged {
    struct merges merges;       /* of no attributes: no request had any */
    struct score_bounds bounds; /* of merged cells */
    struct counts *counts;      /* NULL until they are made */
};

struct engine {
    struct party *party;         /* borrowed */
    const struct study *study;   /* borrowed */
    const struct bounds *bounds; /* borrowed */
    struct tally tally;
    struct counts *counts; /* of the tally; NULL until they are made */
    size_t owners;         /* whose rows the counts include */
    struct engine_merged merged;
    struct tape tape;
    struct ask_slack slack; /* of the study's noise */
    struct engine_uploads uploads;
    struct log *log;
};

/*
 * Where the study's security is abort, gives a session's party a check, before anything else uses
 * the party. What the engine makes is proved before openings, and by the time a function that says
 * "proved" returns.
 */
enum err engine_check(struct party *party, const struct study *study,
                      const struct check_guard *guard) MUST_CHECK;

/* ERR_MISUSE for a party that has a check and should not, or has none and should. */
enum err engine_new(struct engine **engine, struct party *party, const struct study *study,
                    const struct bounds *bounds, const uint8_t tape_id[TAPE_ID_SIZE],
                    struct log *log) MUST_CHECK;
void engine_free(struct engine **engine);

/* Makes all counts of the closure from the tally, proved, if anything is new. */
enum err engine_finish(struct engine *engine) MUST_CHECK;

/* A request that has been found permissible, with its cost and needs. */
struct engine_step {
    const struct ask *ask;     /* borrowed */
    struct engine_scope scope; /* borrowed, until the next step is prepared */
    struct ask_price price;
    size_t noise[TAPE_KINDS];     /* that it may take from the tape: Gaussians for all cells */
    struct select_request select; /* its candidates are owned; the seed comes later */
};

/* ERR_REFUSED or ERR_RANGE, logged, for what the study does not permit. */
enum err engine_prepare(struct engine *engine, const struct ask *ask,
                        struct engine_step *step) MUST_CHECK;
void engine_step_clear(struct engine_step *step);
/* Digests the price, noise and weights that this server has computed; all three must agree. */
enum err engine_step_digest(const struct engine_step *step,
                            uint8_t digest[REQUEST_DIGEST_SIZE]) MUST_CHECK;

/* Makes the noise that a step takes and the tape lacks, proved. */
enum err engine_reserve(struct engine *engine, const struct engine_step *step) MUST_CHECK;

/* `seed`: ARGMAX_SEED_SIZE common bytes. */
enum err engine_select(struct engine *engine, const struct engine_step *step, struct tape *range,
                       const uint8_t *seed, size_t *selected) MUST_CHECK;
/* How many values a step measures; `selected` is read only if the request selects. */
size_t engine_cells(const struct engine_step *step, size_t selected);
/* `values` has room for step->price.cells; *measured of them are filled in. */
enum err engine_measure(struct engine *engine, const struct engine_step *step, struct tape *range,
                        size_t selected, int64_t *values, size_t *measured) MUST_CHECK;

#endif
