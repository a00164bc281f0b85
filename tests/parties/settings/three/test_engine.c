/*
 * parties/settings/three/engine.c under the AIM loop: a whole run of the MPC backend on three
 * parties equals a run of the plaintext backend that replays the same noise, reconstructed here
 * from the three tapes. What is opened in a run is exactly the selected indices and the noisy
 * marginals.
 *
 * Whole runs mark uploads, keys and all that comes in as secret (tests/support/marks.h): under
 * valgrind they show that no branch and no index of the engine depends on a secret, whatever the
 * kind of data, of noise and of score.
 */
#include "tests/support/whole.h"

#include "aim/model/sample.h"
#include "aim/workload/tabulate.h"

/* --- the plaintext twin ----------------------------------------------------------------------- */

/* A backend for each population, all with the same noise. */
struct engine_growing {
    const struct whole *w;
    struct plaintext *plain[OWNERS];
    unsigned requests;
};

static struct aim_backend next_backend(struct engine_growing *g, uint64_t *population)
{
    unsigned owners = ++g->requests < OWNERS ? g->requests : OWNERS;
    if (g->w->coming != BETWEEN_ROUNDS)
        owners = OWNERS;
    *population = owners - g->w->lacking;
    return plaintext_backend(g->plain[owners - 1]);
}

static enum err ask_plain(void *self, const struct ask *a, struct ask_told *told)
{
    const struct aim_backend backend = next_backend(self, &told->population);
    return backend.ask(backend.self, a, told);
}

static enum err run_plain(struct whole *w, struct aim_result **result, struct whole_replay *replay,
                          struct log *log)
{
    const struct plaintext_noise noise = {replay, replay_gauss, replay_gumbel};
    struct engine_growing growing = {.w = w};
    const struct aim_backend backend = {.self = &growing, .ask = ask_plain};
    struct aim_options options;
    enum err e = release_loop_options(w->s.study, w->bounds, &options, log);
    for (unsigned o = 0; e == ERR_OK && o < OWNERS; o++)
        e = plaintext_new(&growing.plain[o], w->s.study->workload, w->stage[o], &noise, log);
    if (e == ERR_OK && options.look.multiplier > 0) {
        int64_t look;
        e = plaintext_look(&noise, w->linked, options.look.multiplier, &look);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(w->look[i], look);
    }
    if (e == ERR_OK)
        e = aim_run(result, &options, &backend, log);
    for (unsigned o = 0; o < OWNERS; o++)
        plaintext_free(&growing.plain[o]);
    return e;
}

static void same_release(const struct aim_result *a, const struct aim_result *b,
                         const struct domain *d)
{
    assert_int_equal(a->measurements, b->measurements);
    assert_true(merges_equal(a->merges, b->merges));
    for (size_t k = 0; k < a->measurements; k++) {
        size_t cells = measurement_cells(&a->measurement[k], d);
        assert_int_equal(a->query[k], b->query[k]);
        assert_true(a->measurement[k].sigma == b->measurement[k].sigma);
        assert_memory_equal(a->measurement[k].y, b->measurement[k].y, cells * sizeof(double));
        assert_int_equal(a->population[k], b->population[k]);
    }
    assert_true(a->loss == b->loss);
}

/* Owners whose rows have keys. */
static unsigned with_keys(const struct whole *w)
{
    unsigned keys = 0;
    for (unsigned o = 0; o < OWNERS; o++)
        keys += study_sends_keys(w->s.study, o);
    return keys;
}

/* How often something was measured: a sweep may find nothing that is worth it. */
static size_t measured_times(const struct aim_result *r)
{
    size_t times = 0;
    for (size_t k = 0; k < r->rounds; k++)
        times += r->round[k].marginals > 0;
    return times;
}

