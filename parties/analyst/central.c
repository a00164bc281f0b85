#include "parties/analyst/central.h"

#include "aim/table/join.h"
#include "aim/table/series.h"
#include "base/memory.h"
#include "mpc/pair/own_noise.h"

enum err central_link(struct table *all, const struct study *study, struct table *const *table,
                      size_t *linked, size_t *surplus)
{
    struct join_part *part CLEAN(memory_release) = NULL;
    TRY(memory_new(&part, study->owners));
    *linked = *surplus = 0;
    for (size_t first = 0; first < study->owners; first++) {
        size_t parts = 0, keep = study->owners, found, more;
        if (study->owner[first].batch != first)
            continue;
        if (!study_linked(study, first)) {
            TRY(central_append(all, table[first]));
            continue;
        }
        for (size_t i = first; i < study->owners; i++)
            if (study->owner[i].batch == first) {
                keep = study->link.keep == i ? parts : keep;
                part[parts++] = (struct join_part){table[i], study->owner[i].column};
            }
        TRY(table_join(all, part, parts, keep, &found, &more));
        *linked += found;
        *surplus += more;
    }
    return ERR_OK;
}

enum err central_bound(struct table *all, const struct study *study, struct log *log)
{
    size_t surplus;
    TRY(table_bound(all, study->rows_per_person, &surplus));
    if (surplus > 0)
        log_warn(log, "rows beyond the first %u of their person, which are not counted: %zu",
                 study->rows_per_person, surplus);
    return ERR_OK;
}

enum err central_check(const struct table *all, const struct study *study, struct log *log)
{
    const uint64_t most = study_rows(study, false);
    if (table_weight(all) <= most)
        return ERR_OK;
    return log_fail(log, ERR_DATA,
                    "there are more than the %llu %s that the study's owners may bring, for which "
                    "its guarantee holds: raise max_rows",
                    (unsigned long long)(most / series_units(study->domain)),
                    series_counted(study->domain));
}

static enum err draw_gauss(void *self, size_t n, int64_t *out)
{
    own_gauss(self, &own_sigma_whole, (uint64_t *)out, n);
    return ERR_OK;
}

static enum err draw_gumbel(void *self, size_t n, int64_t *out)
{
    own_gumbel(self, (uint64_t *)out, n);
    return ERR_OK;
}

struct plaintext_noise central_noise(struct random *r)
{
    return (struct plaintext_noise){.self = r, .gauss = draw_gauss, .gumbel = draw_gumbel};
}

enum err central_append(struct table *to, const struct table *from)
{
    size_t d = from->domain->attributes;
    uint16_t *codes CLEAN(memory_release) = NULL;
    TRY(memory_new(&codes, d));
    for (size_t i = 0; i < from->rows; i++) {
        for (size_t a = 0; a < d; a++)
            codes[a] = from->column[a][i];
        TRY(table_append(to, codes));
        if (to->key != NULL && from->key != NULL)
            to->key[to->rows - 1] = from->key[i];
    }
    return ERR_OK;
}
