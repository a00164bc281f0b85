/*
 * Studies of counts under mpc/check/check.h, protocol by protocol: counts, noise of each kind,
 * scores, a selection and a measurement. The right values are opened, in the stated number of
 * rounds; whatever word a server alters, the two others open those values or nothing.
 */
#include "harness/cmocka.h"
#include "tests/support/all.h"

#include "mpc/check/check_private.h"
#include "mpc/circuits/compare.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/elementary.h"
#include "mpc/circuits/ring.h"
#include "mpc/circuits/truncate.h"
#include "mpc/move/open.h"
#include "protocols/discrete.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"
#include "protocols/measure.h"
#include "protocols/select.h"
#include "tests/support/check.h"

#define N_MAX 300
#define BITS 9

static const struct check_limits limits;

static const uint64_t *some_values(unsigned bits)
{
    static _Thread_local uint64_t values[65][N_MAX];
    uint64_t seed = bits;
    for (size_t i = 0; i < N_MAX; i++)
        values[bits][i] = three_random(&seed) >> (64 - bits);
    return values[bits];
}

static enum err open_and_note(struct party *p, struct check_play *play, struct share64 x)
{
    uint64_t out[N_MAX];
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, x, out));
    bytes_put(&play->opened[p->index], out, x.n * sizeof *out);
    return ERR_OK;
}

/* By how much some other values are more. */
static const uint64_t *difference(unsigned bits)
{
    static _Thread_local uint64_t more[N_MAX];
    const uint64_t *value = some_values(bits);
    for (size_t i = 0; i < N_MAX; i++)
        more[i] = value[N_MAX - 1 - i] - value[i];
    return more;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Numbers of 60 bits, bits, and room for both kinds of results. */
struct check_counts_inputs {
    struct share64 v, out;
    struct share128 wide;
    struct planes bits;
};

static enum err run_bits(struct party *p, struct check_counts_inputs *in)
{
    TRY(convert_bit128(p, in->wide, planes_plane(&in->bits, 0)));
    TRY(convert_bit64(p, in->out, planes_plane(&in->bits, 1)));
    ring64_from128(in->v, in->wide);
    ring64_add_scaled(in->out, in->v, 1000);
    return ERR_OK;
}

static enum err run_truncated(struct party *p, struct check_counts_inputs *in)
{
    TRY(truncate_signed_ring64(p, in->out, in->v, 7));
    return truncate_signed_ring64(p, in->out, in->out, 40);
}

static enum err run_widen(struct party *p, struct check_counts_inputs *in)
{
    TRY(truncate_widen64(p, in->wide, in->v));
    TRY(truncate_signed_ring128(p, in->wide, in->wide, 70));
    TRY(truncate_signed_ring128(p, in->wide, in->wide, 3));
    ring64_from128(in->out, in->wide);
    return ERR_OK;
}

/* Bits become numbers, these become bits, and those are revealed: no share of two versions. */
static enum err run_back(struct party *p, struct check_counts_inputs *in)
{
    TRY(convert_bit64(p, in->out, planes_plane(&in->bits, 0)));
    TRY(convert_to_bits(p, &in->bits, in->out));
    return convert_to_ring64(p, in->out, &in->bits);
}

static enum err run_choose(struct party *p, struct check_counts_inputs *in)
{
    size_t start[N_MAX + 1];
    for (size_t k = 0; k <= in->out.n; k++) /* none, and some that are cut by parts */
        start[k] = k < 2 ? 0 : k == in->out.n ? in->v.n : (in->v.n - 1) * (k - 1) / in->out.n;
    return move_choose(p, in->out, planes_plane(&in->bits, 0), in->v, start);
}

static enum err run_circle(struct party *p, struct check_counts_inputs *in)
{
    struct share128 sine;
    TRY(party_share128(p, &sine, in->v.n));
    TRY(elementary_circle(p, in->wide, sine, in->v));
    ring128_add_scaled(in->wide, sine, 77777);
    TRY(truncate_signed_ring128(p, in->wide, in->wide, 60));
    ring64_from128(in->out, in->wide);
    return ERR_OK;
}

static void inputs_free(struct check_counts_inputs *in)
{
    share64_free(&in->v);
    planes_free(&in->bits);
}

static enum err with_inputs(struct party *p, struct check_play *play, size_t outputs,
                            enum err (*run)(struct party *p, struct check_counts_inputs *in))
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct check_counts_inputs in CLEAN(inputs_free) = {0};
    TRY(three_share64(p, &in.v, some_values(60), play->n, 5));
    TRY(three_share_planes(p, &in.bits, some_values(8), play->n, 8, 6));
    play_secret(p, play, in.v.a, in.v.b, in.v.n, difference(60));
    play_secret(p, play, in.bits.a, in.bits.b, in.bits.width * bits_words(in.bits.n), NULL);
    TRY(party_share64(p, &in.out, outputs));
    TRY(party_share128(p, &in.wide, play->n));
    TRY(run(p, &in));
    return open_and_note(p, play, in.out);
}

