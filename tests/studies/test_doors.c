/*
 * Servers as real processes, attacked by people with valid keys: what these can use up is bounded.
 */
#include "harness/cmocka.h"

#include "base/clock.h"
#include "harness/process.h"
#include "parties/study/study_ports.h"
#include "tests/support/caller.h"
#include "tests/support/withhold.h"

struct doors_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
};

static void serve(struct doors_scene *c, unsigned i)
{
    c->server[i] = support_serve(&c->s, i, c->s.path);
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 60));
}

static struct doors_scene scene_new(const struct study_options *o)
{
    struct doors_scene c = {.s = support_study_of(o, &quiet)};
    return c;
}

static void scene_free(struct doors_scene *c)
{
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* docs/operating.md: tens of megabytes while collecting, whatever an owner's key sends. */
TEST(a_stolen_key_fills_no_memory)
{
    struct withhold_record attack = {.connections = 60, .frames = 16, .frame = (size_t)256 << 10};
    char endpoint[STUDY_ENDPOINT_SIZE];
    uint64_t before, most = 0;
    unsigned served = 0;
    int64_t end;
    support_needs(SUPPORT_WITHHOLDS, "neither a sanitizer nor qemu lets a child have threads");
    struct doors_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 2));
    serve(&c, 1);
    struct support_caller honest CLEAN(support_caller_free) = support_caller_new(&c.s, "o1.key", 1);
    struct support_caller thief CLEAN(support_caller_free) = support_caller_new(&c.s, "o0.key", 1);
    study_endpoint(c.s.study, 1, STUDY_GATE, endpoint);
    attack.endpoint = endpoint;
    attack.server_public = c.s.study->server[1].key.curve;
    attack.curve_public = thief.me->public.curve;
    attack.curve_secret = thief.me->curve_secret;
    before = support_resident(c.server[1]);
    pid_t child = support_withhold(&attack);
    for (end = support_moment(WITHHOLD_MS); clock_now_ms() < end || served < 10; served++) {
        uint64_t now = support_resident(c.server[1]);
        most = now > most ? now : most;
        support_caller_begin(&honest, MESSAGE_STATUS);
        OK(support_call(&honest));
        support_pause_ms(10); /* as often as a key may ask without limit */
    }
    assert_true(support_withhold_end(child));
    print_message("# resident: %llu MB before, %llu MB at most\n",
                  (unsigned long long)before / 1000000, (unsigned long long)most / 1000000);
    assert_true(most < (uint64_t)150 << 20); /* 250 MB are sent */
}

/* --- logs ------------------------------------------------------------------------------------- */

static unsigned lines_with(const char *path, const char *words)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    unsigned n = 0;
    OK(file_read(path, (size_t)1 << 20, &text, &quiet));
    bytes_put_u8(&text, 0);
    for (const char *p = (const char *)text.data; (p = strstr(p, words)) != NULL; p++)
        n++;
    return n;
}

static void dial_as_stranger(struct doors_scene *c, struct netio *netio)
{
    struct identity *stranger CLEAN(identity_free) = MADE(identity, identity_new, &quiet);
    struct dial *d CLEAN(dial_free) = MADE(dial, dials_new, netio, c->s.study, stranger, 1, NULL);
    assert_int_not_equal(dial_reach(d, support_moment(100)), ERR_OK);
}

/*
 * Unknown keys, and a known key that sends odd messages: some lines, a few more with time, and how
 * many more there were.
 */
