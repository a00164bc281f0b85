/* Servers as real processes, attacked by people with valid keys: what they can take of them is bounded. */
#include "tests/support_cmocka.h"

#include "base/clock.h"
#include "base/file.h"
#include "tests/support_caller.h"
#include "tests/support_process.h"
#include "tests/support_withhold.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS];
};

static struct log quiet = {.level = LOG_ERROR};

#define file(scene, ...) support_path(&(scene)->s, __VA_ARGS__)

static void serve(struct scene *c, unsigned i)
{
    c->server[i] = support_serve(&c->s, i, c->s.path);
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 10));
}

static void scene_new(struct scene *c, const struct support_options *o)
{
    *c = (struct scene){0};
    assert_int_equal(support_study_new(&c->s, o, &quiet), ERR_OK);
}

static void scene_free(struct scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        if (c->server[i] != 0)
            assert_int_equal(support_stop(&c->server[i]), 0);
    support_study_free(&c->s);
}

/* --- memory ------------------------------------------------------------------------------------- */

/* docs/operating.md: tens of megabytes while collecting, whatever an owner's key sends. */
static void a_stolen_key_fills_no_memory(void **state)
{
    const struct support_options o = {.owners = 2};
    struct withheld attack = {.connections = 60, .frames = 16, .frame = (size_t)256 << 10};
    char endpoint[STUDY_ENDPOINT_SIZE];
    struct support_caller honest, thief;
    uint64_t before, most = 0;
    struct scene c;
    unsigned served = 0;
    int status;
    pid_t child;
    (void)state;
    scene_new(&c, &o);
    serve(&c, 1);
    support_caller_new(&honest, &c.s, "o1.key", 1);
    support_caller_new(&thief, &c.s, "o0.key", 1);
    study_endpoint(c.s.study, 1, STUDY_GATE, endpoint);
    attack.endpoint = endpoint;
    attack.server_public = c.s.study->server[1].key.curve;
    attack.curve_public = thief.me->public.curve;
    attack.curve_secret = thief.me->curve_secret;
    before = support_resident(c.server[1]);
    child = support_withhold(&attack);
    for (; waitpid(child, &status, WNOHANG) == 0; served++) {
        uint64_t now = support_resident(c.server[1]);
        most = now > most ? now : most;
        support_caller_begin(&honest, MESSAGE_STATUS);
        assert_int_equal(support_call(&honest), ERR_OK);
        clock_pause(5);
    }
    assert_int_equal(status, 0);
    assert_true(served > 10);
    print_message("# resident: %llu MB before, %llu MB at most\n",
                  (unsigned long long)before / 1000000, (unsigned long long)most / 1000000);
    assert_true(most < (uint64_t)150 << 20); /* of 250 that are sent */
    support_caller_free(&honest);
    support_caller_free(&thief);
    scene_free(&c);
}

/* --- logs --------------------------------------------------------------------------------------- */

static unsigned lines_with(const char *path, const char *words)
{
    struct bytes text = {0};
    unsigned n = 0;
    assert_int_equal(file_read(path, (size_t)1 << 20, &text, &quiet), ERR_OK);
    bytes_put_u8(&text, 0);
    for (const char *p = (const char *)text.data; (p = strstr(p, words)) != NULL; p++)
        n++;
    bytes_clear(&text);
    return n;
}

/* Keys that nobody knows, and a key that is known and says odd things: a few lines, and how many more. */
static void nobody_fills_the_log(void **state)
{
    enum { STRANGERS = 60, ODD = 1500 };
    const struct support_options o = {.owners = 1};
    struct support_caller odd;
    struct scene c;
    struct netio *netio;
    (void)state;
    scene_new(&c, &o);
    serve(&c, 1);
    support_caller_new(&odd, &c.s, "o0.key", 1);
    for (unsigned i = 0; i < ODD; i++) {
        support_caller_begin(&odd, 77);
        assert_int_equal(support_call(&odd), ERR_REFUSED);
    }
    support_caller_free(&odd);
    assert_int_equal(netio_new(&netio, NULL), ERR_OK);
    for (unsigned i = 0; i < STRANGERS; i++) {
        struct identity *stranger;
        struct dial *d;
        assert_int_equal(identity_new(&stranger, &quiet), ERR_OK);
        assert_int_equal(lines_dial(&d, netio, c.s.study, stranger, 1, NULL), ERR_OK);
        assert_int_not_equal(dial_reach(d, clock_now_ms() + 100), ERR_OK);
        dial_free(&d);
        identity_free(&stranger);
    }
    netio_free(&netio);
    assert_int_equal(support_stop(&c.server[1]), 0);
    assert_in_range(lines_with(file(&c, "server1.log"), "a message of kind 77"), 21, 30);
    assert_in_range(lines_with(file(&c, "server1.log"), "turned away a connection"), 21, 35);
    assert_int_equal(lines_with(file(&c, "server1.log"), "more like this in"), 2);
    scene_free(&c);
}

/* --- long requests ------------------------------------------------------------------------------ */

/* Estimates of a marginal of 65,536 cells: three messages. */
static void a_long_request_comes_in_pieces(void **state)
{
    const struct support_options o = {.owners = 1,
                                      .rounds = 2,
                                      .domain = "domain:\n"
                                                "  - {name: a, kind: integer, min: 0, max: 255}\n"
                                                "  - {name: b, kind: integer, min: 0, max: 255}\n",
                                      .workload = "{all: 2}"};
    struct scene c;
    (void)state;
    scene_new(&c, &o);
    assert_true(c.s.study->workload->cells * 8 > 2 * MESSAGE_PART_MAX);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        serve(&c, i);
    assert_int_equal(support_csv(file(&c, "o0.csv"), c.s.study->domain, 200, 1), ERR_OK);
    {
        const char *const share[] = {"share", c.s.path,           file(&c, "o0.csv"),
                                     "--key", file(&c, "o0.key"), NULL};
        const char *const run[] = {"run",   c.s.path,        "--key", file(&c, "a.key"),
                                   "--out", file(&c, "out"), NULL};
        assert_int_equal(support_run(file(&c, "share.log"), 60, share), 0);
        assert_int_equal(support_run(file(&c, "run.log"), 120, run), 0);
    }
    scene_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stolen_key_fills_no_memory),
        cmocka_unit_test(nobody_fills_the_log),
        cmocka_unit_test(a_long_request_comes_in_pieces),
    };
    if (getenv("TREFOIL") == NULL)
        setenv("TREFOIL", "build/gcc/trefoil", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
