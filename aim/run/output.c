#include "aim/run/output.h"

#include "aim/table/derive.h"
#include "aim/table/lists.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* jansson accepts a NULL value (no memory, not UTF-8, not a finite number) and reports failure. */

/* With what it follows from, as the study writes it. */
static json_t *attribute_json(const struct domain *d, const struct domain_attribute *a)
{
    json_t *o = list_attribute(a);
    int failed = o == NULL;
    for (size_t i = 0; !failed && d->derived != NULL && i < d->derived->from.count; i++)
        if (strcmp(d->derived->from.of[i].name, a->name) == 0)
            failed |= json_object_set_new(o, "from", json_string(d->derived->from.of[i].text));
    return list_unless(failed, o);
}

static json_t *names_json(const struct domain *d, const struct clique *c)
{
    json_t *names = json_array();
    int failed = 0;
    for (unsigned i = 0; i < c->n; i++)
        failed |= json_array_append_new(names, json_string(d->attribute[c->attribute[i]].name));
    return list_unless(failed, names);
}

static json_t *measurement_json(const struct domain *d, const struct measurement *x, unsigned sweep)
{
    json_t *o = json_object();
    int failed = json_object_set_new(o, "attributes", names_json(d, &x->clique));
    if (x->sigma > 0) /* else it is known */
        failed |= json_object_set_new(o, "sigma", json_real(x->sigma));
    failed |= json_object_set_new(o, "values", list_numbers(x->y, measurement_cells(x, d)));
    if (x->merges != NULL)
        failed |= json_object_set_new(o, "merged", json_true());
    if (x->total > 0)
        failed |= json_object_set_new(o, "total", json_real(x->total));
    if (sweep > 0)
        failed |= json_object_set_new(o, "sweep", json_integer(sweep));
    return list_unless(failed, o);
}

static json_t *scores_json(const struct output_terms *o, const struct aim_scores *s)
{
    json_t *of = json_object(), *names = json_array();
    int failed = json_object_set_new(of, "sigma", json_real(s->sigma));
    for (size_t k = 0; k < s->candidates; k++)
        failed |= json_array_append_new(
            names, names_json(o->domain, &o->workload->query[s->query[k]].clique));
    failed |= json_object_set_new(of, "attributes", names);
    failed |= json_object_set_new(of, "values", list_numbers(s->value, s->candidates));
    return list_unless(failed, of);
}

/* For each merged attribute, the group of each code. */
static json_t *merged_json(const struct domain *d, const struct merges *m)
{
    json_t *o = json_object();
    int failed = 0;
    for (size_t i = 0; i < d->attributes; i++) {
        json_t *list;
        if (m->group[i] == NULL)
            continue;
        list = json_array();
        for (uint32_t code = 0; code < m->codes[i]; code++)
            failed |= json_array_append_new(list, json_integer(m->group[i][code]));
        failed |= json_object_set_new(o, d->attribute[i].name, list);
    }
    return list_unless(failed, o);
}

/* A form of two ordered attributes has a correlation; other forms name their groups. */
static json_t *form_json(const struct copula_result *c, const struct copula_form *f)
{
    const struct copula *model = c->model;
    const struct domain *d = model->domain;
    const size_t i = f->first, j = f->second, latents = model->first[d->attributes];
    json_t *o = json_object(), *names = json_array(), *groups = json_array();
    int failed = json_array_append_new(names, json_string(d->attribute[i].name)) |
                 json_array_append_new(names, json_string(d->attribute[j].name)) |
                 json_array_append_new(groups, json_integer(f->of_first)) |
                 json_array_append_new(groups, json_integer(f->of_second));
    failed |= json_object_set_new(o, "attributes", names);
    failed |= json_object_set_new(o, "value", json_real(f->value));
    if (c->groups[i] > 1 || c->groups[j] > 1)
        failed |= json_object_set(o, "groups", groups);
    else
        failed |= json_object_set_new(
            o, "correlation",
            json_real(model->correlation[model->first[i] * latents + model->first[j]]));
    json_decref(groups);
    return list_unless(failed, o);
}

static json_t *groups_json(const struct copula_result *c)
{
    const struct domain *d = c->model->domain;
    json_t *o = json_object();
    int failed = 0;
    for (size_t i = 0; i < d->attributes; i++) {
        json_t *list = json_array();
        for (uint32_t a = 0; a < d->attribute[i].size; a++)
            failed |= json_array_append_new(list, json_integer(c->group[i][a]));
        if (c->groups[i] > 1)
            failed |= json_object_set(o, d->attribute[i].name, list);
        json_decref(list);
    }
    return list_unless(failed, o);
}

static json_t *copula_json(const struct domain *d, const struct copula_result *c)
{
    json_t *o = json_object(), *scores = json_object(), *forms = json_array();
    int failed = json_object_set_new(o, "sigma", json_real(c->sigma));
    for (size_t i = 0; i < d->attributes; i++)
        failed |= json_object_set_new(scores, d->attribute[i].name,
                                      list_numbers(c->score[i], d->attribute[i].size));
    for (size_t k = 0; k < c->forms; k++)
        failed |= json_array_append_new(forms, form_json(c, &c->form[k]));
    failed |= json_object_set_new(o, "scores", scores);
    failed |= json_object_set_new(o, "groups", groups_json(c));
    failed |= json_object_set_new(o, "forms", forms);
    return list_unless(failed, o);
}

