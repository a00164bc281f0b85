/*
 * parties/settings/three/engine_merge.c: requests that merge codes open what the plaintext backend
 * opens for merged cells with the same noise, whatever the data, the score and the security, and
 * however merges change from one request to the next. How large merged cells can be, by a plain
 * loop.
 */
#include "tests/support/whole.h"

#include "aim/budget/score.h"

#define VALUES_MAX 20000

/*
 * Merges this many codes into one: 1 merges nothing. Codes of numbers are neighbours, those of
 * labels as far apart as they can be. Missing values stay alone.
 */
static struct merges merge_by(const struct domain *d, uint32_t codes)
{
    struct merges m = {0};
    OK(merges_none(&m, d));
    for (size_t i = 0; i < d->attributes; i++) {
        const struct domain_attribute *a = &d->attribute[i];
        const uint32_t groups = (a->values + codes - 1) / codes;
        if (groups == a->values)
            continue;
        OK(memory_new(&m.group[i], a->size));
        for (uint32_t code = 0; code < a->size; code++)
            m.group[i][code] = code >= a->values      ? groups
                               : !domain_has_order(a) ? code % groups
                                                      : code / codes;
        m.groups[i] = groups + (a->size - a->values);
        OK(merges_sort(&m, i));
    }
    return m;
}

/* --- a run that merges as it likes ------------------------------------------------------------ */

struct engine_merge_opened {
    int64_t value[VALUES_MAX];
    size_t values, selected[8], selections;
};

/* Everything is a candidate, with estimates that no model made. */
/* Asks, and notes what is opened. */
static enum err ask_and_note(const struct aim_backend *b, const struct ask *a,
                             struct engine_merge_opened *out)
{
    struct ask_told told CLEAN(told_clear) = {0};
    TRY(b->ask(b->self, a, &told));
    memcpy(out->value + out->values, told.value, told.values * sizeof *told.value);
    out->values += told.values;
    if (a->kind == ASK_SELECT)
        out->selected[out->selections++] = told.selected;
    return ERR_OK;
}

static enum err price_and_ask(const struct aim_backend *b, const struct whole *w, struct ask *a,
                              struct engine_merge_opened *out)
{
    struct ask_terms terms = {
        .domain = w->s.study->domain, .workload = w->s.study->workload, .score = w->s.study->score};
    struct ask_price price CLEAN(ask_price_clear) = {0};
    TRY(score_merged(&terms.bounds, &w->bounds->counts, terms.workload, a->merges));
    if (a->round == 0) /* the most that is permitted: more than a cell of codes can count */
        a->estimate[0] = UINT64_C(1) << (terms.bounds.bits + AIM_ESTIMATE_BITS);
    ask_price_new(&price);
    enum err e = ask_price(&price, a, &terms, NULL);
    a->price = &price;
    if (e == ERR_OK)
        e = ask_and_note(b, a, out);
    return e;
}

static enum err select_all(const struct aim_backend *b, const struct whole *w, unsigned round,
                           struct merges *m, struct engine_merge_opened *out)
{
    const struct workload *load = w->s.study->workload;
    uint32_t *query CLEAN(memory_release) = memory_array(load->queries, sizeof *query);
    uint64_t *estimate CLEAN(memory_release) = memory_array(load->cells, sizeof *estimate);
    struct ask a = {.kind = ASK_SELECT,
                    .round = round,
                    .merges = merges_any(m) ? m : NULL,
                    .queries = (uint32_t)load->queries,
                    .query = query,
                    .multiplier = 1 << 15,
                    .epsilon = 0.5,
                    .sigma = 20,
                    .estimate = estimate};
    for (uint32_t q = 0; q < load->queries; q++) {
        const uint64_t cells = merges_query_cells(m, &load->query[q]);
        query[q] = q;
        for (uint64_t i = 0; i < cells; i++)
            estimate[a.estimates++] = (37 * (i + round) % 23) << AIM_ESTIMATE_BITS;
    }
    return price_and_ask(b, w, &a, out);
}

static enum err measure_all(const struct aim_backend *b, size_t queries, struct merges *m,
                            struct engine_merge_opened *out)
{
    uint32_t *query CLEAN(memory_release) = memory_array(queries, sizeof *query);
    const struct ask one = {.kind = ASK_MEASURE,
                            .queries = (uint32_t)queries,
                            .query = query,
                            .multiplier = 1 << 15,
                            .merges = m != NULL && merges_any(m) ? m : NULL};
    for (uint32_t q = 0; q < queries; q++)
        query[q] = q;
    return ask_and_note(b, &one, out);
}

/* One-ways, then merges that stay, change, disappear, and come back. */
static const uint32_t by[] = {3, 3, 7, 1, 3};