/* The distances of an assessment; how many requests they took. */
static size_t check_assess(const struct whole *w, const struct aim_result *plain, size_t *scores)
{
    const struct assess *a = plain->assess;
    assert_int_equal(a != NULL, w->s.study->assess > 0);
    if (a == NULL)
        return 0;
    assert_true(a->pairs == assess_pairs(w->s.study->workload) && a->alone != NULL);
    for (unsigned i = 0; i < 3; i++) {
        const struct assess *b = w->result[i]->assess;
        assert_true(b->pairs == a->pairs && b->cost == a->cost);
        assert_memory_equal(a->off, b->off, a->pairs * sizeof *a->off);
        assert_memory_equal(a->alone, b->alone, a->pairs * sizeof *a->alone);
    }
    *scores += 2 * a->pairs;
    return 2;
}

/* The scores of sweeps, and no more: bit for bit those of the plaintext run. */
static void check_scores(const struct whole *w, const struct aim_result *plain,
                         const struct three_costs *costs)
{
    size_t scores = 0;
    const size_t assessed = check_assess(w, plain, &scores);
    assert_int_equal(plain->sweeps, w->s.study->sweeps);
    for (size_t k = 0; k < plain->sweeps; k++) {
        const struct aim_scores *a = &plain->scores[k];
        scores += a->candidates;
        for (unsigned i = 0; i < 3; i++) {
            const struct aim_scores *b = &w->result[i]->scores[k];
            assert_int_equal(a->candidates, b->candidates);
            assert_memory_equal(a->query, b->query, a->candidates * sizeof *a->query);
            assert_memory_equal(a->value, b->value, a->candidates * sizeof *a->value);
        }
    }
    assert_int_equal(costs->opened_calls[OPEN_NOISY_SCORE], plain->sweeps + assessed);
    assert_int_equal(costs->opened_values[OPEN_NOISY_SCORE], scores);
}

static void equals(const struct study_options *o, const struct whole_persons *persons,
                   enum whole_coming coming)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct whole *w CLEAN(whole_end) = memory_array(1, sizeof *w);
    struct three_costs costs;
    struct aim_result *plain CLEAN(aim_result_free) = NULL;
    struct whole_replay replay = {.w = w};
    size_t cells = 0, looks;
    whole_fill(w, o, persons);
    looks = w->s.study->link.min_linked > 0;
    w->coming = coming;
    OK(three_run_wrapped(77, run_mpc, w, &costs, marks_wrap));
    OK(run_plain(w, &plain, &replay, &log));
    for (unsigned i = 0; i < 3; i++)
        same_release(w->result[i], plain, w->s.study->domain);
    /* every sample was used on both sides */
    assert_int_equal(replay.next[NOISE_GAUSS], w->used[NOISE_GAUSS][0]);
    assert_int_equal(replay.next[NOISE_GUMBEL], w->used[NOISE_GUMBEL][0]);
    /* and nothing was opened except indices and noisy marginals */
    for (size_t k = 0; k < plain->measurements; k++)
        cells += measurement_cells(&plain->measurement[k], w->s.study->domain);
    assert_int_equal(costs.opened_calls[OPEN_SELECTED_INDEX], w->s.study->rounds);
    assert_int_equal(costs.opened_calls[OPEN_NOISY_MARGINAL], looks + measured_times(plain));
    check_scores(w, plain, &costs);
    assert_int_equal(costs.opened_values[OPEN_NOISY_MARGINAL], looks + cells);
    assert_int_equal(costs.opened_values[OPEN_SELECTED_INDEX], w->used[NOISE_GUMBEL][0]);
    /* for discrete noise the accept bits, which depend on no data */
    assert_int_equal(costs.opened_calls[OPEN_REJECT_BIT] > 0, w->s.study->noise == NOISE_DISCRETE);
    /* for uploads with keys, once, whether they are sorted */
    assert_int_equal(costs.opened_calls[OPEN_SORTED], persons->count > 0);
    assert_int_equal(costs.opened_values[OPEN_SORTED], with_keys(w));
}

static void mpc_equals_plaintext_as(const struct study_options *o, enum whole_coming coming)
{
    equals(o, &(const struct whole_persons){0}, coming);
}

static void mpc_equals_plaintext(const struct study_options *o)
{
    mpc_equals_plaintext_as(o, AT_ONCE);
}

TEST(a_whole_run_equals_the_plaintext_run)
{
    mpc_equals_plaintext(OPTIONS(.owners = OWNERS, .rounds = 5, .epsilon = 2));
}