static json_t *mean_json(const struct assess *a, enum assess_which which)
{
    const struct assess_mean m = assess_mean(a, which);
    json_t *o = json_object();
    int failed = json_object_set_new(o, "pairs", json_integer((json_int_t)m.pairs)) |
                 json_object_set_new(o, "error", json_real(m.error)) |
                 json_object_set_new(o, "low",
                                     json_real(fmax(0, m.error - ASSESS_BAND * m.deviation))) |
                 json_object_set_new(o, "high", json_real(m.error + ASSESS_BAND * m.deviation));
    if (a->alone != NULL)
        failed |= json_object_set_new(o, "independent", json_real(m.alone));
    return list_unless(failed, o);
}

static json_t *assess_json(const struct domain *d, const struct assess *a)
{
    json_t *o = json_object(), *names = json_array(), *measured = json_array();
    int failed = json_object_set_new(o, "sigma", json_real(a->sigma)) |
                 json_object_set_new(o, "rho", json_real(a->cost)) |
                 json_object_set_new(o, "total", json_real(a->total));
    for (size_t i = 0; i < a->pairs; i++)
        failed |= json_array_append_new(names, names_json(d, &a->pair[i])) |
                  json_array_append_new(measured, json_boolean(a->measured[i]));
    failed |= json_object_set_new(o, "attributes", names) |
              json_object_set_new(o, "measured", measured) |
              json_object_set_new(o, "values", list_numbers(a->off, a->pairs));
    if (a->alone != NULL)
        failed |= json_object_set_new(o, "independent", list_numbers(a->alone, a->pairs));
    failed |= json_object_set_new(o, "held_out", mean_json(a, ASSESS_HELD_OUT)) |
              json_object_set_new(o, "measured_pairs", mean_json(a, ASSESS_MEASURED)) |
              json_object_set_new(o, "all", mean_json(a, ASSESS_ALL));
    return list_unless(failed, o);
}

static json_t *document(const struct output_terms *o)
{
    json_t *root = json_object(), *sizes = json_object(), *attributes = json_array(),
           *measurements = json_array(), *known = json_array(), *scores = json_array();
    const bool merged = o->merges != NULL && merges_any(o->merges);
    const char *format = merged ? "trefoil-measurements-2" : "trefoil-measurements-1";
    int failed = json_object_set_new(root, "format", json_string(format)) |
                 json_object_set_new(root, "epsilon", json_real(o->epsilon)) |
                 json_object_set_new(root, "delta", json_real(o->delta)) |
                 json_object_set_new(root, "rho", json_real(o->rho)) |
                 json_object_set_new(
                     root, "rows_per_person",
                     json_integer(o->rows_per_person != 0 ? o->rows_per_person : 1)) |
                 json_object_set_new(root, "total", json_real(o->total));
    for (size_t i = 0; i < o->domain->attributes; i++) {
        const struct domain_attribute *a = &o->domain->attribute[i];
        failed |= json_object_set_new(sizes, a->name, json_integer(a->size));
        failed |= json_array_append_new(attributes, attribute_json(o->domain, a));
    }
    for (size_t i = 0; i < o->measurements; i++)
        failed |= json_array_append_new(
            measurements,
            measurement_json(o->domain, &o->measurement[i], o->sweep != NULL ? o->sweep[i] : 0));
    for (size_t i = 0; i < o->knowns; i++)
        failed |= json_array_append_new(known, measurement_json(o->domain, &o->known[i], 0));
    for (size_t i = 0; i < o->sweeps; i++)
        failed |= json_array_append_new(scores, scores_json(o, &o->scores[i]));
    if (o->knowns > 0)
        failed |= json_object_set(root, "known", known);
    if (o->sweeps > 0)
        failed |= json_object_set(root, "scores", scores);
    if (o->kept_scores != NULL)
        failed |= json_object_set_new(root, "scores", json_loads(o->kept_scores, 0, NULL));
    json_decref(known);
    json_decref(scores);
    failed |= json_object_set_new(root, "domain", sizes);
    failed |= json_object_set_new(root, "attributes", attributes);
    if (merged)
        failed |= json_object_set_new(root, "merged", merged_json(o->domain, o->merges));
    failed |= json_object_set_new(root, "measurements", measurements);
    if (o->assess != NULL)
        failed |= json_object_set_new(root, "assess", assess_json(o->domain, o->assess));
    if (o->copula != NULL)
        failed |= json_object_set_new(root, "copula", copula_json(o->domain, o->copula));
    return list_unless(failed, root);
}

enum err output_measurements(const char *path, const struct output_terms *o, struct log *log)
{
    return list_save(path, document(o), log);
}
