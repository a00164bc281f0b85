/*
 * mpc/pair/: base transfers, labels and gates. Each AND's rows against a twin that hashes one label
 * at a time; what is used once; what a message that no server sends comes to; secrets under
 * memcheck.
 */
#include "harness/cmocka.h"

#include "base/hash.h"
#include "mpc/pair/distance.h"
#include "mpc/pair/labels.h"
#include "mpc/pair/pick.h"
#include "tests/support/marks.h"
#include "tests/support/pair_ends.h"

#include <openssl/evp.h>

/* --- base transfers --------------------------------------------------------------------------- */

TEST(of_each_two_keys_the_provider_has_the_one_it_chose)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    OK(pair_ends_new(end));
    for (unsigned j = 0; j < LABELS_BITS; j++) {
        const struct pair_wire delta = end[0]->delta;
        const uint64_t bit = (j < 64 ? delta.low : delta.high) >> (j % 64) & 1;
        uint8_t chosen[16], of_zero[16], of_one[16];
        assert_null(end[0]->stream[1][j]);
        OK(prg_fill(end[0]->stream[0][j], chosen, 16));
        OK(prg_fill(end[1]->stream[0][j], of_zero, 16));
        OK(prg_fill(end[1]->stream[1][j], of_one, 16));
        assert_memory_equal(chosen, bit ? of_one : of_zero, 16);
        assert_memory_not_equal(of_one, of_zero, 16);
    }
}

TEST(delta_is_odd_and_of_this_session_alone)
{
    struct pair_wire seen = {0, 0}, last = {0, 0};
    for (unsigned k = 0; k < 8; k++) {
        struct pair *end[2] CLEAN(pair_ends_free);
        OK(pair_ends_new(end));
        assert_int_equal(end[0]->delta.low & 1, 1);
        assert_true(k == 0 || (end[0]->delta.low != last.low && end[0]->delta.high != last.high));
        last = end[0]->delta;
        seen = (struct pair_wire){seen.low | last.low, seen.high | last.high};
    }
    assert_true(__builtin_popcountll(seen.low) > 50 && __builtin_popcountll(seen.high) > 50);
}

TEST(keys_are_of_one_session)
{
    const uint8_t id[2][PAIR_ID_SIZE] = {{1}, {2}};
    struct pair *end[2] CLEAN(pair_ends_free) = {NULL};
    uint8_t hello[PAIR_HELLO_SIZE], choices[PAIR_CHOICES_SIZE], key[3][16];
    OK(pair_new(&end[0], PAIR_PROVIDER, id[0]));
    OK(pair_new(&end[1], PAIR_KEEPER, id[1]));
    OK(pair_hello(end[1], hello));
    OK(pair_choose(end[0], hello, choices));
    OK(pair_chosen(end[1], choices));
    OK(prg_fill(end[0]->stream[0][0], key[0], 16));
    OK(prg_fill(end[1]->stream[0][0], key[1], 16));
    OK(prg_fill(end[1]->stream[1][0], key[2], 16));
    assert_memory_not_equal(key[0], key[1], 16);
    assert_memory_not_equal(key[0], key[2], 16);
}

TEST(base_transfers_are_made_once_and_in_order)
{
    static const uint8_t id[PAIR_ID_SIZE];
    uint8_t hello[PAIR_HELLO_SIZE], choices[PAIR_CHOICES_SIZE] = {0}, matrix[2048];
    struct pair *end[2] CLEAN(pair_ends_free) = {NULL}, *other[2] CLEAN(pair_ends_free);
    struct pair_wire labels[128];
    uint64_t bits[2] = {0};
    OK(pair_ends_new(other));
    assert_int_equal(pair_hello(other[1], hello), ERR_MISUSE);
    assert_int_equal(pair_choose(other[0], hello, choices), ERR_MISUSE);
    assert_int_equal(pair_chosen(other[1], choices), ERR_MISUSE);
    for (unsigned i = 0; i < 2; i++)
        OK(pair_new(&end[i], i == 0 ? PAIR_PROVIDER : PAIR_KEEPER, id));
    assert_int_equal(pair_hello(end[0], hello), ERR_MISUSE);
    assert_int_equal(pair_chosen(end[0], choices), ERR_MISUSE);
    assert_int_equal(pair_choose(end[1], hello, choices), ERR_MISUSE);
    assert_int_equal(labels_of_bits(end[1], bits, 1, matrix, labels), ERR_MISUSE);
    assert_int_equal(labels_of_matrix(end[0], matrix, 1, labels), ERR_MISUSE);
    OK(pair_hello(end[1], hello));
    OK(pair_choose(end[0], hello, choices));
    OK(pair_chosen(end[1], choices));
}

