/* protocols/ on many lanes: the same sums as on one, with the same openings in the same rounds. */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/check/check.h"
#include "mpc/move/crew.h"
#include "protocols/counts_sum.h"
#include "protocols/mask.h"
#include "protocols/portion.h"
#include "protocols/records.h"
#include "protocols/score.h"
#include "protocols/tape.h"

static const size_t lane_counts[] = {1, 2, 3};

/* --- counts ----------------------------------------------------------------------------------- */

#define OWNERS 3
#define CELLS 1500
#define BITS 9

struct lanes_owners_counts {
    int64_t counts[OWNERS][CELLS];
    uint8_t seed[OWNERS][2][MASK_SEED_SIZE];
    uint8_t vector[OWNERS][CELLS * 2];
    struct three_result out;
};

static enum err sum_counts(struct party *p, void *shared)
{
    struct lanes_owners_counts *a = shared;
    struct counts_upload uploads[OWNERS];
    struct share64 out CLEAN(share64_free);
    TRY(share64_new(&out, CELLS));
    for (size_t i = 0; i < OWNERS; i++) {
        uploads[i] = (struct counts_upload){.bits = BITS, .vector = a->vector[i]};
        for (unsigned c = 0; c < 2; c++)
            if ((p->index + c) % 3 < 2)
                uploads[i].seed[c] = a->seed[i][(p->index + c) % 3];
    }
    TRY(counts_sum(p, out, uploads, OWNERS, BITS + 2));
    three_put64(&a->out, p, out);
    return ERR_OK;
}

TEST(counts_add_up)
{
    struct lanes_owners_counts *a CLEAN(memory_release) = memory_array(1, sizeof *a);
    struct three_costs cost[3];
    uint64_t s = 1;
    for (size_t i = 0; i < OWNERS; i++) {
        for (size_t k = 0; k < CELLS; k++)
            a->counts[i][k] = (int64_t)(three_random(&s) & ((1 << BITS) - 1));
        a->seed[i][0][0] = a->seed[i][1][1] = (uint8_t)(i + 1);
        OK(counts_pack(a->counts[i], CELLS, BITS, a->vector[i]));
        OK(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])a->seed[i], a->vector[i],
                       counts_bytes(CELLS, BITS)));
    }
    OK(three_result_new(&a->out, CELLS));
    for (size_t k = 0; k < 3; k++) {
        OK(three_run_lanes(3, lane_counts[k], 8, sum_counts, a, &cost[k], NULL));
        assert_true(three_replicated(&a->out, 64));
        for (size_t i = 0; i < CELLS; i++)
            assert_int_equal(three_sum64(&a->out, i),
                             a->counts[0][i] + a->counts[1][i] + a->counts[2][i]);
        assert_int_equal(cost[k].rounds, cost[0].rounds);
    }
    three_result_free(&a->out);
}

/* --- scores ----------------------------------------------------------------------------------- */

#define QUERIES 5
#define COUNT_BITS 12

static const uint64_t cells[QUERIES] = {700, 64, 3, 2000, 5000};

struct scores {
    uint64_t x[QUERIES][5000], estimate[QUERIES][5000];
    struct three_result out;
};

static enum err make_counts(struct party *p, const struct scores *s, struct counts **counts)
{
    TRY(counts_new(counts, cells, QUERIES, COUNT_BITS));
    for (size_t q = 0; q < QUERIES; q++) {
        const struct share64 to = counts_query(*counts, q);
        for (size_t i = 0; i < cells[q]; i++) {
            const uint64_t c[3] = {i + 77, 1000 * i, s->x[q][i] - (i + 77) - 1000 * i};
            to.a[i] = c[p->index];
            to.b[i] = c[(p->index + 1) % 3];
        }
    }
    return counts_finish(p, *counts);
}

static enum err score_all(struct party *p, void *shared)
{
    struct scores *s = shared;
    struct score_candidate candidates[QUERIES];
    struct counts *counts CLEAN(counts_free) = NULL;
    struct share64 out CLEAN(share64_free);
    TRY(share64_new(&out, QUERIES));
    for (size_t q = 0; q < QUERIES; q++)
        candidates[q] = (struct score_candidate){q, s->estimate[q]};
    TRY(make_counts(p, s, &counts));
    TRY(score_l1(p, out, counts, candidates, SCORE_UNIT));
    three_put64(&s->out, p, out);
    return ERR_OK;
}

