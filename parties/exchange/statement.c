#include "parties/exchange/statement.h"

#include "base/date.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define LABEL "trefoil-purge-1"
#define LINE 512

void statement_clear(struct statement *s)
{
    memory_free(&s->upload);
    *s = (struct statement){0};
}

/* --- writing ---------------------------------------------------------------------------------- */

enum err statement_write(const struct statement *s, const struct study *study,
                         const struct identity *me, struct bytes *out)
{
    uint8_t signature[KEYS_SIGNATURE_SIZE];
    char text[KEYS_SIGNATURE_TEXT_SIZE];
    text_put(out, LABEL "\nstudy %s\nterms ", study->name);
    text_put_hex(out, study->terms.digest, 32);
    text_put(out, "\nserver %u %s\ntime %s\nuploads %zu\n", s->server,
             study->server[s->server].name, date_text(s->time).text, s->uploads);
    for (size_t i = 0; i < s->uploads; i++) {
        const struct upload_name *u = &s->upload[i];
        text_put(out, "upload %s id ", study_owner_name(study, u->owner).text);
        text_put_hex(out, u->id, sizeof u->id);
        bytes_put_text(out, " digest ");
        text_put_hex(out, u->digest, sizeof u->digest);
        bytes_put_text(out, "\n");
    }
    TRY(bytes_ok(out));
    TRY(identity_sign(me, LABEL, out->data, out->size, signature));
    keys_signature_text(signature, text);
    text_put(out, "signature %s\n", text);
    return bytes_ok(out);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct source {
    const char *at, *end;
    char line[LINE];
};

/* The next line without its end; false if there is none, or it is too long. */
static bool next(struct source *l)
{
    const char *end = l->at < l->end ? memchr(l->at, '\n', (size_t)(l->end - l->at)) : NULL;
    size_t n = end != NULL ? (size_t)(end - l->at) : LINE;
    if (n >= LINE || memchr(l->at, '\0', n) != NULL)
        return false;
    memcpy(l->line, l->at, n);
    l->line[n] = '\0';
    l->at = end + 1;
    return true;
}

/* Returns the rest of the next line, after `word` and a space; NULL if it begins otherwise. */
static const char *field(struct source *l, const char *word)
{
    size_t n = strlen(word);
    return next(l) && strncmp(l->line, word, n) == 0 && l->line[n] == ' ' ? l->line + n + 1 : NULL;
}

static enum err read_upload(struct source *l, const struct study *study, struct upload_name *u)
{
    char name[STUDY_NAME_SIZE], id[65], digest[65], again[LINE];
    const char *rest = field(l, "upload");
    if (rest == NULL || sscanf(rest, "%31s id %32s digest %64s", name, id, digest) != 3)
        return ERR_FORMAT;
    snprintf(again, sizeof again, "%s id %s digest %s", name, id, digest);
    if (strcmp(again, rest) != 0 || !text_hex(id, u->id, sizeof u->id) ||
        !text_hex(digest, u->digest, sizeof u->digest))
        return ERR_FORMAT;
    u->owner = (uint32_t)study_find_owner(study, name);
    return u->owner < study_owners_most(study) ? ERR_OK : ERR_FORMAT;
}

static enum err read_head(struct source *l, const struct study *study, struct statement *s)
{
    char terms[65], name[STUDY_NAME_SIZE];
    const char *rest;
    sodium_bin2hex(terms, sizeof terms, study->terms.digest, 32);
    if (!next(l) || strcmp(l->line, LABEL) != 0 || field(l, "study") == NULL ||
        (rest = field(l, "terms")) == NULL)
        return ERR_FORMAT;
    if (strcmp(rest, terms) != 0)
        return ERR_MISMATCH;
    if ((rest = field(l, "server")) == NULL || sscanf(rest, "%u %31s", &s->server, name) != 2 ||
        s->server >= STUDY_SERVERS || strcmp(name, study->server[s->server].name) != 0 ||
        (rest = field(l, "time")) == NULL || !date_parse(rest, &s->time) ||
        (rest = field(l, "uploads")) == NULL || sscanf(rest, "%zu", &s->uploads) != 1 ||
        s->uploads > study_owners_most(study))
        return ERR_FORMAT;
    return ERR_OK;
}

static enum err check_signature(struct source *l, const struct study *study,
                                const struct statement *s, const char *text)
{
    uint8_t signature[KEYS_SIGNATURE_SIZE];
    size_t n = (size_t)(l->at - text);
    const char *rest = field(l, "signature");
    if (rest == NULL || l->at != l->end || keys_signature_parse(signature, rest) != ERR_OK)
        return ERR_FORMAT;
    return public_identity_verify(&study->server[s->server].key, LABEL, text, n, signature);
}

static enum err read_all(struct source *l, const struct study *study, struct statement *s)
{
    const char *text = l->at;
    TRY(read_head(l, study, s));
    TRY(memory_new(&s->upload, s->uploads));
    for (size_t i = 0; i < s->uploads; i++)
        TRY(read_upload(l, study, &s->upload[i]));
    return check_signature(l, study, s, text);
}

enum err statement_read(struct statement *s, const struct study *study, const char *path,
                        const void *text, size_t n, struct log *log)
{
    struct source l = {.at = text, .end = (const char *)text + n};
    enum err e;
    *s = (struct statement){0};
    TRY(version_check(path, text, n, LABEL, 1, log));
    e = read_all(&l, study, s);
    if (e == ERR_MISMATCH)
        log_error(log, "%s is about another study: its terms differ", path);
    else if (e == ERR_AUTH)
        log_error(log, "%s is not signed by the key of server %u (%s), or was changed", path,
                  s->server, study->server[s->server].name);
    else if (e != ERR_OK)
        log_error(log, "%s is not a statement of trefoil serve --purge", path);
    if (e != ERR_OK)
        statement_clear(s);
    return e;
}
