#include "parties/study/study_uploads.h"

#include "aim/table/series.h"
#include "parties/study/method.h"
#include "parties/study/study_parse.h"
#include "parties/study/study_setting.h"
#include "protocols/records_pack.h"

unsigned study_counts_form(const struct study *study, size_t owner)
{
    const unsigned form = study_setting(study)->counts;
    return form != 0 ? form : study_owner(study, owner)->bits;
}

uint64_t study_counts_bytes(const struct study *study, size_t owner)
{
    return (study->workload->maximal_cells * study_counts_form(study, owner) + 7) / 8;
}

unsigned study_record_bits(const struct study *study, size_t owner)
{
    const struct study_owner *o = study_owner(study, owner);
    unsigned bits = 1 + (study_sends_keys(study, owner) ? RECORDS_KEY_BITS : 0);
    for (size_t c = 0; c < o->columns; c++)
        for (uint32_t k = 1; k < study->domain->attribute[o->column[c]].size; k *= 2)
            bits++;
    return bits;
}

uint64_t study_records_bytes(const struct study *study, size_t owner)
{
    const struct workload *w = study->workload;
    if (study->domain->series != NULL) /* each row has its weight */
        return UINT64_MAX;
    for (size_t q = 0; q < w->queries; q++)
        if (w->query[q].clique.n > RECORDS_ORDER_MAX)
            return UINT64_MAX;
    return study_record_bits(study, owner) *
           (((uint64_t)study_owner(study, owner)->pad_to + 7) / 8);
}

uint64_t study_upload_bytes(const struct study *study, size_t owner)
{
    const struct study_owner *o = study_owner(study, owner);
    if (!o->records)
        return study_counts_bytes(study, owner);
    return study_setting(study)->records == UPLOAD_ENCRYPTED ? o->encrypted.bytes
                                                             : study_records_bytes(study, owner);
}

uint64_t study_uploads_bytes(const struct study *study)
{
    uint64_t all = 0;
    for (size_t i = 0; i < study->owners; i++)
        all += study_upload_bytes(study, i);
    return study->open.most == 0
               ? all
               : all + study->open.most * study_upload_bytes(study, study->owners);
}

bool study_counts_pairs(const struct study *study)
{
    for (size_t i = 0; i < study->owners; i++)
        if (!study->owner[i].records)
            return true;
    return study->servers == 2 || !(method_of(study)->forms || method_of(study)->gradients) ||
           (study->open.most > 0 && !study->open.each.records);
}

size_t study_taking_part(const struct study *study, bool *has)
{
    size_t left = 0;
    for (size_t i = 0; i < study->owners; i++) /* the first of a batch keeps it if all have one */
        if (!has[i])
            has[study->owner[i].batch] = false;
    for (size_t i = 0; i < study_owners_most(study); i++) {
        has[i] = has[study_batch(study, i)];
        left += has[i];
    }
    return left;
}

unsigned study_upload_form(const struct study *study, size_t owner)
{
    return study_owner(study, owner)->records ? study_setting(study)->records
                                              : study_counts_form(study, owner);
}

uint64_t study_form_bytes(const struct study *study, size_t owner, unsigned form)
{
    const struct study_owner *o = study_owner(study, owner);
    if (form == study_upload_form(study, owner))
        return study_upload_bytes(study, owner);
    if (form != UPLOAD_RECORDS || o->pad_to >> o->bits != 0 ||
        study_setting(study)->records != form)
        return 0;
    return study_records_bytes(study, owner) == UINT64_MAX ? 0 : study_records_bytes(study, owner);
}

