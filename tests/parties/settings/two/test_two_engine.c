/*
 * parties/settings/two/: whole runs on two engines equal the plaintext backend's on the sum of both
 * servers' noise, bit for bit; what that costs; and what is opened. Owners' shares are marked as
 * secret: under valgrind no branch and no index depends on them before what is opened.
 */
#include "harness/cmocka.h"
#include "harness/netio.h"
#include "harness/session.h"
#include "harness/study.h"
#include "harness/transport.h"

#include "aim/run/copula_run.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "aim/workload/tabulate.h"
#include "mpc/pair/own_noise.h"
#include "mpc/pair/pick.h"
#include "mpc/pair/program.h"
#include "parties/analyst/central.h"
#include "parties/analyst/release.h"
#include "parties/exchange/message.h"
#include "parties/exchange/price.h"
#include "parties/owner/pack.h"
#include "parties/settings/two/engine.h"
#include "parties/store/store_ahead.h"
#include "parties/store/store_sorted.h"
#include "parties/study/study_uploads.h"
#include "tests/support/marks.h"
#include "tests/support/statistics.h"

#define OWNERS 3
#define NOISE_MOST 200000
#define WORDS ((size_t)4096)
#define MULTIPLIER 1024

struct duet;

/* One server with its engine. */
struct duet_seat {
    struct duet *d;
    unsigned index;
    struct net *net;
    struct two *engine;
    struct copula_result *copula;
    struct aim_result *aim;
    uint64_t before;             /* exchanges, when an index was last about to be opened */
    size_t sent, most;           /* payload for distances and picking */
    size_t opened[OPEN_REASONS]; /* values, by reason */
    uint64_t noise[NOISE_LAWS][NOISE_MOST];
    size_t used[NOISE_LAWS];
    uint64_t part[WORDS]; /* of an audit: own parts of joint noise, */
    int64_t seen[WORDS];  /* and so many values that were opened */
    size_t values;
    uint64_t word[WORDS]; /* of what is only counted */
    bool left_out[OWNERS];
    bool marked; /* shares are */
    enum err e;
    char words[1024];
    struct log log;
};

struct duet {
    struct support_study s;
    struct bounds *bounds;
    struct table *all;
    struct upload part[OWNERS][2];
    struct transport *transport[3], wrapped[2];
    struct session *session[2];
    struct duet_seat seat[2];
    size_t next[NOISE_LAWS]; /* of the replay */
    struct store *store[2];  /* with the owner's noise, if it makes that */
    bool audited;            /* it measures all marginals again and again, and does nothing else */
    bool refuses;            /* it is only asked for what it refuses */
    bool counted;            /* it only counts: */
    uint8_t sessions;        /* in another session each time */
};

/* --- owners ----------------------------------------------------------------------------------- */

static void share(struct duet *d, const struct split *split, unsigned o, size_t rows)
{
    const struct study *study = d->s.study;
    struct identity *me CLEAN(identity_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    const uint8_t secret[UPLOAD_SECRET_SIZE] = {(uint8_t)o};
    const unsigned form = study_upload_form(study, o);
    OK(identity_load(&me, file(d, "o%u.key", o), &quiet));
    OK(support_table(&t, study->domain, rows, o));
    OK(pack_table(study, o, form, t, &packed));
    if (form == UPLOAD_WORDS)
        assert_int_equal(packed.size, 8 * study->workload->maximal_cells);
    OK(upload_make(d->part[o], split, me, o, secret, study, form, &packed));
    OK(central_append(d->all, t));
    OK(support_units(d->all));
}

/* Blocks of noise, as an owner's share sends them. */
static void give_noise(struct duet *d)
{
    const struct price_ahead plan = price_ahead(d->s.study);
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (uint8_t b = 0; b < plan.blocks[k]; b++) {
            struct bytes part[2] = {{0}};
            const uint8_t name[AHEAD_NAME] = {1, b};
            OK(two_split.noise(k, plan.samples[k], part));
            for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(part[i].size, two_split.noise_bytes(i, plan.samples[k]));
                OK(store_ahead_push(d->store[i], k, name, &part[i]));
                bytes_clear(&part[i]);
            }
        }
}

static struct duet *duet_new(const struct study_options *o)
{
    struct duet *d = NULL;
    OK(memory_new(&d, 1));
    d->s = support_study_of(o, &quiet);
    OK(bounds_new(&d->bounds, d->s.study, &quiet));
    OK(table_new(&d->all, d->s.study->domain, 0));
    for (unsigned i = 0; i < 2; i++) {
        struct identity *me CLEAN(identity_free) = NULL;
        OK(identity_load(&me, file(d, "s%u.key", i), &quiet));
        OK(store_open(&d->store[i], file(d, "server%u", i), d->s.study, &two_split, me, i, &quiet));
    }
    for (unsigned i = 0; i < d->s.study->owners; i++)
        share(d, &two_split, i, 300 + 200 * i);
    if (d->s.study->noise_by == NOISE_BY_OWNER)
        give_noise(d);
    return d;
}

static void duet_free(struct duet **at)
{
    struct duet *const d = *at;
    for (unsigned i = 0; i < 2; i++) {
        copula_result_free(&d->seat[i].copula);
        aim_result_free(&d->seat[i].aim);
        store_close(&d->store[i]);
        for (unsigned o = 0; o < OWNERS; o++)
            upload_clear(&d->part[o][i]);
    }
    table_free(&d->all);
    bounds_free(&d->bounds);
    support_study_free(&d->s);
    memory_free(at);
}

/* --- two servers ------------------------------------------------------------------------------ */

static enum err note_opening(void *self, enum engine_opening opening, const char *reason,
                             size_t values)
{
    struct duet_seat *s = self;
    if (opening == ENGINE_OPENS_INDEX) /* nothing opens it before the third exchange */
        s->before = net_exchanges(s->net);
    for (unsigned k = 0; k < OPEN_REASONS; k++)
        if (strcmp(reason, party_reason_name((enum party_reason)k)) == 0)
            s->opened[k] += values;
    return opening == ENGINE_OPENS_OTHER ? ERR_MISUSE : ERR_OK;
}

static void remember(struct duet_seat *s, const struct own_stake *stake, const size_t used[])
{
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        assert_true(s->used[k] + used[k] <= NOISE_MOST && used[k] <= stake->place.count[k]);
        memcpy(s->noise[k] + s->used[k], stake->word[k], used[k] * sizeof *stake->word[k]);
        s->used[k] += used[k];
    }
}

/* What opens the index to the provider: labels that the keeper has shown, against its own. */
static bool no_points, false_labels; /* that the keeper sends */

__typeof__(pair_hello) __real_pair_hello, __wrap_pair_hello;
enum err __wrap_pair_hello(struct pair *keeper, uint8_t hello[PAIR_HELLO_SIZE])
{
    TRY(__real_pair_hello(keeper, hello));
    if (no_points)
        memset(hello, 0xff, PAIR_HELLO_SIZE);
    return ERR_OK;
}

