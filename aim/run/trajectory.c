#include "aim/run/trajectory.h"

#include "aim/table/lists.h"
#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define FORMAT "trefoil-trajectory-1"
#define FILE_MOST ((size_t)4 << 30)

/* --- writing ---------------------------------------------------------------------------------- */

/* A step, or a test: so many numbers under this key. */
static json_t *step_json(const struct train_step *s, uint32_t weights, const char *key,
                         uint32_t numbers)
{
    json_t *o = json_pack("{s:f, s:I, s:f, s:f, s:b}", "sigma",
                          measure_sigma(s->multiplier, NOISE_BY_ALL), "multiplier",
                          (json_int_t)s->multiplier, "cost", s->cost, "spent", s->spent, "lost",
                          (int)s->lost);
    json_t *w = json_array(), *g = json_array();
    for (uint32_t i = 0; i < weights; i++)
        list_append(&w, json_integer(s->weight[i]));
    for (uint32_t i = 0; s->value != NULL && i < numbers; i++)
        list_append(&g, json_real((double)s->value[i] / (double)s->multiplier));
    list_set(&o, "weights", w);
    list_set(&o, key, g);
    return o;
}

enum err trajectory_save(const char *path, const struct train_result *r, const struct features *f,
                         struct log *log)
{
    const uint32_t codes = f->domain->attribute[f->target].size;
    json_t *root = json_pack("{s:s, s:f, s:o, s:f, s:f, s:f, s:f}", "format", FORMAT, "rows",
                             r->rows, "counts", list_numbers(r->count, codes), "counts_sigma",
                             r->sigma, "counts_cost", r->counts_cost, "loudness", r->nu, "rate",
                             r->rate);
    json_t *steps = json_array();
    for (unsigned t = 0; t < r->steps; t++)
        list_append(&steps, step_json(&r->step[t], r->weights, "gradient", r->weights));
    if (r->test.multiplier > 0)
        list_set(&root, "test", step_json(&r->test, r->weights, "counts", features_cells(f)));
    list_set(&root, "steps", steps);
    return list_save(path, root, log);
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum err read_numbers(const json_t *list, uint32_t count, double by, double **out)
{
    if (!json_is_array(list) || json_array_size(list) != count)
        return ERR_FORMAT;
    TRY(memory_new(out, count));
    for (uint32_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_number(number))
            return ERR_FORMAT;
        (*out)[i] = by * json_number_value(number);
    }
    return ERR_OK;
}

static enum err read_steps(struct trajectory *t, const json_t *list, const struct features *f)
{
    const size_t count = json_array_size(list);
    TRY(memory_new(&t->weight, count));
    TRY(memory_new(&t->gradient, count));
    for (size_t i = 0; i < count; i++) {
        const json_t *step = json_array_get(list, i);
        if (json_is_true(json_object_get(step, "lost")))
            continue;
        t->steps++;
        TRY(read_numbers(json_object_get(step, "weights"), features_weights(f), 1,
                         &t->weight[t->steps - 1]));
        TRY(read_numbers(json_object_get(step, "gradient"), features_weights(f), 1 / t->rows,
                         &t->gradient[t->steps - 1]));
    }
    return t->steps > 0 ? ERR_OK : ERR_FORMAT;
}

enum err trajectory_load(struct trajectory *t, const char *path, const struct features *f,
                         struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    json_auto_t *root = NULL;
    json_error_t where;
    const char *format;
    *t = (struct trajectory){0};
    TRY(file_read(path, FILE_MOST, &text, log));
    root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return log_fail(log, ERR_FORMAT, "%s: line %d: %s", path, where.line, where.text);
    format = json_string_value(json_object_get(root, "format"));
    t->rows = json_number_value(json_object_get(root, "rows"));
    if (format == NULL || strcmp(format, FORMAT) != 0)
        return log_fail(log, ERR_FORMAT, "%s: format must be " FORMAT, path);
    if (!(t->rows >= 1))
        return log_fail(log, ERR_FORMAT, "%s: rows must be a number from 1 on", path);
    if (read_steps(t, json_object_get(root, "steps"), f) == ERR_OK)
        return ERR_OK;
    return log_fail(log, ERR_FORMAT,
                    "%s: steps must be a list, each with weights and a gradient of %u numbers",
                    path, features_weights(f));
}

void trajectory_clear(struct trajectory *t)
{
    memory_free_each(&t->weight, t->steps);
    memory_free_each(&t->gradient, t->steps);
}
