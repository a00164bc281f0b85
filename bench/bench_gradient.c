/*
 * bench/bench_gradient.c - a gradient of `method: train`, of rows as bench/gradient.h has them.
 *
 *   bench_gradient [--json FILE] [--smoke] [--steps N]
 *
 * --smoke: 3,000 rows. Without a check and with one, a median of N steps (5):
 *   adult.server_cpu_s, adult.abort.server_cpu_s    CPU seconds of a server, of a step
 *   adult.bytes, adult.abort.bytes                  that server 0 sends in a step
 *   adult.rounds, adult.abort.rounds                exchanges of a step; two more are statements
 *   adult.session_cpu_s, adult.abort.session_cpu_s  of a server, to make the rows once
 *   adult.peak_mib, adult.abort.peak_mib            memory of server 0
 * and images.*
 */
#include "bench/figures.h"
#include "bench/gradient.h"

#include <stdio.h>

static void put(json_t *out, const char *name, const char *key, double value)
{
    printf("%s.%s %.4g\n", name, key, value);
    figures_put(out, value, "%s", key);
}

static bool measure(struct figures *f, enum gradient_rows rows, bool proved, unsigned steps)
{
    static const char *const names[] = {[GRADIENT_ADULT] = "adult", [GRADIENT_IMAGES] = "images"};
    json_t *of = figures_object(f->out, names[rows]);
    struct gradient_figures g;
    char name[32];
    if (!gradient_measure(&g, rows, proved, f->smoke, steps))
        return false;
    snprintf(name, sizeof name, "%s%s", names[rows], proved ? ".abort" : "");
    of = proved ? figures_object(of, "abort") : of;
    put(of, name, "server_cpu_s", g.server_cpu_s);
    put(of, name, "bytes", g.bytes);
    put(of, name, "rounds", g.rounds);
    put(of, name, "session_cpu_s", g.session_cpu_s);
    put(of, name, "peak_mib", g.peak_mib);
    return true;
}

int main(int argc, char **argv)
{
    unsigned steps = 5;
    bool failed = false;
    struct figures f;
    const struct figures_option options[] = {{.name = "steps", .count = &steps}};
    figures_begin(&f, argc, argv, options, 1);
    for (enum gradient_rows rows = GRADIENT_ADULT; rows <= GRADIENT_IMAGES && !failed; rows++)
        failed = !measure(&f, rows, false, steps) || !measure(&f, rows, true, steps);
    return figures_end(&f, failed);
}
