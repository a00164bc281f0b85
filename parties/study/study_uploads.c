#include "parties/study/study_uploads.h"

#include "aim/table/series.h"
#include "base/memory.h"
#include "base/words.h"
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

/* --- rows that are encrypted ------------------------------------------------------------------ */

/* The most that an owner may send, and the provider send on of it: what either has in memory. */
#define ENCRYPTED_MOST ((uint64_t)256 << 20)

static size_t singles(const struct study *study)
{
    size_t n = 0;
    for (size_t q = 0; q < study->workload->queries; q++)
        n += study->workload->query[q].maximal && study->workload->query[q].clique.n == 1;
    return n;
}

bool study_encrypts(const struct study *study)
{
    size_t i = 0;
    while (i < study->owners && study->owner[i].encrypted.bytes == 0)
        i++;
    return i < study->owners;
}

size_t study_encrypted_codes(const struct study *study)
{
    return study->domain->attributes + (singles(study) > 0);
}

enum err study_encrypted_plan(const struct study *study, size_t owner, struct lattice_plan **plan)
{
    const struct workload *w = study->workload;
    const size_t attributes = study->domain->attributes;
    uint32_t *size CLEAN(memory_release) = NULL, (*pair)[2] CLEAN(memory_release) = NULL;
    struct lattice_shape shape = {.rows = study_owner(study, owner)->pad_to,
                                  .attributes = study_encrypted_codes(study)};
    *plan = NULL;
    TRY(memory_new(&size, attributes + 1));
    TRY(memory_new(&pair, w->queries));
    for (size_t a = 0; a < attributes; a++)
        size[a] = study->domain->attribute[a].size;
    size[attributes] = 1;
    for (size_t q = 0; q < w->queries; q++) {
        const struct clique *c = &w->query[q].clique;
        if (!w->query[q].maximal)
            continue;
        if (c->n > 2)
            return ERR_RANGE;
        pair[shape.pairs][0] = c->attribute[0];
        pair[shape.pairs++][1] = c->n == 2 ? c->attribute[1] : (uint32_t)attributes;
    }
    shape.size = size;
    shape.pair = (const uint32_t(*)[2])pair;
    return lattice_plan_new(plan, &shape);
}

static enum err check_encrypted(struct study_reading *r, const yaml_node_t *node,
                                const struct study_owner *o)
{
    const struct workload *w = r->study->workload;
    const uint64_t sent = (uint64_t)o->encrypted.results * LATTICE_RESULT_SIZE;
    for (size_t q = 0; q < w->queries; q++)
        if (w->query[q].clique.n > 2)
            return yaml_error(r->file, node,
                              "%s cannot send records: a provider counts encrypted rows in pairs "
                              "of columns, and a marginal has %u; use as: counts",
                              o->name, (unsigned)w->query[q].clique.n);
    if (o->encrypted.bytes == 0 || o->encrypted.bytes > ENCRYPTED_MOST || sent > ENCRYPTED_MOST)
        return yaml_error(r->file, node,
                          "%s cannot send records: encrypted, %u of them take more than %s; lower "
                          "pad_to or have fewer values, or use as: counts",
                          o->name, o->pad_to, words_bytes(ENCRYPTED_MOST).text);
    return ERR_OK;
}

/* How long an owner's encrypted rows are; as another's, if that has as many. */
static enum err plan_encrypted(struct study_reading *r, const yaml_node_t *node, size_t owner)
{
    struct study_owner *all = r->study->owner, *o = &all[owner];
    struct lattice_plan *plan CLEAN(lattice_plan_free) = NULL;
    enum err e;
    for (size_t k = 0; k < owner; k++)
        if (all[k].encrypted.bytes > 0 && all[k].pad_to == o->pad_to) {
            o->encrypted = all[k].encrypted;
            return ERR_OK;
        }
    e = study_encrypted_plan(r->study, owner, &plan);
    if (e != ERR_OK && e != ERR_RANGE)
        return e;
    if (e == ERR_OK)
        o->encrypted = (struct study_encrypted){lattice_upload_size(plan), plan->results,
                                                plan->blocks};
    return check_encrypted(r, node, o);
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
            TRY(plan_encrypted(r, yaml_item(r->file, r->at.owners, i), i));
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
