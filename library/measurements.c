/* What was measured, from the file beside the model. */
#include "aim/run/output.h"
#include "base/memory.h"
#include "library/trefoil_private.h"

#include <string.h>

struct loaded {
    struct trefoil_measurements given;
    struct merges *merges;
    struct keep keep;
};

void trefoil_measurements_free(struct trefoil_measurements **measurements)
{
    struct loaded *t = (struct loaded *)*measurements;
    if (t == NULL)
        return;
    keep_clear(&t->keep);
    merges_free(&t->merges);
    memory_free(measurements);
}

/* Takes over the counts. */
static enum err tell_one(struct keep *k, const struct domain *d, struct measurement *m,
                         const struct trefoil_measurement **out)
{
    struct trefoil_measurement *one;
    const uint32_t **group = NULL;
    uint32_t *column;
    TRY(keep_new(k, &one, 1));
    TRY(keep_new(k, &column, m->clique.n));
    for (unsigned i = 0; i < m->clique.n; i++)
        column[i] = m->clique.attribute[i];
    if (m->merges != NULL)
        TRY(keep_new(k, &group, m->clique.n));
    for (unsigned i = 0; m->merges != NULL && i < m->clique.n; i++)
        group[i] = m->merges->group[m->clique.attribute[i]];
    *one = (struct trefoil_measurement){.columns = m->clique.n,
                                        .column = column,
                                        .cells = (size_t)measurement_cells(m, d),
                                        .count = m->y,
                                        .sigma = m->sigma,
                                        .total = m->total,
                                        .group = group};
    *out = one;
    return keep_adopt(k, &m->y);
}

static enum err tell(struct keep *k, const struct domain *d, struct measurement *m, size_t n,
                     const struct trefoil_measurement *const **out)
{
    const struct trefoil_measurement **list;
    TRY(keep_new(k, &list, n));
    for (size_t i = 0; i < n; i++)
        TRY(tell_one(k, d, &m[i], &list[i]));
    *out = list;
    return ERR_OK;
}

static enum err measurements(const struct trefoil *model, struct trefoil_measurements **out,
                             struct log *log)
{
    struct trefoil_measurements *made CLEAN(trefoil_measurements_free) = NULL;
    struct output_found found CLEAN(output_found_clear) = {0};
    const struct domain *d = model->released.domain;
    const char *slash = strrchr(model->path, '/');
    char path[FILE_PATH];
    struct loaded *t;
    TRY(file_path(path, log, "%.*smeasurements.json",
                  slash != NULL ? (int)(slash - model->path) + 1 : 0, model->path));
    TRY(output_read(&found, path, d, log));
    TRY(memory_new(&t, 1));
    made = &t->given;
    t->merges = found.merges;
    found.merges = NULL;
    TRY(tell(&t->keep, d, found.measurement, found.measurements, &made->measurement));
    TRY(tell(&t->keep, d, found.known, found.knowns, &made->known));
    made->epsilon = found.epsilon;
    made->delta = found.delta;
    made->rho = found.rho;
    made->rows_per_person = found.rows_per_person;
    made->count = found.measurements;
    made->knowns = found.knowns;
    return memory_hand_over(out, &made);
}

enum trefoil_status trefoil_measurements(const struct trefoil *model,
                                         struct trefoil_measurements **out,
                                         struct trefoil_error *error)
{
    struct log log = failure_log(error);
    *out = NULL;
    return failure_status(error, measurements(model, out, &log));
}
