/* parties/store: the ledger, rounds and their noise, and how three servers agree on them. */
#include "base/hash.h"
#include "tests/support/stores.h"

#include "parties/server/round.h"
#include "parties/server/round_ledger.h"
#include "parties/server/round_uploads.h"

#include <sodium.h>
#include <sqlite3.h>

/* --- the ledger ------------------------------------------------------------------------------- */

static const uint8_t asked[32] = {0}; /* digest of each server's request */

struct meeting {
    struct stores_bench *b;
    enum err result[3];
    double spent[3];
    struct store_head head[3];
    char words[3][1024];
};

static enum err meet(struct party *p, void *shared)
{
    struct meeting *m = shared;
    struct store *store = m->b->store[p->index];
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_round round;
    struct round_ledger own = {.study = m->b->s.study};
    struct bytes staged CLEAN(bytes_clear) = {0};
    struct log log = {
        .buffer = m->words[p->index], .buffer_size = sizeof m->words[0], .level = LOG_ERROR};
    struct vouchers vouchers;
    bool adopt;
    TRY(store_ledger(store, &limits, &ledger, &own.head));
    TRY(store_vouchers(store, &own.vouchers));
    TRY(store_staged(store, &round, &staged));
    own.staged = staged;
    enum err e = round_ledger(p->net, asked, &own, &adopt, &vouchers, &log);
    if (e == ERR_OK && adopt)
        e = store_bind(store, &round, &vouchers, &own.head);
    m->result[p->index] = e;
    ledger_free(&ledger);
    TRY(store_ledger(store, &limits, &ledger, &m->head[p->index]));
    m->spent[p->index] = ledger_spent(ledger);
    return ERR_OK;
}

/*
 * What a server that lacks the third debit has staged: the same, one with another price or another
 * request, or nothing.
 */
enum staged { SAME, OTHER_PRICE, OTHER_REQUEST, NOTHING, STAGED };

static void stage_third(struct store *store, enum staged staged)
{
    struct store_round third = round_of(1, 2);
    third.request[0] ^= staged == OTHER_REQUEST;
    if (staged != NOTHING)
        OK(stage_at(store, &third, staged == OTHER_PRICE ? 2 : 3));
}

/* A neighbour's debit is taken over only if it is, byte for byte, the staged one. */
TEST(a_debit_is_taken_over_by_who_has_staged_it)
{
    for (unsigned have = 1; have < 8; have++) /* those with the third debit, as bits */
        for (enum staged staged = 0; staged < STAGED; staged++) {
            const struct store_round third = round_of(1, 2);
            struct store_found found;
            struct stores_bench b CLEAN(bench_free);
            struct meeting m = {.b = &b};
            b = bench_new();
            for (unsigned i = 0; i < 3; i++) {
                debit_times(&b, i, 0, have >> i & 1 ? 3 : 2);
                if (!(have >> i & 1))
                    stage_third(b.store[i], staged);
            }
            OK(three_run(have, meet, &m, NULL));
            for (unsigned i = 0; i < 3; i++) {
                bool has = staged == SAME || (have >> i & 1);
                char names[64];
                snprintf(names, sizeof names, "has made debit 3, which server %u has not", i);
                assert_int_equal(m.result[i], has ? ERR_OK : ERR_MISMATCH);
                assert_true(m.spent[i] == (has ? 6 : 3));
                OK(store_find_round(b.store[i], third.run, 2, &found));
                assert_int_equal(found.standing == STANDING_BOUND, has);
                if (!has && (strstr(m.words[i], names) == NULL ||
                             strstr(m.words[i], "trefoil recover STUDY --key") == NULL))
                    fail_msg("server %u says: %s", i, m.words[i]);
            }
        }
}

/* Nor is it taken over unless its server shows that all three had staged it. */
TEST(a_debit_is_taken_over_with_all_vouchers)
{
    for (unsigned k = 0; k < 2 * STUDY_SERVERS_MOST; k++) {
        const unsigned without = k % STUDY_SERVERS_MOST;
        struct stores_bench b CLEAN(bench_free) = bench_new();
        struct meeting m = {.b = &b};
        uint8_t next[32];
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            debit_times(&b, i, 0, 2);
            stage_third(b.store[i], SAME);
        }
        staged_head(b.store[0], next);
        struct vouchers v = vouchers_of(&b, next);
        next[0] ^= 1; /* signed, but another debit; or not signed at all */
        if (k < STUDY_SERVERS_MOST)
            OK(voucher_sign(b.s.study, b.server[without], next, v.by[without]));
        else
            v.by[without][7] ^= 1;
        {
            const struct store_round third = round_of(1, 2);
            struct ledger *ledger CLEAN(ledger_free) = NULL;
            struct store_head head;
            OK(store_ledger(b.store[0], &limits, &ledger, &head));
            OK(store_bind(b.store[0], &third, &v, &head));
        }
        OK(three_run(k, meet, &m, NULL));
        for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++) {
            char says[64];
            snprintf(says, sizeof says, "does not show that server %u had prepared it", without);
            assert_int_equal(m.result[i], ERR_MISMATCH);
            assert_true(m.spent[i] == 3);
            support_says(m.words[i], says);
        }
    }
}

