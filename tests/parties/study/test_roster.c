/*
 * Amendments of the roster, and keys that are renewed, revoked, expired or another's: what
 * parties/study/roster.c says about study files, and how real servers and owners treat them while
 * uploads come in.
 */
#include "harness/cmocka.h"

#include "base/date.h"
#include "harness/process.h"
#include "parties/exchange/dials.h"
#include "parties/study/roster.h"

static char logged[4096];

struct roster_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    struct log log;
};

static struct roster_scene scene_new(void)
{
    struct roster_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_ERROR}};
    logged[0] = '\0';
    c.s = STUDY(&c.log, .owners = 3, .round_s = 40, .connect_s = 30);
    for (unsigned i = 0; i < c.s.owners; i++)
        OK(support_csv(file(&c, "o%u.csv", i), c.s.study->domain, 400 + 100 * i, i));
    return c;
}

static void scene_free(struct roster_scene *c)
{
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* A copy of a study file with texts replaced: see support_edit(). */
static void amend(const char *from, const char *to, const char *const *pairs)
{
    assert_true(support_edit(from, to, pairs));
}

static void sign_with(struct roster_scene *c, const char *study, unsigned server)
{
    EXPECT(0, file(c, "sign.log"), 10, "roster", "sign", study, "--key",
           file(c, "s%u.key", server));
}

static void key_text(const char *path, char text[IDENTITY_TEXT_SIZE])
{
    struct identity *id CLEAN(identity_free) = MADE(identity, identity_load, path, NULL);
    public_identity_text(&id->public, text);
}

/* --- study files ------------------------------------------------------------------------------ */

static struct study *load(struct roster_scene *c, const char *path)
{
    logged[0] = '\0';
    struct study *study = MADE(study, study_load, path, &c->log);
    return study;
}

static void expect_signatures(struct roster_scene *c, const char *path, enum roster_signature s0,
                              enum roster_signature s1, enum roster_signature s2)
{
    struct study *study CLEAN(study_free) = load(c, path);
    bool good = study->roster_version == 1 ||
                (s0 == ROSTER_SIGNED && s1 == ROSTER_SIGNED && s2 == ROSTER_SIGNED);
    assert_int_equal(roster_signature(study, 0), s0);
    assert_int_equal(roster_signature(study, 1), s1);
    assert_int_equal(roster_signature(study, 2), s2);
    assert_int_equal(roster_check(study, &c->log), good ? ERR_OK : ERR_AUTH);
}

TEST(signatures_gather_in_the_file)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    const char *second = support_path(&c.s, "second.yaml");
    const char *third = support_path(&c.s, "third.yaml");
    /* the first roster needs none, and accepts none */
    expect_signatures(&c, c.s.path, ROSTER_UNSIGNED, ROSTER_UNSIGNED, ROSTER_UNSIGNED);
    EXPECT(3, file(&c, "sign.log"), 10, "roster", "sign", c.s.path, "--key", file(&c, "s0.key"));
    file_says(file(&c, "sign.log"), "roster: 2");
    amend(c.s.path, second,
          (const char *const[]){"study: test\n", "study: test # kept\nroster: 2\n", NULL});
    assert_int_equal(chmod(second, 0640), 0);
    expect_signatures(&c, second, ROSTER_UNSIGNED, ROSTER_UNSIGNED, ROSTER_UNSIGNED);
    support_says(logged, "is not signed by server s0");
    sign_with(&c, second, 2);
    expect_signatures(&c, second, ROSTER_UNSIGNED, ROSTER_UNSIGNED, ROSTER_SIGNED);
    sign_with(&c, second, 0);
    sign_with(&c, second, 2); /* again gives the same */
    sign_with(&c, second, 1);
    expect_signatures(&c, second, ROSTER_SIGNED, ROSTER_SIGNED, ROSTER_SIGNED);
    file_says(second, "# kept");
    {
        struct stat st;
        assert_int_equal(stat(second, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
    }
    /* any other value under the same number is not what they signed; a comment may change */
    amend(second, third, (const char *const[]){"round: 4", "round: 5", NULL});
    expect_signatures(&c, third, ROSTER_STALE, ROSTER_STALE, ROSTER_STALE);
    amend(second, third, (const char *const[]){"# kept", "# a comment\r", NULL});
    expect_signatures(&c, third, ROSTER_SIGNED, ROSTER_SIGNED, ROSTER_SIGNED);
    /* nor are the terms of another study */
    amend(second, third, (const char *const[]){"rounds: 3", "rounds: 4", NULL});
    expect_signatures(&c, third, ROSTER_STALE, ROSTER_STALE, ROSTER_STALE);
    /* the next amendment drops what was signed before */
    amend(second, third, (const char *const[]){"roster: 2", "roster: 3", NULL});
    sign_with(&c, third, 1);
    expect_signatures(&c, third, ROSTER_UNSIGNED, ROSTER_SIGNED, ROSTER_UNSIGNED);
}

/* Whatever form the block `signatures` has, and wherever it is. */
TEST(any_form_of_the_block_is_replaced)
{
    static const char *const forms[] = {
        "signatures: {}\n",
        "signatures:\n  {s0:\n    \"\"\n  }\n# after\n",
        "signatures: # none yet\n\n  # or:\n",
    };
    struct roster_scene c CLEAN(scene_free) = scene_new();
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char head[256];
        struct identity *me CLEAN(identity_free) = NULL;
        char text[IDENTITY_SIGNATURE_TEXT_SIZE];
        snprintf(head, sizeof head, "roster: 2\n%sstudy: test\n", forms[i]);
        amend(c.s.path, file(&c, "form.yaml"), (const char *const[]){"study: test\n", head, NULL});
        OK(identity_load(&me, file(&c, "s1.key"), NULL));
        enum err e = roster_sign_file(file(&c, "form.yaml"), me, text, &c.log);
        if (i == 0) {
            OK(e);
            expect_signatures(&c, file(&c, "form.yaml"), ROSTER_UNSIGNED, ROSTER_SIGNED,
                              ROSTER_UNSIGNED);
        } else /* no study to begin with: nothing is written */
            assert_int_equal(e, ERR_STUDY);
    }
}

/*
 * If nothing can be put at the end, or what looks like the block is something else, the file is
 * left alone.
 */
TEST(what_cannot_be_signed_is_left_alone)
{
    static const struct {
        const char *find, *by;
    } cases[] = {
        {"study: test\n", "\"signatures\": {}\nstudy: test\n"},
        {"values: [f, m]}\n", "values: [\"f\nsignatures: x\ng\", m]}\n"},
    };
    struct roster_scene c CLEAN(scene_free) = scene_new();
    struct identity *me CLEAN(identity_free) = NULL;
    char text[IDENTITY_SIGNATURE_TEXT_SIZE];
    const char *path = support_path(&c.s, "form.yaml");
    OK(identity_load(&me, file(&c, "s1.key"), NULL));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes before CLEAN(bytes_clear) = {0}, after CLEAN(bytes_clear) = {0};
        amend(c.s.path, path,
              (const char *const[]){"study: test\n", "study: test\nroster: 2\n", cases[i].find,
                                    cases[i].by, NULL});
        OK(file_read(path, 1 << 20, &before, NULL));
        logged[0] = '\0';
        assert_int_equal(roster_sign_file(path, me, text, &c.log), ERR_STUDY);
        support_says(logged, "which was left alone; put the printed line");
        assert_memory_equal(text, "trefoil-sig1-", 13);
        OK(file_read(path, 1 << 20, &after, NULL));
        SAME_BYTES(&before, after.data, after.size);
    }
    assert_int_equal(roster_sign_file(file(&c, "nowhere.yaml"), me, text, &c.log), ERR_SYSTEM);
    support_says(logged, "nowhere.yaml");
}

