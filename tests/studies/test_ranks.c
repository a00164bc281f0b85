/*
 * Servers of two ranks each (parties/settings/three/ranks.h), as mpirun starts them: those of
 * trefoil-mpi, which is beside $TREFOIL where Open MPI is installed. And what an ordinary program
 * says.
 */
#include "tests/support/hooks.h"
#include "tests/support/trajectory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>

#define RANKS 2

TEST(an_ordinary_program_has_no_ranks)
{
    struct scene c CLEAN(scene_free) = scene_without_servers(OPTIONS(.owners = OWNERS));
    EXPECT(2, file(&c, "option.log"), 10, "serve", c.s.path, "--key", file(&c, "s0.key"),
           "--folder", file(&c, "other"), "--ranks", "127.0.0.1:7000");
    file_says(file(&c, "option.log"), "there is no option --ranks");
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1); /* as mpirun does */
    EXPECT(2, file(&c, "refused.log"), 10, "serve", c.s.path, "--key", file(&c, "s0.key"),
           "--folder", file(&c, "other"));
    unsetenv("OMPI_COMM_WORLD_SIZE");
    file_says(file(&c, "refused.log"), "this trefoil was built without MPI");
    assert_false(file_is_there(file(&c, "other")));
}

static const char *ranked_program(void)
{
    static char path[SUPPORT_PATH];
    snprintf(path, sizeof path, "%s-mpi", getenv("TREFOIL"));
    return path;
}

/* Its process; `ports`: where each server's second rank listens. */
static pid_t start_ranked(struct scene *c, unsigned i, unsigned ranks, uint16_t ports)
{
    char place[40], number[12], lanes[12];
    const char *const a[] = {SUPPORT_MPIRUN,
                             "-n",
                             number,
                             ranked_program(),
                             "serve",
                             c->s.path,
                             "--key",
                             file(c, "s%u.key", i),
                             "--folder",
                             file(c, "server%u", i),
                             "--listen",
                             "127.0.0.1",
                             "--noise-ahead",
                             "off",
                             "--lanes",
                             lanes,
                             ranks > 1 ? "--ranks" : NULL,
                             place,
                             NULL};
    char *argv[sizeof a / sizeof *a];
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    /* Its own folder: one mpirun would remove a common one while another makes it. */
    if (mkdir(file(c, "mpirun%u", i), 0700) != 0 && errno != EEXIST)
        _exit(126);
    setenv("TMPDIR", file(c, "mpirun%u", i), 1);
    snprintf(number, sizeof number, "%u", ranks);
    snprintf(lanes, sizeof lanes, "%u", RANKS / ranks);
    snprintf(place, sizeof place, "127.0.0.1:%u", ports + 2 * i);
    memcpy(argv, a, sizeof a);
    int fd = open(file(c, "server%u.log", i), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(126);
    execvp(argv[0], argv);
    _exit(127);
}

static void stop_all(struct scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        support_stop(&c->server[i]);
}

/* If the program was built, it is tried in any case. */
static struct scene set(const struct study_options *o)
{
    support_needs(file_is_there(ranked_program()),
                  "no trefoil-mpi: install libopenmpi-dev and openmpi-bin");
    return scene_without_servers(o);
}

static void expect_ready(struct scene *c, unsigned i)
{
    if (!support_wait_for(file(c, "server%u.log", i), "is ready", 60))
        fail_msg("server %u does not start", i);
}

static void begin(struct scene *c, const unsigned ranks[STUDY_SERVERS_MOST], uint16_t ports)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        c->server[i] = start_ranked(c, i, ranks[i], ports);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        expect_ready(c, i);
}

static pid_t pid_of_rank(struct scene *c, unsigned server)
{
    struct bytes log CLEAN(bytes_clear) = {0};
    OK(file_read(file(c, "server%u.log", server), 1 << 20, &log, &quiet));
    bytes_put_u8(&log, 0);
    char *text = strstr((char *)log.data, "rank 1 is on ");
    assert_non_null(text);
    text = strstr(text, ", process ");
    assert_non_null(text);
    return (pid_t)atol(text + 10);
}

/* Open MPI 5 does not wait for what it ends, and may drop what that says. */
static bool waits_for_ranks(void)
{
    char line[64] = "";
    FILE *said = popen("mpirun --version", "r");
    assert_non_null(said);
    assert_non_null(fgets(line, sizeof line, said));
    pclose(said);
    return strstr(line, "(Open MPI) 4.") != NULL;
}

