#include "bench/flaim/e2e_adult.h"

#include "bench/figures.h"
#include "bench/flaim/trial.h"

#include <math.h>

#define SEEDS 5

static const struct trial adult = {.table = "adult",
                                   .split = "file",
                                   .method = "distaim",
                                   .epsilon = 1,
                                   .participation = 1,
                                   .rounds = 10,
                                   .seed = 1};

static enum err central(double *mean, double *deviation, struct log *log)
{
    double sum = 0, squares = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct trial t = adult;
        struct trial_figures f;
        t.method = "aim";
        t.seed = seed;
        TRY(trial_run(&t, &f, log));
        sum += f.l1;
        squares += f.l1 * f.l1;
    }
    *mean = sum / SEEDS;
    *deviation = sqrt(fmax(0, (squares - sum * sum / SEEDS) / (SEEDS - 1)));
    return ERR_OK;
}

/* The run with this security. Its keys end with `suffix`. */
static enum err whole_run(bool proved, const char *suffix, json_t *out, struct log *log)
{
    struct trial t = adult;
    struct servers_figures f;
    double network;
    t.proved = proved;
    TRY(trial_servers(&t, &f, log));
    network = fmax(0, f.mpc_s - f.busiest_s);
    printf("adult, security: %s, %.0f owners, T = %u: MPC %.1f s, network %.1f s, together %.1f s; "
           "the rest %.1f s\n"
           "  %.0f exchanges and %.1f MB between the servers, of it %.1f MB for noise; L1 %.3f\n",
           proved ? "abort" : "semi-honest", f.uploads, t.rounds, f.busiest_s, network, f.mpc_s,
           f.estimate_s, f.exchanges, f.server_bytes / 1e6, f.noise_bytes / 1e6, f.l1);
    figures_put(out, f.busiest_s, "mpc_s%s", suffix);
    figures_put(out, network, "network_s%s", suffix);
    figures_put(out, f.estimate_s, "estimate_s%s", suffix);
    figures_put(out, f.l1, "l1%s", suffix);
    return ERR_OK;
}

enum err e2e_adult(json_t *out, struct log *log)
{
    double l1_central, deviation;
    if (data_absent("adult"))
        return ERR_OK;
    TRY(whole_run(false, "", out, log));
    TRY(whole_run(true, "_abort", out, log));
    TRY(central(&l1_central, &deviation, log));
    printf("  L1 of central AIM %.3f, standard deviation %.3f over %d seeds\n", l1_central,
           deviation, SEEDS);
    figures_put(out, l1_central, "l1_central");
    figures_put(out, deviation, "l1_central_sd");
    return ERR_OK;
}
