/*
 * How soon a run goes on after one of its servers has gone, or hung, in the middle of a round.
 * Three servers on loopback, the study's default deadlines:
 *
 *   plain_s                           what the run takes when nothing happens
 *   resume_s.SIGNAL.SERVER.PHASE      how much longer it takes when that server gets the signal
 *                                     halfway through the phase. After SIGKILL and SIGTERM it is
 *                                     started again 2 s later; after SIGSTOP it gets SIGCONT 5 s
 *                                     later. So the least possible is 2 s, or 5 s
 *
 * The servers are this program itself (`bench_faults serve ...`), with the functions through which
 * all rounds go wrapped by the linker (Makefile): a server counts the rounds of each phase and
 * signals itself. Each case checks that the signal struck. `--case SIGKILL.1.noise` plays one
 * alone, `--smoke` one of each signal, with a second instead of 2 and 5.
 */
#include "base/clock.h"
#include "base/secret.h"
#include "bench/data.h"
#include "bench/figures.h"
#include "harness/process.h"
#include "netio/net.h"
#include "parties/command/command.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWNERS 2
#define RUN_S 600

static unsigned away_s = 2, hung_s = 5;

static struct log loud = {.level = LOG_WARN};

static char folder[SUPPORT_PATH]; /* of the study being played */

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "bench_faults: %s failed; see the logs in %s\n", what, folder);
    _exit(1);
}

/* --- within a server -------------------------------------------------------------------------- */

void __real_net_enter(struct net *net, enum net_phase phase);
enum err __real_net_exchange(struct net *net, const struct net_exchange *round);
enum err __real_net_stream(struct net *net, const struct net_flow *flows, size_t count);
void __wrap_net_enter(struct net *net, enum net_phase phase);
enum err __wrap_net_exchange(struct net *net, const struct net_exchange *round);
enum err __wrap_net_stream(struct net *net, const struct net_flow *flows, size_t count);

/* When a server should signal itself; arm() reads it from the environment. */
static struct {
    enum net_phase phase, now;
    uint64_t round; /* counted within the phase; 0: never */
    int signal;
    const char *mark; /* a file that says that the fault struck */
} fault;

static void arm(void)
{
    const char *text = getenv("BENCH_FAULT");
    unsigned phase;
    unsigned long long round;
    fault.mark = getenv("BENCH_FAULT_MARK");
    if (text == NULL || fault.mark == NULL)
        return;
    must(sscanf(text, "%d %u %llu", &fault.signal, &phase, &round) == 3, "reading BENCH_FAULT");
    fault.phase = (enum net_phase)phase;
    fault.round = round;
}

static void strike(void)
{
    FILE *f;
    if (fault.round == 0 || fault.now != fault.phase || --fault.round > 0)
        return;
    f = fopen(fault.mark, "w");
    must(f != NULL && fclose(f) == 0, "leaving a mark");
    raise(fault.signal);
}

void __wrap_net_enter(struct net *net, enum net_phase phase)
{
    fault.now = phase;
    __real_net_enter(net, phase);
}

enum err __wrap_net_exchange(struct net *net, const struct net_exchange *round)
{
    strike();
    return __real_net_exchange(net, round);
}

enum err __wrap_net_stream(struct net *net, const struct net_flow *flows, size_t count)
{
    strike();
    return __real_net_stream(net, flows, count);
}

/* --- around them ------------------------------------------------------------------------------ */

struct bench_faults_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
};

struct faults_kind {
    const char *name;
    int signal;
};

static const struct faults_kind kinds[] = {
    {"SIGKILL", SIGKILL}, {"SIGTERM", SIGTERM}, {"SIGSTOP", SIGSTOP}};
static const enum net_phase phases[] = {NET_COMPUTE, NET_NOISE, NET_SELECT, NET_MEASURE};
#define KINDS (sizeof kinds / sizeof *kinds)
#define PHASES (sizeof phases / sizeof *phases)

static char self[4096];

/* Like `trefoil serve`, with the functions above in it. */
static void serve(struct bench_faults_scene *c, unsigned i)
{
    const char *program = getenv("TREFOIL");
    char kept[4096];
    snprintf(kept, sizeof kept, "%s", program);
    setenv("TREFOIL", self, 1);
    unlink(support_path(&c->s, "server%u.log", i));
    c->server[i] = support_serve(&c->s, i, c->s.path);
    setenv("TREFOIL", kept, 1);
    must(support_wait_for(support_path(&c->s, "server%u.log", i), "is ready", 60),
         "starting a server");
}

static void share(struct bench_faults_scene *c, unsigned owner)
{
    const char *data = support_path(&c->s, "o%u.csv", owner);
    const char *const a[] = {
        "share", c->s.path, data, "--key", support_path(&c->s, "o%u.key", owner), NULL};
    must(support_csv(data, c->s.study->domain, 400 + 500 * owner, 10 + owner) == ERR_OK, "a table");
    must(support_run(support_path(&c->s, "share.log"), 60, a) == 0, "trefoil share");
}

/* A study with its uploads; its server `victim` is armed. */
static void scene_new(struct bench_faults_scene *c, unsigned victim)
{
    const struct study_options o = {.owners = OWNERS, .rounds = 3, .connect_s = 30, .round_s = 120};
    const char *text = getenv("BENCH_FAULT");
    char kept[64];
    *c = (struct bench_faults_scene){0};
    must(support_study_new(&c->s, &o, &loud) == ERR_OK, "a study");
    snprintf(folder, sizeof folder, "%s", c->s.folder);
    snprintf(kept, sizeof kept, "%s", text != NULL ? text : "");
    setenv("BENCH_FAULT_MARK", support_path(&c->s, "struck"), 1);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        if (i != victim)
            unsetenv("BENCH_FAULT");
        else
            setenv("BENCH_FAULT", kept, 1);
        serve(c, i);
    }
    unsetenv("BENCH_FAULT");
    for (unsigned owner = 0; owner < OWNERS; owner++)
        share(c, owner);
}

