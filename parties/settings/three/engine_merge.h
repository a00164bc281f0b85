/*
 * parties/settings/three/engine_merge.h - counts of the cells that a request names: of the study's
 * codes, or of groups where the request merges codes (aim/workload/merge.h).
 *
 * Merged counts are local sums of shares. They are kept as long as requests name the same merges,
 * no selection is over unmerged codes, and no rows join. The first selection makes what scores need
 * for the cells that it names; a selection over other cells replaces it.
 */
#pragma once

#include "parties/settings/three/engine.h"

/* ERR_REFUSED, logged, for merges that the study does not permit, or counts too large. */
enum err three_merge(struct three *engine, const struct ask *ask,
                     struct three_scope *scope) MUST_CHECK;
/* Drops the merged counts, because rows are counted anew. */
void three_unmerge(struct three *engine);
void three_merged_clear(struct three_merged *merged);
