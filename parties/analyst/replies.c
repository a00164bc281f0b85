#include "parties/analyst/replies.h"

#include "base/digest.h"
#include "base/memory.h"
#include "base/version.h"

#include <string.h>
#include <unistd.h>

#define REPLIES_MAX 1024 /* rounds */
#define FILE_MOST ((size_t)1 << 32)

static const char magic[] = "trefoil-replies-1\n";

struct replies {
    const char *path; /* borrowed, as are the other pointers */
    const struct study *study;
    const uint8_t *run;
    struct log *log;
    size_t count;
    struct replies_answer {
        uint32_t lost;
        struct bytes request, answer;
    } * round; /* room for REPLIES_MAX */
};

static enum err read_block(struct reader *in, struct bytes *b)
{
    size_t n = 0;
    const uint8_t *p = reader_block(in, &n);
    if (p == NULL)
        return ERR_FORMAT;
    bytes_set(b, p, n);
    return bytes_ok(b);
}

static enum err read_replies(struct replies *a, const struct bytes *text)
{
    struct reader in = reader_of(text->data, text->size);
    const uint8_t *terms, *run;
    uint32_t count;
    TRY(digest_check(&in, magic));
    terms = reader_bytes(&in, 32);
    run = reader_bytes(&in, REQUEST_RUN_SIZE);
    count = reader_u32(&in);
    if (in.failed || count > REPLIES_MAX || memcmp(terms, a->study->terms.digest, 32) != 0 ||
        memcmp(run, a->run, REQUEST_RUN_SIZE) != 0)
        return ERR_FORMAT;
    while (a->count < count) {
        struct replies_answer *r = &a->round[a->count++];
        r->lost = reader_u32(&in);
        TRY(read_block(&in, &r->request));
        TRY(read_block(&in, &r->answer));
    }
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
    e = read_replies(a, &text);
    if (e == ERR_FORMAT)
        return log_fail(log, ERR_DATA,
                        "%s is cut or altered, or of another run: this run "
                        "cannot go on from here. Its answers can be had again: trefoil run "
                        "with another --out and --continue",
                        path);
    TRY(e);
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

static enum err save(const struct replies *a)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    bytes_put_text(&out, magic);
    bytes_put(&out, a->study->terms.digest, 32);
    bytes_put(&out, a->run, REQUEST_RUN_SIZE);
    bytes_put_u32(&out, (uint32_t)a->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct replies_answer *r = &a->round[i];
        bytes_put_u32(&out, r->lost);
        bytes_put_block(&out, r->request.data, r->request.size);
        bytes_put_block(&out, r->answer.data, r->answer.size);
    }
    return digest_write(a->path, 0600, &out, a->log);
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
    return save(a);
}
