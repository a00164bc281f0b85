/* bench/secagg, bench/shamir: sums, dropouts, counted bytes. */
#include "harness/cmocka.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/secret.h"
#include "bench/flaim/secagg.h"
#include "bench/flaim/shamir.h"

#include <string.h>

#define CLIENTS 9
#define SEGMENTS 4
#define WORDS_MOST 64

TEST(any_threshold_of_shares_joins_and_fewer_do_not)
{
    uint8_t secret[SHAMIR_BYTES], back[SHAMIR_BYTES], share[7][SHAMIR_BYTES];
    for (unsigned threshold = 1; threshold <= 7; threshold++) {
        secret_random(secret, sizeof secret);
        shamir_split(secret, threshold, 7, share);
        for (unsigned first = 0; first + threshold <= 7; first++) {
            uint8_t x[7], some[7][SHAMIR_BYTES];
            for (unsigned i = 0; i < threshold; i++) {
                unsigned k = first + threshold - 1 - i; /* in any order */
                x[i] = (uint8_t)(k + 1);
                memcpy(some[i], share[k], SHAMIR_BYTES);
            }
            shamir_join(x, (const uint8_t(*)[SHAMIR_BYTES])some, threshold, back);
            assert_memory_equal(back, secret, sizeof secret);
            if (threshold == 1)
                continue;
            shamir_join(x, (const uint8_t(*)[SHAMIR_BYTES])some, threshold - 1, back);
            assert_memory_not_equal(back, secret, sizeof secret);
        }
    }
}

/* A job with random segments and inputs. */
struct bench_secagg_scene {
    struct secagg_segment segment[SEGMENTS];
    uint8_t member[SEGMENTS][CLIENTS];
    uint32_t word[CLIENTS][SEGMENTS * WORDS_MOST], sum[SEGMENTS * WORDS_MOST];
    const uint32_t *input[CLIENTS];
    uint64_t sent[CLIENTS], received[CLIENTS];
    enum secagg_drop drop[CLIENTS];
    struct secagg_job job;
    uint64_t tapped_sent[CLIENTS], tapped_received[CLIENTS]; /* lengths of captured messages */
    struct bytes masked[CLIENTS];
};

static void tap(void *self, size_t client, bool from_client, const struct bytes *message)
{
    struct bench_secagg_scene *s = self;
    (from_client ? s->tapped_sent : s->tapped_received)[client] += message->size;
    if (from_client && message->data[0] == 5) { /* MASKED */
        bytes_clear(&s->masked[client]);
        bytes_put(&s->masked[client], message->data, message->size);
    }
}

static struct bench_secagg_scene *scene_new(uint64_t seed, size_t clients)
{
    struct bench_secagg_scene *s = memory_array(1, sizeof *s);
    struct random r;
    assert_non_null(s);
    r = random_of(seed);
    for (size_t g = 0; g < SEGMENTS; g++) {
        for (size_t k = 0; k < clients; k++)
            s->member[g][k] = g == 0 || random_below(&r, 2) == 0;
        s->member[g][g % clients] = 1;
        s->segment[g] = (struct secagg_segment){1 + random_below(&r, WORDS_MOST), s->member[g]};
    }
    memset(s->member[SEGMENTS - 1], 0, CLIENTS); /* one segment belongs to one client */
    s->member[SEGMENTS - 1][0] = 1;
    for (size_t k = 0; k < clients; k++) {
        for (size_t i = 0; i < SEGMENTS * WORDS_MOST; i++)
            s->word[k][i] = (uint32_t)random_u64(&r);
        s->input[k] = s->word[k];
    }
    s->job = (struct secagg_job){.clients = clients,
                                 .threshold = secagg_threshold(clients),
                                 .segments = SEGMENTS,
                                 .segment = s->segment,
                                 .input = s->input,
                                 .drop = s->drop,
                                 .sum = s->sum,
                                 .sent = s->sent,
                                 .received = s->received,
                                 .tap = tap,
                                 .self = s};
    return s;
}

static void scene_free(struct bench_secagg_scene **s)
{
    for (size_t k = 0; k < CLIENTS; k++)
        bytes_clear(&(*s)->masked[k]);
    memory_free(s);
}