/* A file whose last line has no line end. */
TEST(the_last_line_is_ended_before_it_is_signed)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    struct identity *me CLEAN(identity_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    char signature[IDENTITY_SIGNATURE_TEXT_SIZE];
    amend(c.s.path, file(&c, "cut.yaml"),
          (const char *const[]){"study: test\n", "study: test\nroster: 2\n", NULL});
    OK(file_read(file(&c, "cut.yaml"), 1 << 20, &text, NULL));
    OK(file_write(file(&c, "cut.yaml"), 0600, text.data, text.size - 1, NULL));
    OK(identity_load(&me, file(&c, "s2.key"), NULL));
    OK(roster_sign_file(file(&c, "cut.yaml"), me, signature, &c.log));
    expect_signatures(&c, file(&c, "cut.yaml"), ROSTER_UNSIGNED, ROSTER_UNSIGNED, ROSTER_SIGNED);
}

TEST(only_servers_sign)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    struct bytes before CLEAN(bytes_clear) = {0}, after CLEAN(bytes_clear) = {0};
    amend(c.s.path, file(&c, "a.yaml"),
          (const char *const[]){"study: test\n", "study: test\nroster: 2\n", NULL});
    OK(file_read(file(&c, "a.yaml"), 1 << 20, &before, NULL));
    EXPECT(3, file(&c, "sign.log"), 10, "roster", "sign", file(&c, "a.yaml"), "--key",
           file(&c, "o0.key"));
    OK(file_read(file(&c, "a.yaml"), 1 << 20, &after, NULL));
    SAME_BYTES(&before, after.data, after.size);
}

