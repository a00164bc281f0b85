#include "parties/server/forward.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "netio/dial.h"
#include "parties/exchange/message.h"
#include "parties/study/study_ports.h"

#include <stdatomic.h>
#include <string.h>

#define ANSWER_MS 10000
#define LOOK_MS 50 /* between looks for something new */
#define WAIT_MAX_MS 30000
/* Vectors on the way at once: the other server commits them together, and can answer them all. */
#define WINDOW (GATE_REPLIES / 2)
#define WINDOW_BYTES ((size_t)8 << 20)

struct forward {
    struct dial *dial;
    const struct site *site;
    uint8_t after[UPLOAD_ID_SIZE]; /* the last that was sent */
    struct thread thread;
    atomic_bool stop, awake;
};

/* --- a window of vectors ---------------------------------------------------------------------- */

struct window {
    struct {
        uint8_t id[UPLOAD_ID_SIZE];
        uint32_t owner;
        bool answered, settled; /* settled: never again */
    } item[WINDOW];
    size_t sent, answers;
};

/* The vector from `first` on, as much of it as fits a message. */
static enum err send_part(struct forward *f, const struct upload *u, uint64_t first)
{
    size_t left = u->vector.size - (size_t)first;
    struct bytes message CLEAN(bytes_clear) = {0};
    bytes_put_u8(&message, MESSAGE_FORWARD);
    bytes_put(&message, u->id, sizeof u->id);
    bytes_put_u64(&message, u->vector.size);
    bytes_put_u64(&message, first);
    bytes_put(&message, u->vector.data + first, left < MESSAGE_PART_MAX ? left : MESSAGE_PART_MAX);
    TRY(bytes_ok(&message));
    return dial_send(f->dial, false, message.data, message.size, clock_now_ms() + ANSWER_MS);
}

struct forward_answer {
    enum err status;
    uint8_t id[UPLOAD_ID_SIZE];
    uint64_t held;
    bool complete;
};

static enum err receive_answer(struct forward *f, struct forward_answer *a, int64_t deadline)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    struct reader in;
    TRY(dial_receive(f->dial, &message, deadline));
    TRY(reply_read(&reply, &message));
    in = reader_of(reply.payload, reply.size);
    a->status = reply.status;
    reader_copy(&in, a->id, sizeof a->id);
    a->held = reader_u64(&in);
    a->complete = reader_u8(&in) == 1;
    return reader_done(&in);
}

/* Sends parts, each answered, until what is left, from *first on, fits a message. */
static enum err send_all_but_last(struct forward *f, const struct upload *u, uint64_t *first)
{
    size_t patience = 2 * (u->vector.size / MESSAGE_PART_MAX + 1); /* it may have begun already */
    *first = 0;
    while (u->vector.size - *first > MESSAGE_PART_MAX) {
        struct forward_answer a;
        if (patience-- == 0 || atomic_load(&f->stop))
            return ERR_TIMEOUT;
        TRY(send_part(f, u, *first));
        do
            TRY(receive_answer(f, &a, clock_now_ms() + ANSWER_MS));
        while (memcmp(a.id, u->id, sizeof a.id) != 0); /* of a vector that was given up */
        if (a.status != ERR_OK && (a.status != ERR_AGAIN || a.held == *first))
            return a.status;
        if (a.held > u->vector.size)
            return ERR_FORMAT;
        *first = a.held;
    }
    return ERR_OK;
}

/* Sends the last part, which is answered with the others of the window. */
static enum err add_to_window(struct forward *f, struct window *w, const struct upload *u)
{
    uint64_t first;
    TRY(send_all_but_last(f, u, &first));
    TRY(send_part(f, u, first));
    memcpy(w->item[w->sent].id, u->id, UPLOAD_ID_SIZE);
    w->item[w->sent++].owner = u->owner;
    return ERR_OK;
}

/*
 * The next that wait, in the order of ids and round again: one that fails, or that the store cannot
 * read, delays no other.
 */
static enum err send_window(struct forward *f, struct window *w)
{
    size_t bytes = 0;
    enum err failure = ERR_OK;
    while (w->sent < WINDOW && bytes < WINDOW_BYTES && !atomic_load(&f->stop)) {
        struct upload u CLEAN(upload_clear) = {0};
        bool found = false, alone;
        enum err e = store_unforwarded(f->site->store, f->after, &u, &found);
        if (e != ERR_OK && e != ERR_AUTH && e != ERR_MISMATCH)
            return e;
        if (e == ERR_OK && !found) {
            memset(f->after, 0, sizeof f->after);
            break;
        }
        alone = e == ERR_OK && u.vector.size > MESSAGE_PART_MAX;
        if (alone && w->sent > 0) /* the answers of the others come first */
            break;
        memcpy(f->after, u.id, sizeof f->after);
        if (e == ERR_OK) {
            bytes += u.vector.size;
            e = add_to_window(f, w, &u);
        }
        if (e == ERR_PEER || e == ERR_TIMEOUT)
            return e;
        failure = e != ERR_OK ? e : failure;
        if (alone)
            break;
    }
    return failure;
}

