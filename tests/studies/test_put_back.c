/*
 * All three servers' folders put back from one copy: no server can notice, but whoever has seen
 * their ledgers does (parties/exchange/witness.h), from what is kept in the run's folder, beside
 * each key, or given to trefoil audit.
 */
#include "harness/cmocka.h"

#include "harness/process.h"

static const char *const kept[] = {"store.sqlite", "audit.log"};

/*
 * Copies what stopped servers hold to copies of their folders or back; `name` is that of the
 * copies.
 */
static void copy_folders(const struct support_study *s, const char *name, bool back)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(file_folder(support_path(s, "%s%u", name, i), NULL));
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
            const char *folder = support_path(s, "server%u/%s", i, kept[k]),
                       *copy = support_path(s, "%s%u/%s", name, i, kept[k]);
            OK(back ? support_copy(copy, folder) : support_copy(folder, copy));
        }
        unlink(support_path(s, "server%u/store.sqlite-wal", i));
        unlink(support_path(s, "server%u/store.sqlite-shm", i));
    }
}

#define TREFOIL(s, ...) ANEW(support_path(s, "said.log"), 60, __VA_ARGS__)

static int run(const struct support_study *s, const char *out, const char *rounds)
{
    return TREFOIL(s, "run", s->path, "--key", support_path(s, "a.key"), "--out",
                   support_path(s, "%s", out), "--rounds", rounds, "--wait", "0");
}

static int audit(const struct support_study *s, const char *heads)
{
    return TREFOIL(s, "audit", support_path(s, "server0/audit.log"),
                   support_path(s, "server1/audit.log"), support_path(s, "server2/audit.log"),
                   "--study", s->path, heads != NULL ? "--heads" : NULL, heads);
}

static void says(const struct support_study *s, const char *words)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    if (!support_contains(support_path(s, "said.log"), words) &&
        file_read(support_path(s, "said.log"), 1 << 20, &b, NULL) == ERR_OK)
        fail_msg("\"%s\" is not in:\n%.*s", words, (int)b.size, (const char *)b.data);
}

/* They have seen three debits; the servers know two. */
static void everybody_who_has_seen_more_refuses(const struct support_study *s)
{
    static const char put_back[] =
        "that its privacy ledger had 3 debits; now it signs that it has 2;";
    char *const heads = strdup(support_path(s, "a.test.heads"));
    assert_int_equal(run(s, "out", "3"), 3);
    EACH(says, s, "server 0 (s0) signed on 20", put_back,
         "budget that was spent would be spent again");
    assert_int_equal(run(s, "another", "1"), 3); /* its folder is new: by what is beside the key */
    says(s, put_back);
    assert_int_equal(rename(heads, support_path(s, "gone")), 0);
    assert_int_equal(run(s, "out", "3"), 3); /* from what is in the folder */
    says(s, put_back);
    assert_int_equal(rename(support_path(s, "gone"), heads), 0);
    assert_int_equal(TREFOIL(s, "share", s->path, "--key", support_path(s, "o0.key"), "--status"),
                     3);
    EACH(says, s, put_back, "held by all three");
    assert_int_equal(
        TREFOIL(s, "share", s->path, support_path(s, "o0.csv"), "--key", support_path(s, "o0.key")),
        3);
    says(s, put_back);
    /* those who have never seen a ledger cannot know */
    assert_int_equal(TREFOIL(s, "share", s->path, "--key", support_path(s, "o1.key"), "--status"),
                     0);
    assert_int_equal(audit(s, NULL), 0);
    assert_int_equal(audit(s, support_path(s, "o0.test.heads")), 6);
    EACH(says, s, "server 2 signed on 20", "an old copy of the server's folder was put in place");
    assert_int_equal(audit(s, support_path(s, "out/heads")), 6);
    assert_int_equal(audit(s, support_path(s, "no-such.heads")), 1);
    free(heads);
}

TEST(three_folders_from_one_copy_give_no_budget_back)
{
    pid_t server[STUDY_SERVERS_MOST];
    struct support_study s CLEAN(support_study_free) = STUDY(NULL, .owners = 2);
    assert_true(support_serve_all(&s, s.path, server));
    for (unsigned i = 0; i < 2; i++) {
        OK(support_csv(support_path(&s, "o%u.csv", i), s.study->domain, 300, i));
        assert_int_equal(TREFOIL(&s, "share", s.path, support_path(&s, "o%u.csv", i), "--key",
                                 support_path(&s, "o%u.key", i)),
                         0);
    }
    /* nothing is spent, so there is nothing to keep */
    assert_int_equal(access(support_path(&s, "o0.test.heads"), F_OK), -1);
    assert_int_equal(run(&s, "out", "1"), 0);
    assert_true(support_stop_all(server));
    copy_folders(&s, "old", false);
    assert_true(support_serve_all(&s, s.path, server));
    assert_int_equal(run(&s, "out", "2"), 0);
    assert_int_equal(TREFOIL(&s, "share", s.path, "--key", support_path(&s, "o0.key"), "--status"),
                     0);
    assert_int_equal(audit(&s, support_path(&s, "out/heads")), 0);
    assert_true(support_stop_all(server));
    copy_folders(&s, "new", false);

    copy_folders(&s, "old", true);
    assert_true(support_serve_all(&s, s.path, server));
    everybody_who_has_seen_more_refuses(&s);
    assert_true(support_stop_all(server));

    copy_folders(&s, "new", true);
    assert_true(support_serve_all(&s, s.path, server));
    assert_int_equal(run(&s, "out", "3"), 0);
    assert_int_equal(audit(&s, support_path(&s, "out/heads")), 0);
    assert_int_equal(TREFOIL(&s, "share", s.path, "--key", support_path(&s, "o0.key"), "--status"),
                     0);
    assert_true(support_stop_all(server));
}
