#include "parties/owner/owner_secret.h"

#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/version.h"
#include "parties/setting/upload.h"
#include "parties/study/identity.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SECRET_TEXT_SIZE 44 /* with the NUL */
#define FILE_LIMIT 4096

static const char head[] =
    "# An owner's secret of one Trefoil study. Uploads are made with it and the owner's key, so "
    "that\n"
    "# nobody who has that key alone can find out what was uploaded. Keep it beside the key, and\n"
    "# tell nobody; if it is lost, share again with --replace.\n"
    "format trefoil-secret-1\n";

/* All that comes before the secret in the file, which may have no other text there. */
static void put_head(struct bytes *text, const struct study *study)
{
    text_put(text, "%sstudy %s\nsecret ", head, study->name);
}

static enum err parse(struct bytes *text, const struct study *study,
                      uint8_t secret[UPLOAD_SECRET_SIZE])
{
    struct bytes expected CLEAN(bytes_clear) = {0};
    size_t skip;
    put_head(&expected, study);
    TRY(bytes_ok(&expected));
    skip = expected.size;
    if (text->size != skip + SECRET_TEXT_SIZE || memcmp(text->data, expected.data, skip) != 0 ||
        text->data[text->size - 1] != '\n')
        return ERR_STUDY;
    text->data[text->size - 1] = '\0';
    return text_base64((const char *)text->data + skip, "", secret, UPLOAD_SECRET_SIZE) ? ERR_OK
                                                                                        : ERR_STUDY;
}

static enum err check_mode(const char *path, const struct stat *st, struct log *log)
{
    if (identity_file_is_private(st))
        return ERR_OK;
    return log_fail(
        log, ERR_STUDY,
        "the secret %s may be read or written by others (mode %04o); if nobody did, run: chmod 600 "
        "%s; otherwise delete it and share with --replace, which makes a new one",
        path, (unsigned)st->st_mode & 07777U, path);
}

static enum err check_version(const struct bytes *text, const char *path, struct log *log)
{
    static const char word[] = "\nformat ";
    const size_t skip = sizeof word - 1;
    const uint8_t *at = text->size > 0 ? memmem(text->data, text->size, word, skip) : NULL;
    if (at == NULL)
        return ERR_OK;
    at += skip;
    return version_check(path, at, text->size - (size_t)(at - text->data), "trefoil-secret-1", 1,
                         log);
}

static enum err read_secret(uint8_t *secret, const char *path, const struct study *study,
                            struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    TRY(file_read(path, FILE_LIMIT, &text, log));
    TRY(check_version(&text, path, log));
    e = parse(&text, study, secret);
    if (e != ERR_STUDY)
        return e;
    return log_fail(log, e,
                    "%s is cut or altered, or is not the secret of the study %s; put a copy of it "
                    "in its place, or delete it and share with --replace, which makes a new one",
                    path, study->name);
}

enum err owner_secret_load(uint8_t **secret, const char *path, const struct study *study,
                           struct log *log)
{
    struct stat st;
    enum err e;
    *secret = NULL;
    if (stat(path, &st) != 0) {
        if (errno == ENOENT)
            return ERR_OK;
        return log_fail(log, ERR_SYSTEM, "cannot open the secret %s: %s", path, strerror(errno));
    }
    TRY(check_mode(path, &st, log));
    *secret = secret_new(UPLOAD_SECRET_SIZE);
    e = *secret == NULL ? ERR_NOMEM : read_secret(*secret, path, study, log);
    if (e != ERR_OK)
        secret_free(secret);
    return e;
}

/* ERR_REFUSED if somebody has made one meanwhile. */
static enum err make(const char *path, const struct study *study, struct log *log)
{
    uint8_t secret[UPLOAD_SECRET_SIZE];
    char words[SECRET_TEXT_SIZE];
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    secret_random(secret, sizeof secret);
    text_put_base64(words, "", secret, sizeof secret);
    put_head(&text, study);
    text_put(&text, "%s\n", words);
    e = bytes_ok(&text);
    if (e == ERR_OK)
        e = file_write_new(path, 0600, text.data, text.size, log);
    secret_wipe(secret, sizeof secret);
    secret_wipe(words, sizeof words);
    return e;
}

enum err owner_secret_take(uint8_t **secret, const char *path, const struct study *study,
                           struct log *log)
{
    enum err e;
    TRY(owner_secret_load(secret, path, study, log));
    if (*secret != NULL)
        return ERR_OK;
    e = make(path, study, log);
    if (e != ERR_OK && e != ERR_REFUSED)
        return e;
    TRY(owner_secret_load(secret, path, study, log));
    if (*secret != NULL)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM,
                    "the secret %s was made and is gone again; find out what deletes it", path);
}
