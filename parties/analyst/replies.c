#include "parties/analyst/replies.h"

#include "base/digest.h"
#include "base/memory.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define REPLIES_MAX 1024 /* rounds */
#define FILE_MOST ((size_t)1 << 32)

static const char magic[] = "trefoil-replies-2\n", first_magic[] = "trefoil-replies-1\n";

struct replies {
    const char *path; /* borrowed, as are the other pointers */
    const struct study *study;
    const uint8_t *run;
    struct log *log;
    size_t size; /* of the file, as far as it is whole; 0: it is not there, or of version 1 */
    size_t count;
    struct replies_answer {
        uint32_t lost;
        struct bytes request, answer;
    } * round; /* room for REPLIES_MAX */
};

static void put_head(const struct replies *a, struct bytes *out)
{
    bytes_put_text(out, magic);
    bytes_put(out, a->study->terms.digest, 32);
    bytes_put(out, a->run, REQUEST_RUN_SIZE);
}

/* The digest of a reply in this run. */
static void seal(const struct replies *a, const uint8_t *p, size_t n, uint8_t digest[DIGEST_SIZE])
{
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, DIGEST_SIZE);
    crypto_generichash_update(&hash, a->study->terms.digest, 32);
    crypto_generichash_update(&hash, a->run, REQUEST_RUN_SIZE);
    crypto_generichash_update(&hash, p, n);
    crypto_generichash_final(&hash, digest, DIGEST_SIZE);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_block(struct reader *in, struct bytes *b)
{
    size_t n = 0;
    const uint8_t *p = reader_block(in, &n);
    if (p != NULL)
        bytes_set(b, p, n);
}

static void read_reply(struct reader *in, struct replies_answer *r)
{
    r->lost = reader_u32(in);
    read_block(in, &r->request);
    read_block(in, &r->answer);
}

/* Whether the next one is whole; what a crash has cut off is asked for again. */
static bool read_next(struct replies *a, struct reader *in)
{
    struct replies_answer *r = &a->round[a->count];
    const uint8_t *start = in->p, *sealed;
    uint8_t digest[DIGEST_SIZE];
    if (in->left == 0 || a->count == REPLIES_MAX)
        return false;
    read_reply(in, r);
    seal(a, start, (size_t)(in->p - start), digest);
    sealed = reader_bytes(in, DIGEST_SIZE);
    if (sealed != NULL && memcmp(sealed, digest, DIGEST_SIZE) == 0) {
        a->count++;
        return true;
    }
    bytes_clear(&r->request);
    bytes_clear(&r->answer);
    return false;
}

/* The first one was written with the head, at once. */
static enum err read_replies(struct replies *a, const struct bytes *text)
{
    struct reader in = reader_of(text->data, text->size);
    struct bytes head CLEAN(bytes_clear) = {0};
    const uint8_t *found;
    put_head(a, &head);
    TRY(bytes_ok(&head));
    found = reader_bytes(&in, head.size);
    if (found == NULL || memcmp(found, head.data, head.size) != 0)
        return ERR_FORMAT;
    while (read_next(a, &in))
        a->size = text->size - in.left;
    return a->count > 0 ? ERR_OK : ERR_FORMAT;
}

/* Version 1 says how many there are, and has one digest at its end. */
static enum err read_first(struct replies *a, const struct bytes *text)
{
    struct reader in = reader_of(text->data, text->size);
    const uint8_t *terms, *run;
    uint32_t count;
    TRY(digest_check(&in, first_magic));
    terms = reader_bytes(&in, 32);
    run = reader_bytes(&in, REQUEST_RUN_SIZE);
    count = reader_u32(&in);
    if (in.failed || count > REPLIES_MAX || memcmp(terms, a->study->terms.digest, 32) != 0 ||
        memcmp(run, a->run, REQUEST_RUN_SIZE) != 0)
        return ERR_FORMAT;
    while (a->count < count)
        read_reply(&in, &a->round[a->count++]);
    return reader_done(&in);
}