/*
 * Two have staged different debits. Server 0 tells each that it has made that one, and shows the
 * vouchers that it can have: its own, and what each of the two has signed.
 */
static enum err tell_both(struct party *p, void *shared)
{
    struct meeting *m = shared;
    struct {
        struct store_head head;
        uint8_t open[32];
        struct vouchers vouchers;
    } card[2];
    uint8_t came[2][sizeof card[0]], next[STUDY_SERVERS_MOST][32];
    struct net_exchange r = {0};
    if (p->index != 0)
        return meet(p, shared);
    for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++)
        staged_head(m->b->store[i], next[i]);
    for (unsigned q = 0; q < 2; q++) {
        const unsigned to = net_index_of(0, (enum net_peer)q);
        card[q].head.number = 3;
        memcpy(card[q].head.head, next[to], sizeof next[to]);
        memcpy(card[q].open, asked, sizeof asked);
        card[q].vouchers = vouchers_of(m->b, next[to]);
        memcpy(card[q].vouchers.by[3 - to], vouchers_of(m->b, next[3 - to]).by[3 - to],
               IDENTITY_SIGNATURE_SIZE);
        r.send[q] = &card[q];
        r.receive[q] = came[q];
        r.send_size[q] = r.receive_size[q] = sizeof card[q];
    }
    m->result[0] = net_exchange(p->net, &r);
    return ERR_OK;
}

TEST(no_server_makes_two_others_debit_different_things)
{
    for (unsigned alike = 0; alike < 2; alike++) {
        struct stores_bench b CLEAN(bench_free) = bench_new();
        struct meeting m = {.b = &b};
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            debit_times(&b, i, 0, 2);
        stage_third(b.store[1], SAME);
        stage_third(b.store[2], alike ? SAME : OTHER_REQUEST);
        OK(three_run(alike, tell_both, &m, NULL));
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            assert_int_equal(m.result[i], i == 0 || alike ? ERR_OK : ERR_MISMATCH);
        assert_int_equal(m.head[1].number, alike ? 3 : 2);
        assert_memory_equal(&m.head[1], &m.head[2], sizeof m.head[1]);
    }
}

/* The last debit can be taken back, once, as long as nothing more happened to its round. */
TEST(a_last_debit_can_be_dropped)
{
    for (unsigned k = 0; k < 2; k++) {
        const struct store_round second = round_of(1, 1);
        struct stores_bench b CLEAN(bench_free) = bench_new();
        struct ledger *ledger CLEAN(ledger_free) = NULL;
        struct store_head head;
        struct bytes noise CLEAN(bytes_clear) = {0};
        debit_times(&b, 0, 0, 2);
        if (k == 1)
            OK(store_put_index(b.store[0], &second, 3));
        assert_int_equal(store_drop_last(b.store[0], 2), k == 1 ? ERR_LOST : ERR_OK);
        OK(store_ledger(b.store[0], &limits, &ledger, &head));
        assert_int_equal(head.number, 1 + k);
        assert_int_equal(store_noise(b.store[0], &second, &noise), k == 1 ? ERR_OK : ERR_LOST);
        if (k == 1)
            continue;
        assert_int_equal(store_drop_last(b.store[0], 2), ERR_LOST);
        debit_times(&b, 0, 1, 2); /* the same again */
        store_close(&b.store[0]);
        OK(open_store(&b, 0));
    }
}

/* Stages a round with a ledger that the test makes itself. */
static void stage_forged(struct store *store, const struct store_round *r,
                         const struct ledger_limits *with, unsigned spent)
{
    mpq_t cost;
    mpq_init(cost);
    mpq_set_ui(cost, spent, 1);
    struct ledger *after CLEAN(ledger_free) = MADE(ledger, ledger_new, with, &quiet);
    OK(ledger_debit(after, cost, &quiet));
    OK(stage_with(store, r, after));
    mpq_clear(cost);
}

TEST(ledgers_that_differ_by_more_are_refused)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        struct stores_bench b CLEAN(bench_free);
        struct meeting m = {.b = &b};
        b = bench_new();
        debit_times(&b, 0, 0, 3);
        debit_times(&b, 1, 0, 3);
        if (kind == 0) /* two behind: an old backup */
            debit_times(&b, 2, 0, 1);
        else if (kind == 1) /* as long, but another past */
            debit_times(&b, 2, 1, 4);
        else { /* one behind, of another past: the debit is staged, and does not follow */
            const struct store_round other = round_of(2, 1), third = round_of(1, 2);
            debit_times(&b, 2, 0, 1);
            OK(debit(b.store[2], &other, 4));
            stage_forged(b.store[2], &third, &limits, 6);
        }
        OK(three_run(kind, meet, &m, NULL));
        assert_int_equal(m.result[2], ERR_MISMATCH);
        assert_true(m.spent[0] == 6 && m.spent[1] == 6);
        assert_true(m.spent[2] == (kind == 0 ? 1 : kind == 1 ? 9 : 5));
    }
}

/*
 * A debit that resets or widens the others' budget is never taken over: neither in a session nor by
 * trefoil recover.
 */