__typeof__(pair_pick_verify) __real_pair_pick_verify, __wrap_pair_pick_verify;
enum err __wrap_pair_pick_verify(const struct pair_run *run, const uint8_t *proof)
{
    const struct pair_pick *p = program_of(run);
    if (false_labels)
        *(uint8_t *)(uintptr_t)proof ^= 1;
    marks_public((void *)(uintptr_t)program_outputs(run), pair_pick_proof(p->candidates));
    return __real_pair_pick_verify(run, proof);
}

/* What is sealed may be on disk. */
enum err __real_store_seal(struct store *s, const void *binding, size_t binding_size,
                           const struct bytes *plain, struct bytes *sealed);
__typeof__(__real_store_seal) __wrap_store_seal;
enum err __wrap_store_seal(struct store *s, const void *binding, size_t binding_size,
                           const struct bytes *plain, struct bytes *sealed)
{
    TRY(__real_store_seal(s, binding, binding_size, plain, sealed));
    marks_public(sealed->data, sealed->size);
    return ERR_OK;
}

/* Selects, if the request does, and measures, with a stake. */
static enum err open_step(struct duet_seat *s, const struct engine_step *step, void *stake,
                          struct ask_told *told)
{
    const struct engine g = two_table(s->engine);
    TRY(memory_new(&told->value, step->price.cells));
    if (step->ask->kind == ASK_SELECT)
        TRY(g.ops->select(g.self, step, stake, NULL, &told->selected));
    marks_public(&told->selected, sizeof told->selected);
    TRY(g.ops->measure(g.self, step, stake, told->selected, told->value, &told->values));
    if (step->ask->kind != ASK_SCORES && /* which a circuit makes uniform */
        marks_reach(told->value, sizeof *told->value) != s->marked)
        return ERR_MISUSE; /* the marks are not lost on the way */
    marks_public(told->value, told->values * sizeof *told->value);
    return ERR_OK;
}

/* What the same noise opens again, as after a crash. */
static enum err open_again(struct duet_seat *s, const struct engine_step *step,
                           const struct bytes *kept, const struct ask_told *told)
{
    const struct engine g = two_table(s->engine);
    struct ask_told again CLEAN(told_clear) = {0};
    struct stake_place other = step->place;
    void *stake = NULL;
    other.from[0]++;
    if (g.ops->take_stake(g.self, &other, kept, &stake) != ERR_FORMAT)
        return ERR_MISMATCH;
    TRY(g.ops->take_stake(g.self, &step->place, kept, &stake));
    enum err e = open_step(s, step, stake, &again);
    g.ops->free_stake(&stake);
    TRY(e);
    return again.values == told->values && again.selected == told->selected &&
                   memcmp(again.value, told->value, again.values * sizeof *again.value) == 0
               ? ERR_OK
               : ERR_MISMATCH;
}

/* The exchanges of a round, its statements not included. */
static unsigned exchanges_of(const struct ask *a)
{
    if (a->kind == ASK_SELECT)
        return a->queries > 1 ? 6 : 1;
    return a->kind == ASK_SCORES ? 3 : 1;
}

/*
 * What garbling takes: for each cell two rows an AND, and 16 bytes for each bit that the keeper
 * enters; and 12 kB a candidate.
 */
static size_t most_of(const struct duet_seat *s, const struct ask *a)
{
    const uint64_t unit = a->kind == ASK_SCORES ? a->multiplier : 1024;
    struct score_bounds merged;
    if (exchanges_of(a) == 1)
        return 0;
    if (s->d->s.study->score == AIM_L2)
        return 1536 * a->estimates + 12000 * (size_t)a->queries;
    OK(score_merged(&merged, &s->d->bounds->counts, s->d->s.study->workload, a->merges));
    size_t bits = merged.bits + (size_t)ceil(log2((double)unit)) + 1;
    size_t own = bits - (size_t)__builtin_ctzll(unit);
    return a->estimates * (32 * (own + bits) + 16 * own) + 12000 * (size_t)a->queries;
}

static enum err play_stake(struct duet_seat *s, struct engine_step *step, void *stake,
                           struct ask_told *told)
{
    const uint64_t exchanges = net_exchanges(s->net), sent = net_total(s->net).payload_sent;
    size_t used[NOISE_LAWS] = {[NOISE_GUMBEL] = step->price.candidates};
    struct own_stake *own = stake;
    TRY(open_step(s, step, stake, told));
    used[NOISE_GAUSS] = told->values;
    remember(s, own, used);
    if (memcmp(own->used, used, sizeof used) != 0) /* the rest goes back to the tape */
        return ERR_MISUSE;
    if (net_exchanges(s->net) != exchanges + exchanges_of(step->ask) ||
        (exchanges_of(step->ask) == 6 && s->before != exchanges + 2))
        return ERR_RANGE;
    size_t bytes = net_total(s->net).payload_sent - sent - 8 * told->values;
    s->sent += bytes;
    s->most += most_of(s, step->ask);
    return exchanges_of(step->ask) == 1 && bytes != 0 ? ERR_RANGE : ERR_OK;
}

static enum err play(struct duet_seat *s, struct engine_step *step, struct ask_told *told)
{
    const struct engine g = two_table(s->engine);
    struct bytes kept CLEAN(bytes_clear) = {0};
    void *stake = NULL;
    bool made = false;
    TRY(g.ops->supply(g.self, step, &made));
    /* a session begins with all that its run takes, but for joint noise */
    if (!made && s->d->s.study->noise_by != NOISE_BY_JOINT)
        return ERR_MISUSE;
    if (!made)
        TRY(g.ops->reserve(g.self, step));
    TRY(g.ops->stake(g.self, step, &stake, &kept));
    enum err e = play_stake(s, step, stake, told);
    if (e == ERR_OK)
        e = g.ops->return_stake(g.self, stake);
    g.ops->free_stake(&stake);
    TRY(e);
    return open_again(s, step, &kept, told);
}

static enum err seat_ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct duet_seat *s = self;
    const struct engine g = two_table(s->engine);
    struct engine_step step;
    TRY(g.ops->prepare(g.self, a, &step));
    enum err e = play(s, &step, told);
    g.ops->clear(&step);
    told->population = g.ops->counted(g.self).owners;
    return e;
}

static enum err count_all(struct duet_seat *s)
{
    const struct engine g = two_table(s->engine);
    struct upload held[OWNERS];
    const size_t owners = s->d->s.study->owners;
    for (size_t o = 0; o < owners; o++) {
        held[o] = s->d->part[o][s->index];
        s->marked = marks_on();
        if (held[o].form != UPLOAD_WORDS) /* what is drawn from seeds is: run_session() */
            continue;
        marks_secret(held[o].seed, sizeof held[o].seed);
        marks_secret(held[o].vector.data, held[o].vector.size);
    }
    TRY(g.ops->add(g.self, held, 1));
    TRY(g.ops->finish(g.self));
    TRY(g.ops->add(g.self, held, owners)); /* the first is in */
    return g.ops->finish(g.self);
}

