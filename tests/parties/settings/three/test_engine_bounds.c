/*
 * The bounds of engines and uploads: owners that send what they should not, requests outside the
 * study, a round again.
 */
#include "tests/support/whole.h"

#include "aim/workload/tabulate.h"
#include "parties/settings/three/split.h"
#include "parties/study/study_uploads.h"

/* --- owners that send what they should not ---------------------------------------------------- */

struct hostile {
    struct whole *w;
    struct three_result sums;
};

static enum err tally_up(struct party *p, void *shared)
{
    struct hostile *h = shared;
    struct three *g CLEAN(three_free) = NULL;
    TRY(load_engine(h->w, p, &g));
    three_put64(&h->sums, p, g->tally.sums);
    return ERR_OK;
}

/* Owner o's upload, well formed, but with these bytes: all ones, or noise. */
static void replace_upload(struct whole *w, unsigned o, bool noise)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct identity *me CLEAN(identity_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    uint64_t seed = o;
    size_t n = (size_t)study_upload_bytes(w->s.study, o);
    uint8_t *at = bytes_extend(&packed, n);
    for (size_t i = 0; i < n; i++)
        at[i] = noise ? (uint8_t)three_random(&seed) : 0xff;
    OK(identity_load(&me, support_path(&w->s, "o%u.key", o), &log));
    for (unsigned i = 0; i < 3; i++)
        upload_clear(&w->parts[o][i]);
    OK(upload_make(w->parts[o], &three_split, me, o, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   w->s.study, study_upload_form(w->s.study, o), &packed));
    for (unsigned i = 0; i < 3; i++)
        OK(upload_check(&w->parts[o][i], i, w->s.study->terms.digest));
}

/* The counts of the owners of other batches in a marginal. */
static void others_have(const struct whole *w, unsigned hostile, const struct clique *clique,
                        int64_t *counts)
{
    const struct study_owner *owner = w->s.study->owner;
    size_t cells = clique_cells(clique, w->s.study->domain);
    int64_t *one CLEAN(memory_release) = memory_array(cells, sizeof *one);
    memset(counts, 0, cells * sizeof *counts);
    for (unsigned o = 0; o < OWNERS; o++) {
        if (owner[o].batch == owner[hostile].batch)
            continue;
        struct table *t CLEAN(table_free) = MADE_LAST(table, rows_of, w, o);
        tabulate_marginal(t, clique, one);
        for (size_t i = 0; i < cells; i++)
            counts[i] += one[i];
    }
}

/*
 * One owner sends what no table gives. Everybody else's counts stand. It adds to a cell, or to a
 * marginal in total, no more than its bound: 2^b - 1 a cell, pad_to records, or the rows that the
 * others in its batch hold.
 */
static void moves_no_more_than_its_bound(const struct study_options *o, unsigned hostile,
                                         uint64_t most_cell, uint64_t most_total)
{
    struct hostile h = {.w = whole_new(o)};
    const struct workload *load = h.w->s.study->workload;
    OK(three_result_new(&h.sums, load->maximal_cells));
    for (unsigned noise = 0; noise < 2; noise++) {
        size_t at = 0;
        replace_upload(h.w, hostile, noise);
        OK(three_run(5, tally_up, &h, NULL));
        for (size_t q = 0; q < load->queries; q++) {
            int64_t *others CLEAN(memory_release) = NULL;
            uint64_t total = 0;
            if (!load->query[q].maximal)
                continue;
            others = memory_array(load->query[q].cells, sizeof *others);
            others_have(h.w, hostile, &load->query[q].clique, others);
            for (size_t i = 0; i < load->query[q].cells; i++) {
                uint64_t more = three_sum64(&h.sums, at + i) - (uint64_t)others[i];
                assert_in_range(more, 0, most_cell); /* subtraction would give a huge number */
                total += more;
            }
            assert_in_range(total, 0, most_total);
            at += load->query[q].cells;
        }
    }
    three_result_free(&h.sums);
    whole_end(&h.w);
}