/* No point at all, the neutral one, and B = A, of which the keeper could make no second key. */
TEST(what_is_no_point_is_refused)
{
    static const uint8_t id[PAIR_ID_SIZE];
    for (unsigned fault = 0; fault < 5; fault++) {
        struct pair *end[2] CLEAN(pair_ends_free) = {NULL};
        uint8_t hello[PAIR_HELLO_SIZE], choices[PAIR_CHOICES_SIZE];
        OK(pair_new(&end[0], PAIR_PROVIDER, id));
        OK(pair_new(&end[1], PAIR_KEEPER, id));
        OK(pair_hello(end[1], hello));
        if (fault < 2) {
            memset(hello, fault == 0 ? 0xff : 0, sizeof hello);
            assert_int_equal(pair_choose(end[0], hello, choices), ERR_FORMAT);
            continue;
        }
        OK(pair_choose(end[0], hello, choices));
        if (fault == 4)
            memcpy(choices + 32 * 127, hello, 32);
        else
            memset(choices + 32 * 127, fault == 2 ? 0xff : 0, 32);
        assert_int_equal(pair_chosen(end[1], choices), ERR_FORMAT);
    }
}

/* --- labels ----------------------------------------------------------------------------------- */

TEST(labels_differ_by_delta_where_the_bit_is_one_and_never_come_again)
{
    enum { MOST = 1100 };
    struct pair *end[2] CLEAN(pair_ends_free);
    struct random r = random_of(1);
    struct pair_wire first = {0, 0};
    OK(pair_ends_new(end));
    for (size_t n = 1; n < MOST; n += 137) {
        uint64_t bits[MOST / 64 + 3] = {0};
        struct pair_wire zero[MOST + 128], active[MOST + 128];
        uint8_t matrix[16 * (MOST + 128)];
        for (size_t i = 0; i < n; i++)
            bits[i / 64] |= (random_u64(&r) & 1) << (i % 64);
        assert_int_equal(labels_matrix(n), 16 * ((n + 127) / 128 * 128));
        OK(labels_of_bits(end[1], bits, n, matrix, active));
        OK(labels_of_matrix(end[0], matrix, n, zero));
        for (size_t i = 0; i < n; i++) {
            const struct pair_wire d = wire_xor(zero[i], active[i]);
            const struct pair_wire want = wire_if(bits[i / 64] >> (i % 64) & 1, end[0]->delta);
            assert_true(d.low == want.low && d.high == want.high);
        }
        assert_true(active[0].low != first.low && active[0].high != first.high);
        first = active[0];
    }
}

/* --- gates ------------------------------------------------------------------------------------ */

static struct pair_wire some_wire(struct random *r)
{
    const uint64_t low = random_u64(r);
    return (struct pair_wire){low, random_u64(r)};
}

static struct pair_wire aes(const uint8_t key[16], struct pair_wire x)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    struct pair_wire out[2];
    int n;
    assert_int_equal(EVP_EncryptInit_ex(c, EVP_aes_128_ecb(), NULL, key, NULL), 1);
    assert_int_equal(EVP_EncryptUpdate(c, (uint8_t *)out, &n, (const uint8_t *)&x, 16), 1);
    EVP_CIPHER_CTX_free(c);
    return out[0];
}

static struct pair_wire hash_of(const uint8_t key[16], struct pair_wire x, uint64_t i)
{
    const struct pair_wire y = aes(key, x), z = aes(key, wire_xor(y, (struct pair_wire){i, 0}));
    return wire_xor(y, z);
}

/* The rows and the zero label of one AND, as the header has them. */
static struct pair_wire twin(const uint8_t key[16], struct pair_wire delta, struct pair_wire a,
                             struct pair_wire b, uint64_t i, struct pair_wire row[2])
{
    const struct pair_wire a0 = hash_of(key, a, i), b0 = hash_of(key, b, i + 1);
    struct pair_wire out = wire_xor(a0, b0);
    row[0] = wire_xor(a0, hash_of(key, wire_xor(a, delta), i));
    row[1] = wire_xor(wire_xor(b0, hash_of(key, wire_xor(b, delta), i + 1)), a);
    if (b.low & 1)
        row[0] = wire_xor(row[0], delta);
    if (a.low & 1)
        out = wire_xor(out, row[0]);
    return b.low & 1 ? wire_xor(out, wire_xor(row[1], a)) : out;
}