TEST(nobody_fills_the_log)
{
    enum { LINES = 20, STRANGERS = 40, ODD = 1500 };
    static const char away[] = "turned away a connection";
    const double end = support_deadline(30);
    struct doors_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1));
    unsigned dialled = 0;
    serve(&c, 1);
    struct support_caller odd = support_caller_new(&c.s, "o0.key", 1);
    for (unsigned i = 0; i < ODD; i++) {
        support_caller_begin(&odd, 77);
        assert_int_equal(support_call(&odd), ERR_REFUSED);
    }
    support_caller_free(&odd);
    struct netio *netio = MADE(netio, netio_new, NULL);
    for (; lines_with(file(&c, "server1.log"), away) < LINES; dialled++) {
        assert_true(support_again(end));
        dial_as_stranger(&c, netio);
    }
    for (unsigned i = 0; i < STRANGERS; i++)
        dial_as_stranger(&c, netio);
    netio_free(&netio);
    assert_int_equal(support_stop(&c.server[1]), 0);
    assert_in_range(lines_with(file(&c, "server1.log"), "a message of kind 77"), LINES + 1,
                    ODD / 10);
    assert_in_range(lines_with(file(&c, "server1.log"), away), LINES + 1, dialled + STRANGERS - 1);
    assert_in_range(lines_with(file(&c, "server1.log"), "more like this in"), 2, LINES);
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file that never ends is not read whole before it is judged; one that never begins is empty. */
TEST(what_never_ends_is_not_read_whole)
{
    struct doors_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1));
    {
        const char *check[] = {"check", "/dev/zero", NULL};
        const char *const share[] = {"share", c.s.path,           file(&c, "endless.csv"),
                                     "--key", file(&c, "o0.key"), NULL};
        uint8_t block[4096];
        FILE *f = fopen(share[2], "wb");
        assert_non_null(f);
        memset(block, 'x', sizeof block);
        for (unsigned i = 0; i < 1024; i++)
            assert_int_equal(fwrite(block, 1, sizeof block, f), sizeof block);
        fclose(f);
        EXPECT(6, file(&c, "synth.log"), 60, "synth", "/dev/zero", "--out", file(&c, "rows.csv"));
        file_says(file(&c, "synth.log"), "larger than the 67108864 bytes");
        assert_int_not_equal(support_run(file(&c, "check.log"), 60, check), 0);
        file_says(file(&c, "check.log"), "larger than the");
        assert_int_equal(support_run(file(&c, "share.log"), 60, share), 6);
        file_says(file(&c, "share.log"), "a field has more than 1048576 bytes");
        assert_int_equal(unlink(share[2]), 0);
        assert_int_equal(mkfifo(share[2], 0600), 0);
        assert_int_equal(support_run(file(&c, "share.log"), 60, share), 6);
        file_says(file(&c, "share.log"), "is empty; it needs a header line");
        check[1] = share[2];
        ENDS(support_run(file(&c, "check.log"), 60, check), 3, file(&c, "check.log"), "is empty");
    }
}

/* A folder that others can write to could be replaced with an older one. */
TEST(a_folder_of_all_is_refused)
{
    struct doors_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1));
    assert_int_equal(mkdir(file(&c, "server0"), 0700), 0);
    for (unsigned k = 0; k < 2; k++) {
        const mode_t mode = k == 0 ? 0777 : 0720;
        assert_int_equal(chmod(file(&c, "server0"), mode), 0);
        pid_t pid = support_serve(&c.s, 0, c.s.path);
        ENDS(support_wait(pid, 10), 1, file(&c, "server0.log"), "run chmod go-w '");
    }
    file_says(file(&c, "server0.log"), "(mode 720)");
    assert_int_equal(chmod(file(&c, "server0"), 0755), 0);
    serve(&c, 0);
}

/* --- long requests ---------------------------------------------------------------------------- */

/* Estimates of a marginal of 65,536 cells: three messages. */
TEST(a_long_request_comes_in_pieces)
{
    struct doors_scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = 1, .rounds = 2,
                .domain = "domain:\n"
                          "  - {name: a, kind: integer, min: 0, max: 255}\n"
                          "  - {name: b, kind: integer, min: 0, max: 255}\n",
                .workload = "{all: 2}"));
    assert_true(c.s.study->workload->cells * 8 > 2 * MESSAGE_PART_MAX);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        serve(&c, i);
    OK(support_csv(file(&c, "o0.csv"), c.s.study->domain, 200, 1));
    EXPECT(0, file(&c, "share.log"), 60, "share", c.s.path, file(&c, "o0.csv"), "--key",
           file(&c, "o0.key"));
    EXPECT(0, file(&c, "run.log"), 120, "run", c.s.path, "--key", file(&c, "a.key"), "--out",
           file(&c, "out"));
}
