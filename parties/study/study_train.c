/* The key `train`: what a classifier is of, and how long it learns. */
#include "aim/run/train_run.h"
#include "parties/study/method.h"
#include "parties/study/study_parse.h"

/* What a classifier has no use for. */
static enum err refuse_others(struct study_reading *r)
{
    const struct {
        const yaml_node_t *node;
        const char *why;
    } others[] = {
        {r->at.rounds, "method: train has steps, which train: {steps: ..} sets"},
        {r->at.score, "method: train selects nothing, so nothing has a score"},
        {r->at.copula, "this is for method: copula alone"},
        {r->at.assess, "this is for method: aim alone"},
        {r->at.impossible, "method: train has no use for what is impossible"},
        {r->at.workload, "method: train measures the target's counts and gradients alone"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].node != NULL)
            TRY(study_go_on(
                r, yaml_error(r->file, others[i].node, "%s; take this key out", others[i].why)));
    if (r->study->late_join)
        return yaml_error(r->file, r->at.late_uploads,
                          "method: train cannot take rows that come during a run; write wait");
    return ERR_OK;
}

static enum err read_steps(struct study_reading *r, const yaml_node_t *steps,
                           const yaml_node_t *rate)
{
    TRY(study_go_on(r, study_read_unsigned(r, steps, "steps", TRAIN_STEPS_LEAST, TRAIN_STEPS_MOST,
                                           &r->study->train_steps)));
    return yaml_number(r->file, rate, "rate", 0.1, 10000, &r->study->train_rate);
}

/* Rows that are kept back: by a column, since a row's place changes when a person leaves. */
static enum err read_test(struct study_reading *r, const yaml_node_t *test,
                          struct features_terms *terms)
{
    const yaml_node_t *column, *value;
    const struct yaml_key keys[] = {{"column", true, &column}, {"value", true, &value}};
    const struct domain *d = r->study->domain;
    const char *text;
    uint16_t attribute;
    TRY(yaml_mapping(r->file, test, "test", COUNTED(keys)));
    TRY(study_read_attribute(r, column, "column", &attribute));
    terms->test = attribute;
    if (terms->test == terms->target)
        return yaml_error(r->file, column, "the target cannot say which rows are kept back");
    TRY(yaml_text(r->file, value, "value", &text));
    if (!domain_fits(&d->attribute[terms->test], text))
        return yaml_error(r->file, value, "%s has no value \"%s\"", d->attribute[terms->test].name,
                          text);
    terms->tests = true;
    terms->test_code = domain_code(&d->attribute[terms->test], text);
    return ERR_OK;
}

enum err study_read_train(struct study_reading *r)
{
    static const char *const all[] = {"all"};
    const yaml_node_t *target, *numbers, *norm, *steps, *rate, *test;
    const struct yaml_key keys[] = {{"target", true, &target}, {"numbers", false, &numbers},
                                    {"norm", false, &norm},    {"steps", false, &steps},
                                    {"rate", false, &rate},    {"test", false, &test}};
    struct features_terms terms = {0};
    size_t kind = 0;
    uint16_t attribute;
    TRY(refuse_others(r));
    if (r->at.train == NULL)
        return study_lacks(r, "train");
    TRY(yaml_mapping(r->file, r->at.train, "train", COUNTED(keys)));
    TRY(read_steps(r, steps, rate));
    TRY(yaml_choice(r->file, numbers, "numbers", COUNTED(all), &kind));
    TRY(study_read_unsigned(r, norm, "norm", 1, FEATURES_NORM_MAX, &terms.norm));
    terms.numbers = numbers != NULL;
    if (terms.numbers != (norm != NULL))
        return yaml_error(r->file, r->at.train,
                          "numbers: all and norm go together: norm is the most that the root of "
                          "the sum of a row's squares may be");
    if (r->study->workload == NULL)
        return ERR_OK; /* the domain has a mistake */
    TRY(study_read_attribute(r, target, "target", &attribute));
    terms.target = attribute;
    if (test != NULL)
        TRY(read_test(r, test, &terms));
    return study_note(r, features_new(&r->study->features, r->study->domain, &terms, &r->quiet),
                      target);
}

/* Rows that are too long for `norm` are shrunk by their owner, who has to see all of a row. */
enum err study_check_numbers(struct study_reading *r)
{
    const struct study *s = r->study;
    const struct features *f = s->features;
    for (size_t i = 0; f != NULL && f->norm2 > 0 && i < s->owners; i++) {
        const struct study_owner *o = &s->owner[i];
        size_t numbers = 0;
        for (size_t c = 0; c < o->columns; c++)
            numbers += f->column[o->column[c]].kind == FEATURES_NUMBER;
        if (numbers > 0 && numbers < f->count - 1)
            return yaml_error(r->file, yaml_item(r->file, r->at.owners, i),
                              "%s holds %zu of the %u columns of numbers; with numbers: all one "
                              "owner of a batch holds them all, since it shrinks rows above norm",
                              o->name, numbers, f->count - 1);
        if (numbers > 0 && s->link.keep < s->owners && s->link.keep != i &&
            s->owner[s->link.keep].batch == o->batch)
            return yaml_error(r->file, yaml_item(r->file, r->at.owners, i),
                              "%s holds the columns of numbers, which cannot be missing; link.keep "
                              "has to name it, or nobody",
                              o->name);
    }
    return ERR_OK;
}
