#include "parties/settings/three/engine_private.h"

#include "base/memory.h"
#include "mpc/circuits/ring.h"
#include "parties/setting/judge.h"

void three_merged_clear(struct three_merged *m)
{
    merges_clear(&m->merges);
    counts_free(&m->counts);
    *m = (struct three_merged){0};
}

void three_unmerge(struct three *g)
{
    counts_free(&g->merged.counts);
}

/* Replaces the merges that were there, unless the new ones are refused. */
static enum err take_merges(struct three *g, const struct ask *a)
{
    struct three_merged m CLEAN(three_merged_clear) = {0};
    TRY(merges_copy(&m.merges, a->merges));
    TRY(judge_merges(g->study, &g->bounds->counts, &m.merges, &m.bounds, g->log));
    three_merged_clear(&g->merged);
    g->merged = m;
    m = (struct three_merged){0};
    return ERR_OK;
}

static enum err sum_cells(const struct three *g, struct counts *out)
{
    const struct three_merged *m = &g->merged;
    const struct workload_query *query = g->study->workload->query;
    uint32_t *index CLEAN(memory_release) = NULL;
    size_t largest = 0;
    for (size_t q = 0; q < out->queries; q++)
        largest = g->counts->cells[q] > largest ? g->counts->cells[q] : largest;
    TRY(memory_new(&index, largest));
    for (size_t q = 0; q < out->queries; q++) {
        if (!merges_touch(&m->merges, &query[q].clique)) {
            ring64_copy(counts_query(out, q), counts_query(g->counts, q));
            continue;
        }
        merges_index(&m->merges, &query[q].clique, index);
        counts_sum_down(counts_query(out, q), counts_query(g->counts, q), index);
    }
    return ERR_OK;
}

static enum err count_merged(struct three *g)
{
    struct three_merged *m = &g->merged;
    const struct workload *w = g->study->workload;
    struct counts *counts CLEAN(counts_free) = NULL;
    uint64_t *cells CLEAN(memory_release) = NULL;
    TRY(memory_new(&cells, w->queries));
    for (size_t q = 0; q < w->queries; q++)
        cells[q] = merges_query_cells(&m->merges, &w->query[q]);
    TRY(counts_new(&counts, cells, w->queries, m->bounds.bits));
    TRY(sum_cells(g, counts));
    return memory_hand_over(&m->counts, &counts);
}

/* What scores need takes many times the room of counts, so only one kind of cells has it. */
static void forget_others(struct three *g, const struct ask *a)
{
    if (!ask_estimates(a))
        return;
    if (a->merges == NULL)
        three_unmerge(g);
    else
        counts_unfinish(g->counts);
}

enum err three_merge(struct three *g, const struct ask *a, struct three_scope *scope)
{
    *scope = (struct three_scope){NULL, g->counts, g->bounds->counts};
    if (a->merges == NULL) {
        forget_others(g, a);
        return ERR_OK;
    }
    if (g->merged.merges.attributes == 0 || !merges_equal(&g->merged.merges, a->merges))
        TRY(take_merges(g, a));
    forget_others(g, a);
    if (g->merged.counts == NULL)
        TRY(count_merged(g));
    scope->merges = &g->merged.merges;
    scope->counts = g->merged.counts;
    scope->bounds = g->merged.bounds;
    return ERR_OK;
}
