/*
 * Groups of codes within a model (aim/workload/merge.h). All tables of a model are over groups. A
 * group's count is shared out over its codes (aim/model/model_shares.c), in every cell alike. So a
 * marginal over codes is the one over groups times a share for each attribute.
 */
#include "aim/model/model.h"

#include "aim/model/model_private.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define SUMS_NEAR 1e-9 /* how nearly the shares of a group in a file add up to 1 */

void groups_share(struct model *m, uint16_t attribute, const double *counts)
{
    const bool *never = m->never[attribute];
    const uint32_t *code = m->merges.code[attribute];
    double *share = m->share[attribute];
    for (uint32_t from = 0, below; from < m->merges.codes[attribute]; from = below) {
        double sum = 0, can = 0;
        below = merges_below(&m->merges, attribute, from);
        for (uint32_t k = from; k < below; k++) {
            const uint32_t c = code[k];
            share[c] = counts == NULL || never[c] ? 0 : fmax(counts[c], 0);
            sum += share[c];
            can += !never[c];
        }
        for (uint32_t k = from; k < below; k++)
            share[code[k]] = sum > 0   ? share[code[k]] / sum
                             : can > 0 ? !never[code[k]] / can
                                       : 1. / (below - from);
    }
}

enum err groups_bar(struct model *m, struct model_mask *mask, struct log *log)
{
    const struct clique *c = &mask->clique;
    const uint64_t cells = clique_cells(c, m->domain), grouped = merges_cells(&m->merges, c);
    bool *never = c->n == 1 ? m->never[c->attribute[0]] : NULL;
    double *flag CLEAN(memory_release) = NULL, *codes CLEAN(memory_release) = NULL;
    TRY(memory_new(&flag, cells));
    TRY(memory_new(&codes, grouped));
    for (uint64_t i = 0; i < cells; i++)
        flag[i] = mask->barred[i];
    TRY(groups_sum(m, c, flag, mask->value, codes));
    for (uint64_t i = 0; i < grouped; i++) {
        if (mask->value[i] > 0 && mask->value[i] < codes[i] && never == NULL)
            return log_fail(log, ERR_RANGE,
                            "some cells of %s cannot occur, but were measured together with others "
                            "that can: the run merged values with few rows. Say in the study what "
                            "cannot occur; then these values stay apart",
                            clique_name(c, m->domain).text);
        mask->value[i] = mask->value[i] < codes[i] ? 0 : MODEL_ZERO;
    }
    for (uint64_t i = 0; never != NULL && i < cells; i++)
        never[i] |= mask->barred[i];
    if (never != NULL)
        groups_share(m, c->attribute[0], NULL);
    return ERR_OK;
}

enum err groups_new(struct model *m, const struct merges *merges)
{
    TRY(merges != NULL ? merges_copy(&m->merges, merges) : merges_none(&m->merges, m->domain));
    TRY(merges_domain(&m->merges, m->domain, &m->grouped));
    TRY(memory_new(&m->share, m->domain->attributes));
    TRY(memory_new(&m->never, m->domain->attributes));
    for (uint16_t a = 0; a < m->domain->attributes; a++) {
        if (m->merges.group[a] == NULL)
            continue;
        TRY(memory_new(&m->share[a], m->merges.codes[a]));
        TRY(memory_new(&m->never[a], m->merges.codes[a]));
        m->shares += m->merges.codes[a];
        groups_share(m, a, NULL);
    }
    return ERR_OK;
}

void groups_clear(struct model *m)
{
    memory_free_each(&m->share, m->merges.attributes);
    memory_free_each(&m->never, m->merges.attributes);
    memory_free(&m->grouped.attribute);
    merges_clear(&m->merges);
}

void groups_copy(struct model *m, const struct model *from)
{
    for (size_t a = 0; a < m->merges.attributes; a++)
        if (m->share[a] != NULL)
            memcpy(m->share[a], from->share[a], m->merges.codes[a] * sizeof *m->share[a]);
}

const struct merges *model_merges(const struct model *m)
{
    return &m->merges;
}

const struct domain *model_grouped(const struct model *m)
{
    return &m->grouped;
}

const double *model_share(const struct model *m, uint16_t attribute)
{
    return m->share[attribute];
}

void groups_get(const struct model *m, double *share)
{
    for (size_t a = 0; a < m->merges.attributes; a++)
        for (uint32_t code = 0; m->share[a] != NULL && code < m->merges.codes[a]; code++)
            *share++ = m->share[a][code];
}

void groups_set(struct model *m, const double *share)
{
    for (size_t a = 0; a < m->merges.attributes; a++)
        for (uint32_t code = 0; m->share[a] != NULL && code < m->merges.codes[a]; code++)
            m->share[a][code] = *share++;
}

bool groups_add_up(const struct merges *m, const double *share)
{
    for (uint16_t a = 0; a < m->attributes; a++) {
        if (m->group[a] == NULL)
            continue;
        for (uint32_t from = 0, below; from < m->codes[a]; from = below) {
            double sum = 0;
            below = merges_below(m, a, from);
            for (uint32_t k = from; k < below; k++) {
                if (!(share[m->code[a][k]] >= 0))
                    return false;
                sum += share[m->code[a][k]];
            }
            if (!(fabs(sum - 1) <= SUMS_NEAR))
                return false;
        }
        share += m->codes[a];
    }
    return true;
}

enum err groups_spread(const struct model *m, const struct clique *c, const double *const *factor,
                       const double *grouped, double *counts)
{
    const uint64_t cells = clique_cells(c, m->domain);
    uint32_t *index CLEAN(memory_release) = NULL;
    uint64_t made = 1;
    TRY(memory_new(&index, cells));
    merges_index(&m->merges, c, index);
    counts[0] = 1;
    for (unsigned i = 0; i < c->n; i++) { /* k descends, so that nothing is overwritten */
        const double *by = factor != NULL ? factor[i] : m->share[c->attribute[i]];
        const uint32_t size = m->merges.codes[c->attribute[i]];
        for (uint64_t k = made * size; k-- > 0;)
            counts[k] = counts[k / size] * (by != NULL ? by[k % size] : 1);
        made *= size;
    }
    for (uint64_t k = 0; k < cells; k++)
        counts[k] *= grouped[index[k]];
    return ERR_OK;
}

enum err groups_sum(const struct model *m, const struct clique *c, const double *counts,
                    double *grouped, double *codes)
{
    const uint64_t cells = clique_cells(c, m->domain);
    uint32_t *index CLEAN(memory_release) = NULL;
    TRY(memory_new(&index, cells));
    merges_index(&m->merges, c, index);
    for (uint64_t k = 0; k < cells; k++) {
        grouped[index[k]] += counts[k];
        if (codes != NULL)
            codes[index[k]] += 1;
    }
    return ERR_OK;
}
