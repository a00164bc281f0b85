#include "parties/forward.h"

#include "base/clock.h"
#include "base/memory.h"
#include "netio/gate.h"
#include "parties/request.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define ANSWER_MS 10000
#define LOOK_MS 50   /* between looks for something new */
#define RETRY_MS 500 /* after server 2 did not take it */

struct forward {
    struct dial *dial;
    struct store *store;
    struct log *log;
    pthread_t thread;
    bool started;
    atomic_bool stop;
};

static void pause_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ERR_AGAIN: server 2 is not ready for it. */
static enum err send_one(struct forward *f, const struct upload *u)
{
    struct bytes message = {0};
    struct reply reply;
    int64_t deadline = clock_now_ms() + ANSWER_MS;
    enum err e;
    bytes_put_u8(&message, MESSAGE_FORWARD);
    bytes_put(&message, u->id, sizeof u->id);
    bytes_put(&message, u->vector.data, u->vector.size);
    e = bytes_ok(&message);
    if (e == ERR_OK)
        e = dial_send(f->dial, message.data, message.size, deadline);
    if (e == ERR_OK)
        e = dial_receive(f->dial, &message, deadline);
    if (e == ERR_OK)
        e = reply_read(&reply, &message);
    if (e == ERR_OK)
        e = reply.status;
    if (e == ERR_OK)
        e = store_forwarded(f->store, u->id);
    bytes_clear(&message);
    return e;
}

static void *run(void *arg)
{
    struct forward *f = arg;
    while (!atomic_load(&f->stop)) {
        struct upload u;
        bool found = false;
        enum err e = store_unforwarded(f->store, &u, &found);
        if (found) {
            e = send_one(f, &u);
            upload_clear(&u);
        }
        if (e != ERR_OK && e != ERR_AGAIN && e != ERR_TIMEOUT)
            log_warn(f->log, "an owner's vector could not be passed to server 2: %s",
                     error_text(e));
        if (e != ERR_OK)
            pause_ms(e == ERR_AGAIN ? LOOK_MS : RETRY_MS);
        else if (!found)
            pause_ms(LOOK_MS);
    }
    return NULL;
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
        .log = log,
    };
    enum err e;
    *forward = f;
    if (f == NULL)
        return ERR_NOMEM;
    f->store = store;
    f->log = log;
    atomic_init(&f->stop, false);
    study_endpoint(study, 2, STUDY_GATE, endpoint);
    e = dial_new(&f->dial, &o);
    if (e == ERR_OK && pthread_create(&f->thread, NULL, run, f) != 0)
        e = ERR_SYSTEM;
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