static enum err measure_all(struct duet_seat *s)
{
    const struct workload *w = s->d->s.study->workload;
    uint32_t *query CLEAN(memory_release) = NULL;
    TRY(memory_new(&query, w->queries));
    for (uint32_t q = 0; q < w->queries; q++)
        query[q] = q;
    while (s->values + w->cells <= WORDS) {
        const struct ask a = {.kind = ASK_MEASURE,
                              .queries = (uint32_t)w->queries,
                              .query = query,
                              .multiplier = MULTIPLIER};
        struct ask_told told CLEAN(told_clear) = {0};
        const enum err e = seat_ask(s, &a, &told);
        if (e == ERR_REFUSED) /* the owner's noise has ended */
            break;
        TRY(e);
        memcpy(s->seen + s->values, told.value, told.values * sizeof *told.value);
        s->values += told.values;
    }
    return ERR_OK;
}

static enum err run_method(const struct duet *d, const struct aim_backend *backend,
                           struct copula_result **copula, struct aim_result **aim, struct log *log)
{
    struct copula_options options;
    struct aim_options loop;
    if (d->s.study->method == STUDY_AIM) {
        TRY(release_loop_options(d->s.study, d->bounds, &loop, log));
        loop.stop_when_spent = true;
        return aim_run(aim, &loop, backend, log);
    }
    TRY(release_copula_options(d->s.study, d->bounds, &options, log));
    return copula_run(copula, &options, backend, log);
}

/* As the study accounts for a selection; what noise misses is set aside. */
static void is_priced(const struct study *study, const struct ask *a, const struct ask_price *p)
{
    const struct ask_slack slack = price_slack(study);
    mpq_t right;
    mpq_init(right);
    OK(ledger_select_cost(right, study->accounting, a->epsilon, slack.select, a->multiplier));
    mpq_add(right, right, p->measuring);
    assert_int_not_equal(mpq_equal(p->cost, right), 0);
    assert_true(slack.candidate.tau > 0 && p->epsilon_slack == slack.marginal &&
                p->delta_slack == ask_delta(slack.measured, 1) + ask_delta(slack.candidate, 1));
    mpq_clear(right);
}

/* Nothing that prices or proofs do not hold for: each is refused before anything is sent. */
static enum err refuse_bad_requests(struct duet_seat *s)
{
    const struct engine g = two_table(s->engine);
    const struct workload *w = s->d->s.study->workload;
    const uint64_t most = UINT64_C(1024) << s->d->bounds->counts.bits;
    uint32_t query = (uint32_t)w->queries - 1;
    uint64_t *estimate CLEAN(memory_release) = memory_array(w->cells, sizeof *estimate);
    int64_t weight = 255;
    const struct ask good = support_selection(1, &query, estimate);
    static const uint64_t multiplier[] = {255, (UINT64_C(1) << 30) + 1};
    struct engine_step step;
    struct ask bad = good;
    s->engine->log = NULL;
    estimate[0] = most;
    TRY(g.ops->prepare(g.self, &good, &step));
    is_priced(s->d->s.study, &good, &step.price);
    g.ops->clear(&step);
    for (unsigned k = 0; k < 2; k++, bad = good) {
        bad.multiplier = multiplier[k];
        assert_int_equal(g.ops->prepare(g.self, &bad, &step), ERR_REFUSED);
        bad.kind = ASK_MEASURE;
        assert_int_equal(g.ops->prepare(g.self, &bad, &step), ERR_REFUSED);
    }
    bad = (struct ask){
        .kind = ASK_MEASURE, .queries = 1, .query = &query, .weights = 1, .weight = &weight};
    assert_int_equal(g.ops->prepare(g.self, &bad, &step), ERR_REFUSED);
    bad = (struct ask){.kind = ASK_LOOK, .multiplier = 1000};
    assert_int_equal(g.ops->prepare(g.self, &bad, &step), ERR_REFUSED);
    bad = good;
    bad.queries = (uint32_t)study_candidates_most(s->d->s.study) + 1;
    assert_int_equal(g.ops->prepare(g.self, &bad, &step), ERR_REFUSED);
    estimate[0]++;
    assert_int_equal(g.ops->prepare(g.self, &good, &step), ERR_REFUSED);
    return net_total(s->net).payload_sent == s->sent ? ERR_OK : ERR_MISUSE;
}

static enum err run_one(struct duet_seat *s)
{
    struct duet *d = s->d;
    struct two from = {.store = d->store[s->index],
                       .study = d->s.study,
                       .bounds = d->bounds,
                       .net = s->net,
                       .audit = note_opening,
                       .audit_self = s,
                       .log = &s->log};
    const struct aim_backend backend = {.self = s, .ask = seat_ask};
    from.session[d->sessions % PAIR_ID_SIZE] = 1; /* ids differ anywhere */
    if (d->s.study->noise_by == NOISE_BY_OWNER)
        TRY(store_ahead(from.store, &from.ahead.blocks));
    TRY(two_new(&s->engine, &from));
    const struct own_reel *parts = &s->engine->tape.reel[OWN_PARTS];
    memcpy(s->part, parts->word, (parts->words < WORDS ? parts->words : WORDS) * sizeof *s->part);
    TRY(count_all(s));
    memcpy(s->word, s->engine->sums.word,
           (d->counted ? d->s.study->workload->cells : 0) * sizeof *s->word);
    marks_public(s->word, sizeof s->word);
    if (d->counted) {
        memcpy(s->left_out, s->engine->sums.left_out, sizeof s->left_out);
        s->sent = net_total(s->net).payload_sent;
        return ERR_OK;
    }
    if (d->audited)
        return measure_all(s);
    s->sent = net_total(s->net).payload_sent;
    if (d->refuses)
        return refuse_bad_requests(s);
    s->sent = 0;
    return run_method(d, &backend, &s->copula, &s->aim, &s->log);
}

static void *run_seat(void *self)
{
    struct duet_seat *s = self;
    s->e = run_one(s);
    if (s->e != ERR_OK)
        net_abort(s->net);
    two_free(&s->engine);
    return NULL;
}