#define GATES 300 /* more than two batches */

TEST(rows_are_those_of_a_twin_and_open_to_the_product)
{
    struct random r = random_of(2);
    const uint8_t key[16] = {1, 2, 3};
    const struct pair_wire delta = wire_xor(some_wire(&r), (struct pair_wire){0, 0});
    const struct pair_wire odd = {delta.low | 1, delta.high};
    struct pair_wire a[GATES], b[GATES], out[GATES], x[GATES], y[GATES], got[GATES], rows[GATES][2];
    struct pair_gates garble CLEAN(pair_gates_free), evaluate CLEAN(pair_gates_free);
    OK(pair_gates_garble(&garble, NULL, key, odd, (uint8_t *)rows, GATES));
    OK(pair_gates_evaluate(&evaluate, NULL, key, (uint8_t *)rows, GATES));
    for (size_t k = 0; k < GATES; k++) {
        a[k] = some_wire(&r);
        b[k] = some_wire(&r);
        x[k] = wire_xor(a[k], wire_if(k & 1, odd));
        y[k] = wire_xor(b[k], wire_if(k >> 1 & 1, odd));
    }
    pair_gates_and(&garble, out, a, b, GATES);
    pair_gates_and(&evaluate, got, x, y, GATES);
    OK(pair_gates_done(&garble));
    OK(pair_gates_done(&evaluate));
    for (size_t k = 0; k < GATES; k++) {
        struct pair_wire row[2], zero = twin(key, odd, a[k], b[k], 2 * k, row);
        const struct pair_wire want = wire_xor(zero, wire_if(k & k >> 1 & 1, odd));
        assert_memory_equal(row, rows[k], sizeof row);
        assert_memory_equal(&zero, &out[k], sizeof zero);
        assert_memory_equal(&want, &got[k], sizeof want);
    }
}

/* The same wires again, and an AND of a wire with itself: an i that came twice would show. */
TEST(no_two_hashes_have_the_same_number)
{
    struct random r = random_of(3);
    const uint8_t key[16] = {7};
    struct pair_wire delta = some_wire(&r), a[4], out[4], row[4][2];
    struct pair_gates g CLEAN(pair_gates_free);
    delta.low |= 1;
    a[0] = a[1] = a[2] = a[3] = some_wire(&r);
    OK(pair_gates_garble(&g, NULL, key, delta, (uint8_t *)row, 4));
    pair_gates_and(&g, out, a, a, 3);
    pair_gates_and(&g, out + 3, a, a, 1);
    for (unsigned k = 0; k < 8; k++) {
        struct pair_wire one = wire_xor(row[k / 2][k % 2], wire_if(k % 2, a[0]));
        one = wire_xor(one, wire_if(a[0].low & ~k & 1, delta)); /* the difference of two hashes */
        for (unsigned j = 0; j < k; j++) {
            struct pair_wire other = wire_xor(row[j / 2][j % 2], wire_if(j % 2, a[0]));
            other = wire_xor(other, wire_if(a[0].low & ~j & 1, delta));
            assert_true(one.low != other.low && one.high != other.high);
        }
    }
}

/* Of one label again and again, and of an AND's that has the same numbers: all masks differ. */
TEST(words_that_bits_choose_have_numbers_of_their_own)
{
    enum { ROWS = 2 * GATES_CHOSEN / 4 };
    struct random r = random_of(5);
    const uint8_t key[16] = {8};
    const uint64_t none[GATES_CHOSEN] = {0};
    struct pair_wire delta = some_wire(&r), a[GATES_CHOSEN];
    uint64_t more[2 * GATES_CHOSEN + 2 * ROWS], share = 0;
    struct pair_gates g CLEAN(pair_gates_free);
    delta.low |= 1;
    for (unsigned k = 0; k < GATES_CHOSEN; k++)
        a[k] = k == 0 ? some_wire(&r) : a[0];
    OK(pair_gates_garble(&g, NULL, key, delta, (uint8_t *)more, ROWS));
    for (unsigned k = 0; k < 2; k++)
        OK(pair_gates_choose(&g, &share, a, 0, none));
    OK(pair_gates_done(&g));
    assert_int_equal(pair_gates_choose(&g, &share, a, 0, none), ERR_RANGE);
    for (unsigned k = 0; k < ROWS; k++) { /* the differences of two hashes under ANDs' numbers */
        const uint64_t i = 2 * k;
        more[2 * GATES_CHOSEN + 2 * k] = hash_of(key, a[0], i).low -
                                         hash_of(key, wire_xor(a[0], delta), i).low;
        more[2 * GATES_CHOSEN + 2 * k + 1] = hash_of(key, a[0], i + 1).low -
                                             hash_of(key, wire_xor(a[0], delta), i + 1).low;
    }
    for (unsigned k = 0; k < 2 * GATES_CHOSEN + 2 * ROWS; k++)
        for (unsigned j = 0; j < k; j++)
            assert_true(more[j] != more[k]);
}

