/*
 * An evaluation as JSON. Numbers that are not finite become null. Jansson's calls accept NULL for
 * values that could not be made, and then fail: `failed` collects that.
 */
#include "aim/table/lists.h"
#include "parties/display/evaluation.h"

#include <jansson.h>
#include <math.h>

static void put(json_t *o, const char *key, json_t *value, int *failed)
{
    *failed |= json_object_set_new(o, key, value);
}

static void put_number(json_t *o, const char *key, double v, int *failed)
{
    put(o, key, isfinite(v) ? json_real(v) : json_null(), failed);
}

static json_t *of_sides(const double *of, int *failed)
{
    json_t *o = json_object();
    for (size_t i = 0; i < SIDE_TABLES; i++)
        put_number(o, evaluation_side[i], of[i], failed);
    return o;
}

static json_t *with_real(double real, const double *of, int *failed)
{
    json_t *o = of_sides(of, failed);
    put_number(o, "real", real, failed);
    return o;
}

static const char *name_of(const struct evaluation *e, uint16_t attribute)
{
    return e->study->domain->attribute[attribute].name;
}

static json_t *marginals(const struct evaluation *e, int *failed)
{
    const struct workload *w = e->study->asked;
    json_t *all = json_object(), *each = json_array();
    for (size_t i = 0; i < w->cliques; i++) {
        const double of[SIDE_TABLES] = {e->each[0][i], e->each[1][i], e->each[2][i]};
        json_t *o = of_sides(of, failed), *attributes = json_array();
        for (unsigned k = 0; k < w->clique[i].n; k++)
            *failed |= json_array_append_new(attributes,
                                             json_string(name_of(e, w->clique[i].attribute[k])));
        put(o, "attributes", attributes, failed);
        *failed |= json_array_append_new(each, o);
    }
    put(all, "mean", of_sides(e->mean, failed), failed);
    put(all, "each", each, failed);
    return all;
}

static json_t *columns(const struct evaluation *e, int *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->columns; i++) {
        const struct evaluation_column *c = &e->column[i];
        double mean[SIDE_TABLES], deviation[SIDE_TABLES];
        json_t *o = json_object();
        for (size_t k = 0; k < SIDE_TABLES; k++) {
            mean[k] = c->of[k].mean;
            deviation[k] = c->of[k].deviation;
        }
        put(o, "column", json_string(name_of(e, c->attribute)), failed);
        put(o, "mean", with_real(c->real.mean, mean, failed), failed);
        put(o, "deviation", with_real(c->real.deviation, deviation, failed), failed);
        *failed |= json_array_append_new(list, o);
    }
    return list;
}

static json_t *correlations(const struct evaluation *e, int *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->pairs; i++) {
        const struct evaluation_pair *p = &e->pair[i];
        json_t *o = with_real(p->real, p->of, failed), *both = json_array();
        *failed |= json_array_append_new(both, json_string(name_of(e, p->a)));
        *failed |= json_array_append_new(both, json_string(name_of(e, p->b)));
        put(o, "columns", both, failed);
        *failed |= json_array_append_new(list, o);
    }
    return list;
}

static json_t *model_and_alone(double model, double alone, int *failed)
{
    json_t *o = json_object();
    put_number(o, "model", model, failed);
    put_number(o, "independent", alone, failed);
    return o;
}

static json_t *likelihood(const struct evaluation *e, int *failed)
{
    json_t *o = json_object();
    put(o, "codes", model_and_alone(e->likelihood.codes, e->alone.codes, failed), failed);
    put(o, "numbers", model_and_alone(e->likelihood.numbers, e->alone.numbers, failed), failed);
    put(o, "impossible", json_integer((json_int_t)e->impossible), failed);
    return o;
}

static json_t *quantiles(const struct evaluate_errors *x, int *failed)
{
    json_t *o = json_object();
    put_number(o, "median", evaluate_quantile(x, 0.5), failed);
    put_number(o, "p95", evaluate_quantile(x, 0.95), failed);
    put_number(o, "p99", evaluate_quantile(x, 0.99), failed);
    put_number(o, "max", evaluate_quantile(x, 1), failed);
    return o;
}

static json_t *questions(const struct evaluation *e, int *failed)
{
    json_t *list = json_array();
    for (size_t k = 0; k < 2; k++)
        for (size_t a = 0; a < AGGREGATES; a++) {
            const size_t items = e->answers[SIDE_SYNTHETIC].of[a][k].count;
            json_t *o;
            if (items == 0)
                continue;
            o = json_object();
            put(o, "aggregate", json_string(aggregate_name((enum question_aggregate)a)), failed);
            put(o, "by_group", json_boolean(k == 1), failed);
            put(o, "items", json_integer((json_int_t)items), failed);
            for (size_t i = 0; i < SIDES; i++)
                if (e->answers[i].of[a][k].count > 0)
                    put(o, evaluation_side[i], quantiles(&e->answers[i].of[a][k], failed), failed);
            *failed |= json_array_append_new(list, o);
        }
    return list;
}

enum err evaluation_json(FILE *out, const struct evaluation *e)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    json_t *root = json_object();
    int failed = 0;
    enum err failure;
    put(root, "private", json_false(), &failed);
    put(root, "real_rows", json_integer((json_int_t)e->real->rows), &failed);
    put(root, "synthetic_rows", json_integer((json_int_t)e->side[SIDE_SYNTHETIC]->rows), &failed);
    put(root, "marginals", marginals(e, &failed), &failed);
    put(root, "columns", columns(e, &failed), &failed);
    put(root, "correlations", correlations(e, &failed), &failed);
    if (e->model)
        put(root, "likelihood", likelihood(e, &failed), &failed);
    if (e->questions > 0)
        put(root, "questions", questions(e, &failed), &failed);
    failure = failed == 0 ? list_print(root, JSON_INDENT(1), &text) : ERR_NOMEM;
    json_decref(root);
    TRY(failure);
    fwrite(text.data, 1, text.size, out);
    return ERR_OK;
}