/* Whether the form that the file gives an owner is possible in the study. */
static enum err check_form(struct study_reading *r, const yaml_node_t *node, size_t owner)
{
    const struct study *s = r->study;
    const struct study_owner *o = &s->owner[owner];
    const bool keys = study_sends_keys(s, owner), some = o->columns < s->domain->attributes;
    const bool records = study_records_bytes(s, owner) != UINT64_MAX;
    if (s->domain->series != NULL && (o->as == STUDY_RECORDS || some || o->pad_to != o->max_rows))
        return yaml_error(r->file, node,
                          "with `events` owners send counts, of persons and events at one owner: "
                          "take as, batch, columns and pad_to of %s out",
                          o->name);
    if (o->as == STUDY_RECORDS && !records)
        return yaml_error(r->file, node,
                          "%s cannot send records, since a marginal has more than %d attributes; "
                          "use as: counts",
                          o->name, RECORDS_ORDER_MAX);
    if (o->as == STUDY_COUNTS && method_of(s)->gradients)
        return yaml_error(r->file, node,
                          "%s cannot send counts, since a classifier learns from rows; leave out "
                          "as: counts",
                          o->name);
    if (o->as == STUDY_COUNTS && keys)
        return yaml_error(r->file, node,
                          "%s cannot send counts, since the study has keys of persons, and counts "
                          "have no rows to keep them; leave out as: counts",
                          o->name);
    if (keys && some && !s->link.on)
        return yaml_error(r->file, node,
                          "%s holds some of the columns, and rows that are joined by position "
                          "cannot be bounded by person; add link: true, which joins them by person",
                          o->name);
    if (keys && !records)
        return yaml_error(r->file, node,
                          "keys of persons go with records, which %s cannot send, since a marginal "
                          "has more than %d attributes",
                          o->name, RECORDS_ORDER_MAX);
    if (o->as == STUDY_COUNTS && some)
        return yaml_error(r->file, node,
                          "%s holds some of the columns, and so cannot count marginals; leave out "
                          "as: counts",
                          o->name);
    return ERR_OK;
}

static bool is_smaller_as_records(const struct study *s, size_t owner)
{
    return study_setting(s)->records == UPLOAD_RECORDS &&
           study_records_bytes(s, owner) < study_counts_bytes(s, owner);
}

enum err study_choose_forms(struct study_reading *r)
{
    struct study *s = r->study;
    for (size_t i = 0; i < s->owners; i++) {
        struct study_owner *o = &s->owner[i];
        TRY(check_form(r, yaml_item(r->file, r->at.owners, i), i));
        o->records = o->as == STUDY_RECORDS || method_of(s)->gradients || study_sends_keys(s, i) ||
                     o->columns < s->domain->attributes ||
                     (o->as == STUDY_AUTO && is_smaller_as_records(s, i));
        if (o->as == STUDY_RECORDS && study_setting(s)->records == UPLOAD_ENCRYPTED)
            TRY(study_plan_encrypted(r, yaml_item(r->file, r->at.owners, i), i));
    }
    if (s->open.most > 0)
        s->open.each.records = method_of(s)->gradients || is_smaller_as_records(s, s->owners);
    return study_check_numbers(r);
}

/* The most that one owner, or the first for its batch, can add to a cell, in either form. */
static uint64_t largest_count(const struct study *s, size_t owner)
{
    const struct study_owner *o = study_owner(s, owner);
    uint64_t cell = ((uint64_t)1 << o->bits) - 1, rows = study_batch_rows(s, owner, true);
    return o->records && rows > cell ? rows : cell;
}

enum err study_find_count_bits(struct study_reading *r)
{
    struct study *s = r->study;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->owners; i++)
        sum += s->owner[i].batch == i ? largest_count(s, i) : 0;
    if (s->open.most > 0)
        sum += s->open.most * largest_count(s, s->owners);
    while ((sum >> s->count_bits) != 0)
        s->count_bits++;
    if (s->count_bits > STUDY_COUNT_BITS_MAX)
        return yaml_error(r->file, r->at.owners != NULL ? r->at.owners : r->at.open_owners,
                          "all owners' bounds together need %u bits; at most %d are allowed: lower "
                          "some max_rows (each counts as the next power of two)",
                          s->count_bits, STUDY_COUNT_BITS_MAX);
    return ERR_OK;
}

int64_t study_purge_due(const struct study *study, int64_t last)
{
    return study->retain_days == 0 ? 0 : last + (int64_t)study->retain_days * 86400;
}