static void run_session(struct duet *d)
{
    pthread_t thread[2];
    d->sessions++;
    OK(transport_memory_pair(d->transport, 16));
    for (unsigned i = 0; i < 2; i++) {
        struct duet_seat *s = &d->seat[i];
        struct net_options o = {.transport = &d->wrapped[i], .log = &s->log};
        d->wrapped[i] = marks_wrap(d->transport[i]);
        s->d = d;
        s->index = i;
        s->words[0] = '\0';
        s->log = (struct log){.buffer = s->words, .buffer_size = sizeof s->words};
        OK(session_of_two_for_test(&d->session[i], i, 5));
        o.session = d->session[i];
        OK(net_new(&s->net, &o));
    }
    marks_lattice(true);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_seat, &d->seat[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    marks_lattice(false);
    for (unsigned i = 0; i < 2; i++) {
        net_free(&d->seat[i].net);
        session_free(&d->session[i]);
    }
    links_free(&d->transport);
}

static void run_duet(struct duet *d)
{
    run_session(d);
    for (unsigned i = 0; i < 2; i++)
        if (d->seat[i].e != ERR_OK)
            fail_msg("server %u: %s: %s", i, error_text(d->seat[i].e), d->seat[i].words);
}

/* --- the plaintext twin ----------------------------------------------------------------------- */

static enum err replay(struct duet *d, unsigned kind, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++, d->next[kind]++)
        out[i] = (int64_t)(d->seat[0].noise[kind][d->next[kind]] +
                           d->seat[1].noise[kind][d->next[kind]]);
    return ERR_OK;
}

static enum err replay_gauss(void *self, size_t n, int64_t *out)
{
    return replay(self, NOISE_GAUSS, n, out);
}

static enum err replay_gumbel(void *self, size_t n, int64_t *out)
{
    return replay(self, NOISE_GUMBEL, n, out);
}

static struct plaintext *twin_new(struct duet *d)
{
    const struct plaintext_noise noise = {d, replay_gauss, replay_gumbel};
    struct plaintext *p = NULL;
    OK(plaintext_new(&p, d->s.study->workload, d->all, &noise, &quiet));
    return p;
}

static void same_forms(const struct copula_result *a, const struct copula_result *b)
{
    assert_true(a->sigma == b->sigma);
    assert_int_equal(a->forms, b->forms);
    for (size_t k = 0; k < a->forms; k++)
        assert_true(a->form[k].value == b->form[k].value);
    assert_int_equal(a->measurements, b->measurements);
    for (size_t k = 0; k < a->measurements; k++)
        assert_true(a->measurement[k].sigma == b->measurement[k].sigma);
}

TEST(a_copula_of_two_equals_the_plaintext_copula)
{
    struct duet *d CLEAN(duet_free) = duet_new(
        OPTIONS(.owners = OWNERS, .two = true, .copula = "method: copula\n", .epsilon = 3));
    struct copula_options options;
    struct copula_result *plain CLEAN(copula_result_free) = NULL;
    size_t cells = 0;
    run_duet(d);
    struct plaintext *p CLEAN(plaintext_free) = twin_new(d);
    struct aim_backend backend = plaintext_backend(p);
    OK(release_copula_options(d->s.study, d->bounds, &options, &quiet));
    OK(run_method(d, &backend, &plain, NULL, &quiet));
    for (size_t q = 0; q < d->s.study->workload->one_ways; q++)
        cells += d->s.study->workload->query[q].cells;
    for (unsigned i = 0; i < 2; i++) {
        same_forms(d->seat[i].copula, plain);
        assert_int_equal(d->next[NOISE_GAUSS], d->seat[i].used[NOISE_GAUSS]);
        /* each twice: see open_again() */
        assert_int_equal(d->seat[i].opened[OPEN_NOISY_MARGINAL], 2 * cells);
        assert_int_equal(d->seat[i].opened[OPEN_NOISY_FORM], 2 * plain->forms);
    }
    /* the deviation that is told is that of both */
    assert_true(fabs(plain->measurement[0].sigma * plain->measurement[0].sigma -
                     2 * pow(ledger_deviation(5, 0.5 * options.limits.rho), 2)) <
                1e-4 * plain->measurement[0].sigma);
}

static void same_counts(const struct aim_result *a, const struct aim_result *b,
                        const struct domain *domain)
{
    assert_int_equal(a->measurements, b->measurements);
    assert_true(merges_equal(a->merges, b->merges));
    for (size_t k = 0; k < a->measurements; k++) {
        const size_t cells = measurement_cells(&a->measurement[k], domain);
        assert_int_equal(a->query[k], b->query[k]);
        assert_true(a->measurement[k].sigma == b->measurement[k].sigma);
        assert_memory_equal(a->measurement[k].y, b->measurement[k].y, cells * sizeof(double));
    }
    assert_int_equal(a->sweeps, b->sweeps);
    for (size_t k = 0; k < a->sweeps; k++)
        assert_memory_equal(a->scores[k].value, b->scores[k].value,
                            a->scores[k].candidates * sizeof(double));
    assert_true(a->loss == b->loss);
}

/* Whole runs of AIM, what they open, and what they cost. */
static void equals(const struct study_options *o)
{
    struct duet *d CLEAN(duet_free) = duet_new(o);
    struct aim_result *plain CLEAN(aim_result_free) = NULL;
    size_t cells = 0, scores = 0, sent;
    run_duet(d);
    struct plaintext *p CLEAN(plaintext_free) = twin_new(d);
    struct aim_backend backend = plaintext_backend(p);
    OK(run_method(d, &backend, NULL, &plain, &quiet));
    for (size_t k = 0; k < plain->measurements; k++)
        cells += measurement_cells(&plain->measurement[k], d->s.study->domain);
    for (size_t k = 0; k < plain->sweeps; k++)
        scores += plain->scores[k].candidates;
    assert_true(plain->measurements > d->s.study->workload->one_ways);
    for (unsigned i = 0; i < 2; i++) {
        const struct duet_seat *s = &d->seat[i];
        same_counts(s->aim, plain, d->s.study->domain);
        for (unsigned k = 0; k < NOISE_LAWS; k++)
            assert_int_equal(d->next[k], s->used[k]);
        assert_int_equal(s->opened[OPEN_NOISY_MARGINAL], 2 * cells);
        assert_int_equal(s->opened[OPEN_NOISY_SCORE], 2 * scores);
        assert_int_equal(s->opened[OPEN_SELECTED_INDEX], 2 * s->used[NOISE_GUMBEL]);
    }
    sent = d->seat[0].sent + d->seat[1].sent;
    assert_in_range(sent, d->seat[0].most / 2, d->seat[0].most);
}

#define EQUALS(test, ...)                                                                          \
    TEST(test)                                                                                     \
    {                                                                                              \
        equals(OPTIONS(.two = true, __VA_ARGS__));                                                 \
    }

EQUALS(a_run_of_two_equals_the_plaintext_run, .owners = OWNERS, .rounds = 3, .epsilon = 2)

EQUALS(a_run_that_weighs_squares_equals_too, .owners = 1, .rounds = 3, .epsilon = 2,
       .more = "score: l2\n")

/* The noise of both, which is most of it made by a circuit, deviates by the square root of 1.04. */
EQUALS(a_run_with_joint_noise_equals_too, .owners = OWNERS, .rounds = 2,
       .more = "noise_by: joint\n")

