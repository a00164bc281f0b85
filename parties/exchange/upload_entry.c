#include "parties/exchange/upload_entry.h"

#include "base/date.h"

void upload_entry_put(struct bytes *out, const struct upload_entry *entry)
{
    bytes_put_u8(out, (uint8_t)entry->state);
    if (entry->state == UPLOAD_NOTHING)
        return;
    bytes_put_u64(out, (uint64_t)entry->time);
    bytes_put_u64(out, entry->bytes);
    bytes_put(out, entry->digest, sizeof entry->digest);
}

void upload_entry_read(struct reader *in, struct upload_entry *entry)
{
    unsigned state = reader_u8(in);
    *entry = (struct upload_entry){0};
    if (state > UPLOAD_WITHDRAWN)
        in->failed = true;
    if (in->failed || state == UPLOAD_NOTHING)
        return;
    entry->state = (enum upload_state)state;
    entry->time = date_read(in);
    entry->bytes = reader_u64(in);
    reader_copy(in, entry->digest, sizeof entry->digest);
}
