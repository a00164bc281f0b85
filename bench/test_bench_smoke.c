/*
 * Each program of bench/ runs here in its smoke form, which takes seconds, on an invented table;
 * then every key that its JSON must have is looked up. A program of bench/ without a line here
 * fails the last test.
 */
#include "harness/cmocka.h"

#include "harness/patience.h"
#include "harness/process.h"

#include <ftw.h>
#include <glob.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROWS 600
#define CLIENTS 3

/* Keys are paths; each has a number: the one behind "=" where that depends on nothing. */
static const struct smoke {
    const char *name, *keys;
    const char *unless_skipped; /* more, unless the program says "# SKIP" */
} smokes[] = {
    {"abort",
     "and_ratio and_checked_cpu_ns mul64_ratio l1_ratio l1_checked_per_s noise_ratio "
     "noise_gauss_ratio noise_discrete_ratio noise_gumbel_ratio adult_counts_ratio "
     "adult_counts_seconds_ratio bytes_ratio selection_rounds_extra measure_rounds_extra "
     "records_count_ratio adult_records_ratio adult_records_seconds_ratio records_bytes_ratio",
     "wan_ratio wan_selection_ratio"},
    {"copula",
     "body.jsd body.wd body.accuracy adult.l1 wide.error wide.factors wide.cpu_s "
     "wide.upload_ratio",
     ""},
    {"data",
     "mean_error.age mean_error.hours-per-week mean_error.capital-gain deviation_error.age "
     "deviation_error.hours-per-week deviation_error.capital-gain",
     "sql_count_over_hand sql_rss_mib sql_upload_equal sql_rows sql_hand_s sql_count_s sql_read_s "
     "sql_read_rss_mib sql_csv_s"},
    {"dp",
     "gauss_per_s gauss_cpu_us discrete_per_s discrete_cpu_us gumbel_per_s gumbel_cpu_us "
     "noise_peak_rss_mib rounds_per_iteration tables.adult.collect_s tables.adult.compute_s "
     "tables.adult.noise_s tables.adult.select_s tables.adult.measure_s tables.adult.total_s "
     "tables.adult.iteration_s tables.adult.bytes_per_server tables.adult.rounds_per_iteration "
     "tables.adult.count_cpu_s tables.adult.count_bytes tables.adult_counts.total_s",
     ""},
    {"e2e",
     "mpc_s network_s estimate_s l1 l1_central l1_central_sd upload_bytes_records_adult "
     "upload_bytes_counts_adult_pgm uploads_1000_s count_1000_s server_stored_mib_1000 "
     "server_rss_mib_1000 server_rss_mib_before_1000 server_rss_mib_1000_counted "
     "uploads_10000_s count_10000_s server_stored_mib_10000 server_rss_mib_10000 "
     "server_rss_mib_before_10000 server_rss_mib_10000_counted",
     ""},
    {"engine",
     "and_per_s mul64_per_s open64_per_s lt64_per_s l1_cells_per_s l1_cells_per_s_with_caching "
     "l1_bytes_per_cell matmul_mac_per_s argmax1000_rounds argmax1000_ms peak_rss_mib "
     "aes_gcm_gb_s aes_ctr_gb_s memcpy_gb_s zmq_gb_s matrix16_mac_per_s dgemm_mac_per_s "
     "and.0.n and.0.per_s mul64.0.ms open64.0.rounds lt64.0.bytes bit_to_ring64.0.cpu_s.2 "
     "l1.0.per_s l1_with_caching.0.per_s matmul.0.per_s argmax.0.per_s",
     ""},
    {"events",
     "events.0.persons events.0.events events.0.inter events.0.order events.0.person "
     "events.0.number events.0.seeds events.1.events events.1.inter events.2.order",
     ""},
    {"faults",
     "plain_s resume_s.SIGKILL.0.compute resume_s.SIGTERM.1.measure resume_s.SIGSTOP.2.select", ""},
    {"fhaim",
     "comp.0.rows comp.0.values comp.0.cells comp.0.upload_bytes comp.0.keeper_bytes "
     "comp.0.encrypt_cpu_s comp.0.multiply_cpu_s comp.0.rerandomise_cpu_s comp.0.decrypt_cpu_s "
     "comp.0.wrong comp.0.paper_s comp.2.ratio round.0.cells round.0.ands round.0.bytes "
     "round.0.provider_cpu_s round.3.keeper_cpu_s round.0.measure_cpu_s round.0.wall_s "
     "round.0.paper_s noise.own_us noise.joint_us "
     "equal utility.0.epsilon utility.0.delta utility.0.runs utility.0.l1_se utility.2.l1 "
     "utility.2.central_l1 utility.2.paper_l1",
     ""},
    {"flaim",
     "nursery.distaim.10.l1 nursery.distaim.10.nll nursery.distaim.10.clients "
     "nursery.distaim.10.client_bytes_wire nursery.distaim.10.client_bytes_paper "
     "nursery.distaim.10.server_bytes nursery.flaim-naive.10.client_bytes_wire "
     "nursery-iid.aim.10.l1 sweeps.T-nursery.distaim.10.l1 ablation.nursery.flaim-tau.l1 "
     "annealed.nursery.distaim.rounds servers.nursery.10.server_bytes",
     ""},
    {"gradient",
     "adult.server_cpu_s adult.bytes=93928 adult.rounds=15 adult.session_cpu_s adult.peak_mib "
     "adult.abort.server_cpu_s adult.abort.bytes=190992 adult.abort.rounds=29 "
     "adult.abort.session_cpu_s adult.abort.peak_mib images.server_cpu_s "
     "images.bytes=1126984 images.rounds=15 images.session_cpu_s images.peak_mib "
     "images.abort.server_cpu_s images.abort.bytes=1739848 images.abort.rounds=29 "
     "images.abort.session_cpu_s images.abort.peak_mib",
     ""},
    {"net",
     "one_core.0.frame one_core.0.aes_gcm_gb_per_s one_core.0.aes_ctr_gb_per_s "
     "one_core.0.memcpy_gb_per_s links.0.payload links.0.tile links.0.gb_per_s "
     "links.0.rounds_per_s links.0.cpu_s_per_gb links.0.system_s_per_gb "
     "links.0.cpu_us_per_round",
     "lan.annealed_adult_s lan.fixed10_adult_s lan.fixed10.noise.seconds lan.fixed10.noise.rounds "
     "lan.fixed10.noise.bytes wan.annealed_adult_s wan.annealed.selections wan.annealed.mpc_s "
     "wan.fixed10.estimate_s wan.sweeps_adult_s"},
    {"parcel",
     "curve_cpu_s parcel_cpu_s parcel_over_curve share_alone_s share_crowded_s strangers_s "
     "strangers_mib_s",
     ""},
    {"persons",
     "bound_adult_extra_s bound_adult_abort_extra_s count_adult_s count_adult_abort_s "
     "bytes_per_row link_200k_s link_200k_abort_s link_200k_count_s link_200k_count_abort_s "
     "link_1m_s link_1m_rss_mib",
     ""},
    {"query",
     "adult.count_median adult.count_p95 adult.count_items adult.avg_median adult.avg_p95 "
     "adult.mode_by_group_median adult.count_one_median adult.ms query_ms "
     "loglik_eps10 adapt.ours.epsilon1.count_median adapt.federated.epsilon1.and_variance_p99 "
     "adapt.curator.epsilon10.loglik adapt.curator.epsilon10.loglik_se "
     "adapt.ours.epsilon10.all_p99 adapt.ours.epsilon10.all_p99_se adapt.bins.epsilon1.one_p95 "
     "adapt.loglik_gap_epsilon1 adapt.not_below_epsilon10 adapt.all_not_below_epsilon1 "
     "adult.all_items adult.plain_median adult.all_coverage "
     "drawn.together_coverage drawn.together_width_refits drawn.joined_width "
     "drawn.independent_items",
     ""},
    {"scale",
     "open_100k_s open_count_100k_s open_rss_mib agreement_bytes_100k listed_10k_s "
     "listed_count_10k_s open_over_listed",
     "ranks_2_over_1.count ranks_2_over_1.records ranks_2_over_1.noise ranks_2_over_1_cpu.count "
     "rank0_share_2.noise rank0_share_4.count rank0_share_4_model.records rank0_share_8_of.noise "
     "rank0_share_8"},
    {"solo",
     "count_2_over_1 records_2_over_1 noise_2_over_1 score_2_over_1 select_2_over_1 "
     "count_2_over_1_cpu noise_2_over_1_cpu count.0.lanes count.1.per_s noise.1.wall_s "
     "score.1.lane0_cpu_s select.1.cpu_s",
     ""},
    {"pgm",
     "nursery_plain_loss.100 nursery_plain_loss.10000 nursery_seconds_to_41_72 "
     "nursery_propagations_to_41_72 aim.0.l1 aim.0.l1_standard_error aim.0.l1_model aim.0.cpu_s "
     "aim.0.peak_mib aim.0.rounds aim.0.seeds copula.0.l1 copula.0.cpu_s sweeps.0.l1 "
     "sweeps.0.l1_se sweeps.0.cpu_s sweeps.0.requests sweeps.0.scores bp_ms.0.cells bp_ms.0.ms "
     "bp_ms.0.peak_mib "
     "wide.0.rows wide.0.rounds wide.0.cpu_s wide.0.l1 wide.0.peak_mib",
     ""},
    {"train",
     "adult.auc adult.auc_se adult.auc_eps03 adult.no_noise adult.central_softmax "
     "adult.auc_chosen adult.rate adult.auc_eps03_chosen adult.rate_eps03 "
     "adult.fedsgd_local adult.fedavg_local adult.pairs_auc adult.pairs_auc_eps03 "
     "adult.pairs_auc_eps01 adult.aim_rows_auc adult.server_cpu_s fmnist.server_cpu_s "
     "split_equal=1 vertical_equal=1 bits_equal=1 wrapped=0 rounds_step=17 "
     "fmnist.upload_bytes_row=126.625",
     "fmnist.accuracy fmnist.accuracy_eps279 fmnist.no_noise fmnist.distilled "
     "fmnist.distilled_clamped fmnist.central_softmax fmnist.fedsgd_local fmnist.fedavg_local "
     "fmnist.accuracy_chosen fmnist.rate fmnist.accuracy_eps279_chosen fmnist.rate_eps279"},
};
#define SMOKES (sizeof smokes / sizeof *smokes)