TEST(scores_are_made_by_all_lanes)
{
    struct scores *s CLEAN(memory_release) = memory_array(1, sizeof *s);
    struct three_costs cost[3];
    uint64_t seed = 5, expected[QUERIES] = {0};
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t i = 0; i < cells[q]; i++) {
            const uint64_t x = three_random(&seed) % (1 << COUNT_BITS), grid = x << SCORE_BITS,
                           c = three_random(&seed) % ((2 << SCORE_BITS << COUNT_BITS) / cells[q]);
            s->x[q][i] = x;
            s->estimate[q][i] = c < (uint64_t)1 << (SCORE_BITS + COUNT_BITS) ? c : 0;
            expected[q] += grid > s->estimate[q][i] ? grid - s->estimate[q][i]
                                                    : s->estimate[q][i] - grid;
        }
    OK(three_result_new(&s->out, QUERIES));
    for (size_t k = 0; k < 3; k++) {
        OK(three_run_lanes(8, lane_counts[k], 8, score_all, s, &cost[k], NULL));
        assert_true(three_replicated(&s->out, 64));
        for (size_t q = 0; q < QUERIES; q++)
            assert_true(three_sum64(&s->out, q) == expected[q]);
        assert_int_equal(cost[k].rounds, cost[0].rounds);
    }
    three_result_free(&s->out);
}

/* --- records ---------------------------------------------------------------------------------- */

#define RECORDS 3000
#define COLUMNS 4

#define PAIRS 6
#define COUNTED (5 * 16 * 9 + 18)

static const uint32_t sizes[COLUMNS] = {5, 16, 2, 9};
static const int64_t scores[COLUMNS][16] = {
    {-5, -1, 2, 3, 9}, {1, 2, 3, 0, -7}, {4, 3}, {8, 8, -1}};

struct records {
    uint8_t seed[2][MASK_SEED_SIZE];
    uint16_t code[COLUMNS][RECORDS];
    uint8_t vector[16 * (RECORDS / 8)];
    struct three_result out;
};

static enum err count_records(struct party *p, void *shared)
{
    static const uint16_t column[COLUMNS] = {0, 1, 2, 3};
    const struct records_shape shape = {COLUMNS, sizes};
    struct records *r = shared;
    struct records_part part = {.attributes = COLUMNS, .attribute = column, .vector = r->vector};
    const struct records_batch batch = {.records = RECORDS, .parts = 1, .part = &part};
    struct records_query query[2];
    static const int64_t *const score[COLUMNS] = {scores[0], scores[1], scores[2], scores[3]};
    struct share64 out CLEAN(share64_free);
    TRY(share64_new(&out, COUNTED + PAIRS));
    query[0] = (struct records_query){3, {0, 1, 3}, share64_view(out, 0, 5 * 16 * 9)};
    query[1] = (struct records_query){2, {2, 3}, share64_view(out, 5 * 16 * 9, 18)};
    for (unsigned k = 0; k < 2; k++)
        part.seed[k] = (p->index + k) % 3 == 2 ? NULL : r->seed[(p->index + k) % 3];
    TRY(records_count(p, &shape, &batch, 1, query, 2));
    TRY(records_moments(p, &shape, &batch, 1, score, NULL, share64_view(out, COUNTED, PAIRS)));
    three_put64(&r->out, p, out);
    return ERR_OK;
}

static void set_bit(struct records *r, size_t plane, size_t record)
{
    r->vector[plane * (RECORDS / 8) + record / 8] |= (uint8_t)(1 << record % 8);
}

/* Planes: validity, then each code from its highest bit down. */
static void pack(struct records *r)
{
    for (size_t i = 0; i < RECORDS; i++) {
        size_t plane = 0;
        set_bit(r, plane++, i);
        for (size_t a = 0; a < COLUMNS; a++)
            for (unsigned bit = sizes[a] > 8 ? 4 : sizes[a] > 4 ? 3 : 1; bit-- > 0; plane++)
                if (r->code[a][i] >> bit & 1)
                    set_bit(r, plane, i);
    }
    for (unsigned k = 0; k < 2; k++)
        OK(prg_xor_once(r->seed[k], r->vector, 13 * (RECORDS / 8)));
}

