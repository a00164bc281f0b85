/*
 * parties/server/assembly.h: requests too long for one message, which few studies have.
 */
#include "harness/cmocka.h"

#include "base/memory.h"
#include "harness/study.h"
#include "netio/porter.h"
#include "parties/exchange/message.h"
#include "parties/exchange/request.h"
#include "parties/server/assembly.h"

struct assembly_scene {
    struct support_study s;
    struct assembly a;
    struct gate_client from;
};

static struct assembly_scene scene_new(void)
{
    struct assembly_scene c = {.s = STUDY(NULL, .owners = 1)};
    OK(assembly_start(&c.a, c.s.study));
    return c;
}

static void scene_free(struct assembly_scene *c)
{
    assembly_clear(&c->a);
    support_study_free(&c->s);
}

/* A message of this kind and attempt whose n bytes of a request are `fill`. */
static enum err add(struct assembly_scene *c, uint8_t kind, uint8_t attempt, uint8_t fill, size_t n)
{
    struct bytes m CLEAN(bytes_clear) = {0};
    bytes_put_u8(&m, kind);
    for (size_t i = 1; i < REQUEST_HEAD_SIZE; i++)
        bytes_put_u8(&m, attempt);
    for (size_t i = 0; i < n; i++)
        bytes_put_u8(&m, fill);
    OK(bytes_ok(&m));
    return assembly_add(&c->a, 0, &c->from, &m);
}

/* One head, of this kind and attempt; then n bytes of a and m of b. */
static void expect(const struct assembly_scene *c, uint8_t kind, uint8_t attempt, size_t a,
                   size_t b)
{
    const struct bytes *got = &c->a.of[0].message;
    assert_int_equal(got->size, REQUEST_HEAD_SIZE + a + b);
    assert_int_equal(got->data[0], kind);
    for (size_t i = 1; i < REQUEST_HEAD_SIZE; i++)
        assert_int_equal(got->data[i], attempt);
    for (size_t i = 0; i < a + b; i++)
        assert_int_equal(got->data[REQUEST_HEAD_SIZE + i], i < a ? 'a' : 'b');
}

TEST(pieces_become_one_request)
{
    struct assembly_scene c CLEAN(scene_free) = scene_new();
    OK(add(&c, MESSAGE_PIECE, 1, 'a', 20));
    OK(add(&c, MESSAGE_PIECE, 1, 'a', 1));
    OK(add(&c, MESSAGE_REQUEST, 1, 'b', 10));
    expect(&c, MESSAGE_REQUEST, 1, 21, 10);
    assembly_drop(&c.a, 0);
    OK(add(&c, MESSAGE_REQUEST, 2, 'a', 5));
    expect(&c, MESSAGE_REQUEST, 2, 5, 0);
}

TEST(another_attempt_or_connection_begins_anew)
{
    struct assembly_scene c CLEAN(scene_free) = scene_new();
    OK(add(&c, MESSAGE_PIECE, 1, 'b', 20));
    OK(add(&c, MESSAGE_PIECE, 2, 'a', 3));
    expect(&c, MESSAGE_PIECE, 2, 3, 0);
    c.from.route[0] = 1;
    OK(add(&c, MESSAGE_REQUEST, 2, 'b', 4));
    expect(&c, MESSAGE_REQUEST, 2, 0, 4);
}

TEST(too_long_a_request_is_dropped)
{
    struct assembly_scene c CLEAN(scene_free) = scene_new();
    const size_t most = c.a.longest - REQUEST_HEAD_SIZE;
    OK(add(&c, MESSAGE_PIECE, 1, 'a', most));
    assert_int_equal(add(&c, MESSAGE_REQUEST, 1, 'b', 1), ERR_RANGE);
    assert_int_equal(c.a.of[0].message.size, 0);
    OK(add(&c, MESSAGE_REQUEST, 1, 'b', 1));
    expect(&c, MESSAGE_REQUEST, 1, 0, 1);
}

TEST(one_that_stops_growing_is_dropped)
{
    struct assembly_scene c CLEAN(scene_free) = scene_new();
    OK(add(&c, MESSAGE_PIECE, 1, 'a', 20));
    c.a.of[0].grown_ms = INT64_MAX / 2; /* however slow this machine is */
    assembly_tend(&c.a);
    expect(&c, MESSAGE_PIECE, 1, 20, 0);
    c.a.of[0].grown_ms = -PORTER_MESSAGE_MS - 1;
    assembly_tend(&c.a);
    assert_int_equal(c.a.of[0].message.size, 0);
}