TEST(the_key_is_another_after_so_many)
{
    const uint64_t every = UINT64_C(1) << 24;
    struct random r = random_of(4);
    uint8_t key[16] = {9}, number[8], next[32];
    struct pair_wire delta = some_wire(&r), a[8], b[8], out[8], rows[9][2], row[2];
    struct pair_gates g CLEAN(pair_gates_free);
    delta.low |= 1;
    for (unsigned k = 0; k < 8; k++) {
        a[k] = some_wire(&r);
        b[k] = some_wire(&r);
    }
    OK(pair_gates_garble(&g, NULL, key, delta, (uint8_t *)rows, every + 4));
    pair_gates_and(&g, out, a, b, 1);
    g.ands = every - 4; /* as if they had been made */
    pair_gates_and(&g, out, a, b, 8);
    OK(pair_gates_done(&g));
    integer_put(number, 1, sizeof number);
    hash_labelled(next, "trefoil-pair-gates-1", key, sizeof key, number, sizeof number);
    for (unsigned k = 0; k < 8; k++) {
        twin(k < 4 ? key : next, delta, a[k], b[k], 2 * (every - 4 + k), row);
        assert_memory_equal(row, rows[1 + k], sizeof row);
    }
}

TEST(a_table_has_exactly_its_ands)
{
    const uint8_t key[16] = {0};
    const struct pair_wire w[3] = {{5, 5}, {6, 6}, {7, 7}};
    struct pair_wire out[3], row[3][2];
    struct pair_gates g CLEAN(pair_gates_free);
    OK(pair_gates_garble(&g, NULL, key, (struct pair_wire){1, 1}, (uint8_t *)row, 2));
    pair_gates_and(&g, out, w, w, 1);
    assert_int_equal(pair_gates_done(&g), ERR_RANGE);
    pair_gates_and(&g, out, w, w, 1);
    OK(pair_gates_done(&g));
    pair_gates_and(&g, out, w, w, 1);
    assert_int_equal(pair_gates_done(&g), ERR_RANGE);
}

/* --- secrets ---------------------------------------------------------------------------------- */

#define CELLS 40

/* Shares and Delta are marked; under memcheck no branch and no index may depend on them. */
TEST(no_branch_depends_on_a_secret)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    uint64_t share[2][CELLS], estimate[CELLS] = {0}, out[2][2] = {{0}};
    struct pair_candidate c[2][2];
    struct pair_pick pick[2];
    uint8_t proof[16];
    OK(pair_ends_new(end));
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    marks_secret(&end[0]->delta, sizeof end[0]->delta);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < CELLS; k++)
            share[i][k] = i == 0 ? 7 * k : 0 - 6 * k;
        marks_secret(share[i], sizeof share[i]);
        c[i][0] = (struct pair_candidate){CELLS / 2, share[i], estimate, 100};
        c[i][1] = (struct pair_candidate){CELLS / 4, share[i] + CELLS / 2, estimate, 1000};
        OK(pair_distance_new(&run[i], end[i],
                             &(struct pair_distance){c[i], 2, 8, 1 << 10, out[i]}));
    }
    OK(pair_ends_matrix(run, 999));
    OK(pair_ends_tables(run, 999));
    for (unsigned i = 0; i < 2; i++) {
        pair_run_free(&run[i]);
        pick[i] = (struct pair_pick){out[i], 2, 30, 2};
        OK(pair_pick_new(&run[i], end[i], &pick[i]));
    }
    OK(pair_ends_matrix(run, 999));
    OK(pair_ends_tables(run, 999));
    assert_true(marks_reach(&pick[1].index, sizeof pick[1].index) == marks_on());
    OK(pair_pick_prove(run[1], proof));
    marks_public(&pick[1].index, sizeof pick[1].index);
    assert_int_equal(pick[1].index, 1);
}