TEST(records_are_counted_by_all_lanes)
{
    struct records *r CLEAN(memory_release) = memory_array(1, sizeof *r);
    uint64_t seed = 9, expected[COUNTED + PAIRS] = {0};
    struct three_costs cost[3];
    r->seed[0][0] = r->seed[1][3] = 7;
    for (size_t i = 0; i < RECORDS; i++) {
        for (size_t a = 0; a < COLUMNS; a++)
            r->code[a][i] = (uint16_t)(three_random(&seed) % sizes[a]);
        expected[(r->code[0][i] * 16 + r->code[1][i]) * 9 + r->code[3][i]]++;
        expected[5 * 16 * 9 + r->code[2][i] * 9 + r->code[3][i]]++;
        for (size_t a = 0, pair = COUNTED; a < COLUMNS; a++)
            for (size_t b = a + 1; b < COLUMNS; b++)
                expected[pair++] += (uint64_t)(scores[a][r->code[a][i]] * scores[b][r->code[b][i]]);
    }
    pack(r);
    OK(three_result_new(&r->out, COUNTED + PAIRS));
    for (size_t k = 0; k < 3; k++) {
        OK(three_run_lanes(12, lane_counts[k], 8, count_records, r, &cost[k], NULL));
        assert_true(three_replicated(&r->out, 64));
        for (size_t i = 0; i < COUNTED + PAIRS; i++)
            assert_int_equal(three_sum64(&r->out, i), expected[i]);
        assert_int_equal(cost[k].rounds, cost[0].rounds);
        assert_int_equal(cost[k].sent[0] + cost[k].sent[1] + cost[k].sent[2],
                         cost[0].sent[0] + cost[0].sent[1] + cost[0].sent[2]);
    }
    three_result_free(&r->out);
}

/* --- an attribute of one value ---------------------------------------------------------------- */

struct lanes_narrow {
    uint8_t seed[2][MASK_SEED_SIZE], vector[6 * 8];
    bool checked;
    struct three_result out;
};

static enum err sum_narrow(struct party *p, void *shared)
{
    static const uint32_t values[] = {32, 1};
    static const uint16_t column[] = {0, 1};
    static const int64_t wide[32] = {[31] = 7}, one[1] = {3}, *const score[] = {wide, one};
    const struct records_shape shape = {2, values};
    struct lanes_narrow *r = shared;
    struct records_part part = {.attributes = 2, .attribute = column, .vector = r->vector};
    const struct records_batch batch = {.records = 64, .parts = 1, .part = &part};
    static const struct check_limits limits;
    struct share64 out CLEAN(share64_free) = {0};
    for (unsigned k = 0; k < 2; k++)
        part.seed[k] = (p->index + k) % 3 == 2 ? NULL : r->seed[(p->index + k) % 3];
    if (r->checked)
        TRY(check_new(p, &limits));
    TRY(share64_new(&out, 1));
    TRY(records_moments(p, &shape, &batch, 1, score, NULL, out));
    three_put64(&r->out, p, out);
    return ERR_OK;
}

/*
 * The last lane has this attribute alone, and no tree to grow: 64 records of the values 31 and 0.
 */
TEST(a_lane_may_have_an_attribute_of_one_value_alone)
{
    struct lanes_narrow *r CLEAN(memory_release) = memory_array(1, sizeof *r);
    memset(r->vector, 0xff, sizeof r->vector);
    for (unsigned k = 0; k < 2; k++) {
        r->seed[k][0] = (uint8_t)(k + 1);
        OK(prg_xor_once(r->seed[k], r->vector, sizeof r->vector));
    }
    OK(three_result_new(&r->out, 1));
    for (size_t k = 0; k < 6; k++) {
        r->checked = k >= 3;
        OK(three_run_lanes(13, lane_counts[k % 3], 8, sum_narrow, r, NULL, NULL));
        assert_true(three_replicated(&r->out, 64));
        assert_int_equal(three_sum64(&r->out, 0), 64 * 7 * 3);
    }
    three_result_free(&r->out);
}

/* --- a count in portions ---------------------------------------------------------------------- */

#define PORTIONS_CELLS (CELLS + COUNTED)

/* Answers of so many cells, then records, as jobs of all lanes, which read nothing but bytes. */
struct lanes_counted {
    struct lanes_owners_counts *a;
    struct records *r;
    bool checked;
    struct three_result out;
};

struct lanes_cut {
    struct portion_whole whole;
    struct portion_sums sums;
    size_t lanes;
};

static enum err put_portion(void *self, size_t lane, struct bytes *arguments)
{
    const struct lanes_cut *c = self;
    return portion_put(&c->whole, lane, c->lanes, arguments);
}

static enum err count_portion(void *self, struct party *lane, struct reader *arguments,
                              struct bytes *result)
{
    struct lanes_cut *c = self;
    return portion_count(lane, arguments, &c->sums);
}

static enum err count_in_portions(struct party *p, const struct portion_whole *whole,
                                  struct share64 out)
{
    struct lanes_cut c = {.whole = *whole, .lanes = crew_all(p)};
    const struct crew_job job = {CREW_COUNT, put_portion, count_portion, NULL, &c};
    portion_sums_new(&c.sums);
    enum err e = crew_jobs(p, &job);
    for (size_t i = 0; i < out.n && e == ERR_OK; i++) {
        out.a[i] = c.sums.sums.a[i];
        out.b[i] = c.sums.sums.b[i];
    }
    portion_sums_free(&c.sums);
    return e;
}

