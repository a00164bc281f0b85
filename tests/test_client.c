/*
 * parties/exchange/client.c against three gates that the test itself answers: results that differ are noticed,
 * a refusal is the only thing that is said, and the servers hear that the run's program lives.
 */
#include "tests/support_cmocka.h"

#include "base/clock.h"
#include "base/memory.h"
#include "netio/gate.h"
#include "parties/exchange/client.h"
#include "parties/study/roster.h"
#include "tests/support_study.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct house;

struct server {
    struct house *h;
    unsigned index;
    struct identity *me;
    struct netio *netio;
    struct gate *gate;
    pthread_t thread;
    atomic_uint alive; /* how often the run was said to live */
};

struct house {
    struct support_study s;
    struct identity *analyst;
    struct netio *netio;
    struct server server[STUDY_SERVERS];
    uint8_t run[REQUEST_RUN_SIZE];
    atomic_uint liar, refuses; /* a server's index, or STUDY_SERVERS: nobody */
    atomic_bool stop;
};

static struct log quiet = {.level = LOG_ERROR};
static const char opened[] = "what was opened";

/* --- servers ------------------------------------------------------------------------------------- */

static enum err answer(struct server *s, const struct gate_client *to, uint8_t kind)
{
    struct house *h = s->h;
    unsigned refuses = atomic_load(&h->refuses);
    uint8_t digest[REQUEST_DIGEST_SIZE];
    struct bytes out = {0};
    const struct timespec late = {.tv_nsec = 300000000};
    enum err e;
    if (refuses != STUDY_SERVERS && (refuses + 1) % STUDY_SERVERS == s->index)
        return ERR_OK; /* it has nothing to say */
    request_digest(opened, sizeof opened, digest);
    digest[7] ^= atomic_load(&h->liar) == s->index;
    if (refuses == s->index)
        e = reply_write(kind, ERR_REFUSED, "not today", NULL, 0, &out);
    else if (refuses != STUDY_SERVERS) {
        nanosleep(&late, NULL);
        e = reply_write(kind, ERR_TIMEOUT, "waited in vain", NULL, 0, &out);
    } else if (s->index == 0)
        e = reply_write(kind, ERR_OK, "", opened, sizeof opened, &out);
    else
        e = reply_write(kind, ERR_OK, "", digest, sizeof digest, &out);
    if (e == ERR_OK)
        e = gate_reply(s->gate, to, out.data, out.size);
    bytes_clear(&out);
    return e;
}

static void *serve(void *arg)
{
    struct server *s = arg;
    struct gate_client from;
    struct bytes message = {0};
    enum err e = ERR_OK;
    while ((e == ERR_OK || e == ERR_TIMEOUT) && !atomic_load(&s->h->stop)) {
        e = gate_receive(s->gate, &from, &message, clock_now_ms() + 20);
        if (e != ERR_OK)
            continue;
        if (message.data[0] != MESSAGE_ALIVE)
            e = answer(s, &from, message.data[0]);
        else if (message.size == 1 + REQUEST_RUN_SIZE &&
                 memcmp(message.data + 1, s->h->run, REQUEST_RUN_SIZE) == 0)
            atomic_fetch_add(&s->alive, 1);
    }
    bytes_clear(&message);
    return NULL;
}