/* Nothing has told it yet how long its ranks may be silent. */
TEST(a_server_that_nobody_has_asked_stops_with_its_ranks)
{
    struct scene c CLEAN(scene_free) = set(OPTIONS(.owners = OWNERS, .lanes = RANKS));
    pid_t pid = c.server[0] = start_ranked(&c, 0, RANKS, support_ports(2 * STUDY_SERVERS_MOST));
    expect_ready(&c, 0);
    c.server[0] = 0;
    kill(pid, SIGTERM);
    assert_int_not_equal(support_wait(pid, 60), -2); /* the exit code is mpirun's */
    if (waits_for_ranks())
        file_says(file(&c, "server%u.log", 0), "server stopped");
    assert_false(support_contains(file(&c, "server%u.log", 0), "nothing was heard from"));
}

/* What one server sends, another receives; they wait for each other equally often: on all lanes. */
static void expect_costs(struct scene *c)
{
    static const char *const phases[] = {"noise", "compute"};
    json_auto_t *doc = json_load_file(file(c, "out%u/stats.json", 0), JSON_REJECT_DUPLICATES, NULL);
    const json_t *servers = json_object_get(doc, "servers");
    assert_int_equal(json_array_size(servers), STUDY_SERVERS_MOST);
    for (unsigned k = 0; k < 2; k++) {
        json_int_t sent = 0, received = 0, rounds[STUDY_SERVERS_MOST];
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            const json_t *of = json_object_get(json_array_get(servers, i), phases[k]);
            sent += json_integer_value(json_object_get(of, "payload_sent"));
            received += json_integer_value(json_object_get(of, "payload_received"));
            rounds[i] = json_integer_value(json_object_get(of, "rounds"));
            assert_int_equal(rounds[i], rounds[0]);
        }
        assert_true(sent > 0);
        assert_int_equal(sent, received);
    }
}

static void expect_run(const unsigned ranks[STUDY_SERVERS_MOST], const struct study_options *o)
{
    struct scene c CLEAN(scene_free) = set(o);
    begin(&c, ranks, support_ports(2 * STUDY_SERVERS_MOST));
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run%u.log", 0));
    check_measurements(&c, file(&c, "out%u/measurements.json", 0),
                       c.s.study->workload->one_ways + o->rounds);
    expect_costs(&c);
    stop_all(&c);
}

/*
 * Cells enough for messages between ranks of several pieces (parties/settings/three/ranks_mpi.h).
 */
TEST(servers_of_two_ranks_count_and_measure)
{
    expect_run((const unsigned[]){2, 2, 2},
               OPTIONS(.owners = OWNERS, .epsilon = 8, .rounds = 1, .lanes = RANKS,
                       .domain = "domain:\n"
                                 "  - {name: a, kind: integer, min: 1, max: 400}\n"
                                 "  - {name: b, kind: integer, min: 1, max: 400}\n"));
}

/* Three servers with the same number of lanes; one has them all in one process. */
TEST(lanes_may_be_in_different_places)
{
    expect_run((const unsigned[]){2, 1, 2},
               OPTIONS(.owners = OWNERS, .epsilon = 8, .rounds = 2, .lanes = RANKS));
}

/* Steps are lane 0's and those of lanes beside it, not of other ranks: they open no less. */
TEST(servers_of_two_ranks_train)
{
    static const unsigned ranks[STUDY_SERVERS_MOST] = {2, 1, 2};
    struct scene c CLEAN(scene_free) = set(
        OPTIONS(.owners = OWNERS, .epsilon = 8, .lanes = RANKS,
                .train = "method: train\ntrain: {target: died, steps: 10}\n"));
    begin(&c, ranks, support_ports(2 * STUDY_SERVERS_MOST));
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run%u.log", 0));
    trajectory_check(&c, file(&c, "out%u/trajectory.json", 0), 10);
    stop_all(&c);
}

/* --- proved ----------------------------------------------------------------------------------- */

#define PROVED "security: abort\n"

TEST(ranks_prove_what_they_do)
{
    expect_run((const unsigned[]){2, 1, 2}, OPTIONS(.owners = OWNERS, .epsilon = 8, .rounds = 2,
                                                    .lanes = RANKS, .more = PROVED));
}

/* A server of one process, whose lane 1 has the others' second ranks as neighbours: it lies. */
static struct {
    enum net_phase phase; /* in which it lies, once */
    bool done;
} villain;

static enum err alter(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    const struct party *party = self;
    if (villain.done || net_phase(party->net) != villain.phase || n < 64)
        return ERR_OK;
    villain.done = true;
    log_info(party->log, "this server lies");
    ((uint8_t *)p)[n / 2] ^= 1;
    return ERR_OK;
}

__typeof__(party_new) __real_party_new, __wrap_party_new;
enum err __wrap_party_new(struct party **party, struct net *net, const struct session *session,
                          uint32_t lane, struct log *log)
{
    static struct hooks_tamper tamper = {.alter = alter};
    TRY(__real_party_new(party, net, session, lane, log));
    if (lane == 0)
        return ERR_OK;
    tamper.self = *party;
    hooks_tamper(*party, &tamper);
    return ERR_OK;
}

