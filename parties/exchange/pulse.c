#include "parties/exchange/pulse.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "parties/exchange/dials.h"

#include <stdatomic.h>
#include <string.h>

#define LOOK_MS 50
#define BEATS 6 /* at least this many in the time after which a run counts as dead */
#define BEAT_MS 1000

struct pulse {
    struct dial *dial[STUDY_SERVERS_MOST];
    unsigned servers;
    uint8_t message[1 + REQUEST_RUN_SIZE];
    int64_t every_ms;
    struct thread thread;
    atomic_bool stop;
    atomic_int adding; /* thousandths; -1: nothing heard yet */
};

/* A server that is away misses this beat and hears a later one. */
static void beat(struct pulse *p)
{
    for (unsigned i = 0; i < p->servers; i++)
        (void)!dial_send(p->dial[i], false, p->message, sizeof p->message, clock_now_ms());
}

/* Takes an answer of server 0, if one has come. It has as many as beats: more can wait. */
static void listen(struct pulse *p)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    struct reader in;
    uint32_t adding;
    if (dial_receive(p->dial[0], &message, clock_now_ms()) != ERR_OK ||
        reply_read(&reply, &message) != ERR_OK || reply.status != ERR_OK)
        return;
    in = reader_of(reply.payload, reply.size);
    adding = reader_u32(&in);
    if (reader_done(&in) == ERR_OK && adding <= 1000)
        atomic_store(&p->adding, (int)adding);
}

double pulse_adding(const struct pulse *p)
{
    return (double)atomic_load(&p->adding) / 1000;
}

static void *beat_on(void *arg)
{
    struct pulse *p = arg;
    int64_t next = clock_now_ms();
    while (!atomic_load(&p->stop)) {
        if (clock_now_ms() >= next) {
            beat(p);
            next = clock_now_ms() + p->every_ms;
        }
        clock_pause(LOOK_MS);
        listen(p);
    }
    return NULL;
}

enum err pulse_start(struct pulse **pulse, struct netio *netio, const struct study *study,
                     const struct identity *me, const uint8_t run[REQUEST_RUN_SIZE],
                     struct log *log)
{
    struct pulse *p;
    TRY(memory_new(pulse, 1));
    p = *pulse;
    p->servers = study->servers;
    p->message[0] = MESSAGE_ALIVE;
    memcpy(p->message + 1, run, REQUEST_RUN_SIZE);
    p->every_ms = (int64_t)study->connect_s * 1000 / BEATS;
    p->every_ms = p->every_ms < BEAT_MS ? p->every_ms : BEAT_MS;
    atomic_init(&p->adding, -1);
    /* no log: requests to a server that is away fail with their own message */
    for (unsigned i = 0; i < p->servers; i++) {
        enum err e = dials_new(&p->dial[i], netio, study, me, i, NULL);
        if (e != ERR_OK)
            return log_fail(log, e,
                            "cannot connect to server %u to tell it that this run is alive: %s", i,
                            error_text(e));
    }
    return thread_start(&p->thread, beat_on, p, log);
}

void pulse_stop(struct pulse **pulse)
{
    struct pulse *p = *pulse;
    if (p == NULL)
        return;
    atomic_store(&p->stop, true);
    thread_join(&p->thread);
    for (unsigned i = 0; i < p->servers; i++)
        dial_free(&p->dial[i]);
    memory_free(pulse);
}
