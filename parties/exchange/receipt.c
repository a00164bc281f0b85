#include "parties/exchange/receipt.h"

#include "base/date.h"
#include "base/file.h"
#include "base/line.h"
#include "base/text.h"
#include "base/version.h"

#include <string.h>

static const char label[] = "trefoil-receipt-1";
static const char *const states[] = {[RECEIPT_HELD] = "held", [RECEIPT_WITHDRAWN] = "withdrawn"};

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
    for (unsigned i = 0; i < study->servers; i++)
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
    part->time = date_read(in);
    reader_copy(in, part->signature, sizeof part->signature);
}

/* --- as a file -------------------------------------------------------------------------------- */

enum err receipt_save(const char *path, const struct study *study, const struct receipt *r,
                      struct log *log)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    text_put(&out,
             "# What the servers of a Trefoil study signed for an owner. Verify it with\n"
             "# trefoil check STUDY --receipt FILE\n"
             "format %s\nstudy %s\nterms ",
             label, study->name);
    text_put_hex(&out, study->terms.digest, 32);
    text_put(&out, "\nowner %s\nupload ", study_owner_name(study, r->owner).text);
    text_put_hex(&out, r->digest, 32);
    text_put(&out, "\nstate %s\n", states[r->state]);
    for (size_t i = 0; i < study->servers; i++) {
        char signature[IDENTITY_SIGNATURE_TEXT_SIZE];
        identity_signature_text(r->part[i].signature, signature);
        text_put(&out, "server %s %s %s\n", study->server[i].name, date_text(r->part[i].time).text,
                 signature);
    }
    TRY(bytes_ok(&out));
    return file_write(path, 0644, out.data, out.size, log);
}

/* The value in the next line that is neither empty nor a comment, which should be `word value`. */
static enum err next_value(struct line_reader *in, const char *word, char **value)
{
    char *line;
    do {
        line = line_next(in);
        if (line == NULL)
            return log_fail(in->log, ERR_FORMAT, "%s ends where the line \"%s ...\" should follow",
                            in->path, word);
    } while (line_says_nothing(line));
    *value = line_value(line, word);
    if (*value == NULL)
        return line_fail(in, ERR_FORMAT, "the line \"%s ...\" should stand here", word);
    return ERR_OK;
}

static enum err read_head(struct line_reader *in, const struct study *study)
{
    char *value;
    uint8_t terms[32];
    TRY(next_value(in, "format", &value));
    TRY(version_check(in->path, value, strlen(value), label, 1, in->log));
    if (strcmp(value, label) != 0)
        return line_fail(in, ERR_FORMAT, "\"format trefoil-receipt-1\" should stand here");
    TRY(next_value(in, "study", &value));
    if (strcmp(value, study->name) != 0)
        return line_fail(in, ERR_MISMATCH, "the receipt is of another study");
    TRY(next_value(in, "terms", &value));
    if (!text_hex(value, terms, sizeof terms))
        return line_fail(in, ERR_FORMAT, "64 hexadecimal digits should stand here");
    if (memcmp(terms, study->terms.digest, sizeof terms) != 0)
        return line_fail(in, ERR_MISMATCH, "the receipt is of this study with other terms");
    return ERR_OK;
}

static enum err read_subject(struct line_reader *in, const struct study *study, struct receipt *r)
{
    char *value;
    TRY(next_value(in, "owner", &value));
    r->owner = (uint32_t)study_find_owner(study, value);
    if (r->owner == study_owners_most(study))
        return line_fail(in, ERR_MISMATCH, "the study has no owner of this name");
    TRY(next_value(in, "upload", &value));
    if (!text_hex(value, r->digest, sizeof r->digest))
        return line_fail(in, ERR_FORMAT, "64 hexadecimal digits should stand here");
    TRY(next_value(in, "state", &value));
    r->state = strcmp(value, states[RECEIPT_HELD]) == 0 ? RECEIPT_HELD : RECEIPT_WITHDRAWN;
    if (strcmp(value, states[r->state]) != 0)
        return line_fail(in, ERR_FORMAT, "the state should be held or withdrawn");
    return ERR_OK;
}

/* "name time signature" */
static enum err read_part(struct line_reader *in, const struct study_server *server,
                          struct receipt_part *part)
{
    char *value, *time, *signature;
    TRY(next_value(in, "server", &value));
    time = strchr(value, ' ');
    signature = time != NULL ? strchr(time + 1, ' ') : NULL;
    if (signature == NULL)
        return line_fail(in, ERR_FORMAT, "a name, a time and a signature should stand here");
    *time++ = *signature++ = '\0';
    if (strcmp(value, server->name) != 0)
        return line_fail(in, ERR_MISMATCH, "the study has another server in this place");
    if (!date_parse(time, &part->time))
        return line_fail(in, ERR_FORMAT,
                         "a time such as 2026-12-01T18:00:00Z should follow the name");
    if (identity_signature_parse(part->signature, signature) != ERR_OK)
        return line_fail(in, ERR_FORMAT, "a signature, trefoil-sig1-..., should follow the time");
    return ERR_OK;
}

enum err receipt_parse(struct receipt *r, const struct study *study, const char *path,
                       const void *text, size_t n, struct log *log)
{
    struct line_reader in CLEAN(line_clear) = {0};
    *r = (struct receipt){0};
    TRY(line_text(&in, path, text, n, log));
    TRY(read_head(&in, study));
    TRY(read_subject(&in, study, r));
    for (size_t i = 0; i < study->servers; i++)
        TRY(read_part(&in, &study->server[i], &r->part[i]));
    for (const char *line; (line = line_next(&in)) != NULL;)
        if (line[0] != '\0')
            return line_fail(&in, ERR_FORMAT, "nothing should follow the last server");
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
    fprintf(out, "All servers of study %s signed that the upload of %s\n  %s\n%s:\n", study->name,
            study_owner_name(study, r->owner).text, text_hash(r->digest).text,
            r->state == RECEIPT_HELD ? "is on their disks, whole"
                                     : "was withdrawn, and their shares of it deleted");
    for (size_t i = 0; i < study->servers; i++) {
        fprintf(out, "  server %zu, %-18s %s\n", i, study->server[i].name,
                date_text(r->part[i].time).text);
    }
}