TEST(a_run_over_three_ways_and_lists_equals_too)
{
    mpc_equals_plaintext(
        OPTIONS(.owners = OWNERS, .rounds = 4, .epsilon = 0.5,
                .workload =
                    "\n  - {attributes: [age, ward, bmi], weight: 2}\n"
                    "  - {attributes: [sex, died]}\n  - {attributes: [age, died], weight: 0.5}"));
}

/* A wide domain, so that small owners send records and large ones counts, in one study. */
TEST(a_run_over_records_and_counts_equals_too)
{
    const struct study_options mixed = {
        .owners = OWNERS, .rounds = 4, .domain = wide_domain, .workload = wide_workload};
    struct whole *w CLEAN(whole_end) = whole_new(&mixed);
    assert_true(w->s.study->owner[0].records && !w->s.study->owner[2].records);
    mpc_equals_plaintext(&mixed);
}

static const char *const columns[] = {
    "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
    "    max_rows: 900\n    batch: city\n    columns: [bmi, sex, ward]\n"};

/*
 * Split by rows and columns: one owner of whole rows, and two that hold different columns of the
 * same rows. One of these has fewer, so that the last rows of the other count nowhere.
 */
TEST(a_run_over_rows_and_columns_of_several_owners_equals_too)
{
    mpc_equals_plaintext(OPTIONS(.owners = OWNERS, .rounds = 4, .part = columns));
}

/* Requests, prices and bounds are in units, what comes out is in persons. */
TEST(a_run_over_events_of_persons_equals_too)
{
    static const char domain[] =
        "domain:\n"
        "  - {name: age, kind: integer, min: 0, max: 8}\n"
        "  - {name: number, kind: integer, min: 0, max: 6}\n"
        "  - {name: ward, kind: categorical, values: [a, b, c]}\n"
        "  - {name: outcome, kind: categorical, values: [home, died]}\n"
        "events: {name: visits, by: who, number: number, columns: [ward, outcome],\n"
        "         ends: {outcome: [died]}}\n";
    static const char *const more[] = {"score: l1\n", "assess: 0.2\n"};
    for (size_t i = 0; i < 2; i++)
        mpc_equals_plaintext(OPTIONS(.owners = OWNERS, .rounds = 4, .epsilon = 40, .domain = domain,
                                     .accounting = ACCOUNTING_GAUSSIAN, .noise = "discrete",
                                     .more = more[i]));
}

/*
 * Whole runs for every kind of noise and score: counts of small marginals and of larger ones with
 * weights, records and counts, split by rows and columns.
 */
TEST(every_noise_and_score_on_every_kind_of_data_equal_too)
{
    static const struct study_options data[] = {
        {.workload = "{all: 2}"},
        {.workload =
             "\n  - {attributes: [age, ward, bmi], weight: 2}\n  - {attributes: [sex, died]}"},
        {.domain = wide_domain, .workload = wide_workload},
        {.part = columns}};
    static const char *const noise[] = {"box-muller", "discrete"};
    static const char *const score[] = {"score: l1\n", "score: l2\n"};
    for (size_t k = 0; k < 4 * sizeof data / sizeof *data; k++) {
        struct study_options run = data[k / 4];
        run.owners = OWNERS;
        run.rounds = 2 + (unsigned)(k % 3);
        run.epsilon = 3;
        run.noise = noise[k % 2];
        run.more = score[k / 2 % 2];
        mpc_equals_plaintext(&run);
    }
}

/*
 * Runs in sweeps: counts and records, rows and columns of several owners, either noise, with proofs
 * and without, with merges; late owners; persons and links, with k rows and a look.
 */