/* --- invented data ---------------------------------------------------------------------------- */

static char folder[] = "/tmp/trefoil-smoke-XXXXXX";

static void path_of(char path[SUPPORT_PATH], const char *name, const char *ending)
{
    snprintf(path, SUPPORT_PATH, "%s/%s%s", folder, name, ending);
}

static FILE *create(const char *name, const char *ending)
{
    char path[SUPPORT_PATH];
    FILE *f;
    path_of(path, name, ending);
    f = fopen(path, "w");
    assert_non_null(f);
    return f;
}

/*
 * A table as bench/data.h reads it: rows of codes, their sizes, a workload, and whose row each is.
 */
static void invent(const char *name)
{
    static const int sizes[] = {4, 3, 5, 2, 6};
    char path[SUPPORT_PATH];
    struct domain *d CLEAN(domain_free) = NULL;
    FILE *f = create(name, ".domain.json");
    OK(domain_new(&d));
    for (int a = 0; a < 5; a++) {
        const char column[] = {(char)('a' + a), '\0'};
        fprintf(f, "%c\"%s\": %d", a == 0 ? '{' : ',', column, sizes[a]);
        OK(domain_add_integer(d, column, 0, sizes[a] - 1, NULL, DOMAIN_REJECT, NULL));
    }
    fputs("}\n", f);
    fclose(f);
    f = create(name, ".workload.json");
    fputs("{\"cliques\": [[\"a\",\"b\",\"c\"], [\"b\",\"c\",\"d\"], [\"c\",\"d\",\"e\"]]}\n", f);
    fclose(f);
    f = create(name, ".clients100.csv");
    fputs("client\n", f);
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "%d\n", i % CLIENTS);
    fclose(f);
    path_of(path, name, ".csv");
    OK(support_csv(path, d, ROWS, 7));
}

