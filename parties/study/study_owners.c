/* The owners in a study file: their bounds, and their batches (columns of the same rows). */
#include "aim/table/derive.h"
#include "base/memory.h"
#include "parties/study/study_parse.h"
#include "parties/study/study_uploads.h"
#include "protocols/records_pack.h"

#include <string.h>

/* Counts were once called answers. Studies with that word are still read, with the same digests. */
static enum err read_form(struct study_reading *r, const yaml_node_t *node, enum study_form *as)
{
    static const char *const forms[] = {
        [STUDY_AUTO] = "auto", [STUDY_COUNTS] = "counts", [STUDY_RECORDS] = "records"};
    size_t form = STUDY_COUNTS;
    const char *text;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(r->file, node, "as", &text));
    if (strcmp(text, "answers") != 0)
        TRY(yaml_choice(r->file, node, "as", COUNTED(forms), &form));
    *as = (enum study_form)form;
    return ERR_OK;
}

/* --- batches: owners that hold different columns of the same rows ----------------------------- */

/* An owner's `batch`, `columns` and `rows` in the file; all NULL: it has all columns itself. */
struct batch_part {
    const yaml_node_t *node, *batch, *columns, *rows;
    const char *name; /* of the batch */
};

static enum err read_columns(struct study_reading *r, struct study_owner *o,
                             struct batch_part *part)
{
    const struct domain *d = r->study->domain;
    o->columns = d->attributes;
    TRY(memory_new(&o->column, d->attributes));
    for (size_t a = 0; a < d->attributes; a++)
        o->column[a] = (uint16_t)a;
    if (part->batch == NULL && part->rows != NULL)
        return yaml_error(r->file, part->rows,
                          "%s has a key \"rows\" without \"batch\"; only owners of columns of the "
                          "same rows agree on their number, others have min_rows and max_rows",
                          o->name);
    if (r->study->link.on && part->rows != NULL)
        return yaml_error(r->file, part->rows,
                          "%s is linked by person, so that the owners of a batch need not have the "
                          "same number of rows; leave this out (min_rows may say more)",
                          o->name);
    if (part->batch == NULL && part->columns == NULL)
        return ERR_OK;
    if (part->batch == NULL || part->columns == NULL)
        return yaml_error(
            r->file, part->node,
            "%s has a key \"%s\" without \"%s\"; an owner of some columns needs both, "
            "one of whole rows neither",
            o->name, part->batch != NULL ? "batch" : "columns",
            part->batch != NULL ? "columns" : "batch");
    TRY(yaml_text(r->file, part->batch, "batch", &part->name));
    if (!study_good_name(part->name))
        return yaml_error(r->file, part->batch,
                          "batch is \"%.64s\"; it should be 1 to %d of a-z 0-9 _ -", part->name,
                          STUDY_NAME_SIZE - 1);
    return study_read_attributes(r, part->columns, "columns", d->attributes, o->column,
                                 &o->columns);
}

/* The first owner of the batch; unless they are linked, owners of a batch have as many rows. */
static enum err find_batch(struct study_reading *r, const struct batch_part *parts, size_t i)
{
    struct study_owner *owner = r->study->owner;
    owner[i].batch = i;
    for (size_t k = 0; parts[i].name != NULL && k < i; k++) {
        if (parts[k].name == NULL || strcmp(parts[k].name, parts[i].name) != 0)
            continue;
        owner[i].batch = owner[k].batch;
        if (r->study->link.on)
            break;
        if (owner[k].max_rows != owner[i].max_rows || owner[k].pad_to != owner[i].pad_to)
            return yaml_error(
                r->file, parts[i].node,
                "%s and %s hold columns of the same rows (batch %s) but have max_rows "
                "%u and %u, pad_to %u and %u; make them equal",
                owner[k].name, owner[i].name, parts[i].name, owner[k].max_rows, owner[i].max_rows,
                owner[k].pad_to, owner[i].pad_to);
        if (owner[k].rows != owner[i].rows)
            return yaml_error(
                r->file, parts[i].rows != NULL ? parts[i].rows : parts[i].node,
                "%s and %s hold columns of the same rows (batch %s) but have rows %u and %u (0: "
                "none is given); give both the number that they agreed on, or neither",
                owner[k].name, owner[i].name, parts[i].name, owner[k].rows, owner[i].rows);
        break;
    }
    return ERR_OK;
}

/* What a column follows from is where it is. */
static enum err check_derived(struct study_reading *r, const struct study_owner *const *holder,
                              const yaml_node_t *node)
{
    const struct domain *d = r->study->domain;
    for (size_t i = 0; d->derived != NULL && i < d->derived->from.count; i++) {
        const struct derive *e = &d->derived->from.of[i];
        for (uint32_t k = 0; k < e->columns; k++) {
            const uint32_t source = domain_find(d, e->column[k]);
            if (source != DOMAIN_NO_CODE && holder[source] != holder[domain_find(d, e->name)])
                return yaml_error(
                    r->file, node,
                    "%.64s follows from %.64s, so one owner of a batch must hold both", e->name,
                    e->column[k]);
        }
    }
    return ERR_OK;
}