/* Both of what a server can send and no server has: who sent it is named, and what. */
TEST(what_no_server_sends_is_named)
{
    struct duet *d CLEAN(duet_free) = duet_new(
        OPTIONS(.owners = OWNERS, .two = true, .rounds = 1, .epsilon = 2));
    false_labels = true;
    run_session(d);
    false_labels = false;
    assert_int_equal(d->seat[0].e, ERR_CHEAT);
    support_says(d->seat[0].words, "server 1 sent a label of the selected index that it cannot");
    no_points = true;
    run_session(d);
    no_points = false;
    assert_int_equal(d->seat[0].e, ERR_FORMAT);
    support_says(d->seat[0].words, "server 1 sent what is no point of the group");
}

TEST(requests_outside_the_study_are_refused)
{
    static const char *const more[] = {NULL, "score: l2\n", "noise_by: joint\n"};
    for (unsigned k = 0; k < 3; k++) {
        struct duet *d CLEAN(duet_free) = duet_new(
            OPTIONS(.owners = 1, .two = true, .rounds = 3, .epsilon = 2, .more = more[k],
                    .accounting = k == 0 ? ACCOUNTING_GAUSSIAN : ACCOUNTING_ZCDP));
        d->refuses = true;
        run_duet(d);
    }
}

/* It takes the owner's noise alone, and as much of it as a curator's run takes. */
TEST(a_run_with_the_owners_noise_equals_too)
{
    equals(
        OPTIONS(.owners = 1, .two = true, .rounds = 3, .epsilon = 2, .more = "noise_by: owner\n"));
    equals(
        OPTIONS(.owners = 1, .two = true, .sweeps = 1, .epsilon = 2, .more = "noise_by: owner\n"));
}

EQUALS(an_annealed_run_of_two_equals_too, .owners = OWNERS, .annealed = true, .epsilon = 1,
       .accounting = ACCOUNTING_GAUSSIAN)

/* Owners of encrypted rows, of which one brings just as many as it may, beside one of counts. */
static const char *const encrypted[OWNERS] = {"    max_rows: 300\n    as: records\n", NULL,
                                              "    max_rows: 900\n    as: records\n"};

EQUALS(a_run_of_encrypted_rows_equals_too, .owners = OWNERS, .rounds = 3, .epsilon = 2,
       .part = encrypted)

EQUALS(a_run_of_encrypted_rows_that_weighs_squares_equals_too, .owners = 1, .rounds = 2,
       .epsilon = 2, .part = encrypted, .more = "score: l2\n")

/* Also if some columns are in no pair. */
EQUALS(a_run_of_single_encrypted_columns_equals_too, .owners = OWNERS, .rounds = 1, .epsilon = 2,
       .part = encrypted,
       .workload = "[{attributes: [age]}, {attributes: [sex, ward]}, "
                   "{attributes: [bmi]}, {attributes: [died]}]")

static const char many_ages[] = "domain:\n"
                                "  - {name: age, kind: integer, min: 0, max: 119}\n"
                                "  - {name: sex, kind: categorical, values: [f, m]}\n"
                                "  - {name: bmi, kind: numeric, edges: [10, 18.5, 25, 30, 60]}\n"
                                "  - {name: died, kind: categorical, values: [no, yes]}\n";

EQUALS(a_run_of_two_that_merges_values_equals_too, .owners = OWNERS, .rounds = 3,
       .domain = many_ages)

/* Requests, prices, bounds and noise are in units of a person; what comes out is in persons. */
TEST(a_run_of_two_over_events_of_persons_equals_too)
{
    static const char visits[] =
        "domain:\n"
        "  - {name: age, kind: integer, min: 0, max: 8}\n"
        "  - {name: number, kind: integer, min: 0, max: 6}\n"
        "  - {name: ward, kind: categorical, values: [a, b, c]}\n"
        "  - {name: outcome, kind: categorical, values: [home, died]}\n"
        "events: {name: visits, by: who, number: number, columns: [ward, outcome],\n"
        "         ends: {outcome: [died]}}\n";
    equals(OPTIONS(.owners = OWNERS, .two = true, .rounds = 3, .epsilon = 10, .domain = visits,
                   .accounting = ACCOUNTING_GAUSSIAN, .noise = "discrete"));
    equals(OPTIONS(.owners = OWNERS, .two = true, .sweeps = 1, .epsilon = 10, .domain = visits,
                   .accounting = ACCOUNTING_GAUSSIAN, .noise = "discrete",
                   .more = "noise_by: joint\n"));
}

EQUALS(sweeps_of_two_equal_the_plaintext_sweeps, .owners = OWNERS, .sweeps = 2, .epsilon = 2)

EQUALS(sweeps_of_encrypted_rows_equal_too, .owners = OWNERS, .sweeps = 1, .domain = many_ages,
       .part = encrypted)

EQUALS(sweeps_of_two_that_merge_values_equal_too, .owners = OWNERS, .sweeps = 2,
       .domain = many_ages)

/* --- encrypted rows --------------------------------------------------------------------------- */

static struct duet *duet_of_rows(void)
{
    struct duet *d = duet_new(
        OPTIONS(.owners = OWNERS, .two = true, .copula = "method: copula\n", .part = encrypted));
    assert_true(d->s.study->workload->cells <= WORDS);
    d->counted = true;
    return d;
}

/* A session's counts are those of the rows; so many results of so many owners are sent for that. */
static void adds_up(struct duet *d, size_t results, size_t owners)
{
    const struct workload *w = d->s.study->workload;
    int64_t right[WORDS];
    run_duet(d);
    OK(tabulate_closure(d->all, w, right));
    for (size_t c = 0; c < w->cells; c++)
        assert_int_equal(d->seat[0].word[c] + d->seat[1].word[c], right[c]);
    assert_int_equal(d->seat[0].sent, 2 * 32 + results * 651264);
    assert_int_equal(d->seat[1].sent, 2 * 32 + owners);
}

static size_t results_of(const struct duet *d, unsigned o)
{
    return d->s.study->owner[o].encrypted.results;
}

/* What a server keeps of an owner's rows; puts something else in its place. */
static void kept(struct duet *d, unsigned i, unsigned o, struct bytes *out,
                 const struct bytes *instead)
{
    uint8_t digest[32];
    upload_digest(&d->part[o][i], d->s.study->terms.digest, digest);
    out->size = 0;
    OK(store_counted(d->store[i], digest, out));
    if (instead != NULL)
        OK(store_put_counted(d->store[i], digest, instead));
}

/*
 * They are counted once, and no mask is used for two counts. A server that lost its share, or was
 * put back to an older one, has it made again, with no word as before: shares of two sessions are
 * not added.
 */
TEST(encrypted_rows_are_counted_once)
{
    static const struct bytes nothing = {0};
    struct duet *d CLEAN(duet_free) = duet_of_rows();
    struct bytes first CLEAN(bytes_clear) = {0}, lost CLEAN(bytes_clear) = {0},
                       second CLEAN(bytes_clear) = {0};
    assert_true(results_of(d, 0) > 1);
    adds_up(d, results_of(d, 0) + results_of(d, 2), 2);
    adds_up(d, 0, 0);
    kept(d, 0, 0, &first, NULL);
    assert_int_equal(first.size, 32 + 8 * d->s.study->workload->maximal_cells);
    for (size_t at = 32; at < first.size; at += 8)
        for (size_t to = 32; to < at; to += 8)
            assert_memory_not_equal(first.data + at, first.data + to, 8);
    kept(d, 1, 0, &lost, &nothing);
    adds_up(d, results_of(d, 0), 1);
    kept(d, 0, 0, &second, &first);
    for (size_t at = 32; at < first.size; at += 8)
        assert_memory_not_equal(first.data + at, second.data + at, 8);
    adds_up(d, results_of(d, 0), 1);
}