static void scene_free(struct bench_faults_scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        must(support_stop(&c->server[i]) == 0, "stopping a server");
    support_study_free(&c->s);
}

/* Rounds of each phase at server 0 in an undisturbed run, and how long it takes. */
static double plain_run(uint64_t rounds[NET_PHASES])
{
    struct bench_faults_scene c;
    json_t *stats, *server;
    double begin;
    scene_new(&c, STUDY_SERVERS_MOST);
    const char *const a[] = {
        "run", c.s.path, "--key", support_path(&c.s, "a.key"), "--out", support_path(&c.s, "out"),
        NULL};
    begin = clock_now_s();
    must(support_run(support_path(&c.s, "run.log"), RUN_S, a) == 0, "trefoil run");
    begin = clock_now_s() - begin;
    stats = data_json(support_path(&c.s, "out/stats.json"), &loud);
    server = json_array_get(json_object_get(stats, "servers"), 0);
    for (unsigned p = 0; p < NET_PHASES; p++)
        rounds[p] = (uint64_t)json_integer_value(
            json_object_get(json_object_get(server, net_phase_name((enum net_phase)p)), "rounds"));
    json_decref(stats);
    scene_free(&c);
    return begin;
}

/* What happens to the victim after its signal. */
static void come_back(struct bench_faults_scene *c, unsigned victim, int signal)
{
    int status = 0;
    must(waitpid(c->server[victim], &status, signal == SIGSTOP ? WUNTRACED : 0) ==
             c->server[victim],
         "waiting for the server");
    if (signal == SIGSTOP) {
        must(WIFSTOPPED(status), "stopping the server");
        clock_pause(hung_s * 1000);
        kill(c->server[victim], SIGCONT);
        return;
    }
    must(signal == SIGKILL ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0,
         "ending the server");
    clock_pause(away_s * 1000);
    serve(c, victim);
}

static double disturbed_run(unsigned victim, const struct faults_kind *kind, enum net_phase phase,
                            uint64_t round)
{
    struct bench_faults_scene c;
    char text[64];
    double begin;
    pid_t run;
    snprintf(text, sizeof text, "%d %u %llu", kind->signal, (unsigned)phase,
             (unsigned long long)round);
    setenv("BENCH_FAULT", text, 1);
    scene_new(&c, victim);
    const char *const a[] = {
        "run", c.s.path, "--key", support_path(&c.s, "a.key"), "--out", support_path(&c.s, "out"),
        NULL};
    begin = clock_now_s();
    run = support_start(support_path(&c.s, "run.log"), a);
    must(support_wait_for(support_path(&c.s, "struck"), "", 60), "striking");
    come_back(&c, victim, kind->signal);
    must(support_wait(run, RUN_S) == 0, "trefoil run");
    begin = clock_now_s() - begin;
    if (getenv("BENCH_KEEP") != NULL)
        printf("kept %s\n", c.s.folder);
    else
        scene_free(&c);
    return begin;
}

static void play(json_t *out, const char *only, double plain, const uint64_t rounds[NET_PHASES],
                 unsigned k, unsigned victim, enum net_phase phase)
{
    const char *name = net_phase_name(phase);
    char server[2] = {(char)('0' + victim), '\0'}, this[64];
    json_t *of;
    double seconds;
    snprintf(this, sizeof this, "%s.%s.%s", kinds[k].name, server, name);
    if (only != NULL && strcmp(only, this) != 0)
        return;
    must(rounds[phase] > 0, "finding rounds of each phase");
    seconds = disturbed_run(victim, &kinds[k], phase, (rounds[phase] + 1) / 2) - plain;
    printf("%-8s server %s  %-8s %6.2f s more\n", kinds[k].name, server, name, seconds);
    of = figures_object(figures_object(figures_object(out, "resume_s"), kinds[k].name), server);
    figures_put(of, seconds, "%s", name);
}

static void measure(json_t *out, bool smoke, const char *only)
{
    uint64_t rounds[NET_PHASES];
    double plain = plain_run(rounds);
    figures_put(out, plain, "plain_s");
    printf("a run that nothing disturbs takes %.2f s\n", plain);
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned p = 0; p < PHASES; p++)
            for (unsigned victim = 0; victim < STUDY_SERVERS_MOST; victim++)
                if (!smoke || (victim == k && p == 3 * k % PHASES))
                    play(out, only, plain, rounds, k, victim, phases[p]);
}

int main(int argc, char **argv)
{
    struct figures f;
    const char *only = NULL;
    const struct figures_option options[] = {
        {.name = "case", .text = &only}}; /* SIGNAL.SERVER.PHASE */
    loud.file = stderr;
    must(secret_start() == ERR_OK, "starting the cryptographic library");
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && strcmp(argv[1], "serve") == 0) {
        struct log log = {.file = stderr, .level = LOG_INFO};
        arm();
        return command_main(commands, command_count, argc, argv, &log);
    }
    figures_begin(&f, argc, argv, options, 1);
    must(realpath(argv[0], self) != NULL && getenv("TREFOIL") != NULL,
         "finding the programs ($TREFOIL names trefoil)");
    if (f.smoke)
        away_s = hung_s = 1;
    measure(f.out, f.smoke, only);
    return figures_end(&f, false);
}