#define JOB(name, outputs)                                                                         \
    static enum err name(struct party *p, struct check_play *play)                                 \
    {                                                                                              \
        return with_inputs(p, play, outputs, run_##name);                                          \
    }
JOB(bits, play->n)
JOB(truncated, play->n)
JOB(widen, play->n)
JOB(back, play->n)
JOB(choose, 5)
JOB(circle, play->n)

/* --- a study ---------------------------------------------------------------------------------- */

static enum err make_noise(struct party *p, struct check_play *play,
                           enum err (*make)(struct party *p, struct share64 out))
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 out;
    TRY(party_share64(p, &out, play->n));
    TRY(make(p, out));
    TRY(record_prove(p));
    return open_and_note(p, play, out);
}

#define NOISE(name)                                                                                \
    static enum err name(struct party *p, struct check_play *play)                                 \
    {                                                                                              \
        return make_noise(p, play, name##_sample);                                                 \
    }
NOISE(gauss)
NOISE(gumbel)
NOISE(discrete)

/* Counts of two marginals, starting from their bits, and a tape with some noise. */
struct check_counts_study {
    struct counts *counts;
    struct tape tape;
};

static void study_end(struct check_counts_study *s)
{
    tape_free(&s->tape);
    counts_free(&s->counts);
}

static enum err begin_study(struct party *p, const struct check_play *play,
                            struct check_counts_study *s, bool squared)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    static const uint64_t cells[] = {5, 70, 2};
    TRY(counts_new(&s->counts, cells, 3, BITS));
    tape_start(&s->tape, id, NOISE_BOX_MULLER);
    for (size_t q = 0; q < 3; q++) {
        struct share64 x CLEAN(share64_free) = {0};
        TRY(three_share64(p, &x, some_values(BITS), cells[q], q));
        play_secret(p, play, x.a, x.b, x.n, difference(BITS));
        ring64_copy(counts_query(s->counts, q), x);
    }
    for (unsigned kind = 0; kind < NOISE_LAWS; kind++) {
        struct share64 noise CLEAN(share64_free) = {0};
        TRY(three_share64(p, &noise, some_values(20), 80, kind));
        play_secret(p, play, noise.a, noise.b, noise.n, difference(20));
        TRY(tape_append(&s->tape, (enum noise_law)kind, noise));
    }
    TRY(squared ? counts_finish_squares(p, s->counts) : counts_finish(p, s->counts));
    return record_prove(p);
}

static enum err select_and_measure(struct party *p, struct check_play *play,
                                   struct check_counts_study *s, bool squared)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1, 2, 3};
    static const uint32_t measured[] = {0, 2};
    uint64_t estimate[70], multiplier[3] = {3, 1, 2}, penalty[3] = {10, 20, 30};
    struct score_candidate candidate[3];
    struct select_request request = {3, candidate, multiplier, penalty, 30, 50, squared, seed};
    int64_t values[7];
    size_t index;
    for (size_t i = 0; i < 70; i++)
        estimate[i] = (i % 4) << (SCORE_BITS - 1);
    for (size_t q = 0; q < 3; q++)
        candidate[q] = (struct score_candidate){q, estimate};
    if (p->index == 0)
        play->before = net_exchanges(p->net);
    TRY(select_index(p, s->counts, &s->tape, &request, &index));
    if (p->index == 0)
        play->between = net_exchanges(p->net);
    bytes_put_u64(&play->opened[p->index], index);
    TRY(measure_open(p, s->counts, &s->tape, measured, 2, (uint64_t[]){1 << 10, 1 << 10}, values));
    bytes_put(&play->opened[p->index], values, sizeof values);
    return ERR_OK;
}