TEST(sweeps_equal_the_plaintext_run)
{
    static const char *const linked[] = {
        "    max_rows: 300\n    batch: x\n    columns: [age, sex]\n",
        "    max_rows: 300\n    batch: x\n    columns: [ward, bmi]\n",
        "    max_rows: 400\n    batch: x\n    columns: [died]\n"};
    static const struct {
        struct study_options o;
        struct whole_persons persons;
        enum whole_coming coming;
    } cases[] = {
        {.o = {.sweeps = 2}},
        {.o = {.sweeps = 1, .noise = "discrete", .more = "security: abort\n"}},
        {.o = {.sweeps = 2, .domain = wide_domain, .workload = wide_workload}},
        {.o = {.sweeps = 3, .part = columns, .more = "security: abort\n"}},
        {.o = {.sweeps = 2,
               .workload = "\n  - {attributes: [age, ward, bmi], weight: 2}\n  - {attributes: "
                           "[sex, died]}",
               .accounting = ACCOUNTING_GAUSSIAN},
         .coming = BETWEEN_ROUNDS},
        {.o = {.sweeps = 2, .enforce = 2}, .persons = {.count = 150, .unsorted = 2}},
        {.o = {.sweeps = 2,
               .domain = SUPPORT_LINKED_DOMAIN,
               .part = linked,
               .link = "{keep: o0, min_linked: 5}",
               .more = "security: abort\n"},
         .persons = {.count = 270}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct study_options o = cases[k].o;
        o.owners = OWNERS;
        o.epsilon = 3;
        equals(&o, &cases[k].persons, cases[k].coming);
    }
}

/* At the end of runs of each kind, of counts and records, with merges, proofs and several rows. */
TEST(assessments_equal_the_plaintext_run)
{
    static const struct {
        struct study_options o;
        struct whole_persons persons;
    } cases[] = {
        {.o = {.rounds = 3, .more = "assess: 0.1\n"}},
        {.o = {.sweeps = 2, .more = "assess: 0.02\nsecurity: abort\n"}},
        {.o = {.rounds = 2,
               .domain = wide_domain,
               .workload = wide_workload,
               .more = "assess: 0.05\nsecurity: abort\n"}},
        {.o = {.rounds = 2, .part = columns, .noise = "discrete", .more = "assess: 0.5\n"}},
        {.o = {.rounds = 2, .enforce = 2, .more = "assess: 0.05\n"},
         .persons = {.count = 150, .unsorted = 2}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct study_options o = cases[k].o;
        o.owners = OWNERS;
        o.epsilon = 3;
        equals(&o, &cases[k].persons, AT_ONCE);
    }
}

/* An engine of a study with proofs has a party with a check, and no other engine has one. */
static enum err make_engines(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct support_study *both = shared;
    for (unsigned k = 0; k < 4; k++) {
        const struct study *study = both[k % 2].study;
        struct bounds *bounds CLEAN(bounds_free) = NULL;
        struct three *g CLEAN(three_free) = NULL;
        if (k == 2)
            TRY(check_new(p, &limits));
        TRY(bounds_new(&bounds, study, p->log));
        if (three_new(&g, p, study, bounds, (const uint8_t[TAPE_ID_SIZE]){1}, p->log) !=
            ((k % 2 == 1) == (k >= 2) ? ERR_OK : ERR_MISUSE))
            return ERR_DATA;
    }
    return ERR_OK;
}

TEST(an_engine_does_not_run_unproved)
{
    const struct study_options o[] = {{.owners = 1}, {.owners = 1, .more = "security: abort\n"}};
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct support_study both[2];
    for (unsigned k = 0; k < 2; k++)
        OK(support_study_new(&both[k], &o[k], &log));
    OK(three_run(1, make_engines, both, NULL));
    for (unsigned k = 0; k < 2; k++)
        support_study_free(&both[k]);
}

/* The same for studies whose servers prove what they compute: late uploads, replays, every kind. */
TEST(a_run_that_is_proved_equals_too)
{
    static const char *const noise[] = {"box-muller", "discrete"};
    static const char *const more[] = {"security: abort\n", "security: abort\nscore: l2\n"};
    static const char *const workload[] = {
        "{all: 2}",
        "\n  - {attributes: [age, ward, bmi], weight: 2}\n  - {attributes: [sex, died]}"};
    for (unsigned k = 0; k < 4; k++) {
        mpc_equals_plaintext_as(OPTIONS(.owners = OWNERS, .rounds = 2, .epsilon = 3,
                                        .noise = noise[k % 2], .more = more[k / 2],
                                        .workload = workload[k % 2]),
                                k < 3 ? (enum whole_coming)k : AT_ONCE);
    }
}

/* And for records: beside counts, and with columns at several owners; late ones are added. */
TEST(a_run_over_records_that_is_proved_equals_too)
{
    mpc_equals_plaintext(OPTIONS(.owners = OWNERS, .rounds = 2, .domain = wide_domain,
                                 .workload = wide_workload, .more = "security: abort\n"));
    mpc_equals_plaintext_as(
        OPTIONS(.owners = OWNERS, .rounds = 2, .part = columns, .more = "security: abort\n"),
        ONE_BY_ONE);
}

/*
 * Rows of persons at several owners, the first of which count: absent keys and many rows a key, all
 * of one person, an owner without rows, one that did not sort.
 */
TEST(a_run_whose_persons_are_bounded_equals_too)
{
    static const struct whole_persons persons[] = {
        {.count = 700}, {.count = 1}, {.count = 31, .empty = 2}, {.count = 150, .unsorted = 2}};
    for (unsigned k = 0; k < 4; k++) {
        equals(OPTIONS(.owners = OWNERS, .rounds = 2, .epsilon = 3, .enforce = 1 + k,
                       .domain = k % 2 ? wide_domain : NULL,
                       .workload = k % 2 ? wide_workload : NULL,
                       .more = k < 2 ? "security: abort\n" : NULL),
               &persons[k], AT_ONCE);
    }
}

/*
 * Owners of different columns joined by person: all three, two of them beside one of whole rows;
 * all their rows stay or only one owner's; surplus rows, absent keys, all of one person, an owner
 * without rows, one that did not sort.
 */
TEST(a_run_whose_owners_are_linked_equals_too)
{
    static const char *const all[] = {"    max_rows: 300\n    batch: x\n    columns: [bmi, age]\n",
                                      "    max_rows: 301\n    batch: x\n    columns: [sex, ward]\n",
                                      "    max_rows: 400\n    batch: x\n    columns: [died]\n"};
    static const char *const two[] = {
        "    max_rows: 2000\n", "    max_rows: 900\n    batch: x\n    columns: [age, sex, ward]\n",
        "    max_rows: 800\n    batch: x\n    columns: [bmi, died]\n"};
    static const char *const kept[] = {
        "    max_rows: 300\n    batch: x\n    columns: [age, sex]\n",
        "    max_rows: 300\n    batch: x\n    columns: [ward, bmi]\n",
        "    max_rows: 400\n    batch: x\n    columns: [died]\n"};
    static const struct {
        const char *const *part;
        const char *link;
        struct whole_persons persons;
        bool abort;
    } cases[] = {{all, "true", {.count = 350}, false},
                 {all, "true", {.count = 1}, true},
                 {all, "true", {.count = 200, .empty = 2}, false},
                 {all, "true", {.count = 290, .unsorted = 2}, true},
                 {two, "{min_linked: 5}", {.count = 900}, true},
                 {two, "true", {.count = 900, .unsorted = 3}, false},
                 {kept, "{keep: o0, min_linked: 5}", {.count = 270}, true},
                 {kept, "{keep: o0}", {.count = 350, .empty = 3}, false},
                 {kept, "{keep: o0, min_linked: 5}", {.count = 290, .unsorted = 2}, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        equals(OPTIONS(.owners = OWNERS, .rounds = 2, .epsilon = 3, .domain = SUPPORT_LINKED_DOMAIN,
                       .part = cases[k].part, .link = cases[k].link,
                       .more = cases[k].abort ? "security: abort\n" : NULL),
               &cases[k].persons, AT_ONCE);
    }
}

/* What a server has sent in all phases. */
static uint64_t bytes_sent(const struct party *p)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < NET_PHASES; k++)
        sum += net_counters(p->net, (enum net_phase)k)->payload_sent;
    return sum;
}

/* Counted uploads cost nothing again, and a new one costs what it costs alone. */
static enum err add_more(struct party *p, void *shared)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    struct whole *w = shared;
    struct three *g CLEAN(three_free) = NULL, *alone CLEAN(three_free) = NULL;
    struct upload held[OWNERS];
    uint64_t rounds, bytes, cost[2][2];
    bool right = true;
    for (unsigned o = 0; o < OWNERS; o++)
        held[o] = w->parts[o][p->index];
    TRY(three_new(&g, p, w->s.study, w->bounds, id, p->log));
    TRY(three_new(&alone, p, w->s.study, w->bounds, id, p->log));
    TRY(count_all(g, held, OWNERS - 1));
    for (unsigned k = 0; k < 2; k++) {
        rounds = net_exchanges(p->net);
        bytes = bytes_sent(p);
        TRY(k == 0 ? count_all(g, held, OWNERS) : count_all(alone, &held[OWNERS - 1], 1));
        cost[k][0] = net_exchanges(p->net) - rounds;
        cost[k][1] = bytes_sent(p) - bytes;
    }
    right = cost[0][0] > 0 && cost[0][0] == cost[1][0] && cost[0][1] == cost[1][1];
    rounds = net_exchanges(p->net);
    TRY(count_all(g, held, OWNERS));
    right = right && net_exchanges(p->net) == rounds && g->tally.owners == OWNERS;
    return right ? ERR_OK : ERR_MISMATCH;
}