TEST(a_neighbour_cannot_give_budget_back)
{
    static const struct ledger_limits wide = {.rho = 1000, .rows_per_person = 1};
    for (unsigned kind = 0; kind < 2; kind++) {
        const struct store_round r = round_of(2, 0);
        struct ledger *before CLEAN(ledger_free) = NULL;
        struct store_head head;
        struct bytes entry CLEAN(bytes_clear) = {0};
        uint8_t next[32];
        struct stores_bench b CLEAN(bench_free);
        struct meeting m = {.b = &b};
        b = bench_new();
        for (unsigned i = 0; i < 3; i++)
            debit_times(&b, i, 0, 2);
        OK(store_ledger(b.store[0], &limits, &before, &head));
        stage_forged(b.store[0], &r, kind == 0 ? &limits : &wide, kind == 0 ? 1 : 50);
        OK(store_bind(b.store[0], &r, &(const struct vouchers){0}, &head));
        OK(three_run(kind, meet, &m, NULL));
        OK(store_entry(b.store[0], 3, &entry, next));
        for (unsigned i = 1; i < 3; i++) {
            assert_int_equal(m.result[i], ERR_MISMATCH);
            assert_true(m.spent[i] == 3);
            assert_int_equal(store_adopt(b.store[i], &entry, &m.head[i], next, before),
                             ERR_MISMATCH);
        }
    }
}

TEST(an_altered_ledger_does_not_open)
{
    static const char *const harm[] = {
        "UPDATE ledger SET entry = zeroblob(length(entry)) WHERE number = 2",
        "DELETE FROM ledger WHERE number = 2",
        "UPDATE ledger SET head = zeroblob(32) WHERE number = 3",
    };
    for (size_t i = 0; i < sizeof harm / sizeof *harm; i++) {
        struct stores_bench b CLEAN(bench_free) = bench_new();
        debit_times(&b, 0, 0, 3);
        store_close(&b.store[0]);
        OK(open_store(&b, 0));
        store_close(&b.store[0]);
        support_alter(&b.s, 0, harm[i]);
        assert_int_equal(open_store(&b, 0), ERR_MISMATCH);
    }
}

/* --- rounds ----------------------------------------------------------------------------------- */

static enum store_standing standing_of(struct store *store, const struct store_round *r)
{
    struct store_found found;
    OK(store_find_round(store, r->run, r->sequence, &found));
    return found.standing;
}

TEST(a_bound_range_is_refused_for_any_other_request)
{
    const struct store_round first = round_of(1, 0);
    struct store_round other = first;
    struct stores_bench b CLEAN(bench_free) = bench_new();
    OK(debit(b.store[0], &first, 1));
    other.request[0] ^= 1; /* the same round, another request */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other = first;
    other.sequence = 1; /* another round, the same samples */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other.stake.from[NOISE_GAUSS] = 9; /* or one of them */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other.stake.from[NOISE_GAUSS] = 10;
    OK(stage(b.store[0], &other));
    /* not even after a restart; only what was staged can be bound */
    store_close(&b.store[0]);
    OK(open_store(&b, 0));
    assert_int_equal(standing_of(b.store[0], &other), STANDING_STAGED);
    other.stake.from[NOISE_GAUSS] = 0;
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    {
        struct ledger *ledger CLEAN(ledger_free) = NULL;
        struct store_head head;
        other = round_of(1, 1);
        OK(stage(b.store[0], &other));
        other.request[0] ^= 1;
        OK(store_ledger(b.store[0], &limits, &ledger, &head));
        assert_int_equal(store_bind(b.store[0], &other, &(const struct vouchers){0}, &head),
                         ERR_LOST);
        assert_int_equal(head.number, 1);
    }
}

/* The bytes of a file of the server's folder. */
static bool on_disk(struct stores_bench *b, const char *name, const void *p, size_t n)
{
    struct bytes all CLEAN(bytes_clear) = {0};
    bool found = false;
    if (file_read(support_path(&b->s, "%s", name), (size_t)64 << 20, &all, NULL) == ERR_OK)
        found = all.size >= n && memmem(all.data, all.size, p, n) != NULL;
    return found;
}