/* For the three queries: sums of weighted cells, two of one. */
static enum err linear_forms(struct party *p, struct check_play *play)
{
    static const size_t query[] = {0, 1, 1, 2};
    struct check_counts_study s CLEAN(study_end) = {0};
    struct share64 sums CLEAN(share64_free) = {0};
    int64_t weight[70], values[4];
    TRY(begin_study(p, play, &s, true));
    for (size_t i = 0; i < 70; i++)
        weight[i] = (int64_t)(i % 11) * 100 - 500;
    TRY(share64_new(&sums, 4));
    for (size_t k = 0; k < 4; k++)
        support_weigh(sums, k, counts_query(s.counts, query[k]), weight + (k == 3 ? 3 : 0));
    TRY(measure_open_sums(p, OPEN_NOISY_FORM, sums, &s.tape, 1, values));
    bytes_put(&play->opened[p->index], values, sizeof values);
    return ERR_OK;
}

/* How far each query is from estimates, opened with noise. */
static enum err scores(struct party *p, struct check_play *play)
{
    enum { UNIT = 3000 };
    struct check_counts_study s CLEAN(study_end) = {0};
    struct share64 sums CLEAN(share64_free) = {0};
    struct score_candidate candidate[3];
    uint64_t estimate[70];
    int64_t values[3];
    TRY(begin_study(p, play, &s, false));
    for (size_t i = 0; i < 70; i++)
        estimate[i] = i % 4 * UNIT / 2;
    for (size_t q = 0; q < 3; q++)
        candidate[q] = (struct score_candidate){q, estimate};
    TRY(share64_new(&sums, 3));
    TRY(score_l1(p, sums, s.counts, candidate, UNIT));
    TRY(measure_open_sums(p, OPEN_NOISY_SCORE, sums, &s.tape, 1, values));
    bytes_put(&play->opened[p->index], values, sizeof values);
    return ERR_OK;
}

static enum err play_study(struct party *p, struct check_play *play, bool squared)
{
    struct check_counts_study s CLEAN(study_end) = {0};
    TRY(begin_study(p, play, &s, squared));
    return select_and_measure(p, play, &s, squared);
}

static enum err distances(struct party *p, struct check_play *play)
{
    return play_study(p, play, false);
}

static enum err squares(struct party *p, struct check_play *play)
{
    return play_study(p, play, true);
}

/* --- all of them ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum err (*job)(struct party *p, struct check_play *play);
    size_t n;
    uint64_t more;   /* rounds that a check takes */
    unsigned sparse; /* the sweep */
    bool same;       /* the same is opened, whatever masks were drawn */
    bool may_go_on;  /* a loser of a selection is another random number */
} jobs[] = {{"bits as numbers", bits, 70, 6, 3, true, false},
            {"truncation", truncated, 70, 8, 3, false, true},
            {"widening", widen, 70, 9, 3, false, true},
            {"numbers, bits and back", back, 3, 7, 7, true, false},
            {"choice", choose, 200, 6, 3, true, false},
            {"circle", circle, 3, 9, 3, false, true},
            {"distances", distances, 0, 12, 19, true, true},
            {"squares", squares, 0, 12, 17, true, true},
            {"forms", linear_forms, 0, 6, 3, true, false},
            {"scores", scores, 0, 12, 11, true, false},
            {"Gaussians", gauss, 2, 15, 47, false, true},
            {"Gumbels", gumbel, 2, 12, 35, false, true},
            {"discrete Gaussians", discrete, 2, 6, 55, false, false}};
#define JOBS (sizeof jobs / sizeof *jobs)

static struct check_play model_of(size_t k)
{
    return (struct check_play){.job = jobs[k].job,
                               .n = jobs[k].n,
                               .limits = &limits,
                               .cheat = NOBODY,
                               .sparse = jobs[k].sparse};
}

TEST(the_right_values_are_opened)
{
    for (size_t k = 0; k < JOBS; k++) {
        struct check_play plain CLEAN(play_free) = model_of(k),
                                checked CLEAN(play_free) = model_of(k);
        plain.limits = NULL;
        play_run(&plain);
        play_run(&checked);
        for (unsigned s = 0; s < 3 && jobs[k].same; s++)
            assert_true(play_opened_all(&checked, &plain, s));
        if (checked.rounds != plain.rounds + jobs[k].more)
            fail_msg("%s: %lu rounds, not %lu and %lu", jobs[k].name, (unsigned long)checked.rounds,
                     (unsigned long)plain.rounds, (unsigned long)jobs[k].more);
    }
}