TEST(what_is_counted_is_not_counted_again)
{
    for (unsigned k = 0; k < 2; k++) {
        struct whole *w CLEAN(whole_end) = whole_new(
            k == 0 ? OPTIONS(.owners = OWNERS)
                   : OPTIONS(.owners = OWNERS, .domain = wide_domain, .workload = wide_workload));
        OK(three_run(3, add_more, w, NULL));
    }
}

/* Answers, then records, each upload added to those counted; a batch's second owner comes last. */
TEST(a_run_added_up_in_steps_equals_too)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [dose, age]\n", NULL,
        "    max_rows: 900\n    batch: city\n    columns: [sex, ward]\n"};
    mpc_equals_plaintext_as(
        OPTIONS(.owners = OWNERS, .rounds = 3, .domain = wide_domain, .workload = wide_workload),
        ONE_BY_ONE);
    mpc_equals_plaintext_as(OPTIONS(.owners = OWNERS, .rounds = 3, .domain = wide_domain,
                                    .workload = wide_workload, .part = part),
                            ONE_BY_ONE);
}

/*
 * One owner at the one-ways, two at the first selection, then all: counts, then records among
 * them.
 */
TEST(a_run_whose_owners_come_between_rounds_equals_too)
{
    mpc_equals_plaintext_as(OPTIONS(.owners = OWNERS, .rounds = 4, .epsilon = 2), BETWEEN_ROUNDS);
    mpc_equals_plaintext_as(
        OPTIONS(.owners = OWNERS, .rounds = 4, .domain = wide_domain, .workload = wide_workload),
        BETWEEN_ROUNDS);
}

