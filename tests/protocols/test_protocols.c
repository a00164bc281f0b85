/* Counts of owners, score, select and measure against plain arithmetic; what is opened, costs. */
#include "harness/cmocka.h"
#include "tests/support/all.h"

#include "mpc/circuits/ring.h"
#include "mpc/move/open.h"
#include "protocols/counts_sum.h"
#include "protocols/mask.h"
#include "protocols/measure.h"
#include "protocols/select.h"

/* --- counts ----------------------------------------------------------------------------------- */

#define OWNERS 7
#define CELLS 133

struct protocols_owners_counts {
    size_t owners;
    unsigned bits[OWNERS];
    int64_t counts[OWNERS][CELLS];
    uint8_t seed[OWNERS][2][MASK_SEED_SIZE];
    uint8_t vector[OWNERS][CELLS * 8];
    unsigned sum_bits;
    struct three_result out;
};

static enum err sum_counts(struct party *p, void *shared)
{
    struct protocols_owners_counts *a = shared;
    struct counts_upload uploads[OWNERS];
    struct share64 out CLEAN(share64_free) = {0};
    for (size_t i = 0; i < a->owners; i++) {
        uploads[i] = (struct counts_upload){.bits = a->bits[i], .vector = a->vector[i]};
        for (unsigned c = 0; c < 2; c++)
            if ((p->index + c) % 3 < 2)
                uploads[i].seed[c] = a->seed[i][(p->index + c) % 3];
    }
    TRY(share64_new(&out, CELLS));
    TRY(counts_sum(p, out, uploads, a->owners, a->sum_bits));
    three_put64(&a->out, p, out);
    return ERR_OK;
}

TEST(counts_add_up)
{
    for (size_t owners = 1; owners <= OWNERS; owners++) {
        struct protocols_owners_counts *a CLEAN(memory_release) = memory_array(1, sizeof *a);
        uint64_t s = owners, largest = 0;
        a->owners = owners;
        for (size_t i = 0; i < owners; i++) {
            a->bits[i] = 1 + (unsigned)i * 2;
            largest += ((uint64_t)1 << a->bits[i]) - 1;
            for (size_t k = 0; k < CELLS; k++) {
                uint64_t r = three_random(&s), max = ((uint64_t)1 << a->bits[i]) - 1;
                a->counts[i][k] = (int64_t)(k == 0 ? max : r & max);
            }
            OK(counts_pack(a->counts[i], CELLS, a->bits[i], a->vector[i]));
            OK(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])a->seed[i], a->vector[i],
                           counts_bytes(CELLS, a->bits[i])));
        }
        while (largest >> a->sum_bits != 0)
            a->sum_bits++;
        OK(three_result_new(&a->out, CELLS));
        OK(three_run(owners, sum_counts, a, NULL));
        assert_true(three_replicated(&a->out, 64));
        for (size_t k = 0; k < CELLS; k++) {
            int64_t sum = 0;
            for (size_t i = 0; i < owners; i++)
                sum += a->counts[i][k];
            assert_int_equal(three_sum64(&a->out, k), sum);
        }
        a->sum_bits--;
        assert_int_equal(three_run(owners, sum_counts, a, NULL), ERR_RANGE);
        for (size_t i = 0; i < owners; i++)
            a->bits[i] = a->sum_bits = 62; /* the sum of five passes 2^64 */
        assert_int_equal(three_run(owners, sum_counts, a, NULL), owners > 1 ? ERR_RANGE : ERR_OK);
        three_result_free(&a->out);
    }
}

TEST(an_owner_cannot_share_what_does_not_fit)
{
    int64_t counts[3] = {0, 7, 8};
    uint8_t vector[4];
    assert_int_equal(counts_bytes(3, 3), 2);
    assert_int_equal(counts_pack(counts, 3, 3, vector), ERR_DATA);
    counts[2] = -1;
    assert_int_equal(counts_pack(counts, 3, 3, vector), ERR_DATA);
    counts[2] = 7;
    OK(counts_pack(counts, 3, 3, vector));
}

/* --- rounds ----------------------------------------------------------------------------------- */

#define QUERIES 5
static const uint64_t cells[QUERIES] = {1, 63, 64, 65, 200};
#define BITS 9

struct round {
    int64_t counts[QUERIES][200];
    uint64_t estimate[QUERIES][200];
    uint64_t multiplier[QUERIES], penalty[QUERIES];
    int64_t gumbel[QUERIES];
    int64_t scores[3][QUERIES];
    size_t index[3];
    int64_t noisy[3][400];
    int64_t gauss[400];
    struct three_result gumbels, gausses;
    struct three_costs costs;
    bool discrete; /* noise */
};