/* Each column of the domain is at exactly one owner of the batch; `i` is the first of them. */
static enum err check_batch(struct study_reading *r, const struct batch_part *parts, size_t i)
{
    const struct study *s = r->study;
    const struct study_owner *holder[DOMAIN_ATTRIBUTES_MAX] = {NULL};
    for (size_t k = i; k < s->owners; k++)
        for (size_t c = 0; s->owner[k].batch == i && c < s->owner[k].columns; c++) {
            uint16_t a = s->owner[k].column[c];
            if (holder[a] != NULL)
                return yaml_error(r->file, parts[k].columns,
                                  "%s and %s both hold the column %.64s of batch %s; leave it out "
                                  "at one of them",
                                  holder[a]->name, s->owner[k].name, s->domain->attribute[a].name,
                                  parts[k].name);
            holder[a] = &s->owner[k];
        }
    for (size_t a = 0; a < s->domain->attributes; a++)
        if (holder[a] == NULL)
            return yaml_error(r->file, parts[i].batch,
                              "no owner of batch %s holds the column %.64s; add it to the columns "
                              "of one of them",
                              parts[i].name, s->domain->attribute[a].name);
    return check_derived(r, holder, parts[i].batch);
}

static enum err read_batches(struct study_reading *r, struct batch_part *parts)
{
    const struct study *s = r->study;
    unsigned most = 0; /* columns in a marginal */
    for (size_t q = 0; q < s->workload->queries; q++)
        most = s->workload->query[q].clique.n > most ? s->workload->query[q].clique.n : most;
    for (size_t i = 0; i < s->owners; i++)
        TRY(read_columns(r, &s->owner[i], &parts[i]));
    for (size_t i = 0; i < s->owners; i++)
        TRY(find_batch(r, parts, i));
    for (size_t i = 0; i < s->owners; i++)
        if (parts[i].name != NULL && s->owner[i].batch == i)
            TRY(check_batch(r, parts, i));
    for (size_t i = 0; i < s->owners; i++)
        if (parts[i].name != NULL && most > RECORDS_ORDER_MAX)
            return yaml_error(r->file, parts[i].batch,
                              "rows whose columns are at several owners are counted by the "
                              "servers, in marginals of at most %d columns; the workload has "
                              "larger ones: leave those out",
                              RECORDS_ORDER_MAX);
    return ERR_OK;
}

static enum err read_owner(struct study_reading *r, const yaml_node_t *node, struct study_owner *o,
                           struct batch_part *part, struct study_people *people)
{
    const yaml_node_t *name, *key, *most, *least, *padded, *as, *expected;
    const struct yaml_key keys[] = {
        {"name", !r->draft, &name},     {"key", !r->draft, &key},
        {"max_rows", true, &most},      {"min_rows", false, &least},
        {"pad_to", false, &padded},     {"as", false, &as},
        {"batch", false, &part->batch}, {"columns", false, &part->columns},
        {"rows", false, &part->rows},   {"expected_rows", false, &expected},
    };
    TRY(yaml_mapping(r->file, node, "an owner", COUNTED(keys)));
    part->node = node;
    if (name != NULL)
        TRY(study_read_name(r, name, "name", o->name));
    else
        snprintf(o->name, sizeof o->name, "owner-%zu", (size_t)(o - r->study->owner) + 1);
    TRY(study_go_on(
        r, study_read_member(r, name != NULL ? name : node, key, o->name, &o->key, people)));
    TRY(study_read_unsigned(r, most, "max_rows", 1, INT32_MAX, &o->max_rows));
    TRY(study_read_unsigned(r, least, "min_rows", 0, o->max_rows, &o->min_rows));
    TRY(study_read_unsigned(r, part->rows, "rows", o->min_rows > 0 ? o->min_rows : 1, o->max_rows,
                            &o->rows));
    o->pad_to = o->max_rows;
    TRY(study_read_unsigned(r, padded, "pad_to", o->max_rows, INT32_MAX, &o->pad_to));
    TRY(read_form(r, as, &o->as));
    o->bits = study_bits(r->study, o->max_rows);
    return study_read_unsigned(r, expected, "expected_rows", o->min_rows > 0 ? o->min_rows : 1,
                               o->max_rows, &o->expected_rows);
}

enum err study_read_owners(struct study_reading *r, struct study_people *people)
{
    const yaml_node_t *node = r->at.owners;
    struct study *s = r->study;
    struct batch_part *parts CLEAN(memory_release) = NULL;
    size_t count;
    TRY(yaml_list(r->file, node, "owners", 1, STUDY_OWNERS_MAX, &count));
    TRY(memory_new(&s->owner, count));
    s->owners = count;
    TRY(memory_new(&parts, count));
    for (size_t i = 0; i < count; i++)
        TRY(study_go_on(
            r, read_owner(r, yaml_item(r->file, node, i), &s->owner[i], &parts[i], people)));
    return study_sound(r) ? read_batches(r, parts) : ERR_OK;
}