/* The input of bench_copula: a table with numbers, whose last column is a class. */
static void invent_body(void)
{
    FILE *f = create("data/body", ".codes.json");
    fputs("{\"a\": {\"kind\": \"bins\", \"edges\": [0, 2, 4]},"
          " \"b\": {\"kind\": \"uniform_bins\", \"edges\": [0, 1, 2, 3]},"
          " \"c\": {\"kind\": \"categorical\", \"values\": [\"0\", \"1\", \"2\", \"3\", \"4\"]},"
          " \"d\": {\"kind\": \"categorical\", \"values\": [\"0\", \"1\"]},"
          " \"e\": {\"kind\": \"categorical\","
          "       \"values\": [\"0\", \"1\", \"2\", \"3\", \"4\", \"5\"]}}\n",
          f);
    fclose(f);
    invent("data/body");
}

/* The input of bench_query: columns of a table, questions about it, what bins could answer. */
static void invent_questions(void)
{
    FILE *f = create("data/adult", ".codes.json");
    fputs("{\"a\": {\"kind\": \"bins\", \"edges\": [0, 2, 4]},"
          " \"b\": {\"kind\": \"integer\", \"min\": 0, \"max\": 2},"
          " \"c\": {\"kind\": \"categorical\", \"values\": [\"0\", \"1\", \"2\", \"3\", \"4\"]},"
          " \"d\": {\"kind\": \"integer\", \"min\": 0, \"max\": 1},"
          " \"e\": {\"kind\": \"uniform_bins\", \"edges\": [0, 3, 6]}}\n",
          f);
    fclose(f);
    f = create("reference/queries/adult", ".queries.json");
    fputs("[{\"id\": 0, \"sql\": \"SELECT COUNT(*) FROM t WHERE a >= 2\", \"aggregate\": \"COUNT\","
          "  \"group_by\": null, \"columns_in_predicates\": 1, \"answer\": 300},"
          " {\"id\": 1, \"sql\": \"SELECT AVG(e) FROM t WHERE b <> 1\", \"aggregate\": \"AVG\","
          "  \"group_by\": null, \"columns_in_predicates\": 1, \"answer\": 2.5},"
          " {\"id\": 2, \"sql\": \"SELECT d, MODE(c) FROM t WHERE a < 2 GROUP BY d\","
          "  \"aggregate\": \"MODE\", \"group_by\": \"d\", \"columns_in_predicates\": 1,"
          "  \"answer\": {\"0\": \"1\", \"1\": \"2\"},"
          "  \"counts\": {\"0\": {\"1\": 60, \"2\": 40}, \"1\": {\"1\": 40, \"2\": 60}}}]\n",
          f);
    fclose(f);
    f = create("reference/queries/adult", ".binned.jsonl");
    fputs("{\"id\": 0, \"answer\": 300}\n{\"id\": 1, \"answer\": 2.51}\n"
          "{\"id\": 2, \"answer\": {\"0\": \"1\", \"1\": \"2\"}}\n",
          f);
    fclose(f);
}

