/* The files that `share` keeps beside a key, and what it did last (parties/command/share.h). */
#include "parties/command/share.h"

#include "parties/owner/parcel.h"
#include "parties/owner/pin.h"
#include "parties/owner/serial.h"

enum err share_path(const struct share *s, const char *asked, const char *end, char path[FILE_PATH])
{
    return asked != NULL ? file_path(path, s->log, "%s", asked)
                         : pin_of_study(s->key, s->self.name.text, s->study, end, path, s->log);
}

enum err share_load_serial(const struct share *s, char path[FILE_PATH], struct serial *serial)
{
    TRY(share_path(s, NULL, "serial", path));
    return serial_load(serial, path, s->log);
}

enum err share_save_serial(const struct share *s, const char *path, const struct bytes *parcel)
{
    struct serial now = {.last = s->serial};
    if (!s->withdraw)
        upload_digest(&s->parts[0], s->study->terms.digest, now.upload);
    if (parcel != NULL)
        parcel_digest(parcel, now.parcel);
    return serial_save(&now, path, s->log);
}

enum err share_take_serial(struct share *s)
{
    char path[FILE_PATH];
    struct serial last;
    if (!study_seals(s->study))
        return ERR_OK;
    TRY(share_load_serial(s, path, &last));
    s->serial = serial_next(&last);
    return share_save_serial(s, path, NULL);
}