/*
 * The changes of an amendment are listed, dangerous ones in capitals; one that touches the terms is
 * refused.
 */
TEST(amendments_are_told_in_words)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    char o0[IDENTITY_TEXT_SIZE], o1[IDENTITY_TEXT_SIZE], o1_new[IDENTITY_TEXT_SIZE],
        o0_new[IDENTITY_TEXT_SIZE], revoked[IDENTITY_TEXT_SIZE + 64];
    const char *output;
    EXPECT(0, file(&c, "keygen.log"), 10, "keygen", file(&c, "o0-new.key"), "--renew",
           file(&c, "o0.key"), "--until", "2199-12-31");
    EXPECT(0, file(&c, "keygen.log"), 10, "keygen", file(&c, "o1-new.key"));
    key_text(file(&c, "o0.key"), o0);
    key_text(file(&c, "o1.key"), o1);
    key_text(file(&c, "o0-new.key"), o0_new);
    key_text(file(&c, "o1-new.key"), o1_new);
    snprintf(revoked, sizeof revoked, "study: test\nroster: 2\nrevoked: [%s]\n", o1);
    {
        /* o1's old key last, since it is also in `revoked` */
        const char *const pairs[] = {o0,          o0_new,          o1,      o1_new, "round: 40",
                                     "round: 50", "study: test\n", revoked, NULL};
        amend(c.s.path, file(&c, "second.yaml"), pairs);
        output = file(&c, "show.log");
        EXPECT(0, output, 10, "roster", "show", file(&c, "second.yaml"), "--since", c.s.path);
    }
    output = file(&c, "show.log");
    EACH(file_says, output,
         "owner o0: a renewed key of the same identity, good until "
         "2199-12-31",
         "owner o1: ANOTHER IDENTITY", "revoked: a key of", "deadlines.round: 40 -> 50",
         "server 0, s0: has not signed");
    amend(c.s.path, file(&c, "other.yaml"),
          (const char *const[]){"epsilon: 1", "epsilon: 2", NULL});
    EXPECT(3, file(&c, "show2.log"), 10, "roster", "show", file(&c, "other.yaml"), "--since",
           c.s.path);
    file_says(file(&c, "show2.log"), "budget");
}

/* The changes from one study to another, and what the new one says of itself. */
static void compare(struct roster_scene *c, const char *from, const char *to, char words[4096])
{
    struct study *a CLEAN(study_free) = load(c, from), *b CLEAN(study_free) = load(c, to);
    FILE *out = fmemopen(words, 4096, "w");
    assert_non_null(out);
    OK(roster_compare(out, a, b, &c->log));
    roster_describe(out, b);
    fclose(out);
}

