#include "aim/run/output.h"

#include "aim/table/derive.h"
#include "aim/table/lists.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* With what it follows from, as the study writes it. */
static json_t *attribute_json(const struct domain *d, const struct domain_attribute *a)
{
    json_t *o = list_attribute(a);
    for (size_t i = 0; d->derived != NULL && i < d->derived->from.count; i++)
        if (strcmp(d->derived->from.of[i].name, a->name) == 0)
            list_set(&o, "from", json_string(d->derived->from.of[i].text));
    return o;
}

static json_t *names_json(const struct domain *d, const struct clique *c)
{
    json_t *names = json_array();
    for (unsigned i = 0; i < c->n; i++)
        list_append(&names, json_string(d->attribute[c->attribute[i]].name));
    return names;
}

static json_t *measurement_json(const struct domain *d, const struct measurement *x, unsigned sweep)
{
    json_t *o = json_object();
    list_set(&o, "attributes", names_json(d, &x->clique));
    if (x->sigma > 0) /* else it is known */
        list_set(&o, "sigma", json_real(x->sigma));
    list_set(&o, "values", list_numbers(x->y, measurement_cells(x, d)));
    if (x->merges != NULL)
        list_set(&o, "merged", json_true());
    if (x->total > 0)
        list_set(&o, "total", json_real(x->total));
    if (sweep > 0)
        list_set(&o, "sweep", json_integer(sweep));
    return o;
}

/* `sweep`: of each, or NULL. */
static json_t *measurements_json(const struct domain *d, const struct measurement *x, size_t n,
                                 const unsigned *sweep)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        list_append(&list, measurement_json(d, &x[i], sweep != NULL ? sweep[i] : 0));
    return list;
}

static json_t *scores_json(const struct output_terms *o, const struct aim_scores *s)
{
    json_t *of = json_object(), *names = json_array();
    list_set(&of, "sigma", json_real(s->sigma));
    for (size_t k = 0; k < s->candidates; k++)
        list_append(&names, names_json(o->domain, &o->workload->query[s->query[k]].clique));
    list_set(&of, "attributes", names);
    list_set(&of, "values", list_numbers(s->value, s->candidates));
    return of;
}

static json_t *all_scores_json(const struct output_terms *o)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->sweeps; i++)
        list_append(&list, scores_json(o, &o->scores[i]));
    return list;
}

/* For each merged attribute, the group of each code. */
static json_t *merged_json(const struct domain *d, const struct merges *m)
{
    json_t *o = json_object();
    for (size_t i = 0; i < d->attributes; i++) {
        json_t *list = m->group[i] != NULL ? json_array() : NULL;
        for (uint32_t code = 0; list != NULL && code < m->codes[i]; code++)
            list_append(&list, json_integer(m->group[i][code]));
        if (m->group[i] != NULL)
            list_set(&o, d->attribute[i].name, list);
    }
    return o;
}

/* A form of two ordered attributes has a correlation; other forms name their groups. */
static json_t *form_json(const struct copula_result *c, const struct copula_form *f)
{
    const struct copula *model = c->model;
    const struct domain *d = model->domain;
    const size_t i = f->first, j = f->second, latents = model->first[d->attributes];
    json_t *o = json_pack("{s:[s, s], s:f}", "attributes", d->attribute[i].name,
                          d->attribute[j].name, "value", f->value);
    if (c->groups[i] > 1 || c->groups[j] > 1)
        list_set(&o, "groups", json_pack("[i, i]", (int)f->of_first, (int)f->of_second));
    else
        list_set(&o, "correlation",
                 json_real(model->correlation[model->first[i] * latents + model->first[j]]));
    return o;
}

static json_t *groups_json(const struct copula_result *c)
{
    const struct domain *d = c->model->domain;
    json_t *o = json_object();
    for (size_t i = 0; i < d->attributes; i++) {
        json_t *list = c->groups[i] > 1 ? json_array() : NULL;
        for (uint32_t a = 0; list != NULL && a < d->attribute[i].size; a++)
            list_append(&list, json_integer(c->group[i][a]));
        if (c->groups[i] > 1)
            list_set(&o, d->attribute[i].name, list);
    }
    return o;
}

