/*
 * parties/exchange/client.c against three gates whose answers come from the test: results that
 * differ are noticed, a refusal is the only thing that is said, and the servers hear that the run's
 * program lives.
 */
#include "harness/cmocka.h"

#include "base/hash.h"
#include "harness/process.h"
#include "parties/exchange/client.h"
#include "tests/support/gates.h"

#include <stdatomic.h>

struct client_house {
    struct support_study s;
    struct identity *analyst;
    struct netio *netio;
    struct gates *gates;
    uint8_t run[REQUEST_RUN_SIZE];
    atomic_uint liar, refuses;             /* a server's index, or STUDY_SERVERS_MOST: nobody */
    atomic_int refusal;                    /* the error with which it refuses */
    atomic_uint alive[STUDY_SERVERS_MOST]; /* how often it was told that the run lives */
};

static const char opened[] = "what was opened";

/* --- servers ---------------------------------------------------------------------------------- */

static enum err write_answer(struct client_house *h, unsigned i, uint8_t kind, struct bytes *out)
{
    unsigned refuses = atomic_load(&h->refuses);
    uint8_t digest[REQUEST_DIGEST_SIZE];
    if (refuses != STUDY_SERVERS_MOST && (refuses + 1) % STUDY_SERVERS_MOST == i)
        return ERR_OK; /* it has nothing to say */
    hash_bytes(opened, sizeof opened, digest);
    digest[7] ^= atomic_load(&h->liar) == i;
    if (refuses == i)
        return reply_write(kind, (enum err)atomic_load(&h->refusal), "not today", NULL, 0, out);
    if (refuses != STUDY_SERVERS_MOST) {
        support_pause_ms(300);
        return reply_write(kind, ERR_TIMEOUT, "waited in vain", NULL, 0, out);
    }
    return i == 0 ? gates_write_answer(kind, opened, sizeof opened, out)
                  : gates_write_answer(kind, digest, sizeof digest, out);
}

static void answer(void *self, unsigned i, const struct bytes *message, struct bytes *out)
{
    struct client_house *h = self;
    if (message->data[0] != MESSAGE_ALIVE)
        OK(write_answer(h, i, message->data[0], out));
    else if (message->size == 1 + REQUEST_RUN_SIZE &&
             memcmp(message->data + 1, h->run, REQUEST_RUN_SIZE) == 0)
        atomic_fetch_add(&h->alive[i], 1);
}

static void house_new(struct client_house *h)
{
    memset(h, 0, sizeof *h);
    memset(h->run, 5, sizeof h->run);
    atomic_store(&h->liar, STUDY_SERVERS_MOST);
    atomic_store(&h->refuses, STUDY_SERVERS_MOST);
    atomic_store(&h->refusal, ERR_REFUSED);
    h->s = STUDY(&quiet, .owners = 1, .connect_s = support_slow(3), .round_s = 1);
    OK(identity_load(&h->analyst, support_path(&h->s, "a.key"), &quiet));
    OK(netio_new(&h->netio, &quiet));
    gates_new(&h->gates, &h->s, &h->analyst->public, answer, h);
}

static void house_free(struct client_house *h)
{
    gates_free(&h->gates);
    netio_free(&h->netio);
    identity_free(&h->analyst);
    support_study_free(&h->s);
}

/* --- the analyst ------------------------------------------------------------------------------ */

/* Asks the servers something; `words` gets what was said about it. */
static enum err ask_and_keep(struct client_house *h, struct witness *witness, char *words,
                             size_t size)
{
    struct log log = {.buffer = words, .buffer_size = size, .level = LOG_ERROR};
    struct client *client CLEAN(client_free) = NULL;
    struct bytes request CLEAN(bytes_clear) = {0}, result CLEAN(bytes_clear) = {0};
    words[0] = '\0';
    bytes_put_string(&request, "any bytes do");
    OK(client_new(&client, h->netio, h->s.study, h->analyst, h->run, &log));
    if (witness != NULL)
        client_watch(client, witness);
    TRY(client_result(client, &request, &result));
    SAME_BYTES(&result, opened, sizeof opened);
    return ERR_OK;
}

static enum err ask(struct client_house *h, char *words, size_t size)
{
    return ask_and_keep(h, NULL, words, size);
}

/*
 * Statements about a ledger come with the answer, and count only if their server has signed them.
 */
TEST(an_answer_without_a_signed_ledger_is_refused)
{
    struct witness witness = {0};
    char words[2048];
    struct client_house h CLEAN(house_free);
    house_new(&h);
    witness.study = h.s.study;
    assert_int_equal(ask_and_keep(&h, &witness, words, sizeof words), ERR_AUTH);
    support_says(words, "what server 0 (s0) signs of its ledger does not hold");
}

TEST(a_result_that_one_server_forges_is_noticed)
{
    char words[2048];
    struct client_house h CLEAN(house_free);
    house_new(&h);
    OK(ask(&h, words, sizeof words));
    assert_string_equal(words, "");
    for (unsigned liar = 1; liar < STUDY_SERVERS_MOST; liar++) {
        char named[64];
        atomic_store(&h.liar, liar);
        assert_int_equal(ask(&h, words, sizeof words), ERR_MISMATCH);
        snprintf(named, sizeof named, "servers 0 and %u opened different results", liar);
        support_says(words, named);
    }
}

TEST(a_refusal_is_all_that_is_said)
{
    char words[2048];
    struct client_house h CLEAN(house_free);
    house_new(&h);
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        char named[64];
        atomic_store(&h.refuses, who);
        assert_int_equal(ask(&h, words, sizeof words), ERR_REFUSED);
        snprintf(named, sizeof named, "server %u (s%u)", who, who);
        EACH(support_says, words, named, "it says: not today");
        assert_null(strstr(words, "did not answer"));
        assert_null(strstr(words, "waited in vain"));
    }
}

/* One has lost a peer, another waits: the third, which has not answered yet, may well be up. */
TEST(nobody_is_blamed_for_a_moment_of_silence)
{
    char words[2048];
    struct client_house h CLEAN(house_free);
    house_new(&h);
    atomic_store(&h.refusal, ERR_PEER);
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        atomic_store(&h.refuses, who);
        assert_int_equal(ask(&h, words, sizeof words), ERR_TIMEOUT);
        EACH(support_says, words, "it says: not today", "it says: waited in vain");
        assert_null(strstr(words, ") did not answer"));
    }
}

TEST(a_run_is_said_to_live_as_long_as_it_does)
{
    struct client_house h CLEAN(house_free);
    struct client *client CLEAN(client_free) = NULL;
    house_new(&h);
    OK(client_new(&client, h.netio, h.s.study, h.analyst, h.run, &quiet));
    double end = support_deadline(30);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        while (atomic_load(&h.alive[i]) < 3)
            assert_true(support_again(end));
}