static enum err play(const struct aim_backend *b, const struct whole *w,
                     struct engine_merge_opened *out)
{
    const struct workload *load = w->s.study->workload;
    TRY(measure_all(b, load->one_ways, NULL, out));
    for (unsigned k = 0; k < sizeof by / sizeof *by; k++) {
        struct merges m CLEAN(merges_clear) = merge_by(w->s.study->domain, by[k]);
        TRY(select_all(b, w, k, &m, out));
        if (k == 2)
            TRY(measure_all(b, load->queries, &m, out));
    }
    return ERR_OK;
}

struct acted {
    struct whole *w;
    struct engine_merge_opened opened[3];
};

/* Scores keep the cells that were last selected from, and no others. */
static enum err ask_and_look(void *self, const struct ask *a, struct ask_told *told)
{
    const struct whole_seat *seat = self;
    const struct three *g = seat->engine;
    const bool squared = seat->w->s.study->score == AIM_L2;
    TRY(seat_ask(self, a, told));
    const struct counts *other = a->merges != NULL ? g->counts : g->merged.counts;
    return a->kind == ASK_SELECT && other != NULL && counts_finished(other, squared) ? ERR_MISUSE
                                                                                     : ERR_OK;
}

static enum err act(struct party *p, void *shared)
{
    struct acted *a = shared;
    struct whole_seat seat = {.w = a->w, .index = p->index};
    const struct aim_backend backend = {.self = &seat, .ask = ask_and_look};
    enum err e = marks_begin(p);
    if (e == ERR_OK)
        e = load_engine(a->w, p, &seat.engine);
    if (e == ERR_OK)
        e = play(&backend, a->w, &a->opened[p->index]);
    three_free(&seat.engine);
    return e;
}

/* A backend for each population, as owners join. */
struct stages {
    struct plaintext *plain[OWNERS];
    bool grows;
    unsigned requests;
};

static struct aim_backend next(struct stages *s)
{
    const unsigned owners = ++s->requests < OWNERS && s->grows ? s->requests : OWNERS;
    return plaintext_backend(s->plain[owners - 1]);
}

static enum err ask_plain(void *self, const struct ask *a, struct ask_told *told)
{
    const struct aim_backend b = next(self);
    return b.ask(b.self, a, told);
}

static void equals(const struct study_options *o, enum whole_coming coming)
{
    struct acted *a CLEAN(memory_release) = memory_array(1, sizeof *a);
    struct engine_merge_opened *plain CLEAN(memory_release) = memory_array(1, sizeof *plain);
    struct whole *w CLEAN(whole_end) = whole_new(o);
    struct whole_replay replay = {.w = w};
    const struct plaintext_noise noise = {&replay, replay_gauss, replay_gumbel};
    struct stages stages = {.grows = coming == BETWEEN_ROUNDS};
    const struct aim_backend twin = {.self = &stages, .ask = ask_plain};
    w->coming = coming;
    w->twice = coming == AT_ONCE;
    a->w = w;
    OK(three_run_wrapped(77, act, a, NULL, marks_wrap));
    for (unsigned i = 0; i < OWNERS; i++)
        OK(plaintext_new(&stages.plain[i], w->s.study->workload, w->stage[i], &noise, &quiet));
    OK(play(&twin, w, plain));
    assert_in_range(plain->values, 1, VALUES_MAX);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(a->opened[i].values, plain->values);
        assert_memory_equal(a->opened[i].value, plain->value, plain->values * sizeof *plain->value);
        assert_memory_equal(a->opened[i].selected, plain->selected, sizeof plain->selected);
    }
    assert_int_equal(replay.next[NOISE_GAUSS], w->used[NOISE_GAUSS][0]);
    for (unsigned i = 0; i < OWNERS; i++)
        plaintext_free(&stages.plain[i]);
}

/* Counts, with more bits for merged cells; then records; squares; with a check; as owners join. */
TEST(merged_cells_open_what_they_do_in_the_clear)
{
    const struct study_options counts = {.owners = OWNERS},
                               squares = {.owners = OWNERS, .more = "score: l2\nsecurity: abort\n"},
                               records = {.owners = OWNERS,
                                          .domain = wide_domain,
                                          .workload = wide_workload},
                               missing = {.owners = OWNERS,
                                          .domain = SUPPORT_LINKED_DOMAIN,
                                          .more = "security: abort\n"};
    equals(&counts, AT_ONCE);
    equals(&squares, AT_ONCE);
    equals(&records, AT_ONCE);
    equals(&records, BETWEEN_ROUNDS);
    equals(&missing, AT_ONCE);
}

/* --- what is refused -------------------------------------------------------------------------- */

