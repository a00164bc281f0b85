#include "parties/owner/pack.h"

#include "aim/table/series.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "parties/setting/upload.h"
#include "parties/study/study_setting.h"
#include "parties/study/study_uploads.h"
#include "protocols/counts_pack.h"
#include "protocols/records_pack.h"

#include <string.h>

enum err pack_domain(struct domain **own, const struct study *study, size_t owner)
{
    const struct study_owner *o = study_owner(study, owner);
    return domain_pick(own, study->domain, o->column, o->columns);
}

/* The most that an owner's rows, or the units of its persons, may count. */
static uint64_t most_weight(const struct study *study, size_t owner)
{
    return (uint64_t)study_owner(study, owner)->max_rows * series_units(study->domain);
}

/* As a setting's servers add them: bits, or words of two servers. */
static enum err put_counts(const struct study *study, size_t owner, const int64_t *counts,
                           uint8_t *out)
{
    const uint64_t cells = study->workload->maximal_cells;
    const unsigned bits = study_owner(study, owner)->bits;
    if (study_counts_form(study, owner) != UPLOAD_WORDS)
        return counts_pack(counts, cells, bits, out);
    for (uint64_t i = 0; i < cells; i++) {
        if (counts[i] < 0 || counts[i] >> bits != 0)
            return ERR_DATA;
        out = integer_put(out, (uint64_t)counts[i], 8);
    }
    return ERR_OK;
}

static enum err count_and_pack(const struct study *study, size_t owner, const struct table *t,
                               uint8_t *out)
{
    const struct workload *w = study->workload;
    int64_t *counts;
    uint64_t at = 0;
    enum err e;
    TRY(memory_new(&counts, w->maximal_cells));
    for (size_t q = 0; q < w->queries; q++)
        if (w->query[q].maximal) {
            tabulate_marginal(t, &w->query[q].clique, counts + at);
            at += w->query[q].cells;
        }
    e = put_counts(study, owner, counts, out);
    memory_wipe_free(&counts, w->maximal_cells * sizeof *counts);
    return e;
}

static enum err pack_records(const struct study *study, size_t owner, const struct table *t,
                             uint8_t *out)
{
    const struct domain *d = t->domain;
    const size_t records = study_owner(study, owner)->pad_to;
    uint32_t *size CLEAN(memory_release) = NULL;
    struct records_shape shape = {.attributes = d->attributes};
    TRY(memory_new(&size, d->attributes));
    shape.size = size;
    for (size_t a = 0; a < d->attributes; a++)
        size[a] = d->attribute[a].size;
    TRY(records_pack(&shape, t->column, t->rows, records, out));
    if (study_sends_keys(study, owner))
        records_pack_keys(t->key, t->rows, records, out + records_bytes(&shape, records));
    return ERR_OK;
}

/* For a provider: codes of 16 bits, row after row; of padding they are none. */
static void pack_codes(const struct study *study, const struct table *t, size_t records,
                       uint8_t *out)
{
    const size_t codes = study_encrypted_codes(study);
    for (size_t i = 0; i < records; i++)
        for (size_t a = 0; a < codes; a++) {
            const uint16_t code = a < t->domain->attributes && i < t->rows ? t->column[a][i] : 0;
            out = integer_put(out, i < t->rows ? code : UINT16_MAX, 2);
        }
}

/* Bytes before they are masked or encrypted. */
static size_t packed_bytes(const struct study *study, size_t owner, unsigned form)
{
    if (form == UPLOAD_ENCRYPTED)
        return 2 * study_encrypted_codes(study) * (size_t)study_owner(study, owner)->pad_to;
    return (size_t)study_form_bytes(study, owner, form);
}

enum err pack_table(const struct study *study, size_t owner, unsigned form, const struct table *t,
                    struct bytes *packed)
{
    uint8_t *out;
    if (table_weight(t) > most_weight(study, owner))
        return ERR_DATA;
    if (study_sends_keys(study, owner) && (form != UPLOAD_RECORDS || t->key == NULL))
        return ERR_MISUSE;
    out = bytes_extend(packed, packed_bytes(study, owner, form));
    if (out == NULL)
        return ERR_NOMEM;
    if (form == UPLOAD_ENCRYPTED) {
        pack_codes(study, t, study_owner(study, owner)->pad_to, out);
        return ERR_OK;
    }
    return form == UPLOAD_RECORDS ? pack_records(study, owner, t, out)
                                  : count_and_pack(study, owner, t, out);
}

enum err pack_counts(const struct study *study, size_t owner, const int64_t *counts, size_t rows,
                     struct bytes *packed)
{
    const struct study_owner *o = study_owner(study, owner);
    uint8_t *out;
    if (rows > o->max_rows)
        return ERR_DATA;
    out = bytes_extend(packed, (size_t)study_counts_bytes(study, owner));
    if (out == NULL)
        return ERR_NOMEM;
    return put_counts(study, owner, counts, out);
}

enum err pack_choose_form(const struct study *study, size_t owner, const char *as, unsigned *form,
                          struct log *log)
{
    const struct study_owner *self = study_owner(study, owner);
    *form = study_upload_form(study, owner);
    if (as != NULL && strcmp(as, "records") == 0)
        *form = study_setting(study)->records;
    else if (as != NULL && (strcmp(as, "counts") == 0 || strcmp(as, "answers") == 0))
        *form = study_counts_form(study, owner);
    else if (as != NULL && strcmp(as, "auto") != 0)
        return log_fail(log, ERR_USAGE, "--as is \"%s\"; it should be counts, records or auto", as);
    if (study_form_bytes(study, owner, *form) != 0)
        return ERR_OK;
    if (study_setting(study)->records == UPLOAD_ENCRYPTED)
        return log_fail(log, ERR_REFUSED,
                        "with a provider and a keeper %s sends %s, as the study says; leave --as "
                        "out",
                        self->name, self->records ? "records" : "counts");
    if (*form != UPLOAD_RECORDS)
        return log_fail(log, ERR_REFUSED,
                        "the study bounds %s as an owner of records, and counts could exceed that; "
                        "leave --as out, or have the study say as: counts for this owner",
                        self->name);
    return log_fail(log, ERR_REFUSED,
                    "the study cannot take records of %s: a marginal has more than %d attributes, "
                    "or pad_to is beyond what its counts may be; leave --as out",
                    self->name, RECORDS_ORDER_MAX);
}