/* Each line that an amendment may give, in both directions. */
TEST(every_change_is_told)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    char a[SUPPORT_PATH], b[SUPPORT_PATH], key[IDENTITY_TEXT_SIZE],
        revoked[IDENTITY_TEXT_SIZE + 64], added[IDENTITY_TEXT_SIZE + 64], words[4096],
        endpoint[2][96];
    support_study_file(&c.s, "a.yaml", a);
    support_study_file(&c.s, "b.yaml", b);
    key_text(file(&c, "o1.key"), key);
    snprintf(revoked, sizeof revoked, "study: test\nroster: 2\nrevoked: [%s]\n", key);
    EXPECT(0, file(&c, "keygen.log"), 10, "keygen", file(&c, "new.key"));
    key_text(file(&c, "new.key"), key);
    snprintf(added, sizeof added, "analysts:\n  - name: b\n    key: %s\n", key);
    for (unsigned i = 0; i < 2; i++)
        snprintf(endpoint[i], sizeof endpoint[i], "127.0.0.%u:%u\n%s", 1 + i, c.s.port,
                 i == 1 ? "    ranks: [calc1, calc2]\n" : "");
    amend(c.s.path, a,
          (const char *const[]){"study: test\n", revoked, "analysts:\n", added, endpoint[0],
                                endpoint[1], "round: 40",
                                "round: 40, uploads: 2030-01-01T00:00:00Z", NULL});
    amend(c.s.path, b,
          (const char *const[]){
              "study: test\n", "study: test\nroster: 2\n", "connect: 30", "connect: 40", "servers:",
              "model: {max_mib: 7, iterations: 8, final_iterations: 9, "
              "apart: [ward, age]}\nservers:",
              "max_rows: 1000\n",
              "max_rows: 1000\n    batch: x\n    columns: [age, sex, ward, bmi, died]\n"
              "    rows: 400\n",
              NULL});
    compare(&c, c.s.path, a, words);
    EACH(support_says, words, "server s0: tcp://127.0.0.1:", "-> tcp://127.0.0.2:",
         "server s0, ranks: none -> calc1, calc2\n", "  analyst b: new\n", "  revoked: a key of ",
         "deadlines.uploads: none -> 2030-01-01T00:00:00Z\n", "  the key of o1 is revoked\n");
    compare(&c, a, b, words);
    EACH(support_says, words, "the number is not a later one: give it roster: 3\n",
         "  analyst b: no longer\n", "  NO LONGER REVOKED: a key of ",
         "deadlines.connect: 30 -> 40\n", "deadlines.uploads: 2030-01-01T00:00:00Z -> none\n",
         "  rows of the batch of o0 (0: not said): 0 -> 400\n", "model.max_mib: 80 -> 7\n",
         "model.iterations: 100 -> 8\n", "model.final_iterations: 1000 -> 9\n",
         "model.apart: none -> age, ward\n");
    compare(&c, a, a, words);
    support_says(words, "Of roster 2 it changes:\n  nothing\nRoster 2 of study test");
    struct study *study CLEAN(study_free) = load(&c, a); /* turns away somebody who is not there */
    assert_int_equal(roster_current(study, ROLE_OWNER, study->owners, &c.log), ERR_AUTH);
}

/* What owners that the study does not list, and those without a network, are to know. */
TEST(what_strangers_and_pages_need_is_told)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    char a[SUPPORT_PATH], b[SUPPORT_PATH], key[2][IDENTITY_TEXT_SIZE], open[2][520], seal[1000],
        words[4096];
    struct bytes printed CLEAN(bytes_clear) = {0};
    support_study_file(&c.s, "a.yaml", a);
    support_study_file(&c.s, "b.yaml", b);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT(0, file(&c, "keygen.log"), 10, "keygen", file(&c, "issuer%u.key", i));
        key_text(file(&c, "issuer%u.key", i), key[i]);
        snprintf(open[i], sizeof open[i],
                 "min_owners: 1\nopen_owners: {issuer: %s, max: 100, revoked: [%s]}\n%sservers:",
                 key[i], i == 0 ? "17, 40" : "40, 41",
                 i == 0 ? "" : "roster: 2\nrelay: https://parcels.example.org\n");
    }
    amend(c.s.path, a, (const char *const[]){"servers:", open[0], NULL});
    EXPECT(0, file(&c, "keygen.log"), 10, "keygen", file(&c, "s1.seal"), "--sealing",
           file(&c, "s1.key"), a);
    OK(file_read(file(&c, "keygen.log"), 4096, &printed, NULL));
    bytes_put_u8(&printed, 0);
    const char *line = strstr((const char *)printed.data, "sealing: ");
    assert_non_null(line);
    key_text(file(&c, "s1.key"), key[0]);
    snprintf(seal, sizeof seal, "%s\n    %.*s", key[0], (int)strcspn(line, "\n"), line);
    amend(c.s.path, b, (const char *const[]){"servers:", open[1], key[0], seal, NULL});
    compare(&c, a, b, words);
    EACH(support_says, words, "  the issuer of open_owners: ANOTHER IDENTITY, ",
         "  revoked: token 41\n", "  NO LONGER REVOKED: token 17\n",
         "  relay: none -> https://parcels.example.org\n", "  server s1: a sealing key\n");
    compare(&c, b, a, words);
    EACH(support_says, words, "  relay: https://parcels.example.org -> none\n",
         "  server s1: no sealing key any more\n");
}

