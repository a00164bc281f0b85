#include "tests/support/gates.h"
#include "harness/cmocka.h"
#include "harness/patience.h"

#include "netio/gate.h"
#include "parties/exchange/head.h"
#include "parties/exchange/message.h"
#include "parties/exchange/request.h"
#include "parties/study/study_ports.h"

#include <pthread.h>
#include <stdatomic.h>

struct gates_one {
    struct gates *all;
    unsigned index;
    struct identity *me;
    struct netio *netio;
    struct gate *gate;
    pthread_t thread;
};

struct gates {
    gates_answer answer;
    void *self;
    struct gates_one one[STUDY_SERVERS_MOST];
    atomic_bool stop;
};

static void *serve(void *arg)
{
    struct gates_one *s = arg;
    struct gate_client from;
    struct bytes message CLEAN(bytes_clear) = {0}, out CLEAN(bytes_clear) = {0};
    enum err e = ERR_OK;
    while ((e == ERR_OK || e == ERR_TIMEOUT) && !atomic_load(&s->all->stop)) {
        e = gate_receive(s->gate, &from, &message, support_moment(20));
        if (e != ERR_OK)
            continue;
        out.size = 0;
        s->all->answer(s->all->self, s->index, &message, &out);
        if (out.size > 0)
            e = gate_reply(s->gate, &from, out.data, out.size);
    }
    return NULL;
}

static void open_one(struct gates_one *s, const struct support_study *study,
                     const struct public_identity *client)
{
    char listen[STUDY_ENDPOINT_SIZE];
    struct gate_options o = {.listen = listen, .max_message = (size_t)1 << 20, .log = &quiet};
    OK(identity_load(&s->me, support_path(study, "s%u.key", s->index), &quiet));
    OK(netio_new(&s->netio, &quiet));
    OK(netio_allow(s->netio, "gate", client->curve, 0));
    study_endpoint(study->study, s->index, STUDY_GATE, listen);
    o.netio = s->netio;
    o.curve_public = s->me->public.curve;
    o.curve_secret = s->me->curve_secret;
    OK(gate_new(&s->gate, &o));
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void gates_new(struct gates **gates, const struct support_study *s,
               const struct public_identity *client, gates_answer answer, void *self)
{
    struct gates *g = memory_array(1, sizeof *g);
    g->answer = answer;
    g->self = self;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        g->one[i].all = g;
        g->one[i].index = i;
        open_one(&g->one[i], s, client);
    }
    *gates = g;
}

void gates_free(struct gates **gates)
{
    struct gates *g = *gates;
    if (g == NULL)
        return;
    atomic_store(&g->stop, true);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        pthread_join(g->one[i].thread, NULL);
        gate_free(&g->one[i].gate);
        netio_free(&g->one[i].netio);
        identity_free(&g->one[i].me);
    }
    memory_free(gates);
}

enum err gates_write_answer(uint8_t kind, const void *p, size_t n, struct bytes *out)
{
    const struct head none = {0};
    struct bytes payload CLEAN(bytes_clear) = {0};
    head_put(&payload, &none);
    bytes_put(&payload, p, n);
    TRY(bytes_ok(&payload));
    return reply_write(kind, ERR_OK, "", payload.data, payload.size, out);
}
