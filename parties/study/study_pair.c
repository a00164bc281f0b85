/* A study of two servers, a provider and a keeper: what does not go with them. */
#include "parties/study/method.h"
#include "parties/study/study_parse.h"

const char *const study_noise_by_words[STUDY_NOISE_BY] = {"both", "joint", "owner"};

enum err study_read_pair(struct study_reading *r)
{
    struct study *s = r->study;
    const yaml_node_t *two = r->at.provider != NULL ? r->at.provider : r->at.keeper;
    size_t by = NOISE_BY_JOINT - NOISE_BY_BOTH;
    if (two == NULL)
        return r->at.noise_by == NULL
                   ? ERR_OK
                   : yaml_error(r->file, r->at.noise_by,
                                "noise_by says how a provider and a keeper make noise; three "
                                "servers make it together: take this key out");
    s->servers = 2;
    s->noise_by = NOISE_BY_JOINT;
    s->noise = NOISE_DISCRETE;
    if (r->at.servers != NULL)
        return yaml_error(r->file, two,
                          "a study has three servers, or a provider and a keeper; take out one or "
                          "the other");
    TRY(yaml_choice(r->file, r->at.noise_by, "noise_by", COUNTED(study_noise_by_words), &by));
    s->noise_by = NOISE_BY_BOTH + (enum noise_by)by;
    return ERR_OK;
}

/* What needs three servers. */
static enum err check_keys(struct study_reading *r)
{
    const struct study *s = r->study;
    if (s->security != STUDY_SEMI_HONEST)
        return yaml_error(r->file, r->at.security,
                          "a provider and a keeper cannot prove to each other what they compute: "
                          "write semi-honest, or have three servers");
    if (r->at.noise != NULL && s->noise != NOISE_DISCRETE)
        return yaml_error(r->file, r->at.noise,
                          "a provider and a keeper each make exact noise of their own: write "
                          "discrete, or leave this key out");
    if (r->at.link != NULL)
        return yaml_error(r->file, r->at.link,
                          "rows are linked by three servers; a provider and a keeper only count: "
                          "take this key out, or have three servers");
    if (s->enforce_person)
        return yaml_error(r->file, r->at.budget,
                          "three servers can see to rows_per_person without seeing a person; a "
                          "provider and a keeper only count, so owners see to it: take "
                          "enforce_person out, or have three servers");
    if (s->noise_by == NOISE_BY_OWNER && (s->owners > 1 || s->open.most > 0))
        return yaml_error(r->file, r->at.noise_by,
                          "who knows the noise sees the others' rows: only in a study of one owner "
                          "does the owner make it. Write both or joint");
    if (s->score != AIM_L1 && (s->owners > 1 || s->open.most > 0))
        return yaml_error(
            r->file, r->at.score,
            "nothing bounds the squares of what several owners send to a provider and "
            "a keeper, and one could spoil the others' guarantee: write l1, or leave "
            "this key out");
    if (!method_of(s)->with_two)
        return yaml_error(r->file, r->at.method,
                          "method: %s works with three servers, and not with a provider and a "
                          "keeper: take another method, or have three servers",
                          method_of(s)->word);
    return ERR_OK;
}

enum err study_check_pair(struct study_reading *r)
{
    const struct study *s = r->study;
    if (s->servers != 2)
        return ERR_OK;
    TRY(study_go_on(r, check_keys(r)));
    for (size_t i = 0; i < s->servers; i++)
        if (s->server[i].ranks > 0)
            TRY(study_go_on(r, yaml_error(r->file, i == 0 ? r->at.provider : r->at.keeper,
                                          "ranks go with three servers; a provider and a keeper "
                                          "run on one machine each: take ranks out")));
    for (size_t i = 0; i < s->owners && study_sound(r); i++) {
        const struct study_owner *o = &s->owner[i];
        const yaml_node_t *node = yaml_item(r->file, r->at.owners, i);
        if (o->columns < s->domain->attributes)
            return yaml_error(r->file, node,
                              "%s holds some of the columns, and three servers join such rows; "
                              "with a provider and a keeper each owner needs all columns",
                              o->name);
    }
    return ERR_OK;
}
