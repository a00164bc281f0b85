/*
 * A provider and a keeper in real processes, of which one alters a bit of one message that it sends
 * to the other, whichever it is: statements, matrices, tables, labels, noise, values. Nobody
 * crashes, no round is debited twice or differently, and what both have opened is not opened again
 * when both are honest and the run goes on. What is opened may be wrong: docs/security.md says so.
 * The server that alters is a child of this program, in which seal_frame() is wrapped (Makefile).
 * `make test` has some of the messages, TREFOIL_LONG=1 all of them.
 */
#include "tests/support/scene.h"

#include "netio/seal.h"

#include <fcntl.h>
#include <sqlite3.h>

#define ROUNDS 3 /* the one-ways, and two selections */

/* --- the server that alters ------------------------------------------------------------------- */

static struct {
    long at, sent; /* the message that it alters, from 0; those that were sent */
    int tally;     /* a file that gets a byte for each, */
    int lied;      /* and another that gets one when it is altered */
} villain;

__typeof__(seal_frame) __real_seal_frame, __wrap_seal_frame;
enum err __wrap_seal_frame(struct seal *seal, uint64_t sequence, const void *ad, size_t ad_size,
                           const void *plain, size_t n, uint8_t *out)
{
    uint8_t *other CLEAN(memory_release) = NULL;
    const long number = n > 0 ? villain.sent++ : -1;
    if (n > 0 && write(villain.tally, ".", 1) != 1)
        return ERR_SYSTEM;
    if (number < 0 || number != villain.at)
        return __real_seal_frame(seal, sequence, ad, ad_size, plain, n, out);
    TRY(memory_new(&other, n));
    memcpy(other, plain, n);
    other[(size_t)number * 7919 % n] ^= (uint8_t)(1 << number % 8);
    return write(villain.lied, ".", 1) == 1
               ? __real_seal_frame(seal, sequence, ad, ad_size, other, n, out)
               : ERR_SYSTEM;
}

static void start_villain(struct scene *c, unsigned i, long at)
{
    c->server[i] = fork();
    if (c->server[i] == 0) {
        villain.at = at;
        villain.tally = open(file(c, "tally"), O_CREAT | O_WRONLY, 0600);
        villain.lied = open(file(c, "lied"), O_CREAT | O_WRONLY, 0600);
        support_serve_here(&c->s, i);
    }
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 60));
}

/* --- what servers have ------------------------------------------------------------------------ */

/* By round: debits, whether values are there, and openings of values. */
struct had {
    unsigned debits[ROUNDS], opened[ROUNDS], openings[ROUNDS];
};

static struct had look(struct scene *c, unsigned i)
{
    struct had h = {.debits = {0}};
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(file(c, "server%u/store.sqlite", i), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT sequence, opened IS NOT NULL FROM rounds WHERE "
                                        "number IS NOT NULL",
                                        -1, &row, NULL),
                     SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const int k = sqlite3_column_int(row, 0);
        assert_in_range(k, 0, ROUNDS - 1);
        h.debits[k]++;
        h.opened[k] += (unsigned)sqlite3_column_int(row, 1);
    }
    sqlite3_finalize(row);
    sqlite3_close(db);
    OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
    for (size_t k = 0; k < log->entries; k++)
        if (log->entry[k].kind == AUDIT_OPEN && log->entry[k].opening.what[0] != '-')
            h.openings[log->entry[k].opening.round]++;
    return h;
}

/* Both run until now; `child` is of this program, and has no handler for a signal. */
static void stop_both(struct scene *c, unsigned child, struct had had[2])
{
    for (unsigned i = 0; i < 2; i++) {
        int status = 0;
        if (waitpid(c->server[i], &status, WNOHANG) != 0)
            fail_msg("server %u has ended: %d", i, status);
        if (i == child)
            support_kill(&c->server[i]);
        else
            assert_int_equal(support_stop(&c->server[i]), 0);
        had[i] = look(c, i);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

static int run_on(struct scene *c)
{
    return COMMAND(file(c, "run.log"), 60, "run", c->s.path, "--key", file(c, "a.key"), "--out",
                   file(c, "out"), "--quick");
}

/* Returns how many messages the server has sent, if `at` is none of them. */
static long alter(unsigned server, long at, const char *more)
{
    struct scene c CLEAN(scene_free) = scene_without_servers(
        OPTIONS(.owners = 1, .two = true, .rounds = 2, .epsilon = 2, .more = more));
    struct had before[2], after[2];
    struct stat tally, lied;
    start_server(&c, 1 - server, c.s.path);
    start_villain(&c, server, at);
    assert_int_equal(share_own(&c, 0), 0);
    int code = run_on(&c);
    stop_both(&c, server, before);
    assert_true(stat(file(&c, "tally"), &tally) == 0 && stat(file(&c, "lied"), &lied) == 0);
    if (at < 0) {
        assert_int_equal(code, 0);
        return (long)tally.st_size;
    }
    print_message("# server %u alters message %ld: %s\n", server, at,
                  code == 0 ? "unnoticed" : "the run ends");
    assert_int_equal(lied.st_size, tally.st_size > at); /* this run may have had fewer pulses */
    for (unsigned i = 0; i < 2; i++)
        start_server(&c, i, c.s.path);
    assert_int_equal(share_own(&c, 0), 0);
    code = run_on(&c);
    stop_both(&c, 2, after);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < ROUNDS; k++) {
            assert_in_range(after[i].debits[k], code == 0, 1);
            assert_int_equal(after[i].debits[k], after[1 - i].debits[k]);
            assert_in_range(after[i].openings[k], code == 0, 2);
            if (before[0].opened[k] && before[1].opened[k])
                assert_int_equal(after[i].openings[k], before[i].openings[k]);
        }
    return 0;
}

static void alter_each(const char *more, long quick)
{
    for (unsigned server = 0; server < 2; server++) {
        const long messages = alter(server, -1, more);
        const bool all = getenv("TREFOIL_LONG") != NULL;
        assert_in_range(messages, 15, 400);
        print_message("# server %u sends %ld messages\n", server, messages);
        for (long at = all ? 0 : server; at < messages; at += all ? 1 : messages / quick)
            alter(server, at, more);
    }
}

TEST(an_altered_message_opens_nothing_twice)
{
    alter_each("noise_by: joint\n", 5);
}

TEST(nor_where_the_owner_makes_the_noise)
{
    alter_each("noise_by: owner\n", 2);
}

int main(void)
{
    return secret_start() == ERR_OK ? support_run_tests(NULL, NULL) : 1;
}
