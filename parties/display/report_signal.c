/* Which measured pairs stand out of noise and chance, by opened values (aim/answer/signal.h). */
#include "aim/answer/signal.h"
#include "aim/model/normal.h"
#include "base/memory.h"
#include "parties/display/report_private.h"

#include <math.h>

#define BY_CHANCE 0.05 /* of studies with independent columns have a pair that stands out */

/* The shares of an attribute's codes, by the model. */
static enum err shares_of(const struct report *r, uint16_t attribute, double *share)
{
    const struct clique one = {1, {attribute}};
    TRY(released_marginal(r->of, &one, share, r->log));
    for (uint32_t i = 0; i < r->of->domain->attribute[attribute].size; i++)
        share[i] /= fmax(1, released_total(r->of));
    return ERR_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */

static enum err signal_of_pair(const struct report *r, struct report_pair *p)
{
    const struct measurement *m = &r->found.measurement[p->best];
    const struct domain_attribute *a = r->of->domain->attribute;
    const unsigned place[2] = {clique_place(&m->clique, p->x), clique_place(&m->clique, p->y)};
    const double sigma[2] = {r->found.measurement[p->x].sigma, r->found.measurement[p->y].sigma};
    double *x CLEAN(memory_release) = NULL, *y CLEAN(memory_release) = NULL;
    TRY(memory_new(&x, a[p->x].size));
    TRY(memory_new(&y, a[p->y].size));
    TRY(shares_of(r, p->x, x));
    TRY(shares_of(r, p->y, y));
    for (int ranked = 0; ranked < 2; ranked++) {
        double deviations;
        TRY(signal_of_table(&deviations, m, r->of->domain, place, (const double *const[]){x, y},
                            sigma, released_total(r->of), ranked != 0));
        p->signal = ranked == 0 ? deviations : fmax(p->signal, deviations);
    }
    return ERR_OK;
}

/* --- a copula's sums -------------------------------------------------------------------------- */

struct signal_sums {
    const struct report *r;
    size_t sides;
    struct signal_side *side;
    struct signal *of; /* of each pair, by report_pair_place() */
};

static void clear(struct signal_sums *s)
{
    for (size_t i = 0; i < s->sides && s->side != NULL; i++)
        signal_side_clear(&s->side[i]);
    memory_free_all(&s->side, &s->of);
}

/* Scores and groups as they were used. */
static enum err side_of(struct signal_sums *s, uint16_t attribute, const json_t *copula)
{
    const struct domain_attribute *a = &s->r->of->domain->attribute[attribute];
    const json_t *score = json_object_get(json_object_get(copula, "scores"), a->name);
    const json_t *group = json_object_get(json_object_get(copula, "groups"), a->name);
    struct signal_side *side = &s->side[attribute];
    TRY(signal_side_new(side, a->size));
    TRY(shares_of(s->r, attribute, side->share));
    side->sigma = s->r->found.measurement[attribute].sigma;
    for (uint32_t i = 0; i < a->size; i++) {
        const json_int_t part = json_integer_value(json_array_get(group, i));
        side->score[i] = json_number_value(json_array_get(score, i));
        side->part[i] = part >= 0 && part < a->size ? (size_t)part : 0;
    }
    return signal_side_set(side);
}

/* A form that is not what a run writes is left out. */
static void add_form(struct signal_sums *s, const json_t *form, double sigma)
{
    const json_t *names = json_object_get(form, "attributes"),
                 *groups = json_object_get(form, "groups");
    const struct signal_side *side[2];
    uint32_t attribute[2];
    size_t part[2];
    for (size_t i = 0; i < 2; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        attribute[i] = name != NULL ? domain_find(s->r->of->domain, name) : UINT32_MAX;
        if (attribute[i] >= s->sides)
            return;
        side[i] = &s->side[attribute[i]];
        part[i] = (size_t)json_integer_value(json_array_get(groups, i));
        if (part[i] >= side[i]->parts)
            return;
    }
    if (attribute[0] < attribute[1])
        signal_add(&s->of[report_pair_place((uint16_t)attribute[0], (uint16_t)attribute[1])],
                   side[0], part[0], side[1], part[1], released_total(s->r->of),
                   report_number(form, "value"), sigma * sigma);
}

static enum err signal_of_sums(const struct report_pairs *p)
{
    const json_t *copula = json_object_get(p->r->opened, "copula"),
                 *forms = json_object_get(copula, "forms");
    struct signal_sums s CLEAN(clear) = {.r = p->r, .sides = p->r->of->domain->attributes};
    TRY(memory_new(&s.side, s.sides));
    TRY(memory_new(&s.of, p->count));
    for (size_t a = 0; a < s.sides; a++)
        TRY(side_of(&s, (uint16_t)a, copula));
    for (size_t i = 0; i < json_array_size(forms); i++)
        add_form(&s, json_array_get(forms, i), report_number(copula, "sigma"));
    for (size_t i = 0; i < p->count; i++)
        p->pair[i].signal = signal_deviations(&s.of[i]);
    return ERR_OK;
}

enum err report_signal(const struct report_pairs *p)
{
    /* two tests of each pair, of which any may be the one that a run chose to measure */
    const double least = normal_quantile(1 - BY_CHANCE / (2 * fmax(1, (double)p->count)));
    if (p->r->of->copula != NULL)
        TRY(signal_of_sums(p));
    for (size_t i = 0; i < p->count; i++) {
        struct report_pair *pair = &p->pair[i];
        if (p->r->of->copula == NULL && pair->times > 0)
            TRY(signal_of_pair(p->r, pair));
        pair->stands = pair->times > 0 && pair->signal > least;
    }
    return ERR_OK;
}
