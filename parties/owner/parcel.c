#include "parties/owner/parcel.h"

#include "base/memory.h"
#include "base/version.h"

#include <sodium.h>
#include <string.h>

static const char format[] = "trefoil-parcel-1\n", answers_format[] = "trefoil-answers-1\n";

#define FORMAT_SIZE (sizeof format - 1)
#define ANSWERS_FORMAT_SIZE (sizeof answers_format - 1)

/* --- the messages ----------------------------------------------------------------------------- */

enum err parcel_put_head(const struct study *study, uint64_t debits, struct bytes *out)
{
    bytes_put_u8(out, MESSAGE_HEAD);
    bytes_put(out, study->terms.digest, 32);
    bytes_put_u64(out, debits);
    return bytes_ok(out);
}

/* Whether a vector is too long for one message, and goes in parts. */
static bool in_parts(const struct upload *part)
{
    return part->vector.size > MESSAGE_PART_MAX;
}

enum err parcel_put_upload(const struct study *study, const struct upload *part, unsigned server,
                           bool replace, struct bytes *out)
{
    struct upload head = *part; /* borrows */
    if (in_parts(part))
        head.whole = false;
    bytes_put_u8(out, replace ? MESSAGE_REPLACE : MESSAGE_UPLOAD);
    bytes_put(out, study->terms.digest, 32);
    return upload_write(&head, server, false, out);
}

enum err parcel_put_part(const struct upload *part, uint64_t first, struct bytes *out)
{
    const size_t left = part->vector.size - (size_t)first;
    bytes_put_u8(out, MESSAGE_PART);
    bytes_put(out, part->id, sizeof part->id);
    bytes_put_u64(out, first);
    bytes_put(out, part->vector.data + first, left < MESSAGE_PART_MAX ? left : MESSAGE_PART_MAX);
    return bytes_ok(out);
}

enum err parcel_put_withdraw(const struct study *study, struct bytes *out)
{
    bytes_put_u8(out, MESSAGE_WITHDRAW);
    bytes_put(out, study->terms.digest, 32);
    return bytes_ok(out);
}

/* --- making one ------------------------------------------------------------------------------- */

/* Appends a block with the message, which it empties. */
static enum err put_block(const struct sealed_from *from, unsigned server, struct bytes *message,
                          struct bytes *out)
{
    struct bytes seal CLEAN(bytes_clear) = {0};
    TRY(sealed_make(from, server, message, &seal));
    message->size = 0;
    bytes_put_block(out, seal.data, seal.size);
    return bytes_ok(out);
}

/* How many parts a server's vector goes in; only one server gets any. */
static size_t parts_of(const struct upload *part, unsigned server)
{
    return part != NULL && server == part->split->given && in_parts(part)
               ? (part->vector.size + MESSAGE_PART_MAX - 1) / MESSAGE_PART_MAX
               : 0;
}

/* `part`: of this server; NULL: the upload is withdrawn. */
static enum err put_blocks(const struct sealed_from *from, unsigned server,
                           const struct upload *part, bool replace, uint64_t debits,
                           struct bytes *out)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    const size_t parts = parts_of(part, server);
    bytes_put(out, from->study->server[server].sealing.key, 32);
    bytes_put_u32(out, (uint32_t)(PARCEL_PARTS + parts));
    TRY(parcel_put_head(from->study, debits, &message));
    TRY(put_block(from, server, &message, out));
    TRY(part != NULL ? parcel_put_upload(from->study, part, server, replace, &message)
                     : parcel_put_withdraw(from->study, &message));
    TRY(put_block(from, server, &message, out));
    for (size_t k = 0; k < parts; k++) {
        TRY(parcel_put_part(part, (uint64_t)k * MESSAGE_PART_MAX, &message));
        TRY(put_block(from, server, &message, out));
    }
    return ERR_OK;
}

enum err parcel_make(const struct sealed_from *from, const struct upload parts[], bool replace,
                     const uint64_t debits[], struct bytes *out)
{
    bytes_put_text(out, format);
    bytes_put(out, from->study->terms.digest, 32);
    for (unsigned i = 0; i < from->study->servers; i++)
        TRY(put_blocks(from, i, parts != NULL ? &parts[i] : NULL, replace, debits[i], out));
    return bytes_ok(out);
}

void parcel_digest(const struct bytes *file, uint8_t digest[32])
{
    crypto_hash_sha256(digest, file->data, file->size);
}

/* --- carrying one ----------------------------------------------------------------------------- */

void parcel_clear(struct parcel *p)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        memory_free(&p->at[i]);
    bytes_clear(&p->file);
}