/* Noise is sealed with its round, and deleted from disk when the run's next round is bound. */
TEST(noise_is_sealed_and_wiped_once_the_next_is_bound)
{
    const struct store_round first = round_of(1, 0), second = round_of(1, 1);
    struct store_round wrong = first;
    struct bytes noise CLEAN(bytes_clear) = {0}, values CLEAN(bytes_clear) = {0};
    uint8_t sealed[64] = {0};
    sqlite3_stmt *row;
    sqlite3 *db;
    struct stores_bench b CLEAN(bench_free) = bench_new();
    OK(debit(b.store[0], &first, 1));
    OK(store_noise(b.store[0], &first, &noise));
    SAME_BYTES(&noise, "these are the shares", 20);
    wrong.uploads[0] ^= 1;
    assert_int_equal(store_noise(b.store[0], &wrong, &noise), ERR_AUTH);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_LOST);
    /* it is nowhere in the clear; sealed, it is there until the next round is bound */
    store_close(&b.store[0]);
    assert_int_equal(sqlite3_open(support_path(&b.s, "server0/store.sqlite"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sealed FROM noise", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(sqlite3_column_bytes(row, 0), 20 + 40);
    memcpy(sealed, sqlite3_column_blob(row, 0), 60);
    sqlite3_finalize(row);
    sqlite3_close(db);
    assert_false(on_disk(&b, "server0/store.sqlite", "these are the shares", 20));
    assert_true(on_disk(&b, "server0/store.sqlite", sealed, 60));
    OK(open_store(&b, 0));
    OK(debit(b.store[0], &second, 1));
    assert_false(on_disk(&b, "server0/store.sqlite", sealed, 60));
    assert_false(on_disk(&b, "server0/store.sqlite-wal", sealed, 60));
    bytes_clear(&noise);
    assert_int_equal(store_noise(b.store[0], &first, &noise), ERR_LOST);
    OK(store_noise(b.store[0], &second, &noise));
    OK(store_end_run(b.store[0], second.run));
    bytes_clear(&noise);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_LOST);
    /* what a round opened stays, and cannot change */
    bytes_put_u64(&values, 17);
    OK(store_put_index(b.store[0], &second, 3));
    OK(store_put_index(b.store[0], &second, 3));
    assert_int_equal(store_put_index(b.store[0], &second, 4), ERR_MISMATCH);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_INDEX);
    OK(store_put_values(b.store[0], &second, &values));
    assert_int_equal(standing_of(b.store[0], &second), STANDING_OPENED);
    OK(store_put_index(b.store[0], &second, 3));
    assert_int_equal(standing_of(b.store[0], &second), STANDING_OPENED);
    values.data[0]++;
    assert_int_equal(store_put_values(b.store[0], &second, &values), ERR_MISMATCH);
}

static uint32_t attempts_of(struct store *store, const struct store_round *r)
{
    struct store_found found;
    OK(store_find_round(store, r->run, r->sequence, &found));
    return found.attempts;
}

/* Attempts are on disk, and each round has its own. */
TEST(attempts_are_counted_on_disk)
{
    const struct store_round first = round_of(1, 0), second = round_of(1, 1);
    struct stores_bench b CLEAN(bench_free) = bench_new();
    OK(debit(b.store[0], &first, 1));
    assert_int_equal(attempts_of(b.store[0], &first), 0);
    for (unsigned k = 1; k < 4; k++) {
        OK(store_attempt(b.store[0], &first));
        store_close(&b.store[0]);
        OK(open_store(&b, 0));
        assert_int_equal(attempts_of(b.store[0], &first), k);
    }
    OK(debit(b.store[0], &second, 1));
    assert_int_equal(attempts_of(b.store[0], &second), 0);
}

static const char to_version_6[] =
    "ALTER TABLE rounds DROP COLUMN attempts; ALTER TABLE rounds DROP COLUMN entry;"
    "ALTER TABLE rounds DROP COLUMN analyst;"
    "DROP TABLE guard; DROP TABLE ahead; DROP TABLE seats; DROP TABLE sorted; DROP TABLE serials;"
    "DROP INDEX incomplete; CREATE INDEX complete ON uploads(owner) WHERE complete;"
    "PRAGMA user_version = 6";

/* A round staged by a store of 0.1 has no entry, so that nobody's debit can be mistaken for it. */
TEST(what_an_older_store_has_staged_has_no_entry)
{
    struct store_round staged;
    struct bytes entry CLEAN(bytes_clear) = {0};
    struct stores_bench b CLEAN(bench_free) = bench_new();
    OK(stage(b.store[0], &(struct store_round){.run = {9}}));
    OK(store_staged(b.store[0], &staged, &entry));
    assert_true(entry.size > 0 && staged.run[0] == 9);
    store_close(&b.store[0]);
    support_alter(&b.s, 0, to_version_6);
    OK(open_store(&b, 0));
    OK(store_staged(b.store[0], &staged, &entry));
    assert_int_equal(entry.size, 0);
}