static int prepare(void **state)
{
    char path[SUPPORT_PATH];
    FILE *f;
    assert_non_null(mkdtemp(folder));
    path_of(path, "data", "");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(setenv("TREFOIL_DATA", path, 1), 0);
    invent("data/adult");
    invent("data/adult_pgm");
    invent("data/nursery");
    invent("data/breast_cancer");
    invent_body();
    /* bench_pgm looks for its case next to the tables */
    path_of(path, "reference", "");
    assert_int_equal(mkdir(path, 0700), 0);
    path_of(path, "reference/queries", "");
    assert_int_equal(mkdir(path, 0700), 0);
    invent_questions();
    f = create("reference/pgm_nursery", ".json");
    fputs("{\"domain\": {\"a\": 2, \"b\": 2}, \"total\": 100, \"measurements\":"
          " [{\"clique\": [\"a\", \"b\"], \"sigma\": 5, \"y\": [10, 20, 30, 40]}]}\n",
          f);
    return fclose(f);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return remove(path);
}

static int clean_up(void **state)
{
    return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- programs --------------------------------------------------------------------------------- */

static const json_t *at(const json_t *root, const char *path)
{
    char text[128], *rest = NULL;
    snprintf(text, sizeof text, "%s", path);
    for (char *step = strtok_r(text, ".", &rest); step != NULL; step = strtok_r(NULL, ".", &rest))
        root = json_is_array(root) ? json_array_get(root, strtoul(step, NULL, 10))
                                   : json_object_get(root, step);
    return root;
}

static void assert_keys(const json_t *root, const char *bench, const char *keys)
{
    char text[2048], *rest = NULL;
    snprintf(text, sizeof text, "%s", keys);
    for (char *key = strtok_r(text, " ", &rest); key != NULL; key = strtok_r(NULL, " ", &rest)) {
        char *exact = strchr(key, '=');
        if (exact != NULL)
            *exact++ = '\0';
        if (!json_is_number(at(root, key)))
            fail_msg("the JSON of bench_%s has no number %s", bench, key);
        if (exact != NULL && json_number_value(at(root, key)) != strtod(exact, NULL))
            fail_msg("%s of bench_%s is not %s", key, bench, exact);
    }
}

/* Of a program, which takes less than 24 s on an idle machine. */
static int limit_s(void)
{
    return (int)(support_patience_ms(24) / 1000);
}

static void runs_and_leaves_its_keys(void **state)
{
    const struct smoke *s = *state;
    const char *out = getenv("TREFOIL_OUT") != NULL ? getenv("TREFOIL_OUT") : "build/gcc";
    char json[SUPPORT_PATH], said[SUPPORT_PATH], command[4 * SUPPORT_PATH];
    json_t *root;
    path_of(json, s->name, ".json");
    path_of(said, s->name, ".log");
    snprintf(command, sizeof command,
             "export OUT=%s TREFOIL=%s/trefoil; timeout -k 5 %d"
             " %s/bench/bench_%s --smoke --json %s >%s 2>&1 || { tail -n 20 %s >&2; exit 1; }",
             out, out, limit_s(), out, s->name, json, said, said);
    if (system(command) != 0)
        fail_msg("bench_%s --smoke failed", s->name);
    root = json_load_file(json, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_true(json_object_get(root, "smoke")));
    assert_keys(root, s->name, s->keys);
    if (!support_contains(said, "# SKIP"))
        assert_keys(root, s->name, s->unless_skipped);
    json_decref(root);
}

TEST(every_program_is_here)
{
    glob_t found;
    assert_int_equal(glob("bench/bench_*.c", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char source[64];
        bool here = false;
        for (size_t k = 0; k < SMOKES; k++) {
            snprintf(source, sizeof source, "bench/bench_%s.c", smokes[k].name);
            here |= strcmp(source, found.gl_pathv[i]) == 0;
        }
        if (!here)
            fail_msg("%s has no line in bench/test_bench_smoke.c", found.gl_pathv[i]);
    }
    globfree(&found);
}

TEST(a_name_that_does_not_exist_is_refused)
{
    char said[SUPPORT_PATH], command[4 * SUPPORT_PATH];
    path_of(said, "run", ".log");
    snprintf(command, sizeof command, "ONLY=nothing bench/run.sh build/gcc >%s 2>&1", said);
    assert_int_not_equal(system(command), 0);
    EACH(file_says, said, "there is no bench/bench_nothing.c", "abort copula data dp e2e engine");
}

/*
 * A build compared with itself: each figure's ratio is there; those that do not depend on time are
 * 1.
 */
TEST(two_builds_are_compared)
{
    const char *out = getenv("TREFOIL_OUT") != NULL ? getenv("TREFOIL_OUT") : "build/gcc";
    char said[SUPPORT_PATH], command[4 * SUPPORT_PATH];
    if (system("command -v jq >/dev/null") != 0)
        skip();
    path_of(said, "pairs", ".log");
    snprintf(command, sizeof command,
             "PAIRS=1 FIGURES='^count' timeout -k 5 %d bench/pairs.sh %s %s solo --smoke >%s 2>&1",
             limit_s(), out, out, said);
    assert_int_equal(system(command), 0);
    file_says(said, "count.0.cpu_s ");
    file_says(said, "count.0.lanes                                   1.000 ");
    assert_false(support_contains(said, "noise"));
}

int main(void)
{
    for (size_t k = 0; k < SMOKES; k++)
        support_list(smokes[k].name, runs_and_leaves_its_keys, (void *)(uintptr_t)&smokes[k]);
    return support_run_tests(prepare, clean_up);
}
