/*
 * Servers as real processes, attacked by people with valid keys: what these can use up is bounded.
 */
#include "tests/support_cmocka.h"

#include "base/clock.h"
#include "base/file.h"
#include "parties/study/study_ports.h"
#include "tests/support_caller.h"
#include "tests/support_process.h"
#include "tests/support_socket.h"
#include "tests/support_withhold.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS];
};

static void serve(struct scene *c, unsigned i)
{
    c->server[i] = support_serve(&c->s, i, c->s.path);
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 60));
}

static void scene_new(struct scene *c, const struct support_options *o)
{
    *c = (struct scene){0};
    assert_int_equal(support_study_new(&c->s, o, &quiet), ERR_OK);
}

static void scene_free(struct scene *c)
{
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* docs/operating.md: tens of megabytes while collecting, whatever an owner's key sends. */
TEST(a_stolen_key_fills_no_memory)
{
    const struct support_options o = {.owners = 2};
    struct withheld attack = {.connections = 60, .frames = 16, .frame = (size_t)256 << 10};
    char endpoint[STUDY_ENDPOINT_SIZE];
    struct support_caller honest CLEAN(support_caller_free), thief CLEAN(support_caller_free);
    uint64_t before, most = 0;
    struct scene c CLEAN(scene_free);
    unsigned served = 0;
    int status;
    pid_t child;
    if (!SUPPORT_WITHHOLDS) {
        print_message("# SKIP neither a sanitizer nor qemu lets a child have threads\n");
        skip();
    }
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
        clock_pause(10); /* as often as a key may ask without limit */
    }
    assert_int_equal(status, 0);
    assert_true(served > 10);
    print_message("# resident: %llu MB before, %llu MB at most\n",
                  (unsigned long long)before / 1000000, (unsigned long long)most / 1000000);
    assert_true(most < (uint64_t)150 << 20); /* 250 MB are sent */
}

/* --- logs ------------------------------------------------------------------------------------- */

static unsigned lines_with(const char *path, const char *words)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    unsigned n = 0;
    assert_int_equal(file_read(path, (size_t)1 << 20, &text, &quiet), ERR_OK);
    bytes_put_u8(&text, 0);
    for (const char *p = (const char *)text.data; (p = strstr(p, words)) != NULL; p++)
        n++;
    return n;
}

/*
 * Unknown keys, and a known key that sends odd messages: a few lines, and how many more there were.
 */
TEST(nobody_fills_the_log)
{
    enum { STRANGERS = 60, ODD = 1500 };
    const struct support_options o = {.owners = 1};
    struct support_caller odd;
    struct scene c CLEAN(scene_free);
    struct netio *netio;
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
        struct identity *stranger CLEAN(identity_free) = NULL;
        struct dial *d CLEAN(dial_free) = NULL;
        assert_int_equal(identity_new(&stranger, &quiet), ERR_OK);
        assert_int_equal(dials_new(&d, netio, c.s.study, stranger, 1, NULL), ERR_OK);
        assert_int_not_equal(dial_reach(d, clock_now_ms() + 100), ERR_OK);
    }
    netio_free(&netio);
    assert_int_equal(support_stop(&c.server[1]), 0);
    assert_in_range(lines_with(file(&c, "server1.log"), "a message of kind 77"), 21, 30);
    assert_in_range(lines_with(file(&c, "server1.log"), "turned away a connection"), 21, 35);
    assert_int_equal(lines_with(file(&c, "server1.log"), "more like this in"), 2);
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file that never ends is not read whole before it is judged. */
TEST(what_never_ends_is_not_read_whole)
{
    const struct support_options o = {.owners = 1};
    struct scene c CLEAN(scene_free);
    scene_new(&c, &o);
    {
        const char *const synth[] = {"synth", "/dev/zero", "--out", file(&c, "rows.csv"), NULL};
        const char *const check[] = {"check", "/dev/zero", NULL};
        const char *const share[] = {"share", c.s.path,           file(&c, "endless.csv"),
                                     "--key", file(&c, "o0.key"), NULL};
        uint8_t block[4096];
        FILE *f = fopen(share[2], "wb");
        assert_non_null(f);
        memset(block, 'x', sizeof block);
        for (unsigned i = 0; i < 1024; i++)
            assert_int_equal(fwrite(block, 1, sizeof block, f), sizeof block);
        fclose(f);
        assert_int_equal(support_run(file(&c, "synth.log"), 60, synth), 6);
        assert_true(support_contains(file(&c, "synth.log"), "larger than the 67108864 bytes"));
        assert_int_not_equal(support_run(file(&c, "check.log"), 60, check), 0);
        assert_true(support_contains(file(&c, "check.log"), "larger than the"));
        assert_int_equal(support_run(file(&c, "share.log"), 60, share), 6);
        assert_true(support_contains(file(&c, "share.log"), "a field has more than 1048576 bytes"));
    }
}