/* No model says otherwise, and the two runs still agree. */
TEST(what_is_impossible_has_no_part_in_a_run)
{
    const struct study_options o = {
        .owners = OWNERS,
        .rounds = 3,
        .more = "impossible:\n  - {age: {from: 0, to: 3}, died: yes}\n  - {ward: d, sex: [f]}\n"};
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct whole *w CLEAN(whole_end) = whole_new(&o);
    struct table *rows CLEAN(table_free) = NULL;
    OK(three_run_wrapped(77, run_mpc, w, NULL, marks_wrap));
    OK(sample_rows(&rows, w->result[0]->model, 5000, 1, &log));
    for (size_t k = 0; k < w->s.study->zeros; k++) {
        const struct workload_zeros *zero = &w->s.study->zero[k];
        double counts[64] = {0};
        int64_t sampled[64] = {0};
        assert_in_range(clique_cells(&zero->clique, w->s.study->domain), 1, 64);
        OK(model_marginal(w->result[0]->model, &zero->clique, counts, &log));
        tabulate_marginal(rows, &zero->clique, sampled);
        for (size_t i = 0; i < zero->cells; i++) {
            assert_true(counts[zero->cell[i]] == 0);
            assert_int_equal(sampled[zero->cell[i]], 0);
        }
    }
    mpc_equals_plaintext(&o);
}
