/*
 * A study with security: abort in real processes, of whose servers one alters what it sends: the
 * two others open nothing that is wrong and say so, and the run ends with an exit code of its own.
 * That server is a child of this program, in which party_new() is wrapped (Makefile).
 */
#include "tests/support_cmocka.h"
#include "tests/test_processes.h"

#include "mpc/party.h"
#include "parties/server/server.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* One bit of the first long stretch that is sent to a neighbour in a phase. */
#define LONG 256
struct deed {
    enum net_phase phase;
    enum net_peer to;
    unsigned openings; /* that the others log in all: of what was right */
};

/* --- the server that cheats ------------------------------------------------------------------- */

static struct {
    struct deed deed;
    const struct party *party; /* of the session */
    bool done;
} villain;

static enum err alter(void *self, const struct party_sent *at, void *p, size_t n)
{
    uint8_t *bytes = p;
    (void)self;
    if (villain.done || n < LONG || at->to != villain.deed.to ||
        net_phase(villain.party->net) != villain.deed.phase)
        return ERR_OK;
    villain.done = true;
    bytes[n / 2] ^= 1;
    return ERR_OK;
}

static const struct party_tamper tamper = {.alter = alter};

enum err __real_party_new(struct party **party, struct net *net, const struct session *session,
                          uint32_t lane, struct log *log);
enum err __wrap_party_new(struct party **party, struct net *net, const struct session *session,
                          uint32_t lane, struct log *log);

enum err __wrap_party_new(struct party **party, struct net *net, const struct session *session,
                          uint32_t lane, struct log *log)
{
    TRY(__real_party_new(party, net, session, lane, log));
    (*party)->tamper = &tamper;
    villain.party = *party;
    return ERR_OK;
}

_Noreturn static void serve_falsely(struct scene *c, unsigned i, const struct deed *deed)
{
    FILE *said = fopen(file(c, "server%u.log", i), "a");
    struct log log = {.file = said, .level = LOG_INFO};
    atomic_bool stop = false;
    struct identity *me = NULL;
    villain.deed = *deed;
    if (said == NULL || setvbuf(said, NULL, _IONBF, 0) != 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        identity_load(&me, file(c, "s%u.key", i), &log) != ERR_OK)
        _exit(1);
    _exit(server_run(&(const struct server_options){.study = c->s.study,
                                                    .me = me,
                                                    .folder = file(c, "server%u", i),
                                                    .listen = c->s.host,
                                                    .lanes = 1,
                                                    .stop = &stop,
                                                    .log = &log}) != ERR_OK);
}

static void start_cheat(struct scene *c, unsigned i, const struct deed *deed)
{
    assert_int_equal(support_stop(&c->server[i]), 0);
    assert_int_equal(unlink(file(c, "server%u.log", i)), 0);
    c->server[i] = fork();
    if (c->server[i] == 0)
        serve_falsely(c, i, deed);
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 10));
}

/* --- what the others have --------------------------------------------------------------------- */

/* Lines of an audit log: openings, and checks that failed, all in the phase of the deed. */
static void count_lines(struct scene *c, unsigned i, const struct deed *deed, unsigned lines[2])
{
    struct audit_file *log = NULL;
    lines[0] = lines[1] = 0;
    assert_int_equal(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet), ERR_OK);
    assert_int_equal(log->security, STUDY_ABORT);
    for (size_t k = 0; k < log->entries; k++) {
        lines[0] += log->entry[k].kind == AUDIT_OPEN;
        if (log->entry[k].kind != AUDIT_CAUGHT)
            continue;
        lines[1]++;
        assert_string_equal(log->entry[k].caught.phase, net_phase_name(deed->phase));
    }
    audit_file_free(&log);
}

TEST(a_server_that_cheats_ends_the_run)
{
    static const struct deed deeds[] = {
        {NET_COMPUTE, NET_PREV, 0}, {NET_NOISE, NET_NEXT, 0}, {NET_SELECT, NET_PREV, 1}};
    const struct support_options o = {.owners = OWNERS, .rounds = 2, .more = "security: abort\n"};
    for (unsigned k = 0; k < sizeof deeds / sizeof *deeds; k++) {
        const unsigned cheat = k % STUDY_SERVERS;
        unsigned caught = 0;
        struct scene c;
        char says[64];
        c = scene_new(&o);
        start_cheat(&c, cheat, &deeds[k]);
        share_everything(&c);
        expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run0.log"));
        snprintf(says, sizeof says, "sent something that does not fit (phase %s, check",
                 net_phase_name(deeds[k].phase));
        assert_true(support_contains(file(&c, "run0.log"), says));
        assert_false(support_contains(file(&c, "run0.log"), "trying again"));
        for (unsigned i = 0; i < STUDY_SERVERS; i++) {
            unsigned lines[2];
            if (i == cheat)
                continue;
            count_lines(&c, i, &deeds[k], lines);
            assert_int_equal(lines[0], deeds[k].openings);
            assert_in_range(lines[1], 0, 1);
            caught += lines[1];
        }
        assert_true(caught > 0);
        /* nobody goes on before the operators of those who noticed have said so */
        expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run0.log"));
        assert_true(support_contains(file(&c, "run0.log"), "takes no part in the study any more"));
        support_kill(&c.server[cheat]);
        scene_free(&c);
    }
}

static int run_to(struct scene *c, const char *rounds)
{
    const char *const a[] = {"run",   c->s.path,           "--key",    file(c, "a.key"),
                             "--out", file(c, "out%u", 0), "--rounds", rounds,
                             NULL};
    return support_run(file(c, "run0.log"), 60, a);
}

/* On two lanes a server; uploads that come late are counted. */
TEST(a_study_of_honest_servers_goes_well)
{
    const struct support_options o = {.owners = OWNERS,
                                      .annealed = true,
                                      .lanes = 2,
                                      .more = "security: abort\nmin_owners: 2\n"
                                              "late_uploads: join\n"};
    struct scene c;
    c = scene_new(&o);
    for (unsigned i = 0; i < OWNERS - 1; i++)
        expect_code(share_own(&c, i), 0, file(&c, "share%u.log", i));
    expect_code(run_to(&c, "1"), 0, file(&c, "run0.log"));
    expect_code(share_own(&c, OWNERS - 1), 0, file(&c, "share.log"));
    expect_code(run_to(&c, "3"), 0, file(&c, "run0.log"));
    assert_true(support_contains(file(&c, "run0.log"), "came during the run"));
    check_audit(&c, 3, 4);
    assert_true(support_contains(file(&c, "audit.txt"), "study test (security: abort): "));
    scene_free(&c);
}
