#include "parties/analyst/run_state.h"

#include "base/digest.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define STATE_MAX ((size_t)1 << 32)

static const char magic[] = "trefoil-run-4\n", earlier_magic[] = "trefoil-run-3\n";

/* --- the file --------------------------------------------------------------------------------- */

static void write_asked(const struct run_state_asked *a, struct bytes *out)
{
    bytes_put_u32(out, a->round);
    bytes_put_u32(out, a->skipped);
    bytes_put_block(out, a->request.data, a->request.size);
}

static void read_asked(struct run_state_asked *a, struct reader *in)
{
    const uint8_t *request;
    size_t n = 0;
    a->round = reader_u32(in);
    a->skipped = reader_u32(in);
    request = reader_block(in, &n);
    if (request != NULL)
        bytes_put(&a->request, request, n);
}

static enum err save(const struct run_state *s)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    bytes_put_text(&out, s->earlier ? earlier_magic : magic);
    bytes_put(&out, s->study->terms.digest, 32);
    bytes_put(&out, s->run, sizeof s->run);
    if (!s->earlier)
        bytes_put_double(&out, s->left);
    write_asked(&s->last, &out);
    write_asked(&s->before, &out);
    bytes_put_u32(&out, s->sequence);
    bytes_put_u8(&out, s->ended);
    return digest_write(s->path, 0600, &out, s->log);
}

static enum err read_state(struct run_state *s, const struct bytes *text)
{
    struct reader in = reader_of(text->data, text->size);
    const uint8_t *terms;
    s->earlier = version_of(text->data, text->size, magic) == 3;
    TRY(digest_check(&in, s->earlier ? earlier_magic : magic));
    terms = reader_bytes(&in, 32);
    if (terms == NULL)
        return ERR_FORMAT;
    if (memcmp(terms, s->study->terms.digest, 32) != 0)
        return ERR_MISMATCH;
    reader_copy(&in, s->run, sizeof s->run);
    s->left = s->earlier ? 0 : reader_double(&in);
    read_asked(&s->last, &in);
    read_asked(&s->before, &in);
    s->sequence = reader_u32(&in);
    s->ended = reader_u8(&in) != 0;
    TRY(reader_done(&in));
    TRY(bytes_ok(&s->before.request));
    return bytes_ok(&s->last.request);
}

#define RUN_STATE_AGAIN                                                                            \
    "this run cannot go on from here. Its answers can be had again: trefoil run with another "     \
    "--out and --continue"

static enum err load(struct run_state *s)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    TRY(file_read(s->path, STATE_MAX, &text, s->log));
    TRY(version_check(s->path, text.data, text.size, magic, 3, s->log));
    e = read_state(s, &text);
    if (e == ERR_MISMATCH)
        return log_fail(s->log, e, "%s belongs to a run of another study; use another --out",
                        s->path);
    if (e == ERR_FORMAT)
        return log_fail(s->log, e, "%s is cut or altered: " RUN_STATE_AGAIN, s->path);
    if (e == ERR_OK && s->lost != NULL && memcmp(s->lost, s->run, sizeof s->run) != 0)
        return log_fail(
            s->log, ERR_MISMATCH,
            "%s belongs to another run than the one that --continue names; use another --out",
            s->path);
    return e;
}

static enum err begin(struct run_state *s)
{
    if (access(s->loop_path, F_OK) == 0)
        return log_fail(s->log, ERR_DATA, "%s is here, but %s is gone: " RUN_STATE_AGAIN,
                        s->loop_path, s->path);
    if (s->lost != NULL)
        memcpy(s->run, s->lost, sizeof s->run);
    else
        secret_random(s->run, sizeof s->run);
    return save(s);
}

static enum err take_folder(struct run_state *s, const char *folder, const char *path)
{
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    if (s->lock >= 0 && errno == EWOULDBLOCK)
        return log_fail(s->log, ERR_REFUSED,
                        "another trefoil run works in %s; wait for it, or use another --out",
                        folder);
    return log_fail(s->log, ERR_SYSTEM, "cannot lock %s: %s", path, strerror(errno));
}

static bool is_of(const struct run_state_asked *a, uint32_t round)
{
    return a->request.size > 0 && a->round == round;
}

/* Whether round 0 can be asked again: then the loop needs no file. */
static bool has_round_zero(const struct run_state *s)
{
    return is_of(&s->last, 0) || is_of(&s->before, 0);
}

