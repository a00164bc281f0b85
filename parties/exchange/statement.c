#include "parties/exchange/statement.h"

#include "base/date.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

#define LABEL "trefoil-purge-1"

void statement_clear(struct statement *s)
{
    memory_free(&s->upload);
    *s = (struct statement){0};
}

/* --- writing ---------------------------------------------------------------------------------- */

enum err statement_write(const struct statement *s, const struct study *study,
                         const struct identity *me, struct bytes *out)
{
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
    char text[IDENTITY_SIGNATURE_TEXT_SIZE];
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
    identity_signature_text(signature, text);
    text_put(out, "signature %s\n", text);
    return bytes_ok(out);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The next line's text after `word` and a space; NULL if it is cut or begins differently. */
static const char *field(struct line_reader *in, const char *word)
{
    char *line = line_next(in);
    return line != NULL && !in->cut ? line_value(line, word) : NULL;
}

static enum err read_upload(struct line_reader *in, const struct study *study,
                            struct upload_name *u)
{
    char name[STUDY_NAME_SIZE], id[65], digest[65], again[256];
    const char *rest = field(in, "upload");
    if (rest == NULL || sscanf(rest, "%31s id %32s digest %64s", name, id, digest) != 3)
        return ERR_FORMAT;
    snprintf(again, sizeof again, "%s id %s digest %s", name, id, digest);
    if (strcmp(again, rest) != 0 || !text_hex(id, u->id, sizeof u->id) ||
        !text_hex(digest, u->digest, sizeof u->digest))
        return ERR_FORMAT;
    u->owner = (uint32_t)study_find_owner(study, name);
    return u->owner < study_owners_most(study) ? ERR_OK : ERR_FORMAT;
}

static enum err read_head(struct line_reader *in, const struct study *study, struct statement *s)
{
    char name[STUDY_NAME_SIZE];
    const char *rest = line_next(in);
    if (rest == NULL || strcmp(rest, LABEL) != 0 || (rest = field(in, "study")) == NULL)
        return ERR_FORMAT;
    if (strcmp(rest, study->name) != 0)
        return ERR_MISMATCH;
    if ((rest = field(in, "terms")) == NULL)
        return ERR_FORMAT;
    if (strcmp(rest, text_hash(study->terms.digest).text) != 0)
        return ERR_MISMATCH;
    if ((rest = field(in, "server")) == NULL || sscanf(rest, "%u %31s", &s->server, name) != 2 ||
        s->server >= study->servers || strcmp(name, study->server[s->server].name) != 0 ||
        (rest = field(in, "time")) == NULL || !date_parse(rest, &s->time) ||
        (rest = field(in, "uploads")) == NULL || sscanf(rest, "%zu", &s->uploads) != 1 ||
        s->uploads > study_owners_most(study))
        return ERR_FORMAT;
    return ERR_OK;
}

static enum err check_signature(struct line_reader *in, const struct study *study,
                                const struct statement *s, const void *text)
{
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
    const size_t n = in->next;
    const char *rest = field(in, "signature");
    if (rest == NULL || identity_signature_parse(signature, rest) != ERR_OK ||
        line_next(in) != NULL)
        return ERR_FORMAT;
    return public_identity_verify(&study->server[s->server].key, LABEL, text, n, signature);
}

static enum err read_all(struct line_reader *in, const struct study *study, struct statement *s,
                         const void *text)
{
    TRY(read_head(in, study, s));
    TRY(memory_new(&s->upload, s->uploads));
    for (size_t i = 0; i < s->uploads; i++)
        TRY(read_upload(in, study, &s->upload[i]));
    return check_signature(in, study, s, text);
}

enum err statement_read(struct statement *s, const struct study *study, const char *path,
                        const void *text, size_t n, struct log *log)
{
    struct line_reader in CLEAN(line_clear) = {0};
    enum err e;
    *s = (struct statement){0};
    TRY(version_check(path, text, n, LABEL, 1, log));
    TRY(line_text(&in, path, text, n, log));
    e = read_all(&in, study, s, text);
    if (e == ERR_MISMATCH)
        log_error(log, "%s is about another study: its name or terms differ", path);
    else if (e == ERR_AUTH)
        log_error(log, "%s is not signed by the key of server %u (%s), or was changed", path,
                  s->server, study->server[s->server].name);
    else if (e == ERR_FORMAT && in.number == 1)
        log_error(log, "%s is not a statement of trefoil serve --purge", path);
    else if (e == ERR_FORMAT)
        e = line_fail(&in, e, "this is not a line of a statement of trefoil serve --purge");
    if (e != ERR_OK)
        statement_clear(s);
    return e;
}