struct refused {
    struct whole *w;
    char said[3][600];
    enum err within[3], beyond[3];
    bool kept[3]; /* made for the last request that was permitted */
};

/* Selections and measurements, with groups of this many codes: nothing is opened. */
static enum err refuse(struct party *p, void *shared)
{
    struct refused *f = shared;
    struct log log = {.buffer = f->said[p->index], .buffer_size = 600, .level = LOG_ERROR};
    struct three *g CLEAN(three_free) = NULL;
    uint32_t query = 0;
    uint64_t estimate[64] = {0};
    struct ask r = support_selection(1, &query, estimate);
    TRY(load_engine(f->w, p, &g));
    g->log = &log;
    for (unsigned k = 0; k < 2; k++) {
        struct merges m CLEAN(merges_clear) = merge_by(f->w->s.study->domain, k == 0 ? 2 : 64);
        struct engine_step step;
        enum err *e = k == 0 ? &f->within[p->index] : &f->beyond[p->index];
        r.merges = &m;
        *e = three_prepare(g, &r, &step);
        if (*e == ERR_OK)
            three_step_clear(&step);
        f->kept[p->index] = g->merged.counts != NULL && merges_largest(&g->merged.merges, 0) == 2;
        r.kind = ASK_MEASURE;
    }
    return ERR_OK;
}

/* Merges whose scores might not fit are the analyst's fault, and cost nobody's budget. */
TEST(merges_beyond_the_room_of_scores_are_refused)
{
    static const char large[] = "domain:\n"
                                "  - {name: x, kind: integer, min: 1, max: 32}\n"
                                "  - {name: y, kind: integer, min: 1, max: 64}\n";
    static const char most[] = "    max_rows: 400000000\n    as: counts\n";
    static const char *const part[] = {most, most, most};
    struct refused *f CLEAN(memory_release) = memory_array(1, sizeof *f);
    struct whole *w CLEAN(whole_end) = whole_new(
        OPTIONS(.owners = OWNERS, .domain = large, .part = part));
    struct three_costs costs;
    f->w = w;
    assert_in_range(w->bounds->counts.room, w->bounds->counts.bits + 1, SCORE_BITS_MAX - 1);
    OK(three_run(5, refuse, f, &costs));
    for (unsigned i = 0; i < 3; i++) {
        OK(f->within[i]);
        assert_int_equal(f->beyond[i], ERR_REFUSED);
        assert_true(f->kept[i]);
        support_says(f->said[i], "the request merges too many values");
    }
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        assert_int_equal(costs.opened_calls[r], 0);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* Bits of the largest merged cell, if every cell that owners bound is full. */
static unsigned naive_bits(const struct whole *w, const struct merges *m)
{
    const struct workload *load = w->s.study->workload;
    const struct score_bounds *b = &w->bounds->counts;
    uint32_t *child CLEAN(memory_release) = memory_array(load->cells, sizeof *child);
    uint32_t *merged CLEAN(memory_release) = memory_array(load->cells, sizeof *merged);
    uint64_t most = 0;
    unsigned bits = 0;
    for (size_t q = 0; q < load->queries; q++) {
        const struct workload_query *query = &load->query[q], *parent = &load->query[query->parent];
        uint64_t *full CLEAN(memory_release) = memory_array(query->cells, sizeof *full);
        clique_project(&parent->clique, &query->clique, w->s.study->domain, child);
        merges_index(m, &query->clique, merged);
        for (uint64_t i = 0; i < parent->cells; i++) {
            uint64_t *cell = &full[merged[child[i]]];
            *cell += b->counts;
            most = *cell + b->rows > most ? *cell + b->rows : most;
        }
    }
    while (most >> bits != 0)
        bits++;
    return bits;
}

TEST(merged_cells_have_the_bits_that_owners_can_fill)
{
    static const char *const records[] = {"    max_rows: 900\n    as: records\n", NULL, NULL};
    const struct study_options o[] = {
        {.owners = OWNERS},
        {.owners = OWNERS, .part = records},
        {.owners = OWNERS, .domain = wide_domain, .workload = wide_workload}};
    for (unsigned k = 0; k < 3; k++) {
        struct whole *w CLEAN(whole_end) = whole_new(&o[k]);
        for (uint32_t codes = 1; codes < 20; codes += 3) {
            struct score_bounds merged;
            struct merges m CLEAN(merges_clear) = merge_by(w->s.study->domain, codes);
            OK(score_merged(&merged, &w->bounds->counts, w->s.study->workload, &m));
            assert_int_equal(merged.bits, naive_bits(w, &m));
            assert_true(merged.total == w->bounds->counts.total);
        }
    }
}