/* A server's blocks; `other`: they are sealed to a key that the study does not list. */
static enum err read_blocks(struct parcel *p, unsigned server, struct reader *in, bool *other)
{
    const uint8_t *key = reader_bytes(in, 32);
    const uint32_t count = reader_u32(in);
    size_t n;
    if (in->failed || count < PARCEL_PARTS || count > in->left / 4)
        return ERR_FORMAT;
    *other = *other || memcmp(key, p->study->server[server].sealing.key, 32) != 0;
    TRY(memory_new(&p->at[server], count));
    p->blocks[server] = count;
    for (size_t k = 0; k < count; k++) {
        p->at[server][k] = p->file.size - in->left;
        (void)reader_block(in, &n);
    }
    return in->failed ? ERR_FORMAT : ERR_OK;
}

static enum err read_parcel(struct parcel *p, bool *other)
{
    struct reader in = reader_of(p->file.data, p->file.size);
    const uint8_t *word = reader_bytes(&in, FORMAT_SIZE), *terms = reader_bytes(&in, 32);
    *other = false;
    if (in.failed || memcmp(word, format, FORMAT_SIZE) != 0)
        return ERR_FORMAT;
    if (memcmp(terms, p->study->terms.digest, 32) != 0)
        return ERR_MISMATCH;
    for (unsigned i = 0; i < p->study->servers; i++)
        TRY(read_blocks(p, i, &in, other));
    return reader_done(&in);
}

enum err parcel_parse(struct parcel *p, const struct study *study, const char *path,
                      struct bytes *file, struct log *log)
{
    bool other;
    enum err e;
    *p = (struct parcel){.study = study, .file = *file};
    *file = (struct bytes){0};
    parcel_digest(&p->file, p->digest);
    TRY(version_check(path, p->file.data, p->file.size, "trefoil-parcel-1", 1, log));
    e = read_parcel(p, &other);
    if (e == ERR_FORMAT)
        return log_fail(log, e, "%s is no parcel, or it is cut: trefoil share --to makes one",
                        path);
    if (e == ERR_MISMATCH)
        return log_fail(log, e, "%s is a parcel for another study, or for other terms", path);
    if (e == ERR_OK && other)
        return log_fail(log, ERR_MISMATCH,
                        "%s is sealed to other keys than the study lists now: its owner should "
                        "make the parcel anew, with this study file",
                        path);
    return e;
}

const uint8_t *parcel_block(const struct parcel *p, unsigned server, size_t k, size_t *n)
{
    struct reader in = reader_of(p->file.data, p->file.size);
    (void)reader_bytes(&in, p->at[server][k]);
    return reader_block(&in, n);
}

/* --- answers ---------------------------------------------------------------------------------- */

void parcel_answers_clear(struct parcel_answers *a)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        bytes_clear(&a->of[i].head);
        bytes_clear(&a->of[i].act);
    }
}

enum err parcel_answers_write(const struct parcel *p, const struct parcel_answers *a,
                              struct bytes *out)
{
    bytes_put_text(out, answers_format);
    bytes_put(out, p->digest, sizeof p->digest);
    for (unsigned i = 0; i < p->study->servers; i++) {
        bytes_put_block(out, a->of[i].head.data, a->of[i].head.size);
        bytes_put_u32(out, a->of[i].block);
        bytes_put_block(out, a->of[i].act.data, a->of[i].act.size);
    }
    return bytes_ok(out);
}

/* An answer to block k, unless it is empty, which the server must have signed. */
static enum err read_answer(const struct parcel *p, unsigned server, size_t k, struct reader *in,
                            struct bytes *answer)
{
    struct reply reply;
    uint8_t digest[32];
    size_t n, size;
    const uint8_t *block = parcel_block(p, server, k, &size), *bytes = reader_block(in, &n);
    if (bytes == NULL)
        return ERR_FORMAT;
    bytes_set(answer, bytes, n);
    TRY(bytes_ok(answer));
    if (n == 0)
        return ERR_OK;
    TRY(reply_read(&reply, answer));
    sealed_digest(block, size, digest);
    TRY(sealed_check_answer(p->study, server, digest, answer, &reply));
    return reply.status == ERR_OK ? ERR_OK : ERR_FORMAT;
}

enum err parcel_answers_read(const struct parcel *p, struct parcel_answers *a, const void *file,
                             size_t n)
{
    struct reader in = reader_of(file, n);
    const uint8_t *word = reader_bytes(&in, ANSWERS_FORMAT_SIZE), *digest = reader_bytes(&in, 32);
    *a = (struct parcel_answers){0};
    if (in.failed || memcmp(word, answers_format, ANSWERS_FORMAT_SIZE) != 0)
        return ERR_FORMAT;
    if (memcmp(digest, p->digest, sizeof p->digest) != 0)
        return ERR_MISMATCH;
    for (unsigned i = 0; i < p->study->servers; i++) {
        TRY(read_answer(p, i, PARCEL_HEAD, &in, &a->of[i].head));
        a->of[i].block = reader_u32(&in);
        if (in.failed || a->of[i].block >= p->blocks[i])
            return ERR_FORMAT;
        TRY(read_answer(p, i, a->of[i].block, &in, &a->of[i].act));
    }
    return reader_done(&in);
}