/* A run of 0.1 continues with 0.1: until none can, its store stays as it is. */
TEST(an_older_store_waits_for_its_run)
{
    static const struct {
        unsigned one_ways, selection; /* of 100 */
        enum err expected;
    } cases[] = {{99, 0, ERR_MISMATCH},
                 {50, 25, ERR_MISMATCH},
                 {70, 20, ERR_MISMATCH},
                 {70, 21, ERR_OK},
                 {60, 40, ERR_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stores_bench b CLEAN(bench_free) = bench_new();
        struct store_round first = round_of(1, 0), second = round_of(1, 1);
        second.stake.count[NOISE_GUMBEL] = 5;
        OK(debit(b.store[0], &first, cases[i].one_ways));
        if (cases[i].selection > 0)
            OK(debit(b.store[0], &second, cases[i].selection));
        store_close(&b.store[0]);
        support_alter(&b.s, 0, to_version_6);
        assert_int_equal(open_store(&b, 0), cases[i].expected);
        support_alter(&b.s, 0, "INSERT INTO about VALUES('purged', x'31')"); /* ended by 0.1 */
        store_close(&b.store[0]);
        OK(open_store(&b, 0));
    }
}

/* A run belongs to whoever has its last bound round; a ledger that is taken over includes that. */
TEST(a_run_is_of_the_analyst_who_paid_last)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct store_round first = round_of(1, 0), second = round_of(1, 1), before = round_of(2, 0);
    struct ledger *empty CLEAN(ledger_free) = NULL;
    struct store_head head = {0};
    struct bytes entry CLEAN(bytes_clear) = {0};
    uint8_t next[32], analyst[32], own[32];
    bool known = true;
    memset(first.analyst, 5, sizeof first.analyst);
    memset(second.analyst, 6, sizeof second.analyst);
    OK(store_analyst(b.store[0], first.run, analyst, &known));
    assert_false(known);
    OK(stage(b.store[0], &first));
    OK(store_analyst(b.store[0], first.run, analyst, &known));
    assert_false(known); /* nothing is paid */
    for (unsigned k = 0; k < 2; k++) {
        const struct store_round *r = k == 0 ? &first : &second;
        OK(debit(b.store[0], r, 1));
        OK(store_analyst(b.store[0], first.run, analyst, &known));
        assert_true(known);
        memset(own, 5 + (int)k, sizeof own);
        assert_memory_equal(analyst, own, sizeof own);
    }
    /* nobody's, as in earlier rounds */
    OK(debit(b.store[0], &before, 1));
    OK(store_analyst(b.store[0], before.run, analyst, &known));
    assert_true(known && sodium_is_zero(analyst, sizeof analyst));

    OK(ledger_new(&empty, &limits, &quiet));
    OK(store_entry(b.store[0], 1, &entry, next));
    OK(store_adopt(b.store[1], &entry, &head, next, empty));
    OK(store_analyst(b.store[1], first.run, analyst, &known));
    memset(own, 5, sizeof own);
    assert_true(known);
    assert_memory_equal(analyst, own, sizeof own);
}

TEST(what_is_staged_can_be_dropped)
{
    const struct store_round first = round_of(1, 0), second = round_of(1, 1);
    struct bytes ids CLEAN(bytes_clear) = {0};
    struct stores_bench b CLEAN(bench_free) = bench_new();
    uint32_t rounds;
    OK(debit(b.store[0], &first, 1));
    OK(stage(b.store[0], &second));
    {
        uint8_t head[32];
        assert_int_equal(store_entry(b.store[0], 2, &ids, head), ERR_RANGE); /* there is one */
    }
    OK(store_run(b.store[0], first.run, &rounds, &ids));
    assert_int_equal(rounds, 1);
    assert_int_equal(ids.size, UPLOAD_ID_SIZE);
    assert_int_equal(store_put_index(b.store[0], &second, 0), ERR_LOST); /* nothing is spent */
    assert_int_equal(store_put_values(b.store[0], &second, &ids), ERR_LOST);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_STAGED);
    OK(store_unstage(b.store[0]));
    assert_int_equal(standing_of(b.store[0], &second), STANDING_NONE);
    assert_int_equal(standing_of(b.store[0], &first), STANDING_BOUND);
}

/* A million ids take 16 MB: one list serves all rounds with the same uploads. */
TEST(a_list_of_uploads_is_stored_once)
{
    struct store_round round[4];
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct bytes ids CLEAN(bytes_clear) = {0};
    uint32_t rounds;
    for (unsigned i = 0; i < 4; i++) {
        round[i] = round_of(1, i);
        round[i].uploads[0] = i == 2; /* one that came late, and is then lost */
        OK(debit(b.store[0], &round[i], 1));
    }
    OK(store_run(b.store[0], round[0].run, &rounds, &ids));
    assert_int_equal(rounds, 4);
    assert_int_equal(ids.size, UPLOAD_ID_SIZE);
    store_close(&b.store[0]);
    support_alter(&b.s, 0,
                  "CREATE TEMP TABLE expected(lists INTEGER CHECK(lists = 13));" /* 0, 2 and 3 */
                  "INSERT INTO expected SELECT SUM(1 << sequence) FROM rounds"
                  "  WHERE upload_ids <> x''");
}

/* --- agreement -------------------------------------------------------------------------------- */

struct saying {
    struct round_statement by[3];
    enum err result[3];
    struct round_agreement agreement[3];
    uint8_t topic[3][SESSION_ID_SIZE], later[3][SESSION_ID_SIZE]; /* later: about the same, again */
};

static enum err say(struct party *p, void *shared)
{
    struct saying *s = shared;
    struct round_talk talk = {.net = p->net};
    round_topic(p->net, &s->by[p->index], s->topic[p->index]);
    round_agree(&talk, &s->by[p->index]);
    s->result[p->index] = net_settle(p->net);
    s->agreement[p->index] = talk.agreement;
    round_topic(p->net, &s->by[p->index], s->later[p->index]);
    return ERR_OK;
}

/* All say the same, with noise whose digests match. */
static void all_alike(struct saying *s, enum store_standing standing)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < 3; i++) {
        struct round_statement *own = &s->by[i];
        own->intent = ROUND_BIND;
        own->standing = (uint8_t)standing;
        memset(own->request, 1, sizeof own->request);
        memset(own->replica[NET_PREV], 10 + (int)i, sizeof own->replica[0]);
        memset(own->replica[NET_NEXT], 10 + (int)(i + 1) % 3, sizeof own->replica[0]);
    }
}