static void server_new(struct house *h, unsigned i)
{
    struct server *s = &h->server[i];
    char name[16], path[SUPPORT_PATH], listen[STUDY_ENDPOINT_SIZE];
    struct gate_options o = {.listen = listen, .max_message = 65536, .log = &quiet};
    s->h = h;
    s->index = i;
    snprintf(name, sizeof name, "s%u.key", i);
    support_study_file(&h->s, name, path);
    assert_int_equal(identity_load(&s->me, path, &quiet), ERR_OK);
    assert_int_equal(netio_new(&s->netio, &quiet), ERR_OK);
    assert_int_equal(netio_allow(s->netio, "gate", h->analyst->public.curve, 0), ERR_OK);
    study_endpoint(h->s.study, i, STUDY_GATE, listen);
    o.netio = s->netio;
    o.curve_public = s->me->public.curve;
    o.curve_secret = s->me->curve_secret;
    assert_int_equal(gate_new(&s->gate, &o), ERR_OK);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void house_new(struct house *h)
{
    const struct support_options o = {.owners = 1, .connect_s = 1, .round_s = 1};
    char path[SUPPORT_PATH];
    memset(h, 0, sizeof *h);
    memset(h->run, 5, sizeof h->run);
    atomic_store(&h->liar, STUDY_SERVERS);
    atomic_store(&h->refuses, STUDY_SERVERS);
    assert_int_equal(support_study_new(&h->s, &o, &quiet), ERR_OK);
    support_study_file(&h->s, "a.key", path);
    assert_int_equal(identity_load(&h->analyst, path, &quiet), ERR_OK);
    assert_int_equal(netio_new(&h->netio, &quiet), ERR_OK);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        server_new(h, i);
}

static void house_free(struct house *h)
{
    atomic_store(&h->stop, true);
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        struct server *s = &h->server[i];
        pthread_join(s->thread, NULL);
        gate_free(&s->gate);
        netio_free(&s->netio);
        identity_free(&s->me);
    }
    netio_free(&h->netio);
    identity_free(&h->analyst);
    support_study_free(&h->s);
}

/* --- the analyst --------------------------------------------------------------------------------- */

/* Asks them something, and what was said of it. */
static enum err ask(struct house *h, char *words, size_t size)
{
    struct log log = {.buffer = words, .buffer_size = size, .level = LOG_ERROR};
    struct client *client = NULL;
    struct bytes request = {0}, result = {0};
    enum err e;
    words[0] = '\0';
    bytes_put_string(&request, "any bytes do");
    assert_int_equal(client_new(&client, h->netio, h->s.study, h->analyst, h->run, &log), ERR_OK);
    e = client_result(client, &request, &result);
    if (e == ERR_OK) {
        assert_int_equal(result.size, sizeof opened);
        assert_memory_equal(result.data, opened, sizeof opened);
    }
    client_free(&client);
    bytes_clear(&request);
    bytes_clear(&result);
    return e;
}

static void a_result_that_one_server_forges_is_noticed(void **state)
{
    char words[2048];
    struct house h;
    (void)state;
    house_new(&h);
    assert_int_equal(ask(&h, words, sizeof words), ERR_OK);
    assert_string_equal(words, "");
    for (unsigned liar = 1; liar < STUDY_SERVERS; liar++) {
        char named[64];
        atomic_store(&h.liar, liar);
        assert_int_equal(ask(&h, words, sizeof words), ERR_MISMATCH);
        snprintf(named, sizeof named, "servers 0 and %u opened different results", liar);
        assert_non_null(strstr(words, named));
    }
    house_free(&h);
}

static void a_refusal_is_all_that_is_said(void **state)
{
    char words[2048];
    struct house h;
    (void)state;
    house_new(&h);
    for (unsigned who = 0; who < STUDY_SERVERS; who++) {
        char named[64];
        atomic_store(&h.refuses, who);
        assert_int_equal(ask(&h, words, sizeof words), ERR_REFUSED);
        snprintf(named, sizeof named, "server %u (s%u)", who, who);
        assert_non_null(strstr(words, named));
        assert_non_null(strstr(words, "it says: not today"));
        assert_null(strstr(words, "did not answer"));
        assert_null(strstr(words, "waited in vain"));
    }
    house_free(&h);
}

static void a_run_is_said_to_live_as_long_as_it_does(void **state)
{
    struct house h;
    struct client *client = NULL;
    double end;
    (void)state;
    house_new(&h);
    assert_int_equal(client_new(&client, h.netio, h.s.study, h.analyst, h.run, &quiet), ERR_OK);
    end = clock_now_s() + 30;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        while (atomic_load(&h.server[i].alive) < 3)
            assert_true(clock_now_s() < end);
    client_free(&client);
    house_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_that_one_server_forges_is_noticed),
        cmocka_unit_test(a_refusal_is_all_that_is_said),
        cmocka_unit_test(a_run_is_said_to_live_as_long_as_it_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
