#include "parties/study/sealing.h"

#include "base/file.h"
#include "base/text.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESTROY_MAX 4096 /* bytes of a key's file */

static const char prefix[] = "trefoil-sealing1-", label[] = "trefoil-sealing-1";

/* As text, and what the server signs. */
struct sealing_raw {
    uint8_t key[32], signature[IDENTITY_SIGNATURE_SIZE];
};
struct sealing_statement {
    uint8_t terms[32], key[32];
};

static struct sealing_statement statement_of(const struct study *study, const uint8_t key[32])
{
    struct sealing_statement s;
    memcpy(s.terms, study->terms.digest, 32);
    memcpy(s.key, key, 32);
    return s;
}

enum err sealing_parse(struct study_sealing *key, const char *text)
{
    struct sealing_raw raw;
    char again[SEALING_TEXT_SIZE];
    if (version_of(text, strlen(text), prefix) > 1)
        return ERR_MISMATCH;
    if (!text_base64(text, prefix, &raw, sizeof raw))
        return ERR_FORMAT;
    key->given = true;
    memcpy(key->key, raw.key, sizeof raw.key);
    memcpy(key->signature, raw.signature, sizeof raw.signature);
    text_put_base64(again, prefix, &raw, sizeof raw); /* one text each */
    return strcmp(text, again) == 0 ? ERR_OK : ERR_FORMAT;
}

enum err sealing_check(const struct study *study, unsigned server)
{
    const struct study_server *s = &study->server[server];
    const struct sealing_statement words = statement_of(study, s->sealing.key);
    return public_identity_verify(&s->key, label, &words, sizeof words, s->sealing.signature);
}

bool study_seals(const struct study *study)
{
    for (unsigned i = 0; i < study->servers; i++)
        if (!study->server[i].sealing.given)
            return false;
    return true;
}

enum err sealing_new(const struct study *study, const struct identity *server, const char *path,
                     char text[SEALING_TEXT_SIZE], struct log *log)
{
    struct identity *secret CLEAN(identity_free) = NULL;
    struct sealing_statement words;
    struct sealing_raw raw;
    unsigned i = 0;
    while (i < study->servers && memcmp(study->server[i].key.sign, server->public.sign, 32) != 0)
        i++;
    if (i == study->servers)
        return log_fail(log, ERR_AUTH,
                        "this identity is not one of the study's servers', who alone have sealing "
                        "keys");
    TRY(identity_new(&secret, log));
    words = statement_of(study, secret->public.curve);
    memcpy(raw.key, words.key, sizeof raw.key);
    TRY(identity_sign(server, label, &words, sizeof words, raw.signature));
    text_put_base64(text, prefix, &raw, sizeof raw);
    return identity_save(secret, path, false, log);
}

enum err sealing_load(struct identity **secret, const struct study *study, unsigned server,
                      const char *path, struct log *log)
{
    TRY(identity_load(secret, path, log));
    if (memcmp((*secret)->public.curve, study->server[server].sealing.key, 32) == 0)
        return ERR_OK;
    identity_free(secret);
    return log_fail(log, ERR_STUDY,
                    "%s is not the sealing key that the study lists for %s; name that one, or have "
                    "the roster amended",
                    path, study->server[server].name);
}

bool sealing_is_overwritten(const char *path)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    struct log quiet = {.level = LOG_ERROR};
    return file_read(path, DESTROY_MAX, &text, &quiet) == ERR_OK && text.size > 0 &&
           sodium_is_zero(text.data, text.size);
}

enum err sealing_destroy(const char *path, struct log *log)
{
    static const uint8_t zeros[DESTROY_MAX];
    struct stat st;
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    bool gone;
    if (fd < 0 && errno == ENOENT)
        return ERR_OK;
    gone = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_size <= (off_t)sizeof zeros &&
           file_write_all(fd, zeros, (size_t)st.st_size) == 0 && fsync(fd) == 0 &&
           unlink(path) == 0;
    if (fd >= 0)
        close(fd);
    return gone ? file_sync_folder_of(path, log)
                : log_fail(log, ERR_SYSTEM, "cannot overwrite and delete the sealing key %s: %s",
                           path, strerror(errno));
}