static void expect_agreement(struct saying *s, enum err expected)
{
    OK(three_run(1, say, s, NULL));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(s->result[i], expected);
}

/*
 * One server that refuses, or sees something else, is enough: the two others cannot go on without
 * it.
 */
TEST(one_server_can_refuse)
{
    struct saying s;
    all_alike(&s, STANDING_NONE);
    expect_agreement(&s, ERR_OK);
    for (unsigned i = 0; i < 3; i++) /* no topic is used twice */
        assert_memory_not_equal(s.topic[i], s.later[i], sizeof s.topic[i]);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *const differs[] = {s.by[i].request, s.by[i].step,    s.by[i].uploads,
                                    s.by[i].roster,  s.by[i].range,   s.by[i].ledger,
                                    s.by[i].analyst, &s.by[i].intent, &s.by[i].standing};
        const uint8_t changed[] = {1, 1, 1, 1, 1, 1, 1, 1, STANDING_BOUND};
        all_alike(&s, STANDING_NONE);
        s.by[i].verdict = ERR_BUDGET;
        expect_agreement(&s, ERR_BUDGET);
        for (size_t k = 0; k < sizeof differs / sizeof *differs; k++) {
            unsigned notice = 0;
            all_alike(&s, STANDING_NONE);
            *differs[k] ^= changed[k];
            OK(three_run(1, say, &s, NULL));
            /* the streams of masks differ if what is computed on may differ */
            assert_int_equal(memcmp(s.topic[i], s.topic[(i + 1) % 3], 32) != 0, k < 7);
            for (unsigned j = 0; j < 3; j++)
                notice += s.result[j] == ERR_MISMATCH;
            assert_int_equal(notice, 3);
        }
    }
}

/*
 * A component of noise has two holders, and all three hear of it if theirs differ: a new round is
 * not bound anywhere, and one that is bound has an obstacle.
 */
TEST(all_three_hear_of_noise_that_differs)
{
    struct saying s;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned other = (i + 2) % 3;
        all_alike(&s, STANDING_NONE);
        s.by[i].replica[NET_PREV][31] ^= 1;
        expect_agreement(&s, ERR_AGAIN);
        all_alike(&s, STANDING_BOUND);
        s.by[i].replica[NET_PREV][31] ^= 1;
        expect_agreement(&s, ERR_OK);
        for (unsigned k = 0; k < 9; k++)
            assert_int_equal(s.agreement[k / 3].obstacle[k % 3],
                             k % 3 == i || k % 3 == other ? ROUND_OTHER_NOISE : ROUND_READY);
    }
}

/* A server's message that breaks the protocol, instead of its part of three. */
struct oddity {
    enum { VERDICT, CAUGHT, CONFIRM, LIST } kind;
    enum err result[3];
    char words[3][512];
};

static enum err send_odd(struct party *p, const void *own, size_t size)
{
    uint8_t theirs[2][80] = {{0}};
    const struct net_exchange r = {.send = {own, own},
                                   .send_size = {size, size},
                                   .receive = {theirs[0], theirs[1]},
                                   .receive_size = {size, size}};
    return net_exchange(p->net, &r);
}

static enum err be_odd(struct party *p, void *shared)
{
    struct oddity *o = shared;
    unsigned i = p->index;
    struct log log = {.buffer = o->words[i], .buffer_size = sizeof o->words[i]};
    const uint32_t many[10] = {2000001, STANDING_NONE};
    struct round_statement own = {.verdict = i != 0               ? ERR_OK
                                             : o->kind == VERDICT ? 200
                                                                  : ERR_CHEAT};
    struct round_talk talk = {.net = p->net, .log = &log};
    const uint8_t signature[2][64] = {{0}};
    uint8_t digest[32];
    struct round_uploads none = {0};
    enum err e;
    if (o->kind <= CAUGHT)
        round_agree(&talk, &own);
    else if (o->kind == CONFIRM)
        round_confirm(&talk, i == 0 ? ERR_SYSTEM : ERR_OK, signature);
    if (o->kind <= CONFIRM)
        e = net_settle(p->net);
    else
        e = i == 0 ? send_odd(p, many, sizeof many) : round_uploads(p->net, &none, digest, &log);
    o->result[i] = e;
    if (e != ERR_OK)
        net_abort(p->net);
    return ERR_OK;
}

TEST(what_a_server_says_has_bounds)
{
    static const struct {
        enum err e;
        const char *says;
    } expected[] = {
        [VERDICT] = {ERR_CHEAT, "server 0 states what no server can have"},
        [CAUGHT] = {ERR_CHEAT, "server 0 states"}, /* the others have not caught anybody */
        [CONFIRM] = {ERR_SYSTEM, "server 0 refuses: "},
        [LIST] = {ERR_CHEAT, ""},
    };
    for (unsigned kind = VERDICT; kind <= LIST; kind++) {
        struct oddity o = {.kind = kind};
        OK(three_run(kind, be_odd, &o, NULL));
        for (unsigned i = 1; i < 3; i++) {
            assert_int_equal(o.result[i], expected[kind].e);
            support_says(o.words[i], expected[kind].says);
        }
    }
}