static enum err count_both(struct party *p, void *shared)
{
    static const uint16_t column[COLUMNS] = {0, 1, 2, 3};
    struct lanes_counted *x = shared;
    struct counts_upload upload[OWNERS];
    struct records_part part = {.attributes = COLUMNS, .attribute = column, .vector = x->r->vector};
    const struct records_batch batch = {.records = RECORDS, .parts = 1, .part = &part};
    static const struct check_limits limits;
    struct share64 out CLEAN(share64_free) = {0};
    struct records_query query[2];
    struct portion_whole counted = {.upload = upload,
                                    .uploads = OWNERS,
                                    .bits = BITS + 2,
                                    .cells = CELLS},
                         records = {.batch = &batch,
                                    .batches = 1,
                                    .shape = {COLUMNS, sizes},
                                    .query = query,
                                    .queries = 2,
                                    .cells = COUNTED};
    TRY(x->checked ? check_new(p, &limits) : ERR_OK);
    TRY(share64_new(&out, PORTIONS_CELLS));
    query[0] = (struct records_query){3, {0, 1, 3}, share64_view(out, CELLS, 5 * 16 * 9)};
    query[1] = (struct records_query){2, {2, 3}, share64_view(out, CELLS + 5 * 16 * 9, 18)};
    for (size_t i = 0; i < OWNERS; i++)
        upload[i] = (struct counts_upload){.bits = BITS, .vector = x->a->vector[i]};
    for (unsigned k = 0; k < 2; k++) {
        const unsigned c = (p->index + k) % 3;
        for (size_t i = 0; i < OWNERS && c < 2; i++)
            upload[i].seed[k] = x->a->seed[i][c];
        part.seed[k] = c == 2 ? NULL : x->r->seed[c];
    }
    TRY(count_in_portions(p, &counted, share64_view(out, 0, CELLS)));
    TRY(count_in_portions(p, &records, share64_view(out, CELLS, COUNTED)));
    if (!check_clean(p)) /* jobs are proved when they end */
        return ERR_DATA;
    three_put64(&x->out, p, out);
    return ERR_OK;
}

/* By cells on two lanes, by uploads on three; when only the first does other work; and proved. */
TEST(portions_add_up_to_the_whole)
{
    struct lanes_owners_counts *a CLEAN(memory_release) = memory_array(1, sizeof *a);
    struct records *r CLEAN(memory_release) = memory_array(1, sizeof *r);
    struct lanes_counted x = {.a = a, .r = r};
    uint64_t s = 31, expected[PORTIONS_CELLS] = {0};
    for (size_t i = 0; i < OWNERS; i++) {
        for (size_t k = 0; k < CELLS; k++) {
            a->counts[i][k] = (int64_t)(three_random(&s) & ((1 << BITS) - 1));
            expected[k] += (uint64_t)a->counts[i][k];
        }
        a->seed[i][0][0] = a->seed[i][1][1] = (uint8_t)(i + 1);
        OK(counts_pack(a->counts[i], CELLS, BITS, a->vector[i]));
        OK(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])a->seed[i], a->vector[i],
                       counts_bytes(CELLS, BITS)));
    }
    for (size_t i = 0; i < RECORDS; i++) {
        for (size_t k = 0; k < COLUMNS; k++)
            r->code[k][i] = (uint16_t)(three_random(&s) % sizes[k]);
        expected[CELLS + (r->code[0][i] * 16 + r->code[1][i]) * 9 + r->code[3][i]]++;
        expected[CELLS + 5 * 16 * 9 + r->code[2][i] * 9 + r->code[3][i]]++;
    }
    pack(r);
    OK(three_result_new(&x.out, PORTIONS_CELLS));
    for (size_t k = 0; k < 5; k++) {
        const size_t lanes = k >= 3 ? 3 : lane_counts[k];
        x.checked = k == 4;
        OK(k >= 3 ? three_run_dealt(5, lanes, 1, count_both, &x, NULL, NULL)
                  : three_run_lanes(5, lanes, 8, count_both, &x, NULL, NULL));
        assert_true(three_replicated(&x.out, 64));
        for (size_t i = 0; i < PORTIONS_CELLS; i++)
            assert_int_equal(three_sum64(&x.out, i), expected[i]);
    }
    three_result_free(&x.out);
}

/* --- noise ------------------------------------------------------------------------------------ */

