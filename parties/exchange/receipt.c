#include "parties/exchange/receipt.h"

#include "base/date.h"
#include "base/file.h"
#include "base/text.h"
#include "base/version.h"

#include <sodium.h>
#include <string.h>

static const char label[] = "trefoil-receipt-1";
static const char *const states[] = {[RECEIPT_HELD] = "held", [RECEIPT_WITHDRAWN] = "withdrawn"};

#define DIGEST_TEXT 65
#define LINE_MAX_SIZE 256

/* --- statements ------------------------------------------------------------------------------- */

static enum err statement(const struct study *study, const struct receipt *r, int64_t time,
                          struct bytes *out)
{
    bytes_put(out, study->terms.digest, 32);
    bytes_put_u8(out, (uint8_t)r->state);
    bytes_put_u32(out, r->owner);
    bytes_put(out, r->digest, sizeof r->digest);
    bytes_put_u64(out, (uint64_t)time);
    return bytes_ok(out);
}

enum err receipt_sign(const struct study *study, const struct identity *server,
                      const struct receipt *r, struct receipt_part *part)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    part->time = date_now();
    TRY(statement(study, r, part->time, &b));
    return identity_sign(server, label, b.data, b.size, part->signature);
}

enum err receipt_verify_part(const struct study *study, const struct receipt *r, unsigned server,
                             struct log *log)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    enum err e;
    TRY(statement(study, r, r->part[server].time, &b));
    e = public_identity_verify(&study->server[server].key, label, b.data, b.size,
                               r->part[server].signature);
    if (e != ERR_AUTH)
        return e;
    return log_fail(log, e,
                    "server %u (%s) has not signed this: its signature is of something else; share "
                    "again, and ask its operator if it stays so",
                    server, study->server[server].name);
}

enum err receipt_verify(const struct study *study, const struct receipt *r, struct log *log)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        TRY(receipt_verify_part(study, r, i, log));
    return ERR_OK;
}

void receipt_part_write(const struct receipt_part *part, struct bytes *out)
{
    bytes_put_u64(out, (uint64_t)part->time);
    bytes_put(out, part->signature, sizeof part->signature);
}

void receipt_part_read(struct receipt_part *part, struct reader *in)
{
    part->time = (int64_t)reader_u64(in);
    reader_copy(in, part->signature, sizeof part->signature);
}

/* --- as a file -------------------------------------------------------------------------------- */

enum err receipt_save(const char *path, const struct study *study, const struct receipt *r,
                      struct log *log)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    text_put(&out,
             "# What the three servers of a Trefoil study signed for an owner. Verify it with\n"
             "# trefoil check STUDY --receipt FILE\n"
             "format %s\nstudy %s\nterms ",
             label, study->name);
    text_put_hex(&out, study->terms.digest, 32);
    text_put(&out, "\nowner %s\nupload ", study_owner_name(study, r->owner).text);
    text_put_hex(&out, r->digest, 32);
    text_put(&out, "\nstate %s\n", states[r->state]);
    for (size_t i = 0; i < STUDY_SERVERS; i++) {
        char signature[KEYS_SIGNATURE_TEXT_SIZE];
        keys_signature_text(r->part[i].signature, signature);
        text_put(&out, "server %s %s %s\n", study->server[i].name, date_text(r->part[i].time).text,
                 signature);
    }
    TRY(bytes_ok(&out));
    return file_write(path, 0644, out.data, out.size, log);
}

struct source {
    const char *path;
    const char *at, *end;
    unsigned number;
    struct log *log;
};

/* The next line, without its end; false at the end of the text. */
static bool take_line(struct source *in, const char **line, size_t *n)
{
    const char *stop;
    if (in->at == in->end)
        return false;
    stop = memchr(in->at, '\n', (size_t)(in->end - in->at));
    *line = in->at;
    *n = (size_t)((stop != NULL ? stop : in->end) - in->at);
    in->at += *n + (stop != NULL);
    in->number++;
    if (*n > 0 && (*line)[*n - 1] == '\r')
        --*n;
    return true;
}

/* The value of the next line that is not empty and no comment, which should be `word value`. */
static enum err next_line(struct source *in, const char *word, char value[LINE_MAX_SIZE])
{
    size_t n = 0, skip = strlen(word);
    const char *line;
    do {
        if (!take_line(in, &line, &n))
            return log_fail(in->log, ERR_FORMAT, "%s ends where the line \"%s ...\" should follow",
                            in->path, word);
    } while (n == 0 || line[0] == '#');
    if (n <= skip || n - skip > LINE_MAX_SIZE || memcmp(line, word, skip) != 0 ||
        line[skip] != ' ' || memchr(line, '\0', n) != NULL)
        return log_fail(in->log, ERR_FORMAT, "%s:%u: the line \"%s ...\" should stand here",
                        in->path, in->number, word);
    memcpy(value, line + skip + 1, n - skip - 1);
    value[n - skip - 1] = '\0';
    return ERR_OK;
}

