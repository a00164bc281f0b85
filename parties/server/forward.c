#include "parties/server/forward.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "netio/dial.h"
#include "netio/gate.h"
#include "parties/exchange/request.h"

#include <stdatomic.h>
#include <string.h>

#define ANSWER_MS 10000
#define LOOK_MS 50 /* between looks for something new */
#define WAIT_MAX_MS 30000
/* Vectors on the way at a time: server 2 commits them together, and can answer them all. */
#define WINDOW (GATE_REPLIES / 2)
#define WINDOW_BYTES ((size_t)8 << 20)

struct forward {
    struct dial *dial;
    struct store *store;
    const struct study *study;
    uint8_t after[UPLOAD_ID_SIZE]; /* the last that was sent */
    struct log *log;
    pthread_t thread;
    bool started;
    atomic_bool stop, awake;
};

/* --- a window of vectors ------------------------------------------------------------------------- */

struct window {
    struct {
        uint8_t id[UPLOAD_ID_SIZE];
        uint32_t owner;
        bool answered, settled; /* settled: never again */
    } item[WINDOW];
    size_t sent, answers;
};

static enum err send_one(struct forward *f, const struct upload *u, int64_t deadline)
{
    struct bytes message = {0};
    enum err e;
    bytes_put_u8(&message, MESSAGE_FORWARD);
    bytes_put(&message, u->id, sizeof u->id);
    bytes_put(&message, u->vector.data, u->vector.size);
    e = bytes_ok(&message);
    if (e == ERR_OK)
        e = dial_send(f->dial, message.data, message.size, deadline);
    bytes_clear(&message);
    return e;
}

/* The next that wait, in the order of ids and round again, so that none is in the way of others: not one that is damaged. */
static enum err send_window(struct forward *f, struct window *w, int64_t deadline)
{
    size_t bytes = 0;
    enum err e = ERR_OK, damage = ERR_OK;
    while (e == ERR_OK && w->sent < WINDOW && bytes < WINDOW_BYTES) {
        struct upload u;
        bool found = false;
        enum err read = store_unforwarded(f->store, f->after, &u, &found);
        if (read == ERR_AUTH) {
            memcpy(f->after, u.id, sizeof f->after);
            damage = read;
            continue;
        }
        TRY(read);
        if (!found) {
            memset(f->after, 0, sizeof f->after);
            break;
        }
        e = send_one(f, &u, deadline);
        bytes += u.vector.size;
        if (e == ERR_OK) {
            memcpy(f->after, u.id, sizeof f->after);
            memcpy(w->item[w->sent].id, u.id, UPLOAD_ID_SIZE);
            w->item[w->sent++].owner = u.owner;
        }
        upload_clear(&u);
    }
    return e == ERR_OK ? damage : e;
}

/* Notes an answer. A refusal of the words themselves is final: the owner told the two servers different things. */
static enum err take_answer(struct forward *f, struct window *w, const struct reply *r)
{
    for (size_t i = 0; i < w->sent; i++) {
        if (w->item[i].answered || r->size != UPLOAD_ID_SIZE ||
            memcmp(w->item[i].id, r->payload, UPLOAD_ID_SIZE) != 0)
            continue;
        w->item[i].answered = true;
        w->answers++;
        if (r->status == ERR_DATA || r->status == ERR_FORMAT)
            log_warn(f->log,
                     "server 2 refused the vector of %s for good: it does not fit what that owner "
                     "sent to server 2",
                     f->study->owner[w->item[i].owner].name);
        w->item[i].settled = r->status == ERR_OK || r->status == ERR_DATA ||
                             r->status == ERR_FORMAT;
        return w->item[i].settled ? ERR_OK : r->status;
    }
    return ERR_OK; /* of a window that was given up */
}