#define SAMPLES 1280

struct noise {
    enum noise_kind noise;
    enum noise_law kind;
    bool checked;
    struct three_result out;
};

static enum err make_noise(struct party *p, void *shared)
{
    static const uint8_t id[TAPE_ID_SIZE] = {7};
    static const struct check_limits limits;
    struct noise *n = shared;
    struct share64 taken CLEAN(share64_free) = {0};
    struct tape tape CLEAN(tape_free);
    tape_start(&tape, id, n->noise);
    TRY(n->checked ? check_new(p, &limits) : ERR_OK);
    TRY(tape_reserve(p, &tape, n->kind, SAMPLES));
    TRY(share64_new(&taken, SAMPLES));
    TRY(tape_take(&tape, n->kind, taken));
    three_put64(&n->out, p, taken);
    return ERR_OK;
}

/* Bounds that correct samples miss once in 10^8 runs; the keys are fixed. */
static void expect_samples(const struct three_result *out, size_t from, size_t n, bool gumbel)
{
    const double grid = gumbel ? 0x1p-24 : 0x1p-20, mean = gumbel ? 0.5772 : 0,
                 deviation = gumbel ? M_PI / sqrt(6) : 1;
    double sum = 0, squares = 0;
    for (size_t i = from; i < from + n; i++) {
        const double z = ((double)(int64_t)three_sum64(out, i) * grid - mean) / deviation;
        assert_true(fabs(z) < 16);
        sum += z;
        squares += z * z;
    }
    assert_true(fabs(sum / (double)n) < 5.8 / sqrt((double)n));
    assert_true(fabs(squares / (double)n - 1) < 16 / sqrt((double)n));
}

TEST(noise_is_made_by_all_lanes)
{
    for (size_t k = 0; k <= NOISE_KINDS; k++) {
        struct noise n = {.noise = k < NOISE_KINDS ? (enum noise_kind)k : NOISE_BOX_MULLER,
                          .kind = k < NOISE_KINDS ? NOISE_GAUSS : NOISE_GUMBEL};
        const struct tape_cost *stated = tape_cost(n.noise, n.kind);
        struct three_costs cost[3];
        OK(three_result_new(&n.out, SAMPLES));
        for (size_t l = 0; l < 3; l++) {
            const size_t lanes = lane_counts[l], part = SAMPLES / lanes;
            OK(three_run_lanes(4, lanes, 8, make_noise, &n, &cost[l], NULL));
            assert_true(three_replicated(&n.out, 64));
            for (size_t lane = 0; lane < lanes; lane++)
                expect_samples(&n.out, lane * part, part, n.kind == NOISE_GUMBEL);
            if (!stated->first)
                assert_int_equal(cost[l].rounds, stated->plain.exchanges);
            else if (cost[l].opened_calls[OPEN_REJECT_BIT] == cost[0].opened_calls[OPEN_REJECT_BIT])
                assert_int_equal(cost[l].rounds, cost[0].rounds);
            if (!stated->first)
                assert_int_equal(cost[l].opened_calls[OPEN_REJECT_BIT], 0);
        }
        three_result_free(&n.out);
    }
}

/* Lanes with the same numbers make the same samples, wherever they are. */
/* All lanes of a process together hold as much at once as a single one does. */
static enum err measure_tiles(struct party *p, void *shared)
{
    const size_t most = 1 << 17, lanes = crew_all(p);
    return lanes * crew_deal_tile(p, 8 * most, most, 128) <= most + 128 * lanes ? ERR_OK
                                                                                : ERR_RANGE;
}

TEST(lanes_of_one_process_share_its_memory)
{
    OK(three_run_dealt(15, 8, 1, measure_tiles, NULL, NULL, NULL));
}

TEST(noise_does_not_depend_on_who_has_the_lanes)
{
    struct noise n[2];
    for (unsigned i = 0; i < 2 * NOISE_LAWS; i++) {
        const enum noise_law kind = (enum noise_law)(i / 2);
        for (size_t k = 0; k < 2; k++) {
            n[k] = (struct noise){.kind = kind, .checked = i % 2 != 0};
            OK(three_result_new(&n[k].out, SAMPLES));
        }
        OK(three_run_lanes(14, 3, 8, make_noise, &n[0], NULL, NULL));
        OK(three_run_dealt(14, 3, 1, make_noise, &n[1], NULL, NULL));
        for (size_t s = 0; s < SAMPLES; s++)
            assert_int_equal(three_sum64(&n[0].out, s), three_sum64(&n[1].out, s));
        for (size_t k = 0; k < 2; k++)
            three_result_free(&n[k].out);
    }
}