/* An upload comes to the provider in parts. */
static enum err receive(struct duet *d, struct upload *u)
{
    struct upload head = *u;
    bool complete = false;
    uint64_t held = 0;
    head.split = &two_split;
    head.whole = false;
    head.vector = (struct bytes){0};
    TRY(store_put(d->store[0], &head, true, &complete));
    while (!complete) {
        const size_t left = u->vector.size - (size_t)held;
        TRY(store_put_part(d->store[0], u->owner, u->id, held, u->vector.data + held,
                           left < MESSAGE_PART_MAX ? left : MESSAGE_PART_MAX, &held, &complete));
    }
    return ERR_OK;
}

/*
 * As often is paid for as the provider sends results of an owner, whichever uploads they are of:
 * the budget has it, and no request.
 */
TEST(encrypted_rows_are_not_sent_for_ever)
{
    static const struct bytes nothing = {0};
    struct duet *d CLEAN(duet_free) = duet_of_rows();
    struct bytes lost CLEAN(bytes_clear) = {0};
    struct study study = *d->s.study;
    struct study_owner owner[OWNERS];
    struct ledger_limits limits, plain;
    double most = 0;
    for (unsigned k = 0; k < PRICE_COUNTINGS; k++) {
        adds_up(d, results_of(d, 0) + (k == 0 ? results_of(d, 2) : 0), k == 0 ? 2 : 1);
        kept(d, 1, 0, &lost, &nothing);
    }
    run_session(d);
    assert_int_equal(d->seat[0].e, ERR_REFUSED);
    support_says(d->seat[0].words, "the rows of o0 were sent to the keeper 8 times");
    OK(receive(d, &d->part[0][0]));
    OK(store_withdraw(d->store[0], 0));
    run_session(d); /* with the same rows, sent again */
    assert_int_equal(d->seat[0].e, ERR_REFUSED);
    for (unsigned i = 0; i < 2; i++)
        upload_clear(&d->part[0][i]);
    share(d, &two_split, 0, 299);
    run_session(d); /* with all but one of them */
    assert_int_equal(d->seat[0].e, ERR_REFUSED);
    study.delta = 1e-10;
    for (unsigned o = 0; o < OWNERS; o++) {
        owner[o] = study.owner[o];
        most = fmax(most,
                    (double)owner[o].encrypted.results * sqrt((double)owner[o].encrypted.blocks));
        owner[o].encrypted = (struct study_encrypted){0};
    }
    assert_true(fabs(price_rows_slack(&study) / (8 * (1 + M_E) * most * 0x1p-59) - 1) < 1e-6);
    OK(price_limits(&study, &limits, &quiet));
    study.owner = owner;
    OK(price_limits(&study, &plain, &quiet));
    assert_true(limits.delta_slack == plain.delta_slack && limits.rho < plain.rho);
    study.epsilon = 15; /* needs more of delta than there is */
    study.delta = 1e-9;
    OK(price_limits(&study, &plain, &quiet));
    study.owner = d->s.study->owner;
    assert_int_equal(price_limits(&study, &limits, &quiet), ERR_STUDY);
}

/* The last word is none. */
static enum err spoil(const struct study *study, size_t owner, unsigned form,
                      const uint8_t seed[][SPLIT_SEED], struct bytes *vector)
{
    TRY(two_split.mask(study, owner, form, seed, vector));
    memset(vector->data + vector->size - 7, 255, 7);
    return ERR_OK;
}

/*
 * Whoever commits to a word that is none is not believed: it is not stored, and not counted where
 * it is stored all the same.
 */
TEST(rows_that_nobody_encrypts_are_refused)
{
    struct duet *d CLEAN(duet_free) = duet_of_rows();
    struct split liar = two_split;
    struct upload good[2];
    uint64_t whole = 0, part = 0;
    memcpy(good, d->part[0], sizeof good);
    liar.mask = spoil;
    share(d, &liar, 0, 300);
    assert_int_equal(receive(d, &d->part[0][0]), ERR_DATA);
    OK(store_count(d->store[0], &whole, &part));
    assert_int_equal(whole, 0);
    run_session(d);
    GIVES(d->seat[0].e, ERR_DATA, d->seat[0].words, "o0 sent encrypted rows that are malformed");
    for (unsigned i = 0; i < 2; i++)
        upload_clear(&d->part[0][i]);
    memcpy(d->part[0], good, sizeof good);
}

/* The sum without owner 0, which both leave out; so many of its results are sent. */
static void adds_up_without(struct duet *d, size_t results, size_t owners)
{
    const struct workload *w = d->s.study->workload;
    int64_t right[WORDS];
    struct table *rest CLEAN(table_free) = MADE(table, table_new, d->s.study->domain, 0);
    for (unsigned o = 1; o < OWNERS; o++) {
        struct table *t CLEAN(table_free) = NULL;
        OK(support_table(&t, d->s.study->domain, 300 + 200 * o, o));
        OK(central_append(rest, t));
    }
    OK(tabulate_closure(rest, w, right));
    run_duet(d);
    for (size_t c = 0; c < w->cells; c++)
        assert_int_equal(d->seat[0].word[c] + d->seat[1].word[c], right[c]);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned o = 0; o < OWNERS; o++)
            assert_int_equal(d->seat[i].left_out[o], o == 0);
    /* it is asked about twice: count_all() */
    assert_int_equal(d->seat[0].sent, 3 * 32 + results * 651264);
    assert_int_equal(d->seat[1].sent, 3 * 32 + owners);
}

/*
 * An owner that gives the keeper another key is left out at both, and the others are counted. That
 * is kept: another session sends nothing again, unless one of the two lost it.
 */
TEST(rows_that_their_key_does_not_open_are_left_out)
{
    static const struct bytes nothing = {0};
    struct duet *d CLEAN(duet_free) = duet_of_rows();
    struct bytes lost CLEAN(bytes_clear) = {0};
    d->part[0][1].seed[0][5] ^= 1;
    adds_up_without(d, results_of(d, 0) + results_of(d, 2), 2);
    adds_up_without(d, 0, 0);
    kept(d, 1, 0, &lost, &nothing);
    assert_int_equal(lost.size, 32);
    adds_up_without(d, results_of(d, 0), 1);
}

