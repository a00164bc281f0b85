/*
 * parties/settings/three/engine_private.h - what the parts of the engine of three servers are to
 * engine.c: engine_stake.c, engine_merge.c and engine_rows.c.
 */
#pragma once

#include "parties/settings/three/engine.h"

/* --- engine_stake.c: a round's noise. What the store keeps of a stake is range_write()'s ------ */

/* The place of a step's stake, if it is the next. */
struct stake_place three_next(const struct three *engine, const struct engine_step *step);
/* Whether a step must first make what its scores need. */
bool three_is_unfinished(const struct engine_step *step);

/* Functions of the table (parties/setting/engine.h). */
enum err three_supply(void *self, const struct engine_step *step, bool *made) MUST_CHECK;
enum err three_stake(void *self, const struct engine_step *step, void **stake,
                     struct bytes *kept) MUST_CHECK;
enum err three_take_stake(void *self, const struct stake_place *place, const struct bytes *kept,
                          void **stake) MUST_CHECK;
enum err three_return_stake(void *self, void *stake) MUST_CHECK;
void three_free_stake(void **stake);
enum err three_digests(void *self, const struct engine_step *step, const void *stake,
                       uint8_t own[32], uint8_t replica[2][32]) MUST_CHECK;

/*
 * --- engine_merge.c: counts of the cells that a request names, of the study's codes, or of groups
 * where the request merges codes (aim/workload/merge.h).
 *
 * Merged counts are local sums of shares. They are kept as long as requests name the same merges,
 * no selection is over unmerged codes, and no rows join. The first selection makes what scores need
 * for the cells that it names; a selection over other cells replaces it.
 */

/* ERR_REFUSED, logged, for merges that the study does not permit, or counts too large. */
enum err three_merge(struct three *engine, const struct ask *ask,
                     struct three_scope *scope) MUST_CHECK;
/* Drops the merged counts, because rows are counted anew. */
void three_unmerge(struct three *engine);
void three_merged_clear(struct three_merged *merged);

/* --- engine_rows.c: over rows that are read once more ----------------------------------------- */

/* These open values once paid for: a copula's forms; a classifier's gradient; its test's tables. */
enum err three_open_forms(struct three *g, const struct engine_step *s, struct tape *range,
                          int64_t *values) MUST_CHECK;
enum err three_open_gradient(struct three *g, const struct engine_step *s, struct tape *range,
                             int64_t *values) MUST_CHECK;
enum err three_open_test(struct three *g, const struct engine_step *s, struct tape *range,
                         int64_t *values) MUST_CHECK;
/* Features, made with the first such request of a session and kept until it ends. */
void three_train_free(struct three_train **train);
