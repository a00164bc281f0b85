#include "bench/flaim/report.h"

#include "bench/flaim/costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a plot shows on its upright axis. */
enum shown { SHOWN_L1, SHOWN_AUC, SHOWN_BYTES };

static const char *label_of(enum shown shown)
{
    return shown == SHOWN_L1    ? "mean L1 over the workload"
           : shown == SHOWN_AUC ? "test AUC of trees"
                                : "bytes of a client, sent and received";
}

static const char *title_of(const char *method)
{
    return strcmp(method, "aim") == 0                   ? "AIM (central)"
           : strcmp(method, "distaim") == 0             ? "DistAIM (Trefoil)"
           : strcmp(method, "augflaim-private") == 0    ? "AugFLAIM (private)"
           : strcmp(method, "augflaim-nonprivate") == 0 ? "AugFLAIM (non-private)"
                                                        : "FLAIM (naive)";
}

/* One curve: lines "x value error", unless `f` is NULL; the number of points. */
static size_t curve(FILE *f, const struct results *r, const struct plan_panel *p,
                    const char *method, enum shown shown, bool paper)
{
    size_t found = 0;
    for (size_t v = 0; v < p->values; v++) {
        struct trial t = panel_trial(p, v, method);
        struct costs c = costs_of(r, &t);
        struct results_mean m = shown == SHOWN_BYTES
                                    ? (struct results_mean){paper ? c.paper : c.wire, 0, 1}
                                    : results_mean(r, &t, shown == SHOWN_L1 ? "l1" : "auc");
        if (!isfinite(m.mean))
            continue;
        if (f != NULL)
            fprintf(f, "%g %.10g %.10g\n", p->value[v], m.mean, isfinite(m.error) ? m.error : 0);
        found++;
    }
    if (f != NULL)
        fprintf(f, "e\n");
    return found;
}

static bool plot(const struct results *r, const struct plan_panel *p, enum shown shown,
                 const char *path)
{
    const char *method[10];
    bool paper[10];
    size_t curves = 0;
    FILE *f;
    for (size_t m = 0; m < 5; m++)
        for (int k = 0; k <= (shown == SHOWN_BYTES); k++)
            if (curve(NULL, r, p, plan_methods[m], shown, k != 0) > 1) {
                method[curves] = plan_methods[m];
                paper[curves++] = k != 0;
            }
    if (curves == 0)
        return true;
    f = popen("gnuplot", "w");
    if (f == NULL)
        return false;
    fprintf(
        f,
        "set terminal svg size 640,520 font 'Helvetica,12' background '#ffffff'\nset output '%s'\n"
        "set title \"%s\"\nset xlabel \"%s\"\nset ylabel '%s'\nset key outside below center "
        "maxcols 2\nset grid\n",
        path, p->table, p->axis, label_of(shown));
    if (p->vary == VARY_ROUNDS || p->vary == VARY_BETA)
        fprintf(f, "set logscale x\n");
    fprintf(f, shown == SHOWN_BYTES ? "set logscale y\n" : "set yrange [0:*]\n");
    for (size_t k = 0; k < curves; k++)
        fprintf(f, "%s '-' using 1:2:3 with yerrorlines pointtype %zu title \"%s%s\"",
                k == 0 ? "plot" : ",", 4 + k, title_of(method[k]),
                paper[k] ? ", as the paper counts" : "");
    fprintf(f, "\n");
    for (size_t k = 0; k < curves; k++)
        curve(f, r, p, method[k], shown, paper[k]);
    return pclose(f) == 0;
}

void report_plots(const struct results *r, const char *prefix)
{
    if (system("gnuplot --version >/dev/null 2>&1") != 0) {
        printf("\nno plots: gnuplot is absent (Debian: gnuplot-nox)\n");
        return;
    }
    for (size_t k = 0; k < panel_count; k++) {
        static const char *const suffix[] = {"", "-auc", "-bytes"};
        for (int s = SHOWN_L1; s <= (panels[k].vary == VARY_ROUNDS ? SHOWN_BYTES : SHOWN_L1); s++) {
            char path[512];
            snprintf(path, sizeof path, "%s-%s%s.svg", prefix, panels[k].name, suffix[s]);
            if (!plot(r, &panels[k], (enum shown)s, path))
                printf("gnuplot failed on %s\n", path);
        }
    }
}