static enum err load_counts(struct party *p, const struct round *r, struct counts **counts)
{
    TRY(counts_new(counts, cells, QUERIES, BITS));
    for (size_t q = 0; q < QUERIES; q++) {
        struct share64 x CLEAN(share64_free) = {0};
        TRY(three_share64(p, &x, (const uint64_t *)r->counts[q], cells[q], q));
        ring64_copy(counts_query(*counts, q), x);
    }
    return counts_finish(p, *counts);
}

static enum err play(struct party *p, void *shared)
{
    struct round *r = shared;
    static const uint8_t id[TAPE_ID_SIZE], seed[ARGMAX_SEED_SIZE];
    static const uint32_t measured[] = {4, 0, 3};
    static const uint64_t times[] = {1000, 300, 70000};
    struct counts *counts CLEAN(counts_free) = NULL;
    struct tape tape;
    struct share64 scores CLEAN(share64_free) = {0}, odd CLEAN(share64_free) = {0};
    struct score_candidate candidates[QUERIES];
    const struct select_request request = {.candidates = QUERIES,
                                           .candidate = candidates,
                                           .multiplier = r->multiplier,
                                           .penalty = r->penalty,
                                           .shift = 30,
                                           .width = 60,
                                           .seed = seed};
    for (size_t q = 0; q < QUERIES; q++)
        candidates[q] = (struct score_candidate){QUERIES - 1 - q, r->estimate[QUERIES - 1 - q]};
    TRY(load_counts(p, r, &counts));
    tape_start(&tape, id, r->discrete ? NOISE_DISCRETE : NOISE_BOX_MULLER);
    TRY(tape_reserve(p, &tape, NOISE_GUMBEL, QUERIES));
    TRY(tape_reserve(p, &tape, NOISE_GAUSS, 266));
    three_put64(&r->gumbels, p, share64_view(tape.reel[NOISE_GUMBEL].samples, 0, QUERIES));
    three_put64(&r->gausses, p, share64_view(tape.reel[NOISE_GAUSS].samples, 0, 266));
    TRY(share64_new(&scores, QUERIES));
    TRY(score_l1(p, scores, counts, candidates, SCORE_UNIT));
    TRY(open_ring64(p, OPEN_NOISY_SCORE, scores, (uint64_t *)r->scores[p->index]));
    TRY(select_index(p, counts, &tape, &request, &r->index[p->index]));
    TRY(measure_open(p, counts, &tape, measured, 3, times, r->noisy[p->index]));
    /* wiped where taken, and gone */
    if ((tape.reel[NOISE_GAUSS].samples.a[265] | tape.reel[NOISE_GAUSS].samples.b[265]) != 0 ||
        tape.reel[NOISE_GAUSS].next != 266)
        return ERR_MISUSE;
    if (tape_take(&tape, NOISE_GUMBEL, (struct share64){NULL, NULL, 1000}) != ERR_MISUSE)
        return ERR_MISUSE;
    /* a range after an odd end begins at the next pair */
    TRY(share64_new(&odd, 3));
    TRY(tape_take(&tape, NOISE_GAUSS, odd));
    if (tape.reel[NOISE_GAUSS].next != 269 || tape_position(&tape, NOISE_GAUSS) != 270)
        return ERR_MISUSE;
    TRY(tape_take(&tape, NOISE_GAUSS, odd));
    if (tape.reel[NOISE_GAUSS].next != 273 || tape.reel[NOISE_GAUSS].samples.a[269] != 0)
        return ERR_MISUSE;
    tape_free(&tape);
    return ERR_OK;
}

static int64_t plain_score(const struct round *r, size_t q)
{
    int64_t sum = 0;
    for (size_t j = 0; j < cells[q]; j++) {
        int64_t d = (r->counts[q][j] << SCORE_BITS) - (int64_t)r->estimate[q][j];
        sum += d < 0 ? -d : d;
    }
    return sum;
}