/* --- what is left to do of a round ------------------------------------------------------------ */

static enum round_course course_of(const unsigned standing[3])
{
    unsigned indexed = 0, opened = 0;
    for (unsigned i = 0; i < 3; i++) {
        indexed += standing[i] >= STANDING_INDEX;
        opened += standing[i] == STANDING_OPENED;
    }
    return opened == 3    ? ROUND_ANSWER
           : opened == 2  ? ROUND_GIVE
           : indexed >= 2 ? ROUND_MEASURE
                          : ROUND_SELECT;
}

/*
 * With every three standings: what two have is taken over, and only what two lack is opened again.
 */
TEST(what_two_have_opened_is_opened_no_more)
{
    static const enum store_standing all[] = {STANDING_LOST, STANDING_BOUND, STANDING_INDEX,
                                              STANDING_OPENED};
    struct saying s;
    for (unsigned mix = 0; mix < 64; mix++) {
        const unsigned standing[] = {all[mix % 4], all[mix / 4 % 4], all[mix / 16]};
        all_alike(&s, STANDING_BOUND);
        for (unsigned i = 0; i < 3; i++) {
            struct round_statement *own = &s.by[i];
            own->standing = (uint8_t)standing[i];
            own->obstacle = standing[i] == STANDING_LOST ? ROUND_NO_NOISE : ROUND_READY;
            own->selected = standing[i] >= STANDING_INDEX ? 7 << 8 : 0;
            own->values[5] = standing[i] == STANDING_OPENED ? 8 : 0;
        }
        expect_agreement(&s, ERR_OK);
        for (unsigned i = 0; i < 3; i++) {
            const struct round_agreement *a = &s.agreement[i];
            assert_int_equal(a->course, course_of(standing));
            for (unsigned k = 0; k < 3; k++)
                assert_int_equal(a->obstacle[k], s.by[k].obstacle);
            if (a->course >= ROUND_MEASURE)
                assert_int_equal(a->selected, 7 << 8);
            if (a->course == ROUND_GIVE)
                assert_true(standing[a->lacks] != STANDING_OPENED && a->values[5] == 8);
        }
    }
}

/*
 * Nobody believes a server that has opened something else, or says so: not even one that has
 * nothing itself.
 */
TEST(two_who_opened_different_things_end_it)
{
    struct saying s;
    for (unsigned lacks = 0; lacks < 4; lacks++)
        for (unsigned of_values = 0; of_values < 2; of_values++) {
            unsigned liar = (lacks + 1) % 3;
            all_alike(&s, of_values ? STANDING_OPENED : STANDING_INDEX);
            if (lacks < 3)
                s.by[lacks].standing = STANDING_BOUND;
            if (of_values)
                s.by[liar].values[31] = 1;
            else
                s.by[liar].selected = (uint64_t)1 << 56;
            expect_agreement(&s, ERR_CHEAT);
        }
}

TEST(what_no_server_can_have_is_a_lie)
{
    struct saying s;
    for (unsigned k = 0; k < 6; k++) {
        struct round_statement *liar = &s.by[0];
        const struct {
            uint8_t *word, value;
        } lies[] = {{&liar->standing, 77},           {&liar->standing, STANDING_STAGED},
                    {&liar->obstacle, 77},           {&liar->obstacle, ROUND_OTHER_NOISE},
                    {&liar->intent, ROUND_BIND + 1}, {&liar->late, 2}};
        all_alike(&s, STANDING_BOUND);
        *lies[k].word = lies[k].value;
        OK(three_run(1, say, &s, NULL));
        for (unsigned i = 1; i < 3; i++)
            assert_int_equal(s.result[i], ERR_CHEAT);
    }
    all_alike(&s, STANDING_NONE);
    s.by[0].obstacle = ROUND_TRIED; /* a new round has not been tried */
    OK(three_run(1, say, &s, NULL));
    assert_int_equal(s.result[1], ERR_CHEAT);
}

/* --- a server that says different things ------------------------------------------------------ */

enum trick { NO_TRICK, TWO_TONGUES, OTHER_BYTES, FALSE_ECHO, TRICKS };

struct trickery {
    enum trick trick;
    unsigned who;
    enum err result[3];
    uint8_t seed[3][32];
    char words[3][1024];
};

/* Sends to each neighbour, and receives from each. */
static enum err swap(struct net *net, const void *const send[2], size_t n, void *receive[2])
{
    const struct net_exchange r = {.send = {send[0], send[1]},
                                   .send_size = {n, n},
                                   .receive = {receive[0], receive[1]},
                                   .receive_size = {n, n}};
    return net_exchange(net, &r);
}

/*
 * round_agree() and round_confirm() as played by a server that wants to choose the seed, or what
 * others believe.
 */