static pid_t start_liar(struct scene *c, unsigned i, enum net_phase phase)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    villain.phase = phase;
    support_serve_here(&c->s, i);
}

/* Lines of a server's log: failed checks, openings. */
static unsigned lines_of(struct scene *c, unsigned i, enum audit_kind kind)
{
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    unsigned lines = 0;
    OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
    for (size_t k = 0; k < log->entries; k++)
        lines += log->entry[k].kind == kind;
    return lines;
}

/* What another rank noticed ends the run; its server says so, and no longer takes part. */
static void expect_caught(enum net_phase phase)
{
    static const unsigned liar = 1;
    struct scene c CLEAN(scene_free) = set(
        OPTIONS(.owners = OWNERS, .epsilon = 8, .lanes = RANKS, .more = PROVED));
    const uint16_t ports = support_ports(2 * STUDY_SERVERS_MOST);
    unsigned noticed = 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        c.server[i] = i == liar ? start_liar(&c, i, phase) : start_ranked(&c, i, RANKS, ports);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        expect_ready(&c, i);
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run%u.log", 0));
    file_says(file(&c, "server%u.log", liar), "this server lies");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        if (i == liar)
            continue;
        assert_int_equal(lines_of(&c, i, AUDIT_OPEN), 0);
        if (lines_of(&c, i, AUDIT_CAUGHT) == 0)
            continue;
        noticed++;
        EACH(file_says, file(&c, "server%u.log", i), "rank 1 on ",
             "what another process of this server computed");
    }
    assert_in_range(noticed, 1, 2);
    expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run%u.log", 0));
    file_says(file(&c, "run0.log"), "no longer takes part in the study");
    support_kill(&c.server[liar]);
    stop_all(&c);
}

TEST(a_lie_to_a_rank_is_noticed_where_it_counts)
{
    expect_caught(NET_COMPUTE);
}

TEST(a_lie_to_a_rank_is_noticed_where_it_makes_noise)
{
    expect_caught(NET_NOISE);
}

/* --- ranks that die, and that hang ------------------------------------------------------------ */

/* A study; something happens to the rank of server 1 this long after its run has begun. */
static struct scene scene_befallen(const struct study_options *o, uint16_t ports, int64_t after_ms,
                                   int what, pid_t *run)
{
    static const unsigned ranks[STUDY_SERVERS_MOST] = {2, 2, 2};
    struct scene c = set(o);
    begin(&c, ranks, ports);
    share_everything(&c);
    *run = start_study(&c, "a.key", 0);
    assert_true(support_wait_for(file(&c, "run%u.log", 0), "waiting for the servers", 60));
    support_pause_ms(after_ms);
    kill(pid_of_rank(&c, 1), what);
    return c;
}

static void expect_to_go_on(struct scene *c, uint16_t ports, pid_t run)
{
    c->server[1] = start_ranked(c, 1, RANKS, ports);
    expect_code(support_wait(run, 120), 0, file(c, "run%u.log", 0));
    check_measurements(c, file(c, "out%u/measurements.json", 0), 8);
    stop_all(c);
}

/* Its server ends with it, and returns; a check that it left counts as a try, no more. */
static void kill_rank(int64_t after_ms)
{
    const uint16_t ports = support_ports(2 * STUDY_SERVERS_MOST);
    pid_t run = 0;
    struct scene c CLEAN(scene_free) = scene_befallen(
        OPTIONS(.owners = OWNERS, .epsilon = 8, .lanes = RANKS, .more = PROVED), ports, after_ms,
        SIGKILL, &run);
    assert_int_not_equal(support_wait(c.server[1], 60), 0);
    EACH(file_says, file(&c, "server%u.log", 1), "rank 1", "signal 9");
    expect_to_go_on(&c, ports, run);
}

/* As the session opens; TREFOIL_LONG=1: also where it counts, makes noise, opens. */
TEST(a_rank_that_dies_ends_its_server_and_a_new_one_goes_on)
{
    kill_rank(0);
    for (int64_t ms = 250; getenv("TREFOIL_LONG") != NULL && ms <= 3000; ms += 250)
        kill_rank(ms);
}

/* If one hangs, nobody waits without end. */
TEST(a_rank_that_hangs_ends_its_server_and_a_new_one_goes_on)
{
    const uint16_t ports = support_ports(2 * STUDY_SERVERS_MOST);
    pid_t run = 0;
    struct scene c CLEAN(scene_free) = scene_befallen(
        OPTIONS(.owners = OWNERS, .epsilon = 8, .lanes = RANKS, .round_s = 10), ports, 0, SIGSTOP,
        &run);
    assert_int_not_equal(support_wait(c.server[1], 120), 0);
    EACH(file_says, file(&c, "server%u.log", 1), "rank 1 on ", "for 10 seconds: it hangs");
    expect_to_go_on(&c, ports, run);
}