TEST(hostile_owners_move_no_more_than_their_bounds)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
        "    max_rows: 900\n    batch: city\n    columns: [bmi, sex, ward]\n"};
    const struct study_options columns = {.owners = OWNERS, .part = part};
    static const char *const padded_part[] = {
        "    max_rows: 900\n    pad_to: 1200\n    as: records\n", NULL, NULL};
    moves_no_more_than_its_bound(OPTIONS(.owners = OWNERS), 1, (1 << 11) - 1,
                                 UINT64_MAX); /* max_rows: 2000 */
    moves_no_more_than_its_bound(
        OPTIONS(.owners = OWNERS, .domain = wide_domain, .workload = wide_workload), 0, 1000, 1000);
    moves_no_more_than_its_bound(OPTIONS(.owners = OWNERS, .part = padded_part), 0, 1200,
                                 1200);                  /* pad_to, whatever the max_rows */
    moves_no_more_than_its_bound(&columns, 0, 260, 260); /* the other one of the batch has 260 */
    moves_no_more_than_its_bound(&columns, 2, 300, 300);
}

/* After a crash a request is replayed: what it opens depends only on uploads, request and noise. */
TEST(a_round_played_again_opens_the_same)
{
    struct whole *w CLEAN(whole_end) = whole_new(
        OPTIONS(.owners = OWNERS, .rounds = 4, .epsilon = 2));
    struct three_costs costs;
    w->twice = true;
    OK(three_run_wrapped(78, run_mpc, w, &costs, marks_wrap));
    assert_int_equal(costs.opened_calls[OPEN_SELECTED_INDEX], 2 * w->s.study->rounds);
}

/* The digests by which two servers compare the noise that both hold detect any difference. */
static enum err compare_ranges(struct party *p, void *shared)
{
    static const uint8_t key[RANGE_KEY_SIZE] = {1}, other[RANGE_KEY_SIZE] = {2};
    const size_t count[NOISE_LAWS] = {[NOISE_GAUSS] = 7, [NOISE_GUMBEL] = 3};
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    uint8_t(*digest)[2][32] = shared, changed[32];
    struct tape tape CLEAN(tape_free) = {0}, range CLEAN(tape_free) = {0};
    struct bytes kept CLEAN(bytes_clear) = {0};
    bool right = true;
    tape_start(&tape, id, NOISE_BOX_MULLER);
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        TRY(tape_reserve(p, &tape, (enum noise_law)k, count[k]));
    TRY(range_cut(&tape, count, &range));
    for (unsigned c = 0; c < 2; c++)
        range_digest(&range, c, key, digest[p->index][c]);
    range_digest(&range, 0, other, changed);
    right = right && memcmp(changed, digest[p->index][0], 32) != 0;
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (size_t i = 0; i < count[k]; i++) {
            range.reel[k].samples.a[i] ^= 1;
            range_digest(&range, 0, key, changed);
            right = right && memcmp(changed, digest[p->index][0], 32) != 0;
            range.reel[k].samples.a[i] ^= 1;
        }
    TRY(range_write(&range, &kept));
    for (size_t n = 0; n < kept.size; n++) { /* cut short: refused */
        const struct bytes part = {.data = kept.data, .size = n};
        static const uint8_t of[TAPE_ID_SIZE];
        const uint64_t counted[NOISE_LAWS] = {count[0], count[1]};
        struct tape back = {0};
        right = right && range_read(&back, of, counted, NOISE_BOX_MULLER, &part) == ERR_FORMAT;
    }
    return right ? ERR_OK : ERR_MISUSE;
}

TEST(shares_of_noise_can_be_compared)
{
    uint8_t digest[3][2][32];
    OK(three_run(5, compare_ranges, digest, NULL));
    for (unsigned i = 0; i < 3; i++)
        assert_memory_equal(digest[i][1], digest[(i + 1) % 3][0], 32);
}

/*
 * As many candidates as a selection takes, then one more: nobody must pay for what cannot be
 * opened.
 */
static bool refuses_a_candidate_too_many(struct three *g, const struct study *study)
{
    const size_t most = study_candidates_most(study);
    const uint64_t cells = study->workload->query[5].cells;
    uint32_t *query CLEAN(memory_release) = memory_array(most + 1, sizeof *query);
    uint64_t *estimate CLEAN(memory_release) = memory_array((most + 1) * cells, sizeof *estimate);
    struct engine_step step;
    struct ask r = support_selection((uint32_t)most, query, estimate);
    for (size_t k = 0; k <= most; k++)
        query[k] = 5;
    if (three_prepare(g, &r, &step) != ERR_OK)
        return false;
    three_step_clear(&step);
    r.queries++;
    return three_prepare(g, &r, &step) == ERR_REFUSED;
}

