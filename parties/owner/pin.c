#include "parties/owner/pin.h"

#include "base/bytes.h"
#include "base/text.h"

#include <string.h>
#include <unistd.h>

#define FILE_LIMIT ((size_t)1 << 20)

static const char head[] =
    "# The terms of studies that this key has shared data under (trefoil share).\n";

enum err pin_beside(const char *key_path, const char *end, char path[FILE_PATH], struct log *log)
{
    size_t n = strlen(key_path);
    if (n > 4 && strcmp(key_path + n - 4, ".key") == 0)
        n -= 4;
    return file_path(path, log, "%.*s%s", (int)n, key_path, end);
}

enum err pin_of_study(const char *key_path, const char *name, const struct study *study,
                      const char *end, char path[FILE_PATH], struct log *log)
{
    const char *slash = strrchr(key_path, '/');
    int folder = slash == NULL ? 0 : (int)(slash + 1 - key_path);
    return file_path(path, log, "%.*s%s.%s.%s", folder, key_path, name, study->name, end);
}

/* The file's text, or an empty one if there is no file; ends with a NUL. */
static enum err read_pins(const char *key_path, char path[FILE_PATH], struct bytes *text,
                          struct log *log)
{
    TRY(pin_beside(key_path, ".pins", path, log));
    if (access(path, F_OK) == 0)
        TRY(file_read(path, FILE_LIMIT, text, log));
    bytes_put_u8(text, 0);
    return bytes_ok(text);
}

enum err pin_check(const char *key_path, const struct study *study, const char *fingerprint,
                   bool *known, struct log *log)
{
    char path[FILE_PATH];
    struct bytes text CLEAN(bytes_clear) = {0};
    const char *pinned;
    const struct words_text print = study_fingerprint(study);
    const size_t n = strlen(print.text);
    *known = false;
    TRY(read_pins(key_path, path, &text, log));
    pinned = text_value((char *)text.data, study->name);
    *known = pinned != NULL && strncmp(pinned, print.text, n) == 0 &&
             strchr("\r\n", pinned[n]) != NULL;
    if (fingerprint != NULL && strcmp(fingerprint, print.text) != 0)
        return log_fail(log, ERR_MISMATCH,
                        "the terms of this study file are %s, not %s; ask whoever keeps the file, "
                        "by telephone, which are right",
                        print.text, fingerprint);
    if (fingerprint != NULL || pinned == NULL || *known)
        return ERR_OK;
    return log_fail(log, ERR_MISMATCH,
                    "this key knows the study %s by other terms: %.*s, and this file's are %s (see "
                    "%s). If all have agreed on new ones, give them: --fingerprint %s",
                    study->name, (int)strcspn(pinned, "\r\n"), pinned, print.text, path,
                    print.text);
}

/* Copies the text without one study's line; ends the last line if it has no end. */
static void copy_others(struct bytes *out, char *text, const char *name)
{
    const char *own = text_value(text, name), *rest = text;
    if (own != NULL) {
        const size_t n = strcspn(own, "\n");
        bytes_put(out, text, (size_t)(own - text) - strlen(name) - 1);
        rest = own + n + (own[n] == '\n');
    }
    bytes_put_text(out, rest);
    if (*rest != '\0' && rest[strlen(rest) - 1] != '\n')
        bytes_put_u8(out, '\n');
}

static enum err write_pin(const char *key_path, const struct study *study, const char *print,
                          struct log *log)
{
    char path[FILE_PATH];
    struct bytes text CLEAN(bytes_clear) = {0};
    struct bytes out CLEAN(bytes_clear) = {0};
    TRY(read_pins(key_path, path, &text, log));
    if (text.size == 1)
        bytes_put_text(&out, head);
    copy_others(&out, (char *)text.data, study->name);
    text_put(&out, "%s %s\n", study->name, print);
    TRY(bytes_ok(&out));
    return file_write(path, 0600, out.data, out.size, log);
}

enum err pin_set(const char *key_path, const struct study *study, struct log *log)
{
    enum err e;
    const struct words_text print = study_fingerprint(study);
    e = write_pin(key_path, study, print.text, log);
    if (e == ERR_SYSTEM)
        log_error(
            log,
            "the terms cannot be remembered beside the key; give them each time: --fingerprint %s",
            print.text);
    return e;
}