TEST(select_and_measure_equal_plain_arithmetic)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct round *r CLEAN(memory_release) = memory_array(1, sizeof *r);
        uint64_t s = seed;
        r->discrete = seed % 2 == 1;
        int64_t best = INT64_MIN;
        size_t winner = 0, at = 0;
        static const size_t measured[] = {4, 0, 3};
        static const uint64_t times[] = {1000, 300, 70000};
        for (size_t q = 0; q < QUERIES; q++) {
            uint64_t left = (uint64_t)1 << (BITS + 1 + SCORE_BITS);
            r->multiplier[q] = 1000 + three_random(&s) % 100000;
            r->penalty[q] = three_random(&s) % 100000;
            for (size_t j = 0; j < cells[q]; j++) {
                uint64_t whole = (uint64_t)r->counts[q][j], c;
                r->counts[q][j] = (int64_t)(three_random(&s) >> (55 + three_random(&s) % 9));
                c = three_random(&s) >> (54 - SCORE_BITS + three_random(&s) % 16);
                c = j % 3 == 0 ? whole << SCORE_BITS : c;
                if (c > (uint64_t)1 << (BITS + SCORE_BITS))
                    c = (uint64_t)1 << (BITS + SCORE_BITS);
                r->estimate[q][j] = c < left ? c : left;
                left -= r->estimate[q][j];
            }
        }
        r->estimate[0][0] = (uint64_t)1 << (BITS + SCORE_BITS); /* the bound itself */
        OK(three_result_new(&r->gumbels, QUERIES));
        OK(three_result_new(&r->gausses, 266));
        OK(three_run(seed, play, r, &r->costs));
        for (size_t k = 0; k < QUERIES; k++) {
            size_t q = QUERIES - 1 - k;
            int64_t score = plain_score(r, q);
            int64_t g = (int64_t)three_sum64(&r->gumbels, k);
            int64_t v = (int64_t)(r->multiplier[k]) * (score - (int64_t)r->penalty[k]) + g * 64;
            for (int party = 0; party < 3; party++)
                assert_int_equal(r->scores[party][k], score);
            if (v > best) {
                best = v;
                winner = k;
            }
        }
        for (int party = 0; party < 3; party++)
            assert_int_equal(r->index[party], winner);
        for (size_t k = 0; k < 3; k++)
            for (size_t j = 0; j < cells[measured[k]]; j++, at++) {
                int64_t z = (int64_t)three_sum64(&r->gausses, at);
                for (int party = 0; party < 3; party++)
                    assert_int_equal(r->noisy[party][at],
                                     (int64_t)times[k] * r->counts[measured[k]][j] + z);
            }
        assert_int_equal(r->costs.opened_calls[OPEN_SELECTED_INDEX], 1);
        assert_int_equal(r->costs.opened_calls[OPEN_NOISY_MARGINAL], 1);
        assert_int_equal(r->costs.opened_values[OPEN_NOISY_MARGINAL], 266);
        /* discrete noise: about 0.76 of the candidates are kept */
        assert_int_equal(r->costs.opened_calls[OPEN_REJECT_BIT] > 0, r->discrete);
        /* this test's own look at scores */
        assert_int_equal(r->costs.opened_calls[OPEN_NOISY_SCORE], 1);
        three_result_free(&r->gumbels);
        three_result_free(&r->gausses);
    }
}

static enum err over_the_bound(struct party *p, void *shared)
{
    struct round *r = shared;
    struct counts *counts CLEAN(counts_free) = NULL;
    struct share64 score CLEAN(share64_free) = {0};
    const struct score_candidate one = {2, r->estimate[2]}, none = {QUERIES, r->estimate[2]};
    struct log *log = p->log;
    TRY(load_counts(p, r, &counts));
    TRY(share64_new(&score, 1));
    p->log = NULL; /* the refusals below are expected */
    r->noisy[p->index][0] = 0;
    uint64_t estimate[64] = {((uint64_t)1 << (BITS + SCORE_BITS)) + 1};
    struct score_candidate bad = {2, estimate};
    enum err cell = score_l1(p, score, counts, &bad, SCORE_UNIT);
    for (int j = 0; j < 3; j++)
        estimate[j] = (uint64_t)1 << (BITS + SCORE_BITS);
    enum err sum = score_l1(p, score, counts, &bad, SCORE_UNIT);
    enum err unknown = score_l1(p, score, counts, &none, SCORE_UNIT);
    p->log = log;
    TRY(score_l1(p, score, counts, &one, SCORE_UNIT));
    return cell == ERR_REFUSED && sum == ERR_REFUSED && unknown == ERR_REFUSED ? ERR_OK
                                                                               : ERR_MISUSE;
}

