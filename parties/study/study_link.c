/* How the owners of a batch match their rows: by position, or by person (the key `link`). */
#include "aim/table/series.h"
#include "parties/study/study_parse.h"

#define LOOK_SHARE 0.02 /* of the budget, by default */

bool study_linked(const struct study *study, size_t owner)
{
    return study->link.on && study_owner(study, owner)->columns < study->domain->attributes;
}

bool study_sends_keys(const struct study *study, size_t owner)
{
    return study->enforce_person || study_linked(study, owner);
}

bool study_of_persons(const struct study *study)
{
    return study->rows_per_person > 1 || study->enforce_person || study->link.on;
}

/* How many rows an owner may have, or the number they are padded to. */
static uint32_t rows_of(const struct study_owner *o, bool padded)
{
    return padded ? o->pad_to : o->max_rows;
}

uint32_t study_batch_rows(const struct study *study, size_t first, bool padded)
{
    const struct study_owner *o = study->owner;
    const size_t keep = study->link.keep;
    uint32_t rows = rows_of(study_owner(study, first), padded);
    if (!study_linked(study, first))
        return rows;
    if (keep < study->owners && o[keep].batch == first)
        return rows_of(&o[keep], padded);
    for (size_t i = first + 1; i < study->owners; i++)
        if (o[i].batch == first && rows_of(&o[i], padded) < rows)
            rows = rows_of(&o[i], padded);
    return rows;
}

/* Rows that are joined are no more than any of their owners expects. */
uint64_t study_rows(const struct study *study, bool expected)
{
    uint64_t all = (uint64_t)study->open.most * study->open.each.max_rows;
    for (size_t i = 0; i < study->owners; i++) {
        uint32_t rows = study->owner[i].batch == i ? study_batch_rows(study, i, false) : 0;
        for (size_t k = i; expected && k < study->owners; k++)
            if (study->owner[k].batch == i && study->owner[k].expected_rows > 0 &&
                study->owner[k].expected_rows < rows)
                rows = study->owner[k].expected_rows;
        all += rows;
    }
    return all * series_units(study->domain);
}

const char *study_rows_key(const struct study *study)
{
    return study_rows(study, true) < study_rows(study, false) ? "expected_rows" : "max_rows";
}

/* --- the key ---------------------------------------------------------------------------------- */

static enum err read_mapping(struct study_reading *r, const yaml_node_t *node)
{
    struct study_link *link = &r->study->link;
    const yaml_node_t *least, *look;
    const struct yaml_key keys[] = {
        {"keep", false, &r->keep}, {"min_linked", false, &least}, {"look", false, &look}};
    TRY(yaml_mapping(r->file, node, "link", COUNTED(keys)));
    TRY(study_read_unsigned(r, least, "min_linked", 1, INT32_MAX, &link->min_linked));
    if (look == NULL)
        return ERR_OK;
    if (link->min_linked == 0)
        return yaml_error(r->file, look,
                          "this is the share of the budget for a look at how many rows were "
                          "linked, which is taken where min_linked is given; add that, or leave "
                          "this out");
    return yaml_number(r->file, look, "look", 0.0001, 0.5, &link->look);
}

enum err study_read_link(struct study_reading *r)
{
    const yaml_node_t *node = r->at.link;
    const bool mapping = node != NULL && yaml_is_mapping(node);
    struct study *s = r->study;
    s->link.look = LOOK_SHARE;
    TRY(mapping ? read_mapping(r, node) : study_read_flag(r, node, "link", &s->link.on));
    s->link.on |= mapping;
    if (s->link.on && s->late_join)
        return yaml_error(r->file, r->at.late_uploads,
                          "with link the owners of a batch are joined once, before the run; write "
                          "wait");
    return ERR_OK;
}

/* --- what goes with it ------------------------------------------------------------------------ */

static enum err find_kept(struct study_reading *r)
{
    struct study *s = r->study;
    const char *name;
    size_t i;
    TRY(yaml_text(r->file, r->keep, "keep", &name));
    i = study_find_owner(s, name);
    if (i >= s->owners || !study_linked(s, i))
        return yaml_error(r->file, r->keep,
                          "keep is \"%.64s\"; it should name one of the owners that have a batch: "
                          "all its rows stay, with the others' columns missing where they lack "
                          "the person",
                          name);
    s->link.keep = i;
    for (size_t k = 0; k < s->owners; k++)
        for (size_t c = 0; s->owner[k].batch == s->owner[i].batch && c < s->owner[k].columns; c++) {
            const struct domain_attribute *a = &s->domain->attribute[s->owner[k].column[c]];
            if (k != i && a->missing == NULL)
                return yaml_error(r->file, yaml_item(r->file, r->at.owners, k),
                                  "rows of %s are kept where %s lacks the person, and the column "
                                  "%.64s has no value for that; give it `missing` in the domain",
                                  name, s->owner[k].name, a->name);
        }
    return ERR_OK;
}

/* Whether all rows of the study are those of one batch. */
static bool one_batch(const struct study *s)
{
    for (size_t i = 0; i < s->owners; i++)
        if (s->owner[i].batch != 0)
            return false;
    return study_linked(s, 0);
}

static enum err check_persons(struct study_reading *r)
{
    const yaml_node_t *node = r->at.link;
    struct study *s = r->study;
    if (one_batch(s) && s->rows_per_person > 1)
        return yaml_error(r->file, node,
                          "owners that are linked have one row of a person together, and there are "
                          "no others; leave out rows_per_person, which costs budget");
    if (one_batch(s))
        s->enforce_person = true;
    else if (s->enforce_person)
        return yaml_error(r->file, node,
                          "rows that are linked and rows of other owners or batches cannot be "
                          "bounded together; leave out enforce_person, or have one batch alone");
    return ERR_OK;
}

/* The owners of the batch that begins here. */
static enum err check_owners(struct study_reading *r, size_t first)
{
    const struct study *s = r->study;
    size_t count = 0;
    for (size_t i = first; i < s->owners; i++)
        count += s->owner[i].batch == first;
    return count <= STUDY_LINKED_MAX
               ? ERR_OK
               : yaml_error(r->file, yaml_item(r->file, r->at.owners, first),
                            "the batch of %s has %zu owners, of which at most %d can be linked",
                            s->owner[first].name, count, STUDY_LINKED_MAX);
}

enum err study_check_link(struct study_reading *r)
{
    const yaml_node_t *node = r->at.link;
    struct study *s = r->study;
    uint64_t most = 0;
    size_t linked = 0;
    s->link.keep = s->owners;
    if (!s->link.on)
        return ERR_OK;
    for (size_t i = 0; i < s->owners; i++)
        if (s->owner[i].batch == i && study_linked(s, i)) {
            TRY(check_owners(r, i));
            linked++;
        }
    if (linked == 0)
        return yaml_error(r->file, node,
                          "nobody is to be linked: give the owners that hold different columns of "
                          "the same persons a common batch, and say which columns each has");
    if (r->keep != NULL)
        TRY(find_kept(r));
    for (size_t i = 0; i < s->owners; i++)
        most += s->owner[i].batch == i && study_linked(s, i) ? study_batch_rows(s, i, false) : 0;
    if (s->link.min_linked > most)
        return yaml_error(r->file, node,
                          "min_linked is %u, and by the owners' max_rows at most %llu rows can be "
                          "linked",
                          s->link.min_linked, (unsigned long long)most);
    return check_persons(r);
}
