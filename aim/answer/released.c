#include "aim/answer/released.h"

#include "aim/answer/answer.h"
#include "aim/answer/errors_file.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_file.h"
#include "aim/model/sample.h"
#include "aim/workload/tabulate.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

void released_clear(struct released *r)
{
    errors_free(&r->errors);
    model_sums_free(&r->sums);
    densities_clear(&r->inside);
    model_free(&r->model);
    copula_free(&r->copula);
    domain_free(&r->domain);
}

/* The file of this name beside the model. */
static enum err find_beside(char beside[FILE_PATH], const char *path, const char *name,
                            struct log *log)
{
    const char *slash = strrchr(path, '/');
    return file_path(beside, log, "%.*s%s", slash != NULL ? (int)(slash - path) + 1 : 0, path,
                     name);
}

enum err released_is_model(const char *path, struct log *log)
{
    char classifier[FILE_PATH];
    TRY(find_beside(classifier, path, "classifier.json", log));
    if (file_is_there(path) || !file_is_there(classifier))
        return ERR_OK;
    return log_fail(log, ERR_DATA,
                    "%s is of a run with method: train, which makes no model of the rows: there is "
                    "nothing to ask, draw or fit again. trefoil predict uses it",
                    classifier);
}

enum err released_load(struct released *r, const char *path, struct log *log)
{
    *r = (struct released){0};
    TRY(released_is_model(path, log));
    if (copula_is_file(path)) {
        TRY(copula_load(&r->copula, &r->domain, path, log));
        return copula_densities(&r->inside, r->copula);
    }
    TRY(model_load(&r->model, &r->domain, path, MODEL_FILE_CELLS, log));
    return model_densities(&r->inside, r->model, log);
}

enum err released_sums(struct released *r, struct log *log)
{
    if (r->sums != NULL)
        return ERR_OK;
    return r->model != NULL ? model_sums_new(&r->sums, r->model)
                            : copula_sums(&r->sums, r->copula, log);
}

enum err released_errors(struct released *r, const char *path, char beside[FILE_PATH],
                         struct log *log)
{
    TRY(find_beside(beside, path, "errors", log));
    if (r->model == NULL || r->errors != NULL || !file_is_there(beside))
        return ERR_OK;
    return errors_load(&r->errors, r->model, beside, log);
}

double released_total(const struct released *r)
{
    return r->model != NULL ? model_total(r->model) : r->copula->total;
}

/* For a copula, no marginal of several columns was measured. */
bool released_item_together(const struct released *r, const struct question *q, size_t item)
{
    struct scope s = answer_columns(q, item);
    return r->model == NULL ? s.n <= 1 : s.n == 0 || model_holds_together(r->model, &s);
}

/* For more than two columns, a copula has only the counts of drawn rows. */
static enum err count_drawn(const struct released *r, const struct clique *c, double *counts)
{
    const struct table *drawn = model_sums_rows(r->sums);
    TRY(tabulate_counts(drawn, c, counts));
    for (uint64_t i = 0; i < clique_cells(c, r->domain); i++)
        counts[i] = counts[i] * r->copula->total / (double)drawn->rows;
    return ERR_OK;
}

enum err released_marginal(struct released *r, const struct clique *c, double *counts,
                           struct log *log)
{
    if (r->model != NULL)
        return model_marginal(r->model, c, counts, log);
    if (c->n == 1)
        return copula_marginal(r->copula, NULL, c->attribute, 1, counts);
    TRY(released_sums(r, log));
    return c->n == 2 ? copula_marginal(r->copula, model_sums_rows(r->sums), c->attribute, 2, counts)
                     : count_drawn(r, c, counts);
}

enum err released_has_rows(const struct released *r, struct log *log)
{
    return r->domain->series == NULL
               ? ERR_OK
               : log_fail(log, ERR_USAGE,
                          "this model is of persons and their events, two tables; trefoil synth "
                          "draws both");
}

enum err released_rows(struct table **t, const struct released *r, size_t rows, uint64_t seed,
                       enum released_sampling how, struct log *log)
{
    TRY(released_has_rows(r, log));
    if (rows == 0)
        rows = (size_t)fmax(1, round(released_total(r)));
    if (r->model != NULL)
        return (how == SAMPLING_INDEPENDENT ? sample_independent : sample_rows)(t, r->model, rows,
                                                                                seed, log);
    if (how == SAMPLING_ROUNDED)
        return log_fail(log, ERR_USAGE,
                        "this model is a copula, whose rows are drawn one by one: rounded rows "
                        "need another kind of model");
    return copula_rows(t, r->copula, rows, seed, log);
}
