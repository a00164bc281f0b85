/*
 * Servers of two ranks each (parties/server/ranks.h), as mpirun starts them: those of trefoil-mpi,
 * which stands beside $TREFOIL where Open MPI is installed. And what an ordinary program says.
 */
#include "tests/support_scene.h"

#include "parties/server/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define RANKS 2

TEST(an_ordinary_program_has_no_ranks)
{
    const struct support_options o = {.owners = OWNERS};
    struct scene c CLEAN(scene_free) = scene_new(&o);
    const char *const a[] = {"serve",    c.s.path,          "--key",   file(&c, "s0.key"),
                             "--folder", file(&c, "other"), "--ranks", "127.0.0.1:7000",
                             NULL};
    const char *const b[] = {"serve",    c.s.path,          "--key", file(&c, "s0.key"),
                             "--folder", file(&c, "other"), NULL};
    assert_int_equal(support_run(file(&c, "option.log"), 10, a), 2);
    assert_true(support_contains(file(&c, "option.log"), "there is no option --ranks"));
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1); /* as mpirun does */
    assert_int_equal(support_run(file(&c, "refused.log"), 10, b), 2);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    assert_true(support_contains(file(&c, "refused.log"), "this trefoil was built without MPI"));
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
    char place[40], number[8], lanes[8];
    const char *const a[] = {"mpirun",
                             "--allow-run-as-root",
                             "--oversubscribe",
                             "--mca",
                             "btl",
                             "self,vader",
                             "--mca",
                             "oob_tcp_if_include",
                             "lo",
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
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        support_stop(&c->server[i]);
}

/* Without servers. A program that was built is tried, come what may. */
static struct scene set(const struct support_options *o)
{
    struct scene c;
    if (!file_is_there(ranked_program())) {
        print_message("# SKIP no trefoil-mpi: install libopenmpi-dev and openmpi-bin\n");
        skip();
    }
    c = scene_new(o);
    stop_all(&c);
    return c;
}

static void begin(struct scene *c, const unsigned ranks[STUDY_SERVERS], uint16_t ports)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        unlink(file(c, "server%u.log", i));
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        c->server[i] = start_ranked(c, i, ranks[i], ports);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        if (!support_wait_for(file(c, "server%u.log", i), "is ready", 20))
            fail_msg("server %u does not start", i);
}

static pid_t pid_of_rank(struct scene *c, unsigned server)
{
    char *text = NULL;
    struct bytes log CLEAN(bytes_clear) = {0};
    assert_int_equal(file_read(file(c, "server%u.log", server), 1 << 20, &log, &quiet), ERR_OK);
    bytes_put_u8(&log, 0);
    text = strstr((char *)log.data, "rank 1 is on ");
    assert_non_null(text);
    text = strstr(text, ", process ");
    assert_non_null(text);
    return (pid_t)atol(text + 10);
}

static void expect_run(const unsigned ranks[STUDY_SERVERS])
{
    const struct support_options o = {.owners = OWNERS, .epsilon = 8, .lanes = RANKS};
    struct scene c CLEAN(scene_free) = set(&o);
    begin(&c, ranks, support_ports(2 * STUDY_SERVERS));
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run%u.log", 0));
    check_measurements(&c, file(&c, "out%u/measurements.json", 0), 8);
    stop_all(&c);
}

TEST(servers_of_two_ranks_count_and_measure)
{
    expect_run((const unsigned[]){2, 2, 2});
}

/* Three servers with as many lanes, of which one has them all in one process. */
TEST(lanes_may_be_in_different_places)
{
    expect_run((const unsigned[]){2, 1, 2});
}

TEST(ranks_take_no_study_that_is_proved)
{
    const struct support_options o = {
        .owners = OWNERS, .lanes = RANKS, .more = "security: abort\n"};
    struct scene c CLEAN(scene_free) = set(&o);
    c.server[0] = start_ranked(&c, 0, RANKS, support_ports(2 * STUDY_SERVERS));
    assert_int_equal(support_wait(c.server[0], 60), 2);
    c.server[0] = 0;
    assert_true(support_contains(file(&c, "server%u.log", 0), "which ranks cannot prove"));
}

static pid_t start_run(struct scene *c)
{
    const char *const a[] = {"run",   c->s.path,       "--key", file(c, "a.key"),
                             "--out", file(c, "out0"), NULL};
    return support_start(file(c, "run0.log"), a);
}

/* A rank that hangs as the session opens, and then dies; its server ends with it, and returns. */
TEST(a_rank_that_dies_ends_its_server_and_a_new_one_goes_on)
{
    static const unsigned ranks[STUDY_SERVERS] = {2, 2, 2};
    const struct support_options o = {.owners = OWNERS, .epsilon = 8, .lanes = RANKS};
    struct scene c CLEAN(scene_free) = set(&o);
    const uint16_t ports = support_ports(2 * STUDY_SERVERS);
    pid_t run, rank;
    begin(&c, ranks, ports);
    share_everything(&c);
    rank = pid_of_rank(&c, 1);
    kill(rank, SIGSTOP);
    run = start_run(&c);
    assert_true(support_wait_for(file(&c, "run%u.log", 0), "waiting for the servers", 20));
    kill(rank, SIGKILL);
    assert_int_not_equal(support_wait(c.server[1], 20), 0);
    assert_true(support_contains(file(&c, "server%u.log", 1), "rank 1"));
    assert_true(support_contains(file(&c, "server%u.log", 1), "signal 9"));
    c.server[1] = start_ranked(&c, 1, RANKS, ports);
    expect_code(support_wait(run, 60), 0, file(&c, "run%u.log", 0));
    assert_true(support_contains(file(&c, "run%u.log", 0), "server 1"));
    check_measurements(&c, file(&c, "out%u/measurements.json", 0), 8);
    stop_all(&c);
}