/* --- while a study runs ----------------------------------------------------------------------- */

/* Its exit code if it ends at once; 0 once it serves. */
static int serve(struct roster_scene *c, unsigned i, const char *study)
{
    const char *log = file(c, "server%u.log", i);
    unlink(log);
    c->server[i] = START(log, "serve", study, "--key", file(c, "s%u.key", i), "--folder",
                         file(c, "server%u", i), "--listen", "127.0.0.1");
    for (double end = support_deadline(10); support_again(end);) {
        if (support_contains(log, "is ready"))
            return 0;
        if (support_contains(log, "server stopped") || support_contains(log, "trefoil: ")) {
            int code = support_wait(c->server[i], 10);
            c->server[i] = 0;
            return code;
        }
    }
    return -2;
}

static void restart(struct roster_scene *c, unsigned i, const char *study)
{
    assert_int_equal(support_stop(&c->server[i]), 0);
    assert_int_equal(serve(c, i, study), 0);
}

static int share(struct roster_scene *c, const char *study, const char *key, unsigned data)
{
    return ANEW(file(c, "share.log"), 60, "share", study, file(c, "o%u.csv", data), "--key",
                file(c, "%s", key));
}

static int run_study(struct roster_scene *c, const char *study)
{
    return ANEW(file(c, "run.log"), 60, "run", study, "--key", file(c, "a.key"), "--out",
                file(c, "out"));
}

TEST(amended_in_the_middle_of_collecting)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    char o1[IDENTITY_TEXT_SIZE], o1_new[IDENTITY_TEXT_SIZE], o2[IDENTITY_TEXT_SIZE],
        o2_new[IDENTITY_TEXT_SIZE];
    const char *const renew[] = {"keygen", NULL, "--renew", NULL, NULL};
    const char *renewal[5];
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(serve(&c, i, c.s.path), 0);
    assert_int_equal(share(&c, c.s.path, "o0.key", 0), 0);
    assert_int_equal(share(&c, c.s.path, "o1.key", 1), 0);
    assert_int_equal(share(&c, c.s.path, "o2.key", 2), 0);
    /* o1 becomes somebody else, o2 renews its key */
    memcpy(renewal, renew, sizeof renewal);
    renewal[1] = file(&c, "o2-new.key");
    renewal[3] = file(&c, "o2.key");
    assert_int_equal(support_run(file(&c, "keygen.log"), 10, renewal), 0);
    EXPECT(0, file(&c, "keygen.log"), 10, "keygen", file(&c, "o1-new.key"));
    key_text(file(&c, "o1.key"), o1);
    key_text(file(&c, "o2.key"), o2);
    key_text(file(&c, "o1-new.key"), o1_new);
    key_text(file(&c, "o2-new.key"), o2_new);
    amend(c.s.path, file(&c, "second.yaml"),
          (const char *const[]){o1, o1_new, o2, o2_new, "study: test\n", "study: test\nroster: 2\n",
                                NULL});
    /* nobody takes it with two signatures; nor changed without a new number */
    sign_with(&c, file(&c, "second.yaml"), 0);
    sign_with(&c, file(&c, "second.yaml"), 1);
    assert_int_equal(support_stop(&c.server[0]), 0);
    assert_int_equal(serve(&c, 0, file(&c, "second.yaml")), 3);
    file_says(file(&c, "server0.log"), "not signed by server s2");
    assert_int_equal(share(&c, file(&c, "second.yaml"), "o2-new.key", 2), 3);
    amend(c.s.path, file(&c, "sly.yaml"), (const char *const[]){o1, o1_new, NULL});
    assert_int_equal(serve(&c, 0, file(&c, "sly.yaml")), 3);
    file_says(file(&c, "server0.log"), "needs the next number (roster: 2)");
    /* while this is going on both rosters serve; a run waits */
    sign_with(&c, file(&c, "second.yaml"), 2);
    assert_int_equal(serve(&c, 0, file(&c, "second.yaml")), 0);
    assert_int_equal(share(&c, c.s.path, "o0.key", 0), 0);
    assert_int_equal(share(&c, file(&c, "second.yaml"), "o0.key", 0), 0);
    ENDS(run_study(&c, file(&c, "second.yaml")), 3, file(&c, "run.log"), "roster");
    restart(&c, 1, file(&c, "second.yaml"));
    restart(&c, 2, file(&c, "second.yaml"));
    /* uploads depend on who somebody is, not on the key of the links */
    assert_int_equal(share(&c, file(&c, "second.yaml"), "o2-new.key", 2), 0);
    assert_int_equal(share(&c, file(&c, "second.yaml"), "o2.key", 2), 3);
    file_says(file(&c, "share.log"), "another key for the links of o2");
    assert_int_equal(share(&c, file(&c, "second.yaml"), "o1.key", 1), 3);
    file_says(file(&c, "share.log"), "not one of the study's owners");
    assert_int_equal(share(&c, file(&c, "second.yaml"), "a.key", 1), 3);
    file_says(file(&c, "share.log"), "that of the analyst a");
    assert_int_equal(run_study(&c, file(&c, "second.yaml")), 0);
    /* and there is no way back */
    assert_int_equal(support_stop(&c.server[0]), 0);
    ENDS(serve(&c, 0, c.s.path), 3, file(&c, "server0.log"), "has run with roster 2");
}