/* What somebody alters in a store is named, and made again. */
TEST(an_altered_share_is_counted_again_and_named)
{
    struct duet *d CLEAN(duet_free) = duet_of_rows();
    adds_up(d, results_of(d, 0) + results_of(d, 2), 2);
    for (unsigned i = 0; i < 2; i++) {
        struct bytes share CLEAN(bytes_clear) = {0}, before CLEAN(bytes_clear) = {0};
        kept(d, i, 0, &share, NULL);
        share.size -= 8; /* of another study, say */
        kept(d, i, 0, &before, &share);
        adds_up(d, results_of(d, 0), 1);
        support_says(d->seat[i].words, "what was counted of the rows of o0 does not unseal");
        assert_null(strstr(d->seat[!i].words, "unseal"));
    }
}

/* Neither a key nor what is shown of one table is used for another; the same is the same again. */
TEST(other_rows_have_other_seeds)
{
    struct duet *d CLEAN(duet_free) = duet_of_rows();
    const struct upload *a = d->part[0];
    struct upload first[2];
    memcpy(first, a, sizeof first);
    for (size_t rows = 299; rows <= 300; rows++) {
        size_t same = 0;
        share(d, &two_split, 0, rows);
        for (size_t i = 0; i < a->vector.size; i++)
            same += a->vector.data[i] == first->vector.data[i];
        if (rows == 300)
            assert_int_equal(same, a->vector.size);
        else
            assert_true(same < a->vector.size / 128); /* one in 256 */
        assert_int_equal(memcmp(first[1].seed[0], a[1].seed[0], SPLIT_SEED) == 0, rows == 300);
        assert_int_equal(memcmp(first->vector.data, a->vector.data, LATTICE_SEED) == 0,
                         rows == 300);
        for (unsigned i = 0; i < 2; i++)
            upload_clear(&d->part[0][i]);
    }
    memcpy(d->part[0], first, sizeof first);
}

/* --- uploads ---------------------------------------------------------------------------------- */

/* Neither part tells anything alone: the same counts under another secret look quite different. */
TEST(what_a_provider_gets_is_counts_less_a_stream)
{
    struct duet *d CLEAN(duet_free) = duet_new(
        OPTIONS(.owners = OWNERS, .two = true, .copula = "method: copula\n"));
    uint64_t *sum CLEAN(memory_release), total[2] = {0};
    size_t cells = d->s.study->workload->maximal_cells;
    sum = memory_array(2 * cells, sizeof *sum);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(d->part[1][i].vector.size, i == 0 ? 8 * cells : 0);
        OK(two_split_add(&d->part[1][i], i, sum, cells));
        OK(upload_check(&d->part[1][i], i, d->s.study->terms.digest));
        if (i == 0)
            memcpy(sum + cells, sum, cells * sizeof *sum);
    }
    for (size_t c = 0; c < cells; c++) {
        total[0] += sum[c];
        total[1] += sum[cells + c] >> 63; /* of a share half of all top bits are set */
    }
    assert_int_equal(total[0], 500 * 10); /* rows, in each of ten pairs */
    assert_true(total[1] > cells / 4 && total[1] < cells * 3 / 4);
    /* each knows its own salt alone, and what is altered does not fit */
    assert_memory_not_equal(d->part[1][0].salt[0], d->part[1][1].salt[0], UPLOAD_SALT_SIZE);
    d->part[1][0].vector.data[9] ^= 1;
    d->part[1][1].seed[0][3] ^= 1;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upload_check(&d->part[1][i], i, d->s.study->terms.digest), ERR_DATA);
}

/* --- noise ------------------------------------------------------------------------------------ */

TEST(a_word_of_noise_is_taken_once)
{
    static const uint8_t id[32] = {7};
    static const uint64_t run[OWN_REELS] = {5, 2};
    const size_t least = OWN_TAPE_LEAST, some[NOISE_LAWS] = {least, least},
                 more[NOISE_LAWS] = {least + 1, 0};
    struct own_tape t CLEAN(own_tape_free);
    struct own_stake *first CLEAN(own_stake_free) = NULL, *second CLEAN(own_stake_free) = NULL;
    OK(own_tape_start(&t, id, run));
    assert_true(own_tape_has(&t, some) && !own_tape_has(&t, more));
    assert_int_equal(own_tape_cut(&t, more, &first), ERR_MISUSE);
    OK(own_tape_cut(&t, some, &first));
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (size_t i = 0; i < some[k]; i++)
            assert_int_equal(t.reel[k].word[i], 0); /* wiped */
    /* what was not used comes back, under a new place; what was used does not */
    uint64_t unused = first->word[NOISE_GAUSS][least - 1];
    first->used[NOISE_GAUSS] = least - 1;
    first->used[NOISE_GUMBEL] = least;
    first->place.of[0] ^= 1; /* nor what is of another session's tape */
    own_tape_return(&t, first);
    assert_int_equal(first->used[NOISE_GAUSS], least - 1);
    first->place.of[0] ^= 1;
    own_tape_return(&t, first);
    own_tape_return(&t, first); /* which gives nothing back twice */
    assert_int_equal(first->word[NOISE_GAUSS][least - 1], 0);
    OK(own_tape_make(&t, more));
    OK(own_tape_cut(&t, more, &second));
    assert_int_equal(second->place.from[NOISE_GAUSS], least);
    assert_int_equal(second->place.from[NOISE_GUMBEL], least);
    assert_true(second->word[NOISE_GAUSS][0] == unused);
    /* an older stake gives nothing back */
    own_tape_return(&t, first);
    assert_int_equal(own_tape_next(&t, some).from[NOISE_GAUSS], 2 * least + 1);
}

/* Whoever has all rows makes exact noise as well, which prices of exact noise cover. */
TEST(a_central_run_makes_noise_as_one_server_does)
{
    enum { DRAWS = 200 };
    struct random r = random_of(3), again = random_of(3);
    const struct plaintext_noise noise = central_noise(&r);
    int64_t drawn[DRAWS];
    uint64_t own[DRAWS];
    OK(noise.gauss(noise.self, DRAWS, drawn));
    own_gauss(&again, &own_sigma_whole, own, DRAWS);
    assert_memory_equal(drawn, own, sizeof own);
    OK(noise.gumbel(noise.self, DRAWS, drawn));
    own_gumbel(&again, own, DRAWS);
    assert_memory_equal(drawn, own, sizeof own);
}

/* Shares of one draw, and what both make of it. */
struct duet_draw {
    uint64_t word[2][WORDS];
    double sum[WORDS];
};

static void draw_owners(struct duet_draw *x, enum noise_law kind)
{
    struct bytes part[2] = {{0}};
    OK(owner_noise_draw(kind, WORDS, part));
    for (unsigned i = 0; i < 2; i++) {
        struct upload u = {.vector = part[PAIR_PROVIDER]};
        memset(x->word[i], 0, sizeof x->word[i]);
        memcpy(u.seed[0], part[PAIR_KEEPER].data, SPLIT_SEED);
        OK(two_split_add(&u, i, x->word[i], WORDS));
    }
    for (size_t c = 0; c < WORDS; c++)
        x->sum[c] = (double)(int64_t)(x->word[0][c] + x->word[1][c]) *
                    (kind == NOISE_GAUSS ? 0x1p-20 : 0x1p-24);
    bytes_clear(&part[0]);
    bytes_clear(&part[1]);
}