TEST(a_selection_takes_six_rounds_more_and_a_measurement_none)
{
    for (unsigned squared = 0; squared < 2; squared++) {
        struct check_play plain CLEAN(play_free) = {.job = squared ? squares : distances,
                                                    .cheat = NOBODY};
        struct check_play checked CLEAN(play_free) = {
            .job = plain.job, .limits = &limits, .cheat = NOBODY};
        play_run(&plain);
        play_run(&checked);
        assert_int_equal(checked.between - checked.before, plain.between - plain.before + 6);
        assert_int_equal(checked.rounds - checked.between, plain.rounds - plain.between);
    }
}

/* What a server sends in a flush, by what waits to be proved when it begins. */
struct flush_cost {
    struct check_play *play;
    uint64_t bytes;
};

static enum err price_flush(void *self)
{
    static const uint64_t words_of_claim[] = {
        [RING_16] = 3, [RING_32] = 3, [RING_64] = 4, [RING_128] = 6};
    struct flush_cost *cost = self;
    const struct check *c = check_of(cost->play->party[0]);
    uint64_t groups = 0, sent = 8 * (729 + 729 + 64 + 1), opened = 0;
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++)
        groups += l * ((c->bits.list[l].words + 511) / 512);
    for (unsigned ring = RING_16; ring <= RING_128; ring++)
        if (c->numbers.relations[ring] > 0) {
            sent += 8 * 64 * words_of_claim[ring];
            opened += 2 * 64;
        }
    if (opened > 0) {
        sent += 8 * (81 + 16 + 1);
        opened += 2 * 4 * ((c->numbers.products + 63) / 64) + 2;
    }
    opened += 2 * 8 * groups + 3;
    cost->bytes = 3 * 2 * 80 + sent + 8 * opened + 32;
    return ERR_OK;
}

static uint64_t bytes_between(const struct check_play *play, unsigned s, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (; from < to; from++)
        for (unsigned k = 0; k < 2 * PLAY_MESSAGES; k++)
            sum += play->sent[s][from][k % 2][k / 2].size;
    return sum;
}

/*
 * With three candidates: apart from the flush, products that are shared in it and opened after it,
 * 16 bytes each, are the same as without a check; an opening takes one digest more.
 */
TEST(a_selection_sends_a_flush_more_and_an_opening_a_digest)
{
    for (unsigned squared = 0; squared < 2; squared++) {
        struct check_play plain CLEAN(play_free) = {.job = squared ? squares : distances,
                                                    .cheat = NOBODY};
        struct check_play checked CLEAN(play_free) = {
            .job = plain.job, .limits = &limits, .cheat = NOBODY};
        struct flush_cost flush = {.play = &checked};
        checked.guard[0] = (struct check_guard){.begin = price_flush, .self = &flush};
        play_run(&plain);
        play_run(&checked);
        for (unsigned s = 0; s < 3; s++) {
            assert_int_equal(bytes_between(&checked, s, checked.before, checked.between),
                             bytes_between(&plain, s, plain.before, plain.between) + flush.bytes +
                                 32);
            assert_int_equal(bytes_between(&checked, s, checked.between, checked.rounds),
                             bytes_between(&plain, s, plain.between, plain.rounds) + 32);
        }
    }
}

TEST(no_altered_word_opens_anything_else)
{
    for (size_t k = 0; k < JOBS; k++) {
        const struct check_play model = model_of(k);
        play_sweep(jobs[k].name, &model, jobs[k].may_go_on);
    }
}

/* --- a carry that is wrong -------------------------------------------------------------------- */

#define SHIFT 9

static enum err run_once(struct party *p, struct check_counts_inputs *in)
{
    return truncate_signed_ring64(p, in->out, in->v, SHIFT);
}

/* Server 0 has other low bits in its part, so other carries out of them, and nothing else. */
static enum err run_lie(struct party *p, struct check_counts_inputs *in)
{
    for (size_t i = 0; i < 64 && p->index == 0; i++)
        in->v.a[i] ^= ((uint64_t)1 << SHIFT) - 1;
    return truncate_signed_ring64(p, in->out, in->v, SHIFT);
}
JOB(once, play->n)
JOB(lie, play->n)