/* A server's links get a new key; its identity, and what it has sealed and signed, stay. */
TEST(a_server_renews_its_key)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    char s1[IDENTITY_TEXT_SIZE], s1_new[IDENTITY_TEXT_SIZE], soon[64];
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(serve(&c, i, c.s.path), 0);
    for (unsigned i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "o%u.key", i);
        assert_int_equal(share(&c, c.s.path, key, i), 0);
    }
    key_text(file(&c, "s1.key"), s1);
    const struct words_text day = date_day_text(date_today() + 3);
    EXPECT(0, file(&c, "keygen.log"), 10, "keygen", file(&c, "new.key"), "--renew",
           file(&c, "s1.key"), "--until", day.text);
    key_text(file(&c, "new.key"), s1_new);
    amend(c.s.path, file(&c, "second.yaml"),
          (const char *const[]){s1, s1_new, "study: test\n", "study: test\nroster: 2\n", NULL});
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        sign_with(&c, file(&c, "second.yaml"), i); /* with the old file: the identity is the same */
    assert_int_equal(support_stop(&c.server[1]), 0);
    assert_int_equal(rename(file(&c, "new.key"), file(&c, "s1.key")), 0);
    ENDS(serve(&c, 1, c.s.path), 3, file(&c, "server1.log"), "another key for the links of s1");
    assert_int_equal(serve(&c, 1, file(&c, "second.yaml")), 0);
    snprintf(soon, sizeof soon, "the key of s1 is good until %s", day.text);
    file_says(file(&c, "server1.log"), soon);
    restart(&c, 0, file(&c, "second.yaml"));
    restart(&c, 2, file(&c, "second.yaml"));
    EXPECT(0, file(&c, "check.log"), 10, "check", file(&c, "second.yaml"), "--receipt",
           file(&c, "o1.test.receipt"));
    assert_int_equal(run_study(&c, file(&c, "second.yaml")), 0);
}

/* Before there are data, a folder takes what the study file says. */
TEST(terms_and_roster_are_free_until_the_first_upload)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    assert_int_equal(serve(&c, 0, c.s.path), 0);
    assert_int_equal(support_stop(&c.server[0]), 0);
    amend(c.s.path, file(&c, "b.yaml"),
          (const char *const[]){"rounds: 3", "rounds: 4", "round: 4", "round: 5", NULL});
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(serve(&c, i, file(&c, "b.yaml")), 0);
    assert_int_equal(share(&c, file(&c, "b.yaml"), "o0.key", 0), 0);
    assert_int_equal(support_stop(&c.server[0]), 0);
    ENDS(serve(&c, 0, c.s.path), 3, file(&c, "server0.log"), "they differ in rounds");
}

/* --- keys at the gate ------------------------------------------------------------------------- */