enum err replies_open(struct replies **replies, const char *path, const struct study *study,
                      const uint8_t run[REQUEST_RUN_SIZE], struct log *log)
{
    struct replies *a CLEAN(replies_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    *replies = NULL;
    TRY(memory_new(&a, 1));
    TRY(memory_new(&a->round, REPLIES_MAX));
    a->path = path;
    a->study = study;
    a->run = run;
    a->log = log;
    if (access(path, F_OK) != 0)
        return memory_hand_over(replies, &a);
    TRY(file_read(path, FILE_MOST, &text, log));
    TRY(version_check(path, text.data, text.size, magic, 1, log));
    e = version_of(text.data, text.size, magic) == 1 ? read_first(a, &text)
                                                     : read_replies(a, &text);
    if (e == ERR_FORMAT)
        return log_fail(log, ERR_DATA,
                        "%s is cut or altered, or of another run: this run "
                        "cannot go on from here. Its answers can be had again: trefoil run "
                        "with another --out and --continue",
                        path);
    TRY(e);
    for (size_t i = 0; i < a->count; i++) {
        TRY(bytes_ok(&a->round[i].request));
        TRY(bytes_ok(&a->round[i].answer));
    }
    return memory_hand_over(replies, &a);
}

void replies_free(struct replies **replies)
{
    if (*replies == NULL)
        return;
    for (size_t i = 0; (*replies)->round != NULL && i < REPLIES_MAX; i++) {
        bytes_clear(&(*replies)->round[i].request);
        bytes_clear(&(*replies)->round[i].answer);
    }
    memory_free(&(*replies)->round);
    memory_free(replies);
}

enum err replies_find(const struct replies *a, const struct ask *ask, struct bytes *answer,
                      unsigned *lost)
{
    struct request before CLEAN(request_clear) = {0};
    const struct replies_answer *r;
    if (ask->round >= a->count)
        return ERR_OK;
    r = &a->round[ask->round];
    TRY(request_read(&before, a->study->domain, a->study->workload, r->request.data,
                     r->request.size));
    if (!ask_alike(&before.ask, ask))
        return log_fail(a->log, ERR_MISMATCH,
                        "%s has an answer to another request than this program would make in round "
                        "%u; continue with the version of trefoil that began this run",
                        a->path, ask->round);
    bytes_set(answer, r->answer.data, r->answer.size);
    *lost = r->lost;
    return bytes_ok(answer);
}

/* --- writing ---------------------------------------------------------------------------------- */

static enum err put_reply(const struct replies *a, const struct replies_answer *r,
                          struct bytes *out)
{
    const size_t from = out->size;
    uint8_t digest[DIGEST_SIZE];
    bytes_put_u32(out, r->lost);
    bytes_put_block(out, r->request.data, r->request.size);
    bytes_put_block(out, r->answer.data, r->answer.size);
    TRY(bytes_ok(out));
    seal(a, out->data + from, out->size - from, digest);
    bytes_put(out, digest, sizeof digest);
    return bytes_ok(out);
}

static enum err write_all(struct replies *a)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    put_head(a, &out);
    for (size_t i = 0; i < a->count; i++)
        TRY(put_reply(a, &a->round[i], &out));
    a->size = out.size;
    return file_write(a->path, 0600, out.data, out.size, a->log);
}

/* What is behind the last whole reply goes. */
static enum err append(struct replies *a)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    int fd;
    bool done;
    TRY(put_reply(a, &a->round[a->count - 1], &out));
    fd = open(a->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    done = fd >= 0 && ftruncate(fd, (off_t)a->size) == 0 &&
           file_write_all(fd, out.data, out.size) == 0 && fsync(fd) == 0;
    if (!done)
        log_error(a->log, "cannot write %s: %s", a->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    a->size += out.size;
    return done ? ERR_OK : ERR_SYSTEM;
}

enum err replies_keep(struct replies *a, const struct ask *ask, const struct bytes *answer,
                      unsigned lost)
{
    const struct request request = {.ask = *ask};
    struct replies_answer *r = &a->round[a->count];
    if (ask->round < a->count)
        return ERR_OK;
    if (ask->round > a->count || a->count == REPLIES_MAX)
        return ERR_MISUSE;
    r->lost = lost;
    TRY(request_write(&request, &r->request));
    bytes_set(&r->answer, answer->data, answer->size);
    TRY(bytes_ok(&r->answer));
    a->count++;
    return a->size == 0 ? write_all(a) : append(a);
}
