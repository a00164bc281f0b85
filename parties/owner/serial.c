#include "parties/owner/serial.h"

#include "base/date.h"
#include "base/file.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define FILE_LIMIT 4096
#define HEX_SIZE 65

static const char head[] = "# The last that an owner has sealed for a Trefoil study. Keep it "
                           "beside the key.\nformat trefoil-serial-1\n";
static const char *const words[] = {[RECEIPT_HELD] = "upload", [RECEIPT_WITHDRAWN] = "withdrawal"};

static enum err put(const struct serial *s, const struct study *study, struct bytes *out)
{
    text_put(out, "%sstudy %s\nserial %" PRIu64 " %s ", head, study->name, s->last,
             words[s->state]);
    text_put_hex(out, s->upload, 32);
    text_put(out, "\nparcel ");
    text_put_hex(out, s->parcel, 32);
    text_put(out, "\n");
    return bytes_ok(out);
}

/* One text each: what is read has to be what would be written. */
static enum err parse(struct serial *s, const struct study *study, struct bytes *text)
{
    char kind[16] = "", upload[HEX_SIZE] = "", parcel[HEX_SIZE] = "";
    struct bytes again CLEAN(bytes_clear) = {0};
    char *value, *other;
    bytes_put_u8(text, 0);
    TRY(bytes_ok(text));
    value = text_value((char *)text->data, "serial");
    other = text_value((char *)text->data, "parcel");
    if (value == NULL || other == NULL ||
        sscanf(value, "%" SCNu64 " %15s %64s", &s->last, kind, upload) != 3 ||
        sscanf(other, "%64s", parcel) != 1 || !text_hex(upload, s->upload, 32) ||
        !text_hex(parcel, s->parcel, 32))
        return ERR_STUDY;
    s->state = strcmp(kind, words[RECEIPT_HELD]) == 0 ? RECEIPT_HELD : RECEIPT_WITHDRAWN;
    TRY(put(s, study, &again));
    return again.size + 1 == text->size && memcmp(again.data, text->data, again.size) == 0
               ? ERR_OK
               : ERR_STUDY;
}

enum err serial_load(struct serial *s, const struct study *study, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    *s = (struct serial){0};
    if (!file_is_there(path))
        return ERR_OK;
    TRY(file_read(path, FILE_LIMIT, &text, log));
    e = parse(s, study, &text);
    return e == ERR_STUDY
               ? log_fail(
                     log, e,
                     "%s is damaged, or not the file of the study %s; put a copy in its place, "
                     "or remove it if this machine's clock is right",
                     path, study->name)
               : e;
}

uint64_t serial_next(const struct serial *last)
{
    const uint64_t ms = 1000 * (uint64_t)date_now();
    return ms > last->last ? ms : last->last + 1;
}

enum err serial_save(const struct serial *s, const struct study *study, const char *path,
                     struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    TRY(put(s, study, &text));
    return file_write(path, 0600, text.data, text.size, log);
}
