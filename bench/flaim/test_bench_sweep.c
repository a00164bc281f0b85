/*
 * bench/results, bench/plan, bench/trial, bench/servers: sweeps that stop and go on; real servers.
 */
#include "harness/cmocka.h"

#include "bench/flaim/costs.h"
#include "bench/flaim/plan.h"
#include "bench/flaim/results.h"
#include "bench/flaim/servers.h"
#include "harness/study.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static struct trial trial_of(unsigned seed)
{
    struct trial t = plan_trial("synthfs", "synthfs", "distaim");
    t.seed = seed;
    return t;
}

static void add(struct results *r, unsigned seed, double l1)
{
    struct trial t = trial_of(seed);
    struct trial_figures f = {.l1 = l1, .auc = NAN, .clients = 0.5};
    char name[TRIAL_NAME];
    trial_name(&t, name);
    OK(results_add(r, name, figures_json(&f)));
}

TEST(results_outlive_a_cut_and_the_last_counts)
{
    char path[] = "/tmp/trefoil-results-XXXXXX";
    int fd = mkstemp(path);
    struct results *r;
    struct trial t = trial_of(1);
    struct results_mean m;
    FILE *f;
    assert_true(fd >= 0);
    close(fd);
    OK(results_open(&r, path, NULL));
    assert_int_equal(results_mean(r, &t, "l1").seeds, 0);
    add(r, 1, 9);
    add(r, 2, 2);
    add(r, 1, 1); /* in place of the first */
    results_free(&r);
    f = fopen(path, "a"); /* a line that was cut */
    assert_non_null(f);
    fputs("{\"name\": \"synthfs", f);
    fclose(f);
    OK(results_open(&r, path, NULL));
    add(r, 3, 3);
    results_free(&r);
    OK(results_open(&r, path, NULL));
    m = results_mean(r, &t, "l1");
    assert_int_equal(m.seeds, 3);
    assert_true(fabs(m.mean - 2) < 1e-12);
    assert_true(fabs(m.error - sqrt(1.0 / 3)) < 1e-9); /* standard deviation 1 over root 3 */
    assert_int_equal(results_mean(r, &t, "auc").seeds, 0);
    results_free(&r);
    unlink(path);
}

TEST(names_tell_trials_apart)
{
    struct plan p;
    const struct plan_options all = {0};
    size_t distinct = 0;
    json_t *seen = json_object();
    OK(plan_new(&p, &all));
    for (size_t i = 0; i < p.trials; i++) {
        char name[TRIAL_NAME];
        assert_true(trial_method_known(p.trial[i].method));
        trial_name(&p.trial[i], name);
        distinct += json_object_get(seen, name) == NULL;
        json_object_set_new(seen, name, json_true());
    }
    /*
     * Table 1: 5 tables x 7 methods x 10 seeds, iid 4 x 7 x 10; T at 8 values of which one is Table
     * 1's, 5 tables x 7 x 5 x 3; eps, p, beta twice, s; the ablation's 10 and annealing's 5, where
     * 1 + 1 (of naive and private) are Table 1's
     */
    assert_int_equal(distinct,
                     350 + 280 + 525 + 3 * (5 * 5 + 5 * 5 + 6 * 5 + 3 * 5 + 3 * 3) + 3 * (8 + 5));
    assert_true(p.trials > distinct);
    plan_clear(&p);
    json_decref(seen);
}

TEST(a_trial_can_be_repeated)
{
    struct trial t = trial_of(4);
    struct trial_figures a, b, c;
    t.rounds = 2;
    OK(trial_run(&t, &a, NULL));
    OK(trial_run(&t, &b, NULL));
    assert_true(a.l1 == b.l1 && a.nll == b.nll && a.clients == b.clients);
    assert_true(a.l1 > 0.05 && a.l1 < 0.8 && a.nll > 8 && a.nll < 40);
    assert_true(a.clients > 0.1 && a.clients < 0.5); /* three draws at p = 0.1 */
    t.seed = 5;
    OK(trial_run(&t, &c, NULL));
    assert_true(a.l1 != c.l1);
}

static void put_servers(struct results *r, double sent, double received, double servers)
{
    struct trial t = trial_of(1);
    struct servers_figures f = {.sent = sent, .received = received, .server_bytes = servers};
    char name[TRIAL_NAME];
    costs_servers_name(&t, name);
    OK(results_add(r, name, servers_json(&f)));
}

TEST(a_clients_bytes_are_its_uploads_times_who_uploads)
{
    char path[] = "/tmp/trefoil-results-XXXXXX";
    int fd = mkstemp(path);
    struct results *r;
    struct trial t = trial_of(1);
    struct costs c;
    assert_true(fd >= 0);
    close(fd);
    OK(results_open(&r, path, NULL));
    add(r, 1, 0.1);
    assert_true(isnan(costs_of(r, &t).wire));
    put_servers(r, 900, 100, 5e6);
    c = costs_of(r, &t);
    assert_true(fabs(c.wire - 500) < 1e-9 && fabs(c.server - 5e6) < 1e-3);
    t.rounds = 32; /* uploads are the same; what servers send is not known */
    add(r, 1, 0.1);
    c = costs_of(r, &t);
    assert_true(isnan(c.server));
    results_free(&r);
    unlink(path);
}

/* Four clients with five columns, for real. */
TEST(servers_tell_what_an_upload_costs)
{
    enum { clients = 4, rows = 400 };
    struct domain *d CLEAN(domain_free) = NULL;
    struct workload *w CLEAN(workload_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct flaim_split split CLEAN(split_free);
    uint32_t assignment[rows];
    const bool here[clients] = {true, false, true, true};
    struct servers_terms terms;
    struct servers_figures f;
    struct log log = {.file = stderr, .level = LOG_WARN};
    double vector = 0;
    OK(domain_new(&d));
    for (int a = 0; a < 5; a++) {
        char name[] = {'a', '>', (char)('0' + a), 0}; /* quoted in the study */
        OK(domain_add_integer(d, name, 0, 3, NULL, DOMAIN_REJECT, NULL));
    }
    OK(workload_all(&w, d, 3, NULL));
    OK(support_table(&t, d, rows, 3));
    for (uint32_t i = 0; i < rows; i++)
        assignment[i] = i % clients;
    OK(split_new(&split, t, assignment, clients, 1));
    terms = (struct servers_terms){.workload = w,
                                   .split = &split,
                                   .here = here,
                                   .epsilon = 2,
                                   .delta = 1e-5,
                                   .rounds = 2,
                                   .model_mib = 4};
    OK(servers_run(&terms, &f, &log));
    assert_true(f.uploads == 3 && f.records == 1);
    for (size_t k = 0; k < clients; k++) /* planes: validity and two bits a column */
        vector += here[k] ? (double)((split.client[k]->rows + 7) / 8 * 11) / 3 : 0;
    assert_true(fabs(f.vector - vector) < 1e-6);
    assert_true(f.sent > f.vector && f.sent < f.vector + 1200 && f.received > 0 &&
                f.received < 1000);
    assert_true(f.server_bytes > 1e4 && f.noise_bytes > 0 && f.noise_bytes < f.server_bytes);
    assert_true(f.exchanges > 0 && f.analyst_bytes > 0);
    assert_true(f.l1 > 0 && f.l1 < 1.5);
}
