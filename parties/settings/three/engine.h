/*
 * parties/settings/three/engine.h - the engine of three servers (parties/setting/engine.h): a
 * server's secret state within a session, and what it does with a request.
 *
 * Its noise is a tape, and a round's stake a range of that (protocols/range.h), a struct tape. If a
 * copula's owners send records, forms are made from the uploads, which are read again, as are the
 * rows that a classifier learns from.
 */
#pragma once

#include "mpc/check/check.h"
#include "parties/setting/engine.h"
#include "parties/settings/three/ahead.h"
#include "parties/settings/three/round_sorted.h"
#include "parties/settings/three/tally.h"
#include "protocols/range.h"
#include "protocols/select.h"

/* The cells that a request counts in: the study's, or merged ones (engine_merge.c). */
struct three_scope {
    const struct merges *merges; /* NULL: none */
    struct counts *counts;
    struct score_bounds bounds;
};

/* The merges of the last request that had any. */
struct three_merged {
    struct merges merges;       /* of no attributes: no request had any */
    struct score_bounds bounds; /* of merged cells */
    struct counts *counts;      /* NULL until they are made */
};

struct three {
    struct party *party;         /* borrowed */
    const struct study *study;   /* borrowed */
    const struct bounds *bounds; /* borrowed */
    struct tally tally;
    struct counts *counts; /* of the tally; NULL until they are made */
    size_t owners;         /* whose rows the counts include */
    struct three_merged merged;
    struct three_train *train; /* rows as gradients take them (engine_rows.c); NULL: not made */
    struct tape tape;
    struct ask_slack slack; /* of the study's noise */
    struct engine_uploads uploads;
    struct round_sorted sorted; /* between `hold` and `finish` */
    struct ahead ahead;         /* blocks of noise that this session may take */
    struct store *store; /* borrowed, as is the session: whoever makes the engine sets them */
    const struct session *session;
    struct log *log;
};

/*
 * Where the study's security is abort, gives a session's party a check, before anything else uses
 * the party. What the engine makes is proved before openings, and by the time a function that says
 * "proved" returns.
 */
enum err three_check(struct party *party, const struct study *study,
                     const struct check_guard *guard) MUST_CHECK;

/* ERR_MISUSE for a party that has a check and should not, or has none and should. */
enum err three_new(struct three **engine, struct party *party, const struct study *study,
                   const struct bounds *bounds, const uint8_t tape_id[TAPE_ID_SIZE],
                   struct log *log) MUST_CHECK;
void three_free(struct three **engine);
/* The same as a table; borrowed. */
struct engine three_table(struct three *engine);

/* What a step is to this engine. */
struct three_step {
    struct three_scope scope;     /* borrowed, until the next step is prepared */
    size_t noise[NOISE_LAWS];     /* that it may take from the tape: Gaussians for all cells */
    struct select_request select; /* its candidates are owned; the seed comes later */
    uint64_t *multiplier;         /* of each marginal that is measured; owned */
};
static inline struct three_step *three_step(const struct engine_step *step)
{
    return step->own;
}

/* A party's audit hook; `self` is a struct openings, which is asked (parties/server/openings.h). */
enum err three_audit(void *self, enum party_reason reason, size_t values);

/* Functions of the table. */
enum err three_finish(void *self) MUST_CHECK;
enum err three_prepare(void *self, const struct ask *ask, struct engine_step *step) MUST_CHECK;
void three_step_clear(struct engine_step *step);
enum err three_reserve(void *self, const struct engine_step *step) MUST_CHECK;
enum err three_select(void *self, const struct engine_step *step, void *range, const uint8_t *seed,
                      size_t *selected) MUST_CHECK;
enum err three_measure(void *self, const struct engine_step *step, void *range, size_t selected,
                       int64_t *values, size_t *measured) MUST_CHECK;