TEST(carries_must_be_those_of_the_sum)
{
    struct check_play honest CLEAN(play_free) = {
        .job = once, .n = 200, .limits = &limits, .cheat = NOBODY};
    struct check_play play CLEAN(play_free) = {.job = lie, .n = 200, .limits = &limits};
    play_run(&honest);
    play_run(&play);
    play_judge(&play, &honest, 0, "a carry", false);
}

/* It shares T + 1, and takes 2^(64-SHIFT) off what it adds and keeps: only T is wrong. */
static uint64_t *kept; /* server 0's, of the component that it adds to */

static enum err run_keeping(struct party *p, struct check_counts_inputs *in)
{
    if (p->index == 0)
        kept = in->out.b + party_parts(p, in->out.n, 64).j.begin;
    return truncate_signed_ring64(p, in->out, in->v, SHIFT);
}
JOB(keeping, play->n)

static enum err make_up(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    const uint64_t lifted = (uint64_t)1 << (64 - SHIFT);
    uint64_t *added = p;
    uint32_t *m = p;
    if (at->exchange != 1)
        return ERR_OK;
    for (size_t i = 0; at->to == NET_NEXT && at->message == 0 && i < n / sizeof *added; i++) {
        added[i] -= lifted;
        kept[at->offset / sizeof *added + i] -= lifted;
    }
    for (size_t i = 0; at->message == (at->to == NET_NEXT) && i < n / sizeof *m; i++)
        m[i]++;
    play->altered++;
    return ERR_OK;
}

TEST(what_is_multiplied_must_be_a_bit)
{
    struct check_play honest CLEAN(play_free) = {
        .job = once, .n = 200, .limits = &limits, .cheat = NOBODY};
    struct check_play play CLEAN(play_free) = {
        .job = keeping, .n = 200, .limits = &limits, .alter = make_up};
    play_run(&honest);
    play_run(&play);
    assert_true(play.altered > 0);
    play_judge(&play, &honest, 1, "a top bit", false);
}

/* --- two versions ----------------------------------------------------------------------------- */

/* One server hears a different m, or n: nobody goes on after the coin that follows. */
TEST(both_messages_of_a_choice_are_compared)
{
    for (unsigned k = 0; k < 6; k++) {
        struct check_altering a = {.to = NET_NEXT, .message = k / 3};
        struct check_play play CLEAN(play_free) = {.job = choose,
                                                   .n = 200,
                                                   .limits = &limits,
                                                   .cheat = k % 3,
                                                   .alter = play_alter_word,
                                                   .self = &a};
        play_run(&play);
        assert_int_equal(play.altered, 1);
        for (unsigned s = 0; s < 3; s++)
            if (s != play.cheat) {
                assert_int_equal(play.result[s], ERR_CHEAT);
                assert_false(play_has_sent(&play, s, 2, NET_PREV));
            }
    }
}

/* --- another number of j's -------------------------------------------------------------------- */

static enum err run_compare(struct party *p, struct check_counts_inputs *in)
{
    TRY(compare_top_bit(p, planes_plane(&in->bits, 0), in->v, 46));
    return convert_bit64(p, in->out, planes_plane(&in->bits, 0));
}
JOB(compare, play->n)

/*
 * Server 0 tells both others the same about a digit that is not its own. If that is even, one row
 * makes it the next one, as if a carry came in: all carries fit except the first.
 */
TEST(a_digit_is_that_of_the_sum)
{
    enum { ROWS = 63, LANES = 3 * 64 };
    struct check_play honest CLEAN(play_free) = {
        .job = compare, .n = LANES, .limits = &limits, .cheat = NOBODY};
    play_run(&honest);
    for (unsigned k = 0; k < 2 * ROWS; k++) {
        struct check_altering a = {0, NET_PREV, 0, k % ROWS, k < ROWS ? FLIP : TOP_BIT, true, 0};
        struct check_play play CLEAN(play_free) = {
            .job = compare, .n = LANES, .limits = &limits, .alter = play_alter_word, .self = &a};
        play_run(&play);
        assert_int_equal(play.altered, 2);
        play_judge(&play, &honest, 0, "a digit", false);
    }
}