static enum err play_tricks(struct party *p, enum trick trick)
{
    uint8_t own[2][ROUND_AGREE_SIZE] = {{0}}, other[2][ROUND_AGREE_SIZE];
    struct {
        uint8_t verdict, fresh[32], said[32], signature[64];
    } show[2] = {{0}}, shown[2];
    const uint8_t fresh[32] = {1};
    for (unsigned k = 0; k < 2; k++) {
        own[k][4] = trick == TWO_TONGUES && k == 1; /* late rows */
        hash_bytes(fresh, sizeof fresh, own[k] + 5 + 8 + 32);
    }
    TRY(swap(p->net, (const void *[]){own[0], own[1]}, sizeof own[0],
             (void *[]){other[0], other[1]}));
    for (unsigned k = 0; k < 2; k++) {
        memcpy(show[k].fresh, fresh, sizeof fresh);
        show[k].fresh[9] ^= trick == OTHER_BYTES;
        hash_bytes(other[1 - k], sizeof other[0], show[k].said);
        show[k].said[31] ^= trick == FALSE_ECHO;
    }
    return swap(p->net, (const void *[]){&show[0], &show[1]}, sizeof show[0],
                (void *[]){&shown[0], &shown[1]});
}

static enum err agree_and_confirm(struct party *p, void *shared)
{
    struct trickery *t = shared;
    unsigned i = p->index;
    struct log log = {.buffer = t->words[i], .buffer_size = sizeof t->words[i], .level = LOG_ERROR};
    const struct round_statement own = {0};
    struct round_talk talk = {.net = p->net, .log = &log};
    const uint8_t signature[2][64] = {{0}};
    if (i == t->who && t->trick != NO_TRICK)
        return play_tricks(p, t->trick);
    round_agree(&talk, &own);
    enum err e = net_settle(p->net);
    if (e == ERR_OK) {
        round_confirm(&talk, ERR_OK, signature);
        e = net_settle(p->net);
    }
    t->result[i] = e;
    memcpy(t->seed[i], talk.seed, sizeof t->seed[i]);
    return ERR_OK;
}

TEST(who_says_two_things_or_chooses_last_is_named)
{
    uint8_t first[32];
    for (unsigned who = 0; who < 3; who++)
        for (enum trick trick = NO_TRICK; trick < TRICKS; trick++) {
            struct trickery t = {.trick = trick, .who = who};
            unsigned a = (who + 1) % 3, b = (who + 2) % 3;
            char says[2][64];
            OK(three_run(trick, agree_and_confirm, &t, NULL));
            if (trick == NO_TRICK) {
                for (unsigned i = 0; i < 3; i++) {
                    OK(t.result[i]);
                    assert_memory_equal(t.seed[i], t.seed[0], 32);
                }
                assert_true(who == 0 || memcmp(first, t.seed[0], 32) != 0); /* others each time */
                memcpy(first, t.seed[0], 32);
                continue;
            }
            for (unsigned k = 0; k < 2; k++) {
                unsigned i = k == 0 ? a : b, other = k == 0 ? b : a;
                if (trick == TWO_TONGUES)
                    snprintf(says[k], sizeof says[k],
                             "server %u told server %u something else about this round", who,
                             other);
                else if (trick == FALSE_ECHO)
                    snprintf(says[k], sizeof says[k],
                             "server %u told server %u something else about this round", other,
                             who);
                else
                    snprintf(says[k], sizeof says[k], "server %u shows other random bytes", who);
                assert_int_equal(t.result[i], ERR_CHEAT);
                if (strstr(t.words[i], says[k]) == NULL)
                    fail_msg("server %u says: %s", i, t.words[i]);
            }
        }
}

/* --- values for who lacks them ---------------------------------------------------------------- */

struct handing {
    unsigned lacks;
    bool wrong; /* the giver gives something else */
    enum err result[3];
    uint64_t got[3];
    char words[3][512];
};

static enum err hand_over(struct party *p, void *shared)
{
    struct handing *h = shared;
    unsigned i = p->index;
    struct log log = {.buffer = h->words[i], .buffer_size = sizeof h->words[i], .level = LOG_ERROR};
    struct round_agreement agreement = {.course = ROUND_GIVE, .lacks = h->lacks};
    struct bytes values CLEAN(bytes_clear) = {0};
    bytes_put_u64(&values, 4711);
    hash_bytes(values.data, values.size, agreement.values);
    if (i == h->lacks || (h->wrong && i == (h->lacks + 2) % 3))
        values.data[0] ^= 1;
    if (h->wrong && i == (h->lacks + 2) % 3)
        hash_bytes(values.data, values.size, agreement.values); /* and does not care */
    h->result[i] = round_values(p->net, &agreement, &values, &log);
    memcpy(&h->got[i], values.data, sizeof h->got[i]);
    return ERR_OK;
}

TEST(who_lacks_values_takes_what_two_say_they_have)
{
    for (unsigned lacks = 0; lacks < 3; lacks++)
        for (unsigned wrong = 0; wrong < 2; wrong++) {
            struct handing h = {.lacks = lacks, .wrong = wrong != 0};
            char says[64];
            OK(three_run(lacks, hand_over, &h, NULL));
            assert_int_equal(h.result[lacks], wrong ? ERR_CHEAT : ERR_OK);
            if (!wrong)
                assert_int_equal(h.got[lacks], 4711);
            snprintf(says, sizeof says, "server %u gives other values", (lacks + 2) % 3);
            assert_true(!wrong || strstr(h.words[lacks], says) != NULL);
        }
}