/* A missing file that the run wrote before its last request, or NULL. */
static const char *what_is_gone(const struct run_state *s)
{
    if (!run_state_begun(s) || s->last.round == RUN_STATE_LOOK)
        return NULL;
    if (s->study->link.min_linked > 0 && !(s->left > 0) && access(s->look_path, F_OK) != 0)
        return s->look_path; /* another look would replace the round that was asked for */
    return !has_round_zero(s) && access(s->loop_path, F_OK) != 0 ? s->loop_path : NULL;
}

enum err run_state_open(struct run_state **state, const char *folder, const struct study *study,
                        const uint8_t *lost, struct log *log)
{
    struct run_state *s CLEAN(run_state_close) = NULL;
    const char *gone;
    char lock[FILE_PATH];
    *state = NULL;
    TRY(memory_new(&s, 1));
    s->study = study;
    s->asked = &s->last;
    s->lost = lost;
    s->log = log;
    s->lock = -1;
    TRY(file_path(lock, log, "%s/run.lock", folder));
    TRY(file_path(s->path, log, "%s/run.state", folder));
    TRY(file_path(s->loop_path, log, "%s/loop.state", folder));
    TRY(file_path(s->look_path, log, "%s/look.state", folder));
    TRY(take_folder(s, folder, lock));
    TRY(access(s->path, F_OK) == 0 ? load(s) : begin(s));
    if ((gone = what_is_gone(s)) != NULL)
        return log_fail(log, ERR_DATA, "%s is gone: " RUN_STATE_AGAIN, gone);
    return memory_hand_over(state, &s);
}

void run_state_close(struct run_state **state)
{
    if (*state == NULL)
        return;
    if ((*state)->lock >= 0)
        close((*state)->lock);
    bytes_clear(&(*state)->last.request);
    bytes_clear(&(*state)->before.request);
    memory_free(state);
}

bool run_state_begun(const struct run_state *s)
{
    return s->last.request.size > 0;
}

enum err run_state_end(struct run_state *s)
{
    s->ended = true;
    return save(s);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Writes a request into the state, and the state to disk. */
static enum err keep(struct run_state *s, const struct ask *ask)
{
    struct request request = {.sequence = s->sequence, .ask = *ask};
    memcpy(request.run, s->run, sizeof request.run);
    s->ended = false;
    bytes_clear(&s->last.request);
    TRY(request_write(&request, &s->last.request));
    return save(s);
}

/* What is asked now must be what was asked. */
static enum err check_same(const struct run_state *s, const struct ask *now)
{
    struct request before CLEAN(request_clear) = {0};
    const struct bytes *text = &s->asked->request;
    if (request_read(&before, s->study->domain, s->study->workload, text->data, text->size) ==
            ERR_OK &&
        ask_alike(&before.ask, now))
        return ERR_OK;
    return log_fail(s->log, ERR_MISMATCH,
                    "round %u was asked before for other marginals than this program would ask for "
                    "now; continue with the version of trefoil that began this run",
                    s->asked->round);
}

enum err run_state_request(struct run_state *s, const struct ask *ask, const struct bytes **bytes)
{
    const uint32_t round = ask->kind == ASK_LOOK ? RUN_STATE_LOOK : ask->round;
    s->asked = is_of(&s->before, round) ? &s->before : &s->last;
    *bytes = &s->asked->request;
    if (is_of(s->asked, round))
        return check_same(s, ask);
    if (run_state_begun(s) && s->last.round != RUN_STATE_LOOK && round < s->last.round)
        return log_fail(
            s->log, ERR_DATA,
            "%s is older than %s: put back the newest copy of both, or " RUN_STATE_AGAIN,
            s->loop_path, s->path);
    if (run_state_begun(s)) {
        s->sequence++;
        bytes_clear(&s->before.request);
        s->before = s->last;
        s->last = (struct run_state_asked){0};
    }
    s->last.round = round;
    return keep(s, ask);
}

enum err run_state_skip(struct run_state *s, const struct ask *ask, const struct bytes **bytes)
{
    if (s->asked == &s->before)
        return log_fail(s->log, ERR_LOST,
                        "round %u is lost, and the one after it was asked already: this run cannot "
                        "go on; what it spent stays spent",
                        s->before.round);
    *bytes = &s->last.request;
    s->sequence++;
    s->last.skipped++;
    return keep(s, ask);
}