static json_t *copula_json(const struct domain *d, const struct copula_result *c)
{
    json_t *o = json_object(), *scores = json_object(), *forms = json_array();
    list_set(&o, "sigma", json_real(c->sigma));
    for (size_t i = 0; i < d->attributes; i++)
        list_set(&scores, d->attribute[i].name, list_numbers(c->score[i], d->attribute[i].size));
    for (size_t k = 0; k < c->forms; k++)
        list_append(&forms, form_json(c, &c->form[k]));
    list_set(&o, "scores", scores);
    list_set(&o, "groups", groups_json(c));
    list_set(&o, "forms", forms);
    return o;
}

static json_t *mean_json(const struct assess *a, enum assess_which which)
{
    const struct assess_mean m = assess_mean(a, which);
    json_t *o = json_pack("{s:I, s:f, s:f, s:f}", "pairs", (json_int_t)m.pairs, "error", m.error,
                          "low", fmax(0, m.error - ASSESS_BAND * m.deviation), "high",
                          m.error + ASSESS_BAND * m.deviation);
    if (a->alone != NULL)
        list_set(&o, "independent", json_real(m.alone));
    return o;
}

static json_t *assess_json(const struct domain *d, const struct assess *a)
{
    json_t *o = json_pack("{s:f, s:f, s:f}", "sigma", a->sigma, "rho", a->cost, "total", a->total);
    json_t *names = json_array(), *measured = json_array();
    for (size_t i = 0; i < a->pairs; i++) {
        list_append(&names, names_json(d, &a->pair[i]));
        list_append(&measured, json_boolean(a->measured[i]));
    }
    list_set(&o, "attributes", names);
    list_set(&o, "measured", measured);
    list_set(&o, "values", list_numbers(a->off, a->pairs));
    if (a->alone != NULL)
        list_set(&o, "independent", list_numbers(a->alone, a->pairs));
    list_set(&o, "held_out", mean_json(a, ASSESS_HELD_OUT));
    list_set(&o, "measured_pairs", mean_json(a, ASSESS_MEASURED));
    list_set(&o, "all", mean_json(a, ASSESS_ALL));
    return o;
}

static json_t *document(const struct output_terms *o)
{
    const bool merged = o->merges != NULL && merges_any(o->merges);
    json_t *root = json_pack(
        "{s:s, s:f, s:f, s:f, s:i, s:f}", "format",
        merged ? "trefoil-measurements-2" : "trefoil-measurements-1", "epsilon", o->epsilon,
        "delta", o->delta, "rho", o->rho, "rows_per_person",
        o->rows_per_person != 0 ? (int)o->rows_per_person : 1, "total", o->total);
    json_t *sizes = json_object(), *attributes = json_array();
    for (size_t i = 0; i < o->domain->attributes; i++) {
        const struct domain_attribute *a = &o->domain->attribute[i];
        list_set(&sizes, a->name, json_integer(a->size));
        list_append(&attributes, attribute_json(o->domain, a));
    }
    if (o->knowns > 0)
        list_set(&root, "known", measurements_json(o->domain, o->known, o->knowns, NULL));
    if (o->sweeps > 0)
        list_set(&root, "scores", all_scores_json(o));
    if (o->kept_scores != NULL)
        list_set(&root, "scores", json_loads(o->kept_scores, 0, NULL));
    list_set(&root, "domain", sizes);
    list_set(&root, "attributes", attributes);
    if (merged)
        list_set(&root, "merged", merged_json(o->domain, o->merges));
    list_set(&root, "measurements",
             measurements_json(o->domain, o->measurement, o->measurements, o->sweep));
    if (o->assess != NULL)
        list_set(&root, "assess", assess_json(o->domain, o->assess));
    if (o->copula != NULL)
        list_set(&root, "copula", copula_json(o->domain, o->copula));
    return root;
}

enum err output_measurements(const char *path, const struct output_terms *o, struct log *log)
{
    return list_save(path, document(o), log);
}