static enum err wrong(const struct source *in, enum err e, const char *what)
{
    return log_fail(in->log, e, "%s:%u: %s", in->path, in->number, what);
}

static enum err read_head(struct source *in, const struct study *study)
{
    char value[LINE_MAX_SIZE];
    uint8_t terms[32];
    TRY(next_line(in, "format", value));
    TRY(version_check(in->path, value, strlen(value), label, 1, in->log));
    if (strcmp(value, label) != 0)
        return wrong(in, ERR_FORMAT, "\"format trefoil-receipt-1\" should stand here");
    TRY(next_line(in, "study", value));
    if (strcmp(value, study->name) != 0)
        return wrong(in, ERR_MISMATCH, "the receipt is of another study");
    TRY(next_line(in, "terms", value));
    if (!text_hex(value, terms, sizeof terms))
        return wrong(in, ERR_FORMAT, "64 hexadecimal digits should stand here");
    if (memcmp(terms, study->terms.digest, sizeof terms) != 0)
        return wrong(in, ERR_MISMATCH, "the receipt is of this study with other terms");
    return ERR_OK;
}

static enum err read_subject(struct source *in, const struct study *study, struct receipt *r)
{
    char value[LINE_MAX_SIZE];
    TRY(next_line(in, "owner", value));
    r->owner = (uint32_t)study_find_owner(study, value);
    if (r->owner == study_owners_most(study))
        return wrong(in, ERR_MISMATCH, "the study has no owner of this name");
    TRY(next_line(in, "upload", value));
    if (!text_hex(value, r->digest, sizeof r->digest))
        return wrong(in, ERR_FORMAT, "64 hexadecimal digits should stand here");
    TRY(next_line(in, "state", value));
    r->state = strcmp(value, states[RECEIPT_HELD]) == 0 ? RECEIPT_HELD : RECEIPT_WITHDRAWN;
    if (strcmp(value, states[r->state]) != 0)
        return wrong(in, ERR_FORMAT, "the state should be held or withdrawn");
    return ERR_OK;
}

/* "name time signature" */
static enum err read_part(struct source *in, const struct study_server *server,
                          struct receipt_part *part)
{
    char value[LINE_MAX_SIZE], *time, *signature;
    TRY(next_line(in, "server", value));
    time = strchr(value, ' ');
    signature = time != NULL ? strchr(time + 1, ' ') : NULL;
    if (signature == NULL)
        return wrong(in, ERR_FORMAT, "a name, a time and a signature should stand here");
    *time++ = *signature++ = '\0';
    if (strcmp(value, server->name) != 0)
        return wrong(in, ERR_MISMATCH, "the study has another server in this place");
    if (!date_parse(time, &part->time))
        return wrong(in, ERR_FORMAT, "a time such as 2026-12-01T18:00:00Z should follow the name");
    if (keys_signature_parse(part->signature, signature) != ERR_OK)
        return wrong(in, ERR_FORMAT, "a signature, trefoil-sig1-..., should follow the time");
    return ERR_OK;
}

enum err receipt_parse(struct receipt *r, const struct study *study, const char *path,
                       const void *text, size_t n, struct log *log)
{
    const char *first = n > 0 ? text : "";
    struct source in = {.path = path, .at = first, .end = first + n, .log = log};
    const char *line;
    size_t left;
    *r = (struct receipt){0};
    TRY(read_head(&in, study));
    TRY(read_subject(&in, study, r));
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        TRY(read_part(&in, &study->server[i], &r->part[i]));
    while (take_line(&in, &line, &left))
        if (left > 0)
            return wrong(&in, ERR_FORMAT, "nothing should follow the third server");
    return ERR_OK;
}

enum err receipt_load(struct receipt *r, const struct study *study, const char *path,
                      struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    TRY(file_read(path, RECEIPT_FILE_MAX, &text, log));
    return receipt_parse(r, study, path, text.data, text.size, log);
}

void receipt_describe(FILE *out, const struct study *study, const struct receipt *r)
{
    char digest[DIGEST_TEXT];
    sodium_bin2hex(digest, sizeof digest, r->digest, 32);
    fprintf(out, "All three servers of study %s signed that the upload of %s\n  %s\n%s:\n",
            study->name, study_owner_name(study, r->owner).text, digest,
            r->state == RECEIPT_HELD ? "is on their disks, whole"
                                     : "was withdrawn, and their shares of it deleted");
    for (size_t i = 0; i < STUDY_SERVERS; i++) {
        fprintf(out, "  server %zu, %-18s %s\n", i, study->server[i].name,
                date_text(r->part[i].time).text);
    }
}