/* A refusal of the vector itself is final: its owner told the two servers different things. */
static enum err take_answer(struct forward *f, struct window *w, const struct forward_answer *a)
{
    for (size_t i = 0; i < w->sent; i++) {
        if (w->item[i].answered || memcmp(w->item[i].id, a->id, UPLOAD_ID_SIZE) != 0)
            continue;
        w->item[i].answered = true;
        w->answers++;
        if (a->status == ERR_DATA || a->status == ERR_FORMAT)
            log_warn(f->site->log,
                     "server %u refused the vector of %s for good: it does not fit what that owner "
                     "sent to server %u",
                     f->site->split->passed,
                     study_owner_name(f->site->study, w->item[i].owner).text,
                     f->site->split->passed);
        w->item[i].settled = a->status == ERR_DATA || a->status == ERR_FORMAT ||
                             (a->status == ERR_OK && a->complete);
        return w->item[i].settled ? ERR_OK : a->status;
    }
    return ERR_OK; /* of a window that was given up */
}

static enum err take_answers(struct forward *f, struct window *w, int64_t deadline)
{
    enum err worst = ERR_OK;
    while (w->answers < w->sent) {
        struct forward_answer a;
        enum err e;
        TRY(receive_answer(f, &a, deadline));
        e = take_answer(f, w, &a);
        worst = worst == ERR_OK || worst == ERR_AGAIN ? e : worst;
    }
    return worst;
}

static enum err note_settled(struct forward *f, const struct window *w)
{
    enum err e = ERR_OK;
    TRY(store_batch(f->site->store));
    for (size_t i = 0; e == ERR_OK && i < w->sent; i++)
        if (w->item[i].settled)
            e = store_forwarded(f->site->store, w->item[i].id, true);
    return store_batch_end(f->site->store, e);
}

/* `sent`: whether there was anything to send. */
static enum err forward_some(struct forward *f, bool *sent)
{
    struct window w = {.sent = 0};
    enum err e = send_window(f, &w), answers, noted;
    *sent = w.sent > 0;
    if (!*sent)
        return e;
    answers = take_answers(f, &w, clock_now_ms() + ANSWER_MS);
    noted = note_settled(f, &w);
    return e != ERR_OK ? e : noted != ERR_OK ? noted : answers;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* True if it was woken before the time was over. */
static bool pause_until(struct forward *f, int64_t deadline)
{
    bool woken = false;
    while (!woken && clock_left_ms(deadline) > 0 && !atomic_load(&f->stop)) {
        clock_pause(LOOK_MS);
        woken = atomic_exchange(&f->awake, false);
    }
    return woken;
}

static void *run_forward(void *arg)
{
    struct forward *f = arg;
    int64_t wait_ms = LOOK_MS;
    while (!atomic_load(&f->stop)) {
        bool sent = false;
        enum err e = forward_some(f, &sent);
        dial_tend(f->dial);
        if (e != ERR_OK && e != ERR_AGAIN && e != ERR_TIMEOUT && e != ERR_PEER)
            log_warn(f->site->log, "owners' vectors could not be passed to server %u: %s",
                     f->site->split->passed, error_text(e));
        /* what the other cannot take yet is long: send it less and less often */
        wait_ms = e == ERR_OK ? LOOK_MS : wait_ms < WAIT_MAX_MS / 2 ? 2 * wait_ms : WAIT_MAX_MS;
        if ((!sent || e != ERR_OK) && pause_until(f, clock_now_ms() + wait_ms))
            wait_ms = LOOK_MS;
    }
    return NULL;
}

void forward_wake(struct forward *f)
{
    if (f != NULL)
        atomic_store(&f->awake, true);
}

enum err forward_start(struct forward **forward, const struct site *site)
{
    struct forward *f;
    char endpoint[STUDY_ENDPOINT_SIZE];
    struct dial_options o = {
        .netio = site->netio,
        .endpoint = endpoint,
        .server_public = site->study->server[site->split->passed].key.curve,
        .curve_public = site->me->public.curve,
        .curve_secret = site->me->curve_secret,
        .max_message = 65536,
        .log = site->log,
    };
    TRY(memory_new(forward, 1));
    f = *forward;
    f->site = site;
    atomic_init(&f->stop, false);
    atomic_init(&f->awake, false);
    o.stop = &f->stop;
    study_endpoint(site->study, site->split->passed, STUDY_GATE, endpoint);
    TRY(dial_new(&f->dial, &o));
    TRY(dial_watch(f->dial));
    return thread_start(&f->thread, run_forward, f, site->log);
}

void forward_stop(struct forward **forward)
{
    struct forward *f = *forward;
    if (f == NULL)
        return;
    atomic_store(&f->stop, true);
    thread_join(&f->thread);
    dial_free(&f->dial);
    memory_free(forward);
}
