/*
 * parties/server/engine_merge.h - counts of the cells that a request names: of the study's codes,
 * or of its groups where it merges some (aim/merge.h).
 *
 * Merged counts are sums of shares: local. They are kept while requests name the same merges, no
 * selection is of codes, and no rows join. What scores need is made with the first selection, of
 * the cells that it names; a selection of others makes it anew in the place of that.
 */
#ifndef TREFOIL_PARTIES_SERVER_ENGINE_MERGE_H
#define TREFOIL_PARTIES_SERVER_ENGINE_MERGE_H

#include "parties/server/engine.h"

/* ERR_REFUSED, logged, for merges that the study does not permit, or counts too large. */
enum err engine_merge(struct engine *engine, const struct request *request,
                      struct engine_scope *scope) MUST_CHECK;
/* Merged counts are of rows that are counted anew. */
void engine_unmerge(struct engine *engine);
void engine_merged_clear(struct engine_merged *merged);

#endif