/*
 * The answer of a server's gate to a key, bypassing all checks of the client itself; "" if there is
 * none.
 */
static void knock(struct roster_scene *c, const char *study_path, const char *key, char text[512])
{
    struct study *study CLEAN(study_free) = load(c, study_path);
    struct identity *me CLEAN(identity_free) = NULL;
    struct netio *netio CLEAN(netio_free) = NULL;
    struct dial *dial CLEAN(dial_free) = NULL;
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply = {0};
    bytes_put_u8(&message, MESSAGE_STATUS);
    OK(identity_load(&me, file(c, "%s", key), NULL));
    OK(netio_new(&netio, NULL));
    OK(dials_new(&dial, netio, study, me, 0, NULL));
    if (dials_ask(dial, &message, &reply, 1500, 1500) == ERR_OK)
        snprintf(text, 512, "%s: %.400s", reply.status == ERR_OK ? "ok" : "refused", reply.text);
    else
        text[0] = '\0';
}

TEST(keys_that_were_good_are_turned_away)
{
    struct roster_scene c CLEAN(scene_free) = scene_new();
    struct identity *old = NULL, *expired = NULL;
    char o0[IDENTITY_TEXT_SIZE], o1[IDENTITY_TEXT_SIZE], o1_new[IDENTITY_TEXT_SIZE],
        s1[IDENTITY_TEXT_SIZE], s1_new[IDENTITY_TEXT_SIZE], head[IDENTITY_TEXT_SIZE + 64],
        text[512];
    key_text(file(&c, "o0.key"), o0);
    key_text(file(&c, "o1.key"), o1);
    key_text(file(&c, "s1.key"), s1);
    OK(identity_load(&old, file(&c, "o1.key"), NULL));
    OK(identity_renew(&expired, old, date_today() - 1, NULL));
    OK(identity_save(expired, file(&c, "o1-new.key"), false, NULL));
    identity_free(&old);
    identity_free(&expired);
    key_text(file(&c, "o1-new.key"), o1_new);
    snprintf(head, sizeof head, "study: test\nrevoked: [%s]\n", o0);
    amend(c.s.path, file(&c, "b.yaml"),
          (const char *const[]){"study: test\n", head, o1, o1_new, NULL});
    assert_int_equal(serve(&c, 0, file(&c, "b.yaml")), 0);
    knock(&c, c.s.path, "o2.key", text);
    assert_memory_equal(text, "ok", 2);
    /*
     * revoked: not even a connection, whatever the client's file says; the operator can read of it
     */
    knock(&c, c.s.path, "o0.key", text);
    assert_string_equal(text, "");
    file_says(file(&c, "server0.log"), "turned away a connection");
    file_says(file(&c, "server0.log"), "the key of o0 is revoked");
    /* expired: told when */
    knock(&c, file(&c, "b.yaml"), "o1-new.key", text);
    support_says(text, "refused: the key of o1 was good until");
    /* renewed, but not on the roster */
    knock(&c, c.s.path, "o1.key", text);
    assert_string_equal(text, "");
    /* the share tool itself says so */
    assert_int_equal(share(&c, file(&c, "b.yaml"), "o0.key", 0), 3);
    file_says(file(&c, "share.log"), "the key of o0 is revoked");
    assert_int_equal(share(&c, file(&c, "b.yaml"), "o1-new.key", 0), 3);
    file_says(file(&c, "share.log"), "the key of o1 was good until");
    /* a server with an expired key does not serve, and nobody uses it */
    OK(identity_load(&old, file(&c, "s1.key"), NULL));
    OK(identity_renew(&expired, old, 20000, NULL));
    OK(identity_save(expired, file(&c, "s1.key"), true, NULL));
    identity_free(&old);
    identity_free(&expired);
    key_text(file(&c, "s1.key"), s1_new);
    amend(c.s.path, file(&c, "d.yaml"), (const char *const[]){s1, s1_new, NULL});
    assert_int_equal(serve(&c, 1, file(&c, "d.yaml")), 3);
    file_says(file(&c, "server1.log"), "the key of s1 was good until 2024-10-04");
    assert_int_equal(share(&c, file(&c, "d.yaml"), "o2.key", 0), 3);
    file_says(file(&c, "share.log"), "the key of s1 was good until 2024-10-04");
}
