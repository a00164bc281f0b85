#include "bench/support_studies.h"

#include "bench/figures.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

static const char *const networks[] = {"lan", "wan"};
static const char *const kinds[] = {"annealed", "fixed10"};
/* Over the WAN, with noise made ahead; the same with a check. */
static const struct {
    const char *kind, *key;
} ahead[] = {{"annealed-ahead", "annealed_adult_s"},
             {"fixed10-ahead", "fixed10_adult_s"},
             {"annealed-abort-ahead", "annealed_abort_adult_s"},
             {"fixed10-abort-ahead", "fixed10_abort_adult_s"},
             {"sweeps-ahead", "sweeps_adult_s"},
             {"sweeps-abort-ahead", "sweeps_abort_adult_s"}};

static double read_seconds(const char *folder, const char *network, const char *kind)
{
    char path[128];
    double s = -1;
    FILE *f;
    snprintf(path, sizeof path, "%s/%s-%s/seconds", folder, network, kind);
    f = fopen(path, "r");
    if (f == NULL || fscanf(f, "%lf", &s) != 1)
        s = -1;
    if (f != NULL)
        fclose(f);
    return s;
}

/* One run's phases at server 0, printed and kept. */
static json_t *phases_of(const json_t *stats)
{
    json_t *run = json_object(), *phase;
    const char *name;
    json_object_foreach(json_array_get(json_object_get(stats, "servers"), 0), name, phase)
    {
        double seconds = json_number_value(json_object_get(phase, "seconds"));
        json_int_t rounds = json_integer_value(json_object_get(phase, "rounds"));
        json_int_t bytes = json_integer_value(json_object_get(phase, "wire_sent"));
        if (rounds > 0)
            printf("    %-10s %8.2f s %8lld rounds %12lld bytes\n", name, seconds,
                   (long long)rounds, (long long)bytes);
        json_object_set_new(
            run, name,
            json_pack("{s:f, s:I, s:I}", "seconds", seconds, "rounds", rounds, "bytes", bytes));
    }
    return run;
}

/* NULL, with a message, if it left no figures. */
static json_t *one_run(const char *folder, const char *network, const char *kind, double seconds)
{
    char path[128];
    json_t *stats, *run;
    snprintf(path, sizeof path, "%s/%s-%s/stats.json", folder, network, kind);
    stats = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (stats == NULL || seconds < 0) {
        printf("  %s, %s: no figures\n", network, kind);
        json_decref(stats);
        return NULL;
    }
    printf("  %s, adult %s: %.1f s, of which the estimator %.1f s\n", network, kind, seconds,
           json_number_value(json_object_get(stats, "estimate_s")));
    run = phases_of(stats);
    json_object_set(run, "mpc_s", json_object_get(stats, "mpc_s"));
    json_object_set(run, "estimate_s", json_object_get(stats, "estimate_s"));
    /* the first of its rounds measures the one-ways */
    json_object_set_new(
        run, "selections",
        json_integer((json_int_t)json_array_size(json_object_get(stats, "rounds")) - 1));
    json_decref(stats);
    return run;
}

/* What `wan` has under "ahead"; a smoke run has a part of it. */
static void put_ahead(json_t *network, const char *folder)
{
    json_t *figures = figures_object(network, "ahead");
    for (size_t k = 0; k < sizeof ahead / sizeof *ahead; k++) {
        const double seconds = read_seconds(folder, "wan", ahead[k].kind);
        if (seconds < 0)
            continue;
        /* sweeps are played that way alone */
        figures_put(strncmp(ahead[k].kind, "sweeps", 6) == 0 ? network : figures, seconds, "%s",
                    ahead[k].key);
        json_object_set_new(figures, ahead[k].kind, one_run(folder, "wan", ahead[k].kind, seconds));
    }
}

static void report(const char *folder, json_t *out)
{
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
        json_t *network = figures_object(out, networks[n]);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            double seconds = read_seconds(folder, networks[n], kinds[k]);
            json_t *run = one_run(folder, networks[n], kinds[k], seconds);
            if (run == NULL)
                continue;
            figures_put(network, seconds, "%s_adult_s", kinds[k]);
            json_object_set_new(network, kinds[k], run);
        }
        if (strcmp(networks[n], "wan") == 0)
            put_ahead(network, folder);
    }
}

/* One run's seconds and its selections, whose number depends on chance. */
struct annealed {
    double seconds, selections;
};

static bool read_annealed(const char *folder, const char *kind, struct annealed *a)
{
    json_t *run;
    a->seconds = read_seconds(folder, "wan", kind);
    run = one_run(folder, "wan", kind, a->seconds);
    a->selections = (double)json_integer_value(json_object_get(run, "selections"));
    json_decref(run);
    return a->seconds > 0 && a->selections > 0;
}

static void put(json_t *out, const char *key, double figure)
{
    printf("  %-28s %8.3f\n", key, figure);
    figures_put(out, figure, "%s", key);
}

/* Returns the exit code of the script: 0, SKIPPED, or another. NULL: all networks and kinds. */
static int run_script(const char *folder, const char *network, const char *chosen, bool smoke)
{
    const char *out = getenv("OUT");
    pid_t child;
    int status = 0;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        if (network != NULL && (setenv("NETWORKS", network, 1) | setenv("KINDS", chosen, 1)) != 0)
            _exit(127);
        execl("bench/studies.sh", "studies.sh", out != NULL ? out : "build/gcc", folder,
              smoke ? "smoke" : NULL, NULL);
        perror("bench/studies.sh");
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int studies_run(json_t *out, bool smoke)
{
    const char *folder = smoke ? "build/bench/net-smoke" : "build/bench/net";
    int code;
    printf("\nstudies over networks (seconds, rounds and bytes of server 0):\n");
    code = run_script(folder, NULL, NULL, smoke);
    if (code == 0)
        report(folder, out);
    return code == 0 || code == SKIPPED ? 0 : 1;
}

bool studies_wan_ratio(json_t *out, bool smoke)
{
    const char *folder = smoke ? "build/bench/abort-smoke" : "build/bench/abort";
    struct annealed with, without;
    int code;
    printf("\nadult annealed over a WAN, with a check and without (as server 0 counts):\n");
    code = run_script(folder, "wan", "annealed annealed-abort", smoke);
    if (code == SKIPPED)
        return true;
    if (code != 0 || !read_annealed(folder, "annealed", &without) ||
        !read_annealed(folder, "annealed-abort", &with))
        return false;
    put(out, "wan_ratio", with.seconds / without.seconds);
    put(out, "wan_selection_ratio",
        with.seconds / with.selections / (without.seconds / without.selections));
    return true;
}