/* The law is right, each share alone is uniform, and no draw repeats anything of another. */
TEST(an_owners_noise_is_known_to_no_server)
{
    static const struct statistics_distribution *const law[] = {&statistics_gaussian,
                                                                &statistics_gumbel};
    struct duet_draw *x CLEAN(memory_release) = memory_array(2, sizeof *x);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        struct statistics_verdict v = {.p = 1};
        draw_owners(&x[0], k);
        draw_owners(&x[1], k);
        statistics_shape(&v, law[k], x[0].sum, WORDS);
        statistics_pairs(&v, law[k], x[0].sum, WORDS);
        assert_true(v.p >= 1e-9); /* coins are fresh */
        for (unsigned i = 0; i < 2; i++) {
            size_t high = 0, low = 0, again = 0;
            for (size_t c = 0; c < WORDS; c++) {
                high += x[0].word[i][c] >> 63;
                low += x[0].word[i][c] & 1;
                again += x[0].word[i][c] == x[1].word[i][c];
            }
            assert_in_range(high, WORDS / 2 - 7 * 32, WORDS / 2 + 7 * 32);
            assert_in_range(low, WORDS / 2 - 7 * 32, WORDS / 2 + 7 * 32);
            assert_int_equal(again, 0);
        }
    }
}

/* Nothing is taken unless all is there; what is taken is on no disk. */
TEST(an_owners_noise_is_taken_once_and_ends)
{
    struct duet *d CLEAN(duet_free) = duet_new(
        OPTIONS(.owners = 1, .two = true, .rounds = 2, .more = "noise_by: owner\n"));
    struct own_tape t CLEAN(own_tape_free) = {.id = {0}};
    struct ahead a = {0}, again;
    size_t some[NOISE_LAWS] = {1, 1}, more[NOISE_LAWS] = {1};
    struct price_ahead plan = price_ahead(d->s.study);
    OK(store_ahead(d->store[0], &a.blocks));
    again = a;
    more[NOISE_GUMBEL] = plan.blocks[NOISE_GUMBEL] * plan.samples[NOISE_GUMBEL] + 1;
    assert_int_equal(owner_noise_take(&a, d->store[0], d->s.study, 0, &t, more, &quiet),
                     ERR_REFUSED);
    assert_false(own_tape_has(&t, (const size_t[]){1, 0}));
    OK(owner_noise_take(&a, d->store[0], d->s.study, 0, &t, some, &quiet));
    assert_true(own_tape_has(&t, plan.samples));
    /* who names a block that is gone gets none */
    own_tape_free(&t);
    t = (struct own_tape){.id = {0}};
    assert_int_equal(owner_noise_take(&again, d->store[0], d->s.study, 0, &t, some, &quiet),
                     ERR_AGAIN);
}

/* Joint noise is a multiple of h, which is 2^17, and both own parts: none of them is missing. */
static void has_all_parts(const struct duet *d)
{
    const struct duet_seat *a = &d->seat[0], *b = &d->seat[1];
    size_t zeros = 0;
    for (size_t k = 0; k < a->values; k++) {
        const uint64_t sum = a->noise[NOISE_GAUSS][k] + b->noise[NOISE_GAUSS][k] - a->part[k] -
                             b->part[k];
        assert_int_equal(sum % (1 << 17), 0);
        zeros += sum == 0;
    }
    assert_true(zeros < a->values / 10); /* of one in 20 */
}

/* What an opening tells a server, less m x and what it knows itself, has the whole deviation. */
static void audit(const char *noise_by)
{
    struct duet *d CLEAN(duet_free) = duet_new(
        OPTIONS(.owners = 1, .two = true, .annealed = true, .more = noise_by));
    int64_t *x CLEAN(memory_release) = NULL;
    double *rest CLEAN(memory_release) = memory_array(WORDS, sizeof *rest);
    d->audited = true;
    run_duet(d);
    if (d->s.study->noise_by == NOISE_BY_JOINT)
        has_all_parts(d);
    size_t cells = d->s.study->workload->cells;
    x = memory_array(cells, sizeof *x);
    OK(tabulate_closure(d->all, d->s.study->workload, x));
    for (unsigned i = 0; i < 2; i++) {
        const struct duet_seat *s = &d->seat[i];
        const uint64_t *own = d->s.study->noise_by == NOISE_BY_BOTH    ? s->noise[NOISE_GAUSS]
                              : d->s.study->noise_by == NOISE_BY_JOINT ? s->part
                                                                       : NULL;
        struct statistics_verdict v = {.p = 1};
        assert_in_range(s->values, 1000, WORDS);
        for (size_t k = 0; k < s->values; k++)
            rest[k] = (double)(int64_t)((uint64_t)s->seen[k] - MULTIPLIER * (uint64_t)x[k % cells] -
                                        (own != NULL ? own[k] : 0)) *
                      0x1p-20;
        statistics_shape(&v, &statistics_gaussian, rest, s->values);
        statistics_pairs(&v, &statistics_gaussian, rest, s->values);
        if (v.p < 1e-9)
            fail_msg("%s: what server %u sees has other noise, p %g", noise_by, i, v.p);
    }
}

TEST(what_a_server_sees_has_all_the_noise_that_is_paid_for)
{
    audit("noise_by: both\n");
    audit("noise_by: joint\n");
    audit("noise_by: owner\n");
}

/*
 * However few a round takes, and whatever is left: no draw is for the words of one round. Nor is a
 * word of one tape drawn for another.
 */
TEST(own_parts_of_joint_noise_are_drawn_ahead)
{
    static const uint8_t id[32] = {7};
    static const uint64_t run[OWN_REELS] = {[OWN_PARTS] = 30};
    struct own_tape t CLEAN(own_tape_free), other CLEAN(own_tape_free) = {.id = {0}};
    const struct own_reel *r = &t.reel[OWN_PARTS];
    uint64_t part[2][4] = {{0}}, drawn;
    OK(own_tape_start(&t, id, run));
    OK(own_tape_start(&other, id, run));
    assert_memory_not_equal(r->word, other.reel[OWN_PARTS].word, 4 * sizeof *r->word);
    for (size_t i = 0; i < 3 * OWN_TAPE_LEAST / 4; i++) {
        drawn = r->before + r->words;
        OK(own_tape_parts(&t, part[i % 2], 4));
        assert_memory_not_equal(part[0], part[1], sizeof part[0]);
        assert_true(r->before + r->words == drawn ||
                    r->before + r->words >= drawn + OWN_TAPE_LEAST);
    }
    assert_int_equal(r->before + r->next, 3 * OWN_TAPE_LEAST);
    assert_int_equal(t.reel[NOISE_GAUSS].words, 0);
}