static void assert_sums(const struct bench_secagg_scene *s)
{
    size_t first = 0, at[CLIENTS] = {0};
    for (size_t g = 0; g < SEGMENTS; first += s->segment[g++].words)
        for (size_t i = 0; i < s->segment[g].words; i++) {
            uint32_t sum = 0;
            for (size_t k = 0; k < s->job.clients; k++)
                if (s->member[g][k] != 0 &&
                    (s->drop[k] == SECAGG_STAYS || s->drop[k] == SECAGG_DROPS_BEFORE_REVEAL))
                    sum += s->word[k][at[k] + i];
            assert_int_equal(s->sum[first + i], sum);
            if (i + 1 == s->segment[g].words)
                for (size_t k = 0; k < s->job.clients; k++)
                    at[k] += s->member[g][k] != 0 ? s->segment[g].words : 0;
        }
}

TEST(sums_are_right_for_any_number_of_clients)
{
    for (size_t clients = 1; clients <= CLIENTS; clients++) {
        struct bench_secagg_scene *s CLEAN(scene_free) = scene_new(clients, clients);
        OK(secagg_run(&s->job, NULL));
        assert_sums(s);
    }
}

/* 0 .. clients - threshold clients vanish, at each of the three stages and mixed. */
TEST(as_many_may_vanish_as_the_threshold_leaves)
{
    for (unsigned gone = 0; gone <= CLIENTS - secagg_threshold(CLIENTS); gone++)
        for (unsigned stage = 1; stage <= 4; stage++) {
            struct bench_secagg_scene *s CLEAN(scene_free) = scene_new(100 + gone, CLIENTS);
            for (unsigned i = 0; i < gone; i++)
                s->drop[(2 * i + stage) % CLIENTS] = (enum secagg_drop)(stage < 4 ? stage
                                                                                  : 1 + i % 3);
            OK(secagg_run(&s->job, NULL));
            assert_sums(s);
        }
}

TEST(one_too_many_is_a_clear_failure)
{
    unsigned most = CLIENTS - secagg_threshold(CLIENTS);
    for (unsigned stage = 2; stage <= 3; stage++) {
        struct bench_secagg_scene *s CLEAN(scene_free) = scene_new(200, CLIENTS);
        char text[512] = "";
        struct log log = {.buffer = text, .buffer_size = sizeof text};
        for (unsigned i = 0; i <= most; i++)
            s->drop[i] = (enum secagg_drop)stage;
        assert_int_equal(secagg_run(&s->job, &log), ERR_PEER);
        support_says(text, "4 of 9 clients are left");
        support_says(text, "5 are needed");
    }
}

TEST(counted_bytes_are_those_of_the_messages)
{
    for (size_t clients = 1; clients <= CLIENTS; clients += 2) {
        struct bench_secagg_scene *s CLEAN(scene_free) = scene_new(300 + clients, clients);
        uint64_t sent[CLIENTS], received[CLIENTS];
        OK(secagg_run(&s->job, NULL));
        memcpy(sent, s->sent, sizeof sent);
        memcpy(received, s->received, sizeof received);
        assert_memory_equal(sent, s->tapped_sent, sizeof sent);
        assert_memory_equal(received, s->tapped_received, sizeof received);
        memset(s->sent, 0, sizeof s->sent);
        memset(s->received, 0, sizeof s->received);
        secagg_count(&s->job);
        assert_memory_equal(sent, s->sent, sizeof sent);
        assert_memory_equal(received, s->received, sizeof received);
    }
}

/*
 * Zeros are not sent as zeros, nor as the same words twice; in a segment of two, both are masked.
 */
TEST(inputs_travel_masked)
{
    struct bench_secagg_scene *s CLEAN(scene_free) = scene_new(400, CLIENTS);
    struct bytes before[CLIENTS] = {{0}};
    memset(s->word, 0, sizeof s->word);
    OK(secagg_run(&s->job, NULL));
    assert_sums(s);
    for (size_t k = 0; k < CLIENTS; k++) {
        size_t zeros = 0;
        for (size_t i = 1; i < s->masked[k].size; i++)
            zeros += s->masked[k].data[i] == 0;
        assert_true(zeros < s->masked[k].size / 8);
        bytes_put(&before[k], s->masked[k].data, s->masked[k].size);
    }
    OK(secagg_run(&s->job, NULL));
    for (size_t k = 0; k < CLIENTS; k++) {
        assert_int_equal(before[k].size, s->masked[k].size);
        assert_memory_not_equal(before[k].data, s->masked[k].data, before[k].size);
        bytes_clear(&before[k]);
    }
}

TEST(thresholds_of_half_are_refused)
{
    struct bench_secagg_scene *s CLEAN(scene_free) = scene_new(500, 8);
    s->job.threshold = 4;
    assert_int_equal(secagg_run(&s->job, NULL), ERR_RANGE);
    s->job.threshold = 9;
    assert_int_equal(secagg_run(&s->job, NULL), ERR_RANGE);
}