static enum err take_answers(struct forward *f, struct window *w, int64_t deadline)
{
    struct bytes message = {0};
    enum err e = ERR_OK, worst = ERR_OK;
    while (e == ERR_OK && w->answers < w->sent) {
        struct reply reply;
        enum err answer;
        e = dial_receive(f->dial, &message, deadline);
        if (e == ERR_OK)
            e = reply_read(&reply, &message);
        answer = e == ERR_OK ? take_answer(f, w, &reply) : ERR_OK;
        worst = worst == ERR_OK || worst == ERR_AGAIN ? answer : worst;
    }
    bytes_clear(&message);
    return e == ERR_OK ? worst : e;
}

static enum err note_settled(struct forward *f, const struct window *w)
{
    enum err e = ERR_OK;
    TRY(store_batch(f->store));
    for (size_t i = 0; e == ERR_OK && i < w->sent; i++)
        if (w->item[i].settled)
            e = store_forwarded(f->store, w->item[i].id, true);
    return store_batch_end(f->store, e);
}

/* `sent`: whether there was anything to send. */
static enum err forward_some(struct forward *f, bool *sent)
{
    struct window w = {.sent = 0};
    int64_t deadline = clock_now_ms() + ANSWER_MS;
    enum err e = send_window(f, &w, deadline), answers, noted;
    *sent = w.sent > 0;
    if (!*sent)
        return e;
    answers = take_answers(f, &w, deadline);
    noted = note_settled(f, &w);
    return e != ERR_OK ? e : noted != ERR_OK ? noted : answers;
}

/* --- the thread ---------------------------------------------------------------------------------- */

/* True if it was woken before the time. */
static bool pause_until(struct forward *f, int64_t deadline)
{
    bool woken = false;
    while (!woken && clock_left_ms(deadline) > 0 && !atomic_load(&f->stop)) {
        clock_pause(LOOK_MS);
        woken = atomic_exchange(&f->awake, false);
    }
    return woken;
}

static void *run(void *arg)
{
    struct forward *f = arg;
    int64_t wait_ms = LOOK_MS;
    while (!atomic_load(&f->stop)) {
        bool sent = false;
        enum err e = forward_some(f, &sent);
        dial_tend(f->dial);
        if (e != ERR_OK && e != ERR_AGAIN && e != ERR_TIMEOUT && e != ERR_PEER)
            log_warn(f->log, "owners' vectors could not be passed to server 2: %s", error_text(e));
        /* what server 2 cannot take yet is long: send it less and less often */
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

enum err forward_start(struct forward **forward, struct netio *netio, struct store *store,
                       const struct study *study, const struct identity *me, struct log *log)
{
    struct forward *f = memory_array(1, sizeof *f);
    char endpoint[STUDY_ENDPOINT_SIZE];
    const struct dial_options o = {
        .netio = netio,
        .endpoint = endpoint,
        .server_public = study->server[2].key.curve,
        .curve_public = me->public.curve,
        .curve_secret = me->curve_secret,
        .max_message = 65536,
        .stop = f != NULL ? &f->stop : NULL,
        .log = log,
    };
    enum err e;
    *forward = f;
    if (f == NULL)
        return ERR_NOMEM;
    f->store = store;
    f->study = study;
    f->log = log;
    atomic_init(&f->stop, false);
    atomic_init(&f->awake, false);
    study_endpoint(study, 2, STUDY_GATE, endpoint);
    e = dial_new(&f->dial, &o);
    if (e == ERR_OK)
        e = dial_watch(f->dial);
    if (e == ERR_OK)
        e = thread_start(&f->thread, run, f, log);
    f->started = e == ERR_OK;
    if (e != ERR_OK)
        forward_stop(forward);
    return e;
}

void forward_stop(struct forward **forward)
{
    struct forward *f = *forward;
    if (f == NULL)
        return;
    atomic_store(&f->stop, true);
    if (f->started)
        pthread_join(f->thread, NULL);
    dial_free(&f->dial);
    memory_free(forward);
}