static enum err refuse_bad_requests(struct party *p, void *shared)
{
    struct whole *w = shared;
    struct three *g CLEAN(three_free) = NULL;
    struct engine_step step;
    uint32_t query = 5;
    uint64_t *estimate CLEAN(memory_release) = memory_array(w->s.study->workload->cells,
                                                            sizeof *estimate);
    struct ask r = {.kind = ASK_MEASURE, .queries = 1, .query = &query, .multiplier = 255};
    bool right = true;
    p->log = NULL; /* what follows is refused, with a message */
    TRY(load_engine(w, p, &g));
    g->log = NULL;
    right = right && three_prepare(g, &r, &step) == ERR_REFUSED;
    r.multiplier = UINT64_C(1) << 31;
    right = right && three_prepare(g, &r, &step) == ERR_REFUSED;
    r.multiplier = 1000;
    r.queries = 0;
    right = right && three_prepare(g, &r, &step) == ERR_REFUSED;
    r = support_selection(1, &query, estimate);
    right = right && three_prepare(g, &r, &step) == ERR_OK;
    three_step_clear(&step);
    r.multiplier = 255;
    right = right && three_prepare(g, &r, &step) == ERR_REFUSED;
    r.multiplier = 1000;
    estimate[0] = UINT64_C(1) << 60;
    right = right && three_prepare(g, &r, &step) == ERR_REFUSED;
    estimate[0] = 0;
    r.epsilon = -1;
    right = right && three_prepare(g, &r, &step) == ERR_REFUSED;
    right = right && refuses_a_candidate_too_many(g, w->s.study);
    r.epsilon = 1e-9; /* the multiplier would round to nothing */
    right = right && three_prepare(g, &r, &step) == ERR_RANGE;
    return right ? ERR_OK : ERR_MISUSE;
}

TEST(requests_outside_the_study_are_refused)
{
    struct whole *w CLEAN(whole_end) = whole_new(OPTIONS(.owners = OWNERS));
    struct three_costs costs;
    OK(three_run(3, refuse_bad_requests, w, &costs));
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        assert_int_equal(costs.opened_calls[r], 0);
}

TEST(an_upload_is_the_same_again_and_cannot_be_altered)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct whole *w CLEAN(whole_end) = whole_new(OPTIONS(.owners = OWNERS));
    const uint8_t *terms = w->s.study->terms.digest;
    unsigned form = study_upload_form(w->s.study, 0);
    size_t bytes = study_upload_bytes(w->s.study, 0);
    for (int changed = 0; changed < 2; changed++) {
        struct upload again[3];
        OK(share_one(w, 0, changed, again, &log));
        for (unsigned i = 0; i < 3; i++) {
            struct upload back;
            struct bytes b CLEAN(bytes_clear) = {0};
            const struct upload *first = &w->parts[0][i];
            assert_int_equal(memcmp(again[i].id, first->id, UPLOAD_ID_SIZE) == 0, !changed);
            assert_int_equal(
                memcmp(again[i].commitment, first->commitment, sizeof first->commitment) == 0,
                !changed);
            if (changed) /* other data have other masks */
                for (unsigned slot = 0; slot < 2; slot++)
                    assert_true((i + slot) % 3 == 2 ||
                                memcmp(again[i].seed[slot], first->seed[slot], SPLIT_SEED) != 0);
            OK(upload_check(&again[i], i, terms));
            OK(upload_write(&again[i], i, true, &b));
            for (size_t k = 0; k < b.size; k += k < 300 ? 1 : 37) { /* any altered byte is found */
                b.data[k] ^= 1;
                enum err e = upload_read(&back, &three_split, i, form, bytes, b.data, b.size);
                if (e == ERR_OK) {
                    uint8_t d1[32], d2[32];
                    enum err check = upload_check(&back, i, terms);
                    back.owner = 0;
                    upload_digest(&back, terms, d1);
                    upload_digest(&again[i], terms, d2);
                    assert_true(check == ERR_DATA || memcmp(d1, d2, 32) != 0);
                    upload_clear(&back);
                }
                b.data[k] ^= 1;
            }
            for (size_t n = 0; n < b.size; n += 13) /* cut short */
                assert_int_equal(upload_read(&back, &three_split, i, form, bytes, b.data, n),
                                 ERR_FORMAT);
            upload_clear(&again[i]);
        }
    }
}