/* Squares: no message, the plain integers, and the refusals of the other norm. */
static enum err square(struct party *p, void *shared)
{
    struct round *r = shared;
    struct counts *counts CLEAN(counts_free) = NULL;
    struct score_candidate candidates[QUERIES], bad;
    struct share64 scores CLEAN(share64_free) = {0};
    uint64_t rounds, high[200] = {((uint64_t)1 << (BITS + SCORE_BITS)) + 1};
    struct log *log = p->log;
    TRY(load_counts(p, r, &counts));
    TRY(share64_new(&scores, QUERIES));
    for (size_t q = 0; q < QUERIES; q++)
        candidates[q] = (struct score_candidate){q, r->estimate[q]};
    enum err without = score_l2(p, scores, counts, candidates);
    TRY(counts_finish_squares(p, counts));
    rounds = net_exchanges(p->net);
    TRY(score_l2(p, scores, counts, candidates));
    rounds = net_exchanges(p->net) - rounds;
    TRY(open_ring64(p, OPEN_NOISY_SCORE, scores, (uint64_t *)r->scores[p->index]));
    p->log = NULL;
    bad = (struct score_candidate){2, high};
    enum err refused = score_l2(p, share64_view(scores, 0, 1), counts, &bad);
    p->log = log;
    return rounds == 0 && without == ERR_MISUSE && refused == ERR_REFUSED ? ERR_OK : ERR_DATA;
}

TEST(squared_scores_are_local_and_exact)
{
    struct round *r CLEAN(memory_release) = memory_array(1, sizeof *r);
    uint64_t s = 4;
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t j = 0; j < cells[q]; j++) {
            r->counts[q][j] = (int64_t)(three_random(&s) & ((1 << BITS) - 1));
            r->estimate[q][j] = three_random(&s) % ((uint64_t)2 << (BITS + SCORE_BITS)) / cells[q];
        }
    r->estimate[0][0] = (uint64_t)1 << (BITS + SCORE_BITS); /* the bound itself */
    OK(three_run(4, square, r, NULL));
    for (size_t q = 0; q < QUERIES; q++) {
        int64_t sum = 0;
        for (size_t j = 0; j < cells[q]; j++) {
            int64_t nearest = (int64_t)((r->estimate[q][j] + 512) / 1024);
            sum += (r->counts[q][j] - nearest) * (r->counts[q][j] - nearest);
        }
        for (int party = 0; party < 3; party++)
            assert_int_equal(r->scores[party][q], sum);
    }
}

TEST(estimates_out_of_bounds_are_refused)
{
    struct round *r CLEAN(memory_release) = memory_array(1, sizeof *r);
    OK(three_run(1, over_the_bound, r, NULL));
}

/* --- forms ------------------------------------------------------------------------------------ */

#define FORMS 7

struct linear {
    int64_t counts[QUERIES][200], weight[FORMS][200];
    int64_t opened[3][FORMS];
    struct three_result noise;
    struct three_costs costs;
    uint64_t rounds[3], bytes[3];
};

/* Several of the same marginal, of one cell and of many, in no order. */
static const size_t query_of[FORMS] = {4, 0, 4, 1, 2, 3, 4};

static enum err linear(struct party *p, void *shared)
{
    static const uint8_t id[TAPE_ID_SIZE];
    struct linear *l = shared;
    struct counts *counts CLEAN(counts_free) = NULL;
    struct share64 sums CLEAN(share64_free) = {0}, x;
    struct tape tape CLEAN(tape_free) = {0};
    TRY(counts_new(&counts, cells, QUERIES, BITS));
    for (size_t q = 0; q < QUERIES; q++) {
        TRY(three_share64(p, &x, (const uint64_t *)l->counts[q], cells[q], q));
        ring64_copy(counts_query(counts, q), x);
        share64_free(&x);
    }
    TRY(share64_new(&sums, FORMS));
    for (size_t k = 0; k < FORMS; k++)
        support_weigh(sums, k, counts_query(counts, query_of[k]), l->weight[k]);
    tape_start(&tape, id, NOISE_BOX_MULLER);
    TRY(tape_reserve(p, &tape, NOISE_GAUSS, FORMS));
    three_put64(&l->noise, p, share64_view(tape.reel[NOISE_GAUSS].samples, 0, FORMS));
    struct net_counters before = net_total(p->net);
    enum err e = measure_open_sums(p, OPEN_NOISY_FORM, sums, &tape, 1, l->opened[p->index]);
    struct net_counters after = net_total(p->net);
    l->rounds[p->index] = after.exchanges - before.exchanges;
    l->bytes[p->index] = after.payload_sent - before.payload_sent;
    return e;
}

