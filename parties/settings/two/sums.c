#include "parties/settings/two/sums.h"

#include "base/memory.h"

#include <string.h>

enum err sums_new(struct sums *s, const struct study *study, enum pair_end end)
{
    *s = (struct sums){.study = study, .end = end};
    TRY(memory_new(&s->counted, study_owners_most(study)));
    TRY(memory_new(&s->left_out, study_owners_most(study)));
    return memory_new(&s->word, study->workload->cells);
}

void sums_free(struct sums *s)
{
    if (s->study != NULL)
        memory_wipe_free(&s->word, s->study->workload->cells * sizeof *s->word);
    memory_free(&s->counted);
    memory_free(&s->left_out);
}

/* An upload has the maximal marginals, in the closure's order. */
static enum err add_one(struct sums *s, struct two_rows *rows, const struct upload *u, bool kept)
{
    const struct workload *w = s->study->workload;
    uint64_t *share = NULL;
    uint64_t at = 0;
    bool opens = true;
    enum err e = memory_new(&share, w->maximal_cells);
    if (e == ERR_OK)
        e = u->form == UPLOAD_ENCRYPTED ? two_rows_share(rows, u, kept, share, &opens)
                                        : two_split_add(u, s->end, share, w->maximal_cells);
    s->left_out[u->owner] = e == ERR_OK && !opens;
    s->counted[u->owner] = e == ERR_OK && opens;
    s->owners += s->counted[u->owner];
    for (size_t q = 0; s->counted[u->owner] && q < w->queries; q++) {
        if (!w->query[q].maximal)
            continue;
        for (uint64_t i = 0; i < w->query[q].cells; i++)
            s->word[w->query[q].offset + i] += share[at++];
    }
    memory_wipe_free(&share, w->maximal_cells * sizeof *share);
    return e;
}

enum err sums_add(struct sums *s, struct two_rows *rows, const struct upload *uploads, size_t count)
{
    bool *kept CLEAN(memory_release) = NULL;
    TRY(two_rows_meet(rows, uploads, count, s->counted, &kept));
    for (size_t k = 0; k < count; k++) {
        if (s->counted[uploads[k].owner])
            continue;
        TRY(add_one(s, rows, &uploads[k], kept[k]));
        s->spread = false;
    }
    return ERR_OK;
}

enum err sums_spread(struct sums *s)
{
    const struct workload *w = s->study->workload;
    uint32_t *index CLEAN(memory_release) = NULL;
    uint64_t largest = 0;
    if (s->spread)
        return ERR_OK;
    for (size_t q = 0; q < w->queries; q++)
        largest = w->query[q].cells > largest ? w->query[q].cells : largest;
    TRY(memory_new(&index, largest));
    for (size_t q = 0; q < w->queries; q++) {
        const struct workload_query *child = &w->query[q], *parent = &w->query[child->parent];
        uint64_t *to = s->word + child->offset;
        if (child->maximal)
            continue;
        memset(to, 0, child->cells * sizeof *to);
        clique_project(&parent->clique, &child->clique, s->study->domain, index);
        for (uint64_t i = 0; i < parent->cells; i++)
            to[index[i]] += s->word[parent->offset + i];
    }
    s->spread = true;
    return ERR_OK;
}

enum err sums_query(const struct sums *s, uint32_t query, const struct merges *merges,
                    const uint64_t **word, uint64_t **own)
{
    const struct workload_query *q = &s->study->workload->query[query];
    uint32_t *index CLEAN(memory_release) = NULL;
    *own = NULL;
    *word = s->word + q->offset;
    if (merges == NULL || !merges_touch(merges, &q->clique))
        return ERR_OK;
    TRY(memory_new(&index, q->cells));
    TRY(memory_new(own, merges_query_cells(merges, q)));
    merges_index(merges, &q->clique, index);
    for (uint64_t i = 0; i < q->cells; i++)
        (*own)[index[i]] += (*word)[i];
    *word = *own;
    return ERR_OK;
}
