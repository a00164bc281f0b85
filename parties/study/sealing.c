#include "parties/study/sealing.h"

#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY 32
#define RAW (KEY + IDENTITY_SIGNATURE_SIZE)
#define SECRET_TEXT_SIZE 44 /* with the NUL */
#define FILE_LIMIT 4096

static const char prefix[] = "trefoil-sealing1-", label[] = "trefoil-sealing-1",
                  format[] = "trefoil-seal-1";

/* What the server signs: the study's terms and the key. */
struct statement {
    uint8_t bytes[32 + KEY];
};

static struct statement statement_of(const struct study *study, const uint8_t key[KEY])
{
    struct statement s;
    memcpy(s.bytes, study->terms.digest, 32);
    memcpy(s.bytes + 32, key, KEY);
    return s;
}

static void put_text(const struct study_sealing *key, char text[SEALING_TEXT_SIZE])
{
    uint8_t raw[RAW];
    memcpy(raw, key->key, KEY);
    memcpy(raw + KEY, key->signature, sizeof key->signature);
    text_put_base64(text, prefix, raw, sizeof raw);
}

enum err sealing_parse(struct study_sealing *key, const char *text)
{
    uint8_t raw[RAW];
    char again[SEALING_TEXT_SIZE];
    if (version_of(text, strlen(text), prefix) > 1)
        return ERR_MISMATCH;
    if (!text_base64(text, prefix, raw, sizeof raw))
        return ERR_FORMAT;
    key->given = true;
    memcpy(key->key, raw, KEY);
    memcpy(key->signature, raw + KEY, sizeof key->signature);
    put_text(key, again); /* one text each */
    return strcmp(text, again) == 0 ? ERR_OK : ERR_FORMAT;
}

enum err sealing_check(const struct study *study, unsigned server)
{
    const struct study_server *s = &study->server[server];
    const struct statement words = statement_of(study, s->sealing.key);
    return public_identity_verify(&s->key, label, words.bytes, sizeof words.bytes,
                                  s->sealing.signature);
}

bool study_seals(const struct study *study)
{
    for (unsigned i = 0; i < study->servers; i++)
        if (!study->server[i].sealing.given)
            return false;
    return true;
}

/* --- the secret half -------------------------------------------------------------------------- */

static enum err save(const struct study *study, const char *path, const uint8_t secret[KEY],
                     struct log *log)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    char words[SECRET_TEXT_SIZE];
    enum err e;
    text_put_base64(words, "", secret, KEY);
    text_put(&file,
             "# A server's sealing key of one Trefoil study. Never back it up: serve --purge "
             "deletes it.\nformat %s\nstudy %s\nsecret %s\n",
             format, study->name, words);
    e = bytes_ok(&file);
    if (e == ERR_OK)
        e = file_write_new(path, 0600, file.data, file.size, log);
    secret_wipe(words, sizeof words);
    if (e != ERR_REFUSED)
        return e;
    return log_fail(log, e, "%s is there already and was left alone; choose another name", path);
}

enum err sealing_new(const struct study *study, const struct identity *server, const char *path,
                     char text[SEALING_TEXT_SIZE], struct log *log)
{
    uint8_t *secret CLEAN(secret_release) = secret_new(KEY);
    struct study_sealing key = {.given = true};
    struct statement words;
    unsigned i = 0;
    while (i < study->servers && memcmp(study->server[i].key.sign, server->public.sign, 32) != 0)
        i++;
    if (i == study->servers)
        return log_fail(log, ERR_AUTH,
                        "this identity is not one of the study's servers', who alone have sealing "
                        "keys");
    if (secret == NULL)
        return ERR_NOMEM;
    if (crypto_box_keypair(key.key, secret) != 0)
        return ERR_CRYPTO;
    words = statement_of(study, key.key);
    TRY(identity_sign(server, label, words.bytes, sizeof words.bytes, key.signature));
    put_text(&key, text);
    return save(study, path, secret, log);
}

/* Whether a file that is there may be used. */
static enum err check_mode(const char *path, struct log *log)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return log_fail(log, ERR_SYSTEM, "cannot open the sealing key %s: %s", path,
                        strerror(errno));
    if (identity_file_is_private(&st))
        return ERR_OK;
    return log_fail(log, ERR_STUDY,
                    "the sealing key %s may be read or written by others (mode %04o); if nobody "
                    "did, run: chmod 600 %s; otherwise make another (trefoil keygen --sealing)",
                    path, (unsigned)st.st_mode & 07777U, path);
}

static bool read_secret(struct bytes *file, const struct study *study, uint8_t secret[KEY])
{
    char *value, *name;
    bytes_put_u8(file, 0);
    if (bytes_ok(file) != ERR_OK || (value = text_value((char *)file->data, "secret")) == NULL ||
        (name = text_value((char *)file->data, "study")) == NULL)
        return false;
    name[strcspn(name, "\r\n")] = value[strcspn(value, "\r\n")] = '\0';
    return strcmp(name, study->name) == 0 && text_base64(value, "", secret, KEY);
}

enum err sealing_load(uint8_t **secret, const struct study *study, unsigned server,
                      const char *path, struct log *log)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    uint8_t *key CLEAN(secret_release) = secret_new(KEY);
    uint8_t public[KEY];
    *secret = NULL;
    if (key == NULL)
        return ERR_NOMEM;
    TRY(check_mode(path, log));
    TRY(file_read(path, FILE_LIMIT, &file, log));
    if (!read_secret(&file, study, key) || crypto_scalarmult_base(public, key) != 0)
        return log_fail(log, ERR_STUDY,
                        "%s is not an intact sealing key of the study %s; name the file that "
                        "trefoil keygen --sealing made for it",
                        path, study->name);
    if (memcmp(public, study->server[server].sealing.key, KEY) != 0)
        return log_fail(log, ERR_STUDY,
                        "%s is not the sealing key that the study lists for %s; name that one, or "
                        "have the roster amended",
                        path, study->server[server].name);
    *secret = key;
    key = NULL;
    return ERR_OK;
}

enum err sealing_destroy(const char *path, struct log *log)
{
    static const uint8_t zeros[FILE_LIMIT];
    struct stat st;
    bool gone;
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return ERR_OK;
    gone = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_LIMIT &&
           file_write_all(fd, zeros, (size_t)st.st_size) == 0 && fsync(fd) == 0 &&
           unlink(path) == 0;
    if (fd >= 0)
        close(fd);
    if (!gone)
        return log_fail(log, ERR_SYSTEM, "cannot overwrite and delete the sealing key %s: %s", path,
                        strerror(errno));
    return file_sync_folder_of(path, log);
}