/* A folder that others can write to could be replaced with an older one. */
TEST(a_folder_of_all_is_refused)
{
    const struct support_options o = {.owners = 1};
    struct scene c CLEAN(scene_free);
    scene_new(&c, &o);
    assert_int_equal(mkdir(file(&c, "server0"), 0700), 0);
    for (unsigned k = 0; k < 2; k++) {
        const mode_t mode = k == 0 ? 0777 : 0720;
        pid_t pid;
        assert_int_equal(chmod(file(&c, "server0"), mode), 0);
        pid = support_serve(&c.s, 0, c.s.path);
        assert_int_equal(support_wait(pid, 10), 1);
        assert_true(support_contains(file(&c, "server0.log"), "run chmod go-w '"));
    }
    assert_true(support_contains(file(&c, "server0.log"), "(mode 720)"));
    assert_int_equal(chmod(file(&c, "server0"), 0755), 0);
    serve(&c, 0);
}

/* --- the status pages ------------------------------------------------------------------------- */

/*
 * More clients than the pages take, who send a byte now and then: each is cut off, others are
 * served.
 */
TEST(slow_readers_do_not_hold_the_status_pages)
{
    enum { SLOW = 16 };
    const struct support_options o = {.owners = 1};
    struct scene c CLEAN(scene_free);
    uint16_t port;
    char text[16];
    int slow[SLOW];
    bool served = false;
    scene_new(&c, &o);
    port = support_ports(1);
    snprintf(text, sizeof text, "%u", port);
    {
        const char *const a[] = {
            "serve",    c.s.path, "--key", file(&c, "s0.key"), "--folder", file(&c, "server0"),
            "--status", text,     NULL};
        c.server[0] = support_start(file(&c, "server0.log"), a);
    }
    assert_true(support_wait_for(file(&c, "server0.log"), "is ready", 60));
    for (unsigned i = 0; i < SLOW; i++) {
        slow[i] = support_connect("127.0.0.1", port);
        assert_true(slow[i] >= 0);
        assert_int_equal(write(slow[i], "GET / HTTP/1.1\r\n", 16), 16);
    }
    for (int64_t end = clock_now_ms() + 40000; !served && clock_now_ms() < end;) {
        int fd = support_connect("127.0.0.1", port);
        for (unsigned i = 0; i < SLOW; i++)
            (void)!send(slow[i], "x", 1, MSG_NOSIGNAL);
        clock_pause(1000);
        assert_true(fd >= 0);
        if (send(fd, "GET /healthz HTTP/1.0\r\n\r\n", 25, MSG_NOSIGNAL) == 25) {
            struct timeval t = {.tv_sec = 1};
            char first[8];
            (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
            served = recv(fd, first, sizeof first, 0) > 0;
        }
        close(fd);
    }
    assert_true(served);
    for (unsigned i = 0; i < SLOW; i++)
        close(slow[i]);
}

/* --- long requests ---------------------------------------------------------------------------- */

/* Estimates of a marginal of 65,536 cells: three messages. */
TEST(a_long_request_comes_in_pieces)
{
    const struct support_options o = {.owners = 1,
                                      .rounds = 2,
                                      .domain = "domain:\n"
                                                "  - {name: a, kind: integer, min: 0, max: 255}\n"
                                                "  - {name: b, kind: integer, min: 0, max: 255}\n",
                                      .workload = "{all: 2}"};
    struct scene c CLEAN(scene_free);
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
}
