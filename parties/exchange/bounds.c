#include "parties/exchange/bounds.h"

#include "base/memory.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"

#include <math.h>

/*
 * The most that all owners together may count: `cell` from counts, in a cell of a maximal marginal;
 * `rows` from records, in any cell.
 */
struct most {
    uint64_t cell, rows;
};

static struct most most_of(const struct study *study)
{
    struct most m = {0};
    for (size_t i = 0; i < study->owners; i++) {
        const struct study_owner *o = &study->owner[i];
        if (!o->records)
            m.cell += ((uint64_t)1 << o->bits) - 1;
        else if (o->batch == i)
            m.rows += study_batch_rows(study, i, true);
    }
    if (study->open.each.records)
        m.rows += study->open.most * study->open.each.pad_to;
    else
        m.cell += study->open.most * (((uint64_t)1 << study->open.each.bits) - 1);
    return m;
}

static enum err too_many(const struct study *study, size_t query, const struct most *m,
                         uint64_t parent_cells, struct log *log)
{
    return log_fail(
        log, ERR_RANGE,
        "the marginal %s could count up to %llu in each of %llu cells, which is more than "
        "the arithmetic carries; lower the owners' max_rows (pad_to) or coarsen its "
        "attributes",
        clique_name(&study->workload->query[query].clique, study->domain).text,
        (unsigned long long)(m->cell + m->rows), (unsigned long long)parent_cells);
}

/*
 * Bounds each marginal's total in `total`, and any one cell in *largest. Nothing wraps: a marginal
 * has at most 2^32 cells, and all counts together are below 2^31 (STUDY_COUNT_BITS_MAX).
 */
static enum err bound_totals(const struct study *study, const struct most *m, uint64_t *total,
                             uint64_t *largest, struct log *log)
{
    const struct workload *w = study->workload;
    *largest = 0;
    for (size_t q = 0; q < w->queries; q++) {
        uint64_t parent_cells = w->query[w->query[q].parent].cells;
        uint64_t counts = parent_cells * m->cell, cell;
        total[q] = counts + m->rows;
        if (total[q] > SCORE_TOTAL_MAX)
            return too_many(study, q, m, parent_cells, log);
        cell = counts / w->query[q].cells + m->rows;
        *largest = cell > *largest ? cell : *largest;
    }
    return ERR_OK;
}

static unsigned bits_for(uint64_t most)
{
    unsigned bits = 0;
    while (most >> bits != 0)
        bits++;
    return bits;
}

/* Whether scores of l bits and sets can be opened with the least noise that a run may give them. */
static bool fits_sweeps(const struct study *study, const struct score_bounds *b, uint64_t scores,
                        uint64_t set)
{
    for (uint32_t q = 0; q < study->workload->queries; q++)
        if (scores > scores_most(b, q))
            return false;
    return set >> (62 - b->bits) == 0;
}

/* The same for sweeps: whether scores may be opened, and how much merges may add. */
static enum err find_room_of_sweeps(const struct study *study, struct score_bounds *b,
                                    struct log *log)
{
    struct score_bounds most = *b;
    struct price_sweep sweep;
    uint64_t scores, set;
    if (price_sweep(study, &sweep) != ERR_OK ||
        scores_multiplier(sweep.least_sigma, &scores) != ERR_OK ||
        measure_multiplier(sweep.least_sigma_of_set, &set, NULL) != ERR_OK)
        return ERR_OK;
    if (!fits_sweeps(study, b, scores, set))
        return log_fail(log, ERR_RANGE,
                        "scores of counts of up to 2^%u could be more than the arithmetic carries "
                        "with noise as small as %.2g; lower the bound on rows, or epsilon",
                        b->bits, fmin(sweep.least_sigma, sweep.least_sigma_of_set));
    for (most.bits++; most.bits <= SCORE_BITS_MAX && fits_sweeps(study, &most, scores, set);)
        b->room = most.bits++;
    return ERR_OK;
}

/*
 * Whether there is a plan for everything a run may select, and how much merges may add. A budget
 * that buys no rounds is refused with better words elsewhere (price_check_noise()).
 */
static enum err find_room(const struct study *study, struct score_bounds *b, struct log *log)
{
    uint32_t *query CLEAN(memory_release) = NULL;
    struct schedule start;
    uint64_t multiplier;
    struct score_terms all = {.domain = study->domain,
                              .workload = study->workload,
                              .candidates = study->workload->queries,
                              .bounds = *b,
                              .score = study->score};
    if (!method_of(study)->selects || price_schedule(study, &start) != ERR_OK || start.finished ||
        measure_multiplier(start.sigma, &multiplier, NULL) != ERR_OK)
        return ERR_OK;
    all.epsilon = start.epsilon - price_slack(study).select;
    if (!(all.epsilon > 0))
        return ERR_OK;
    all.sigma = measure_sigma(multiplier, study->noise_by);
    TRY(memory_new(&query, all.candidates));
    for (uint32_t q = 0; q < all.candidates; q++)
        query[q] = q;
    all.query = query;
    b->epsilon = schedule_epsilon_most(&start);
    return select_room(&all, &b->epsilon, &b->room, log);
}

enum err bounds_new(struct bounds **bounds, const struct study *study, struct log *log)
{
    const struct most most = most_of(study);
    struct bounds *b CLEAN(bounds_free) = NULL;
    uint64_t *total, largest = 0;
    *bounds = NULL;
    TRY(memory_new(&b, 1));
    TRY(memory_new(&total, study->workload->queries));
    b->counts.total = total;
    b->counts.noise_by = study->noise_by;
    b->counts.counts = most.cell;
    b->counts.rows = most.rows;
    b->cell_bits = bits_for(most.cell);
    TRY(bound_totals(study, &most, total, &largest, log));
    b->counts.bits = bits_for(largest);
    if (b->counts.bits > SCORE_BITS_MAX)
        return log_fail(log, ERR_RANGE,
                        "counts could need %u bits, more than the %d carried; lower max_rows",
                        b->counts.bits, SCORE_BITS_MAX);
    b->counts.room = b->counts.bits;
    TRY(study->sweeps > 0 ? find_room_of_sweeps(study, &b->counts, log)
                          : find_room(study, &b->counts, log));
    return memory_hand_over(bounds, &b);
}

void bounds_free(struct bounds **bounds)
{
    if (*bounds != NULL)
        memory_free(&(*bounds)->counts.total);
    memory_free(bounds);
}
