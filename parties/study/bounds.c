#include "parties/study/bounds.h"

#include "base/memory.h"

enum err bounds_new(struct bounds **bounds, const struct study *study, struct log *log)
{
    const struct workload *w = study->workload;
    struct bounds *b = memory_array(1, sizeof *b);
    uint64_t *total = memory_array(w->queries, sizeof *total);
    uint64_t cell = 0, rows = 0, largest = 0;
    *bounds = b;
    if (b == NULL || total == NULL) {
        memory_free(&total);
        bounds_free(bounds);
        return ERR_NOMEM;
    }
    b->counts.total = total;
    for (size_t i = 0; i < study->owners; i++)
        if (study->owner[i].records)
            rows += study->owner[i].batch == i ? study->owner[i].pad_to : 0;
        else
            cell += ((uint64_t)1 << study->owner[i].bits) - 1;
    while (cell >> b->answer_bits != 0)
        b->answer_bits++;
    for (size_t q = 0; q < w->queries; q++) {
        uint64_t parent_cells = w->query[w->query[q].parent].cells, answers;
        bool wraps = __builtin_mul_overflow(parent_cells, cell, &answers);
        total[q] = answers + rows;
        if (wraps || answers > SCORE_TOTAL_MAX || total[q] > SCORE_TOTAL_MAX) {
            char name[128];
            clique_name(&w->query[q].clique, study->domain, name, sizeof name);
            log_error(
                log,
                "the marginal %s could count up to %llu in each of %llu cells, which is more than "
                "the arithmetic carries; lower the owners' max_rows (pad_to) or coarsen its "
                "attributes",
                name, (unsigned long long)(cell + rows), (unsigned long long)parent_cells);
            bounds_free(bounds);
            return ERR_RANGE;
        }
        /* of one cell of this marginal */
        answers = answers / w->query[q].cells + rows;
        largest = answers > largest ? answers : largest;
    }
    while (largest >> b->counts.bits != 0)
        b->counts.bits++;
    if (b->counts.bits > SCORE_BITS_MAX) {
        log_error(log, "counts could need %u bits, more than the %d carried; lower max_rows",
                  b->counts.bits, SCORE_BITS_MAX);
        bounds_free(bounds);
        return ERR_RANGE;
    }
    return ERR_OK;
}

void bounds_free(struct bounds **bounds)
{
    if (*bounds != NULL) {
        uint64_t *total = (uint64_t *)(uintptr_t)(*bounds)->counts.total;
        memory_free(&total);
    }
    memory_free(bounds);
}
