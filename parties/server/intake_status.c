/* What a server says of the uploads that it has (parties/server/intake.h). */
#include "base/memory.h"
#include "parties/server/intake.h"

#define NOBODY UINT32_MAX

/* How many of the others' uploads are here, and how much of the asking owner's. */
static enum err put_open(const struct intake *in, uint32_t asks, struct bytes *out)
{
    struct upload_entry own = {0};
    uint64_t whole = 0, part = 0;
    if (in->site->study->open.most == 0)
        return ERR_OK;
    TRY(store_count_open(in->site->store, &whole, &part));
    if (asks != NOBODY)
        TRY(store_upload_entry(in->site->store, asks, &own));
    bytes_put_u64(out, whole);
    bytes_put_u64(out, part);
    upload_entry_put(out, &own);
    return ERR_OK;
}

static enum err put_status(const struct intake *in, uint32_t asks, struct bytes *out)
{
    const struct study *study = in->site->study;
    struct upload_entry *entry CLEAN(memory_release) = NULL;
    uint64_t debits;
    TRY(memory_new(&entry, study->owners));
    TRY(store_upload_entries(in->site->store, entry));
    TRY(store_debits(in->site->store, &debits));
    bytes_put_u32(out, study->roster_version);
    bytes_put_u8(out, debits > 0);
    bytes_put_u32(out, (uint32_t)study->owners);
    for (size_t i = 0; i < study->owners; i++)
        upload_entry_put(out, &entry[i]);
    TRY(put_open(in, asks, out));
    return bytes_ok(out);
}

enum err intake_status(struct intake *in, const struct intake_message *m)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    const enum err e = put_status(in, m->from->guest ? m->who : NOBODY, &out);
    return outbox_put(in->outbox, m->from, m->kind, intake_sealed(m), e,
                      e == ERR_OK ? "" : INTAKE_NOT_KNOWN, e == ERR_OK ? &out : NULL);
}