TEST(forms_are_sums_of_counts_and_noise)
{
    struct linear *l CLEAN(memory_release) = memory_array(1, sizeof *l);
    uint64_t s = 7;
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t j = 0; j < cells[q]; j++)
            l->counts[q][j] = (int64_t)(three_random(&s) % (1 << BITS));
    for (size_t k = 0; k < FORMS; k++)
        for (size_t j = 0; j < 200; j++)
            l->weight[k][j] = j == 0 ? (k % 2 == 0 ? 1000 : -1000)
                                     : (int64_t)(three_random(&s) % 2001) - 1000;
    OK(three_result_new(&l->noise, FORMS));
    OK(three_run(1, linear, l, &l->costs));
    for (size_t k = 0; k < FORMS; k++) {
        int64_t sum = (int64_t)three_sum64(&l->noise, k);
        for (size_t j = 0; j < cells[query_of[k]]; j++)
            sum += l->weight[k][j] * l->counts[query_of[k]][j];
        for (int party = 0; party < 3; party++)
            assert_int_equal(l->opened[party][k], sum);
    }
    for (int party = 0; party < 3; party++) {
        assert_int_equal(l->rounds[party], 1);
        assert_int_equal(l->bytes[party], 8 * FORMS);
    }
    assert_int_equal(l->costs.opened_calls[OPEN_NOISY_FORM], 1);
    assert_int_equal(l->costs.opened_values[OPEN_NOISY_FORM], FORMS);
    assert_int_equal(l->costs.opened_calls[OPEN_NOISY_MARGINAL], 0);
    three_result_free(&l->noise);
}

/* --- the rounds of a round -------------------------------------------------------------------- */

#define MANY 1000

struct crowd {
    unsigned bits; /* l */
    uint64_t counts[MANY];
    uint64_t estimate[MANY];
    size_t index[3];
    uint64_t rounds[3]; /* in a selection and a measurement, by server */
};

/* MANY marginals of one cell, all of them candidates. */
static enum err select_of_many(struct party *p, void *shared)
{
    struct crowd *c = shared;
    static const uint8_t id[TAPE_ID_SIZE], seed[ARGMAX_SEED_SIZE];
    uint64_t ones[MANY], multiplier[MANY], penalty[MANY] = {0};
    struct score_candidate *candidates CLEAN(memory_release) = memory_array(MANY,
                                                                            sizeof *candidates);
    const struct select_request request = {.candidates = MANY,
                                           .candidate = candidates,
                                           .multiplier = multiplier,
                                           .penalty = penalty,
                                           .shift = 24,
                                           .width = 64,
                                           .seed = seed};
    struct counts *counts CLEAN(counts_free) = NULL;
    struct share64 x CLEAN(share64_free) = {0};
    struct tape tape CLEAN(tape_free) = {0};
    const uint64_t m = 1000;
    int64_t value;
    for (size_t q = 0; q < MANY; q++) {
        candidates[q] = (struct score_candidate){q, &c->estimate[q]};
        ones[q] = 1;
        multiplier[q] = 1000;
    }
    TRY(counts_new(&counts, ones, MANY, c->bits));
    TRY(three_share64(p, &x, c->counts, MANY, 1));
    for (size_t q = 0; q < MANY; q++)
        ring64_copy(counts_query(counts, q), share64_view(x, q, 1));
    TRY(counts_finish(p, counts));
    tape_start(&tape, id, NOISE_BOX_MULLER);
    TRY(tape_reserve(p, &tape, NOISE_GUMBEL, MANY));
    TRY(tape_reserve(p, &tape, NOISE_GAUSS, 1));
    c->rounds[p->index] = net_exchanges(p->net);
    TRY(select_index(p, counts, &tape, &request, &c->index[p->index]));
    TRY(measure_open(p, counts, &tape, &(uint32_t){(uint32_t)c->index[p->index]}, 1, &m, &value));
    c->rounds[p->index] = net_exchanges(p->net) - c->rounds[p->index];
    return ERR_OK;
}

/* With the two around it (parties/server/round.h) at most thirteen, however wide counts are. */
TEST(a_round_of_a_thousand_candidates_takes_at_most_eleven)
{
    static const struct {
        unsigned bits, rounds;
    } widths[] = {{17, 10}, {20, 10}, {21, 11}, {40, 11}};
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        struct crowd *c CLEAN(memory_release) = memory_array(1, sizeof *c);
        const uint64_t most = ((uint64_t)1 << widths[k].bits) - 1;
        uint64_t s = k;
        c->bits = widths[k].bits;
        for (size_t q = 0; q < MANY; q++) {
            c->counts[q] = three_random(&s) & most / 4;
            c->estimate[q] = (three_random(&s) & most / 2) << SCORE_BITS;
        }
        c->counts[700] = most; /* by far the worst, so that noise does not matter */
        c->estimate[700] = 0;
        OK(three_run(k, select_of_many, c, NULL));
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(c->index[i], 700);
            assert_int_equal(c->rounds[i], widths[k].rounds);
        }
    }
}
