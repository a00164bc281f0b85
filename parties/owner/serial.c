#include "parties/owner/serial.h"

#include "base/date.h"
#include "base/file.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define FILE_LIMIT 4096

static enum err put(const struct serial *s, struct bytes *out)
{
    text_put(out, "trefoil-serial-1 %" PRIu64 " ", s->last);
    text_put_hex(out, s->upload, 32);
    text_put(out, " ");
    text_put_hex(out, s->parcel, 32);
    text_put(out, "\n");
    return bytes_ok(out);
}

/* One text each: what is read has to be what would be written. */
static enum err parse(struct serial *s, struct bytes *text)
{
    char upload[65] = "", parcel[65] = "";
    struct bytes again CLEAN(bytes_clear) = {0};
    bytes_put_u8(text, 0);
    TRY(bytes_ok(text));
    if (sscanf((char *)text->data, "trefoil-serial-1 %" SCNu64 " %64s %64s", &s->last, upload,
               parcel) != 3 ||
        !text_hex(upload, s->upload, 32) || !text_hex(parcel, s->parcel, 32))
        return ERR_STUDY;
    TRY(put(s, &again));
    return again.size + 1 == text->size && memcmp(again.data, text->data, again.size) == 0
               ? ERR_OK
               : ERR_STUDY;
}

enum err serial_load(struct serial *s, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    *s = (struct serial){0};
    if (!file_is_there(path))
        return ERR_OK;
    TRY(file_read(path, FILE_LIMIT, &text, log));
    e = parse(s, &text);
    return e != ERR_STUDY ? e
                          : log_fail(log, e,
                                     "%s is damaged; put a copy in its place, or remove it if this "
                                     "machine's clock is right",
                                     path);
}

uint64_t serial_next(const struct serial *last)
{
    const uint64_t ms = 1000 * (uint64_t)date_now();
    return ms > last->last ? ms : last->last + 1;
}

enum err serial_save(const struct serial *s, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    TRY(put(s, &text));
    return file_write(path, 0600, text.data, text.size, log);
}
