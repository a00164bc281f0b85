/* parties/store: the ledger, rounds and their noise, and how three servers agree on them. */
#include "tests/support_cmocka.h"
#include "tests/support_study.h"
#include "tests/support_three.h"
#include "tests/test_store.h"

#include "base/file.h"
#include "parties/server/round.h"
#include "parties/server/round_uploads.h"
#include "parties/store/store_private.h"

#include <sqlite3.h>
#include <string.h>

/* --- the ledger ---------------------------------------------------------------------------------- */

struct meeting {
    struct bench *b;
    enum err result[3];
    double spent[3];
    struct store_head head[3];
};

static enum err meet(struct party *p, void *shared)
{
    struct meeting *m = shared;
    struct store *store = m->b->store[p->index];
    struct ledger *ledger = NULL;
    struct store_head own;
    struct bytes last = {0}, entry = {0};
    uint8_t next[32], ignored[32];
    bool lacking;
    enum err e;
    TRY(store_ledger(store, &limits, &ledger, &own));
    if (own.number > 0)
        TRY(store_entry(store, own.number, &last, ignored));
    e = round_ledger(p->net, &own, &last, &lacking, &entry, next, NULL);
    if (e == ERR_OK && lacking)
        e = store_adopt(store, &entry, &own, next, ledger);
    m->result[p->index] = e;
    ledger_free(&ledger);
    TRY(store_ledger(store, &limits, &ledger, &m->head[p->index]));
    m->spent[p->index] = ledger_spent(ledger);
    ledger_free(&ledger);
    bytes_clear(&last);
    bytes_clear(&entry);
    return ERR_OK;
}

/* Who has staged the third round has it bound then, and who has not has lost it. */
static void a_debit_that_one_server_made_is_made_at_all(void **state)
{
    (void)state;
    for (unsigned have = 1; have < 8; have++) /* who has the third debit, as bits */
        for (unsigned staged = 0; staged < 2; staged++) {
            const struct store_round third = round_of(1, 2);
            struct store_found found;
            struct bench b;
            struct meeting m = {.b = &b};
            bench_new(&b);
            for (unsigned i = 0; i < 3; i++) {
                debit_times(&b, i, 0, have >> i & 1 ? 3 : 2);
                if (staged && !(have >> i & 1))
                    assert_int_equal(stage(b.store[i], &third), ERR_OK);
            }
            assert_int_equal(three_run(have, meet, &m, NULL), ERR_OK);
            for (unsigned i = 0; i < 3; i++) {
                bool kept = staged || (have >> i & 1);
                assert_int_equal(m.result[i], ERR_OK);
                assert_true(m.spent[i] == 6);
                assert_memory_equal(&m.head[i], &m.head[0], sizeof m.head[0]);
                assert_int_equal(store_find_round(b.store[i], third.run, 2, &found), ERR_OK);
                assert_int_equal(found.standing, kept ? STANDING_BOUND : STANDING_LOST);
            }
            bench_free(&b);
        }
}

static void ledgers_that_differ_by_more_are_refused(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct bench b;
        struct meeting m = {.b = &b};
        bench_new(&b);
        debit_times(&b, 0, 0, 3);
        debit_times(&b, 1, 0, 3);
        if (kind == 0) /* two behind: an old backup */
            debit_times(&b, 2, 0, 1);
        else if (kind == 1) /* as long, but another past */
            debit_times(&b, 2, 1, 4);
        else /* one behind, of another past: the neighbours' debit does not follow */
            debit_times(&b, 2, 1, 3);
        assert_int_equal(three_run(kind, meet, &m, NULL), ERR_OK);
        assert_int_equal(m.result[2], ERR_MISMATCH);
        assert_true(m.spent[0] == 6 && m.spent[1] == 6);
        assert_true(m.spent[2] == (kind == 0 ? 1 : kind == 1 ? 9 : 5));
        bench_free(&b);
    }
}

/* Debits a store once with a ledger of the harness's own making. */
static void debit_with(struct bench *b, unsigned server, const struct ledger_limits *with,
                       unsigned spent)
{
    const struct store_round r = round_of(2, 0);
    struct ledger *ledger = NULL, *mine = NULL;
    struct store_head head;
    mpq_t cost;
    mpq_init(cost);
    mpq_set_ui(cost, spent, 1);
    assert_int_equal(store_ledger(b->store[server], with, &ledger, &head), ERR_OK);
    assert_int_equal(ledger_new(&mine, with, &quiet), ERR_OK);
    assert_int_equal(ledger_debit(mine, cost, &quiet), ERR_OK);
    assert_int_equal(stage(b->store[server], &r), ERR_OK);
    assert_int_equal(store_bind(b->store[server], &r, mine, &head), ERR_OK);
    ledger_free(&ledger);
    ledger_free(&mine);
    mpq_clear(cost);
}

/* A server that passes on a debit which resets the others' budget, or widens it, gets nowhere. */
static void a_neighbour_cannot_give_budget_back(void **state)
{
    static const struct ledger_limits wide = {.rho = 1000, .rows_per_person = 1};
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct bench b;
        struct meeting m = {.b = &b};
        bench_new(&b);
        for (unsigned i = 0; i < 3; i++)
            debit_times(&b, i, 0, 2);
        debit_with(&b, 0, kind == 0 ? &limits : &wide, kind == 0 ? 1 : 50);
        assert_int_equal(three_run(kind, meet, &m, NULL), ERR_OK);
        for (unsigned i = 1; i < 3; i++) {
            assert_int_equal(m.result[i], ERR_MISMATCH);
            assert_true(m.spent[i] == 3);
        }
        bench_free(&b);
    }
}

static void an_altered_ledger_does_not_open(void **state)
{
    static const char *const harm[] = {
        "UPDATE ledger SET entry = zeroblob(length(entry)) WHERE number = 2",
        "DELETE FROM ledger WHERE number = 2",
        "UPDATE ledger SET head = zeroblob(32) WHERE number = 3",
    };
    (void)state;
    for (size_t i = 0; i < sizeof harm / sizeof *harm; i++) {
        struct bench b;
        bench_new(&b);
        debit_times(&b, 0, 0, 3);
        store_close(&b.store[0]);
        assert_int_equal(open_store(&b, 0), ERR_OK);
        store_close(&b.store[0]);
        support_alter(&b.s, 0, harm[i]);
        assert_int_equal(open_store(&b, 0), ERR_MISMATCH);
        bench_free(&b);
    }
}

/* --- rounds -------------------------------------------------------------------------------------- */

static enum standing standing_of(struct store *store, const struct store_round *r)
{
    struct store_found found;
    assert_int_equal(store_find_round(store, r->run, r->sequence, &found), ERR_OK);
    return found.standing;
}

static void a_bound_range_is_refused_for_any_other_request(void **state)
{
    const struct store_round first = round_of(1, 0);
    struct store_round other = first;
    struct bench b;
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    other.request[0] ^= 1; /* the same round, another request */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other = first;
    other.sequence = 1; /* another round, the same samples */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other.range.from[TAPE_GAUSS] = 9; /* or one of them */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other.range.from[TAPE_GAUSS] = 10;
    assert_int_equal(stage(b.store[0], &other), ERR_OK);
    /* not even after a restart, and what is bound has to be what was staged */
    store_close(&b.store[0]);
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &other), STANDING_STAGED);
    other.range.from[TAPE_GAUSS] = 0;
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    {
        struct ledger *ledger = NULL;
        struct store_head head;
        other = round_of(1, 1);
        assert_int_equal(stage(b.store[0], &other), ERR_OK);
        other.request[0] ^= 1;
        assert_int_equal(store_ledger(b.store[0], &limits, &ledger, &head), ERR_OK);
        assert_int_equal(store_bind(b.store[0], &other, ledger, &head), ERR_LOST);
        assert_int_equal(head.number, 1);
        ledger_free(&ledger);
    }
    bench_free(&b);
}

/* The bytes of a file of the server's folder. */
static bool on_disk(struct bench *b, const char *name, const void *p, size_t n)
{
    char path[SUPPORT_PATH];
    struct bytes all = {0};
    bool found = false;
    support_study_file(&b->s, name, path);
    if (file_read(path, (size_t)64 << 20, &all, NULL) == ERR_OK)
        found = all.size >= n && memmem(all.data, all.size, p, n) != NULL;
    bytes_clear(&all);
    return found;
}

/* Noise is sealed with its round, and gone from the disk when the run's next round is bound. */
static void noise_is_sealed_and_wiped_once_the_next_is_bound(void **state)
{
    const struct store_round first = round_of(1, 0), second = round_of(1, 1);
    struct store_round wrong = first;
    struct bench b;
    struct bytes noise = {0}, values = {0};
    uint8_t sealed[64] = {0};
    sqlite3_stmt *row;
    sqlite3 *db;
    char path[SUPPORT_PATH];
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    assert_int_equal(store_noise(b.store[0], &first, &noise), ERR_OK);
    assert_int_equal(noise.size, 20);
    assert_memory_equal(noise.data, "these are the shares", 20);
    wrong.uploads[0] ^= 1;
    assert_int_equal(store_noise(b.store[0], &wrong, &noise), ERR_AUTH);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_LOST);
    /* in clear it is nowhere; sealed it is there, until the next round is bound */
    store_close(&b.store[0]);
    support_study_file(&b.s, "server0/store.sqlite", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sealed FROM noise", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(sqlite3_column_bytes(row, 0), 20 + 40);
    memcpy(sealed, sqlite3_column_blob(row, 0), 60);
    sqlite3_finalize(row);
    sqlite3_close(db);
    assert_false(on_disk(&b, "server0/store.sqlite", "these are the shares", 20));
    assert_true(on_disk(&b, "server0/store.sqlite", sealed, 60));
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(debit(b.store[0], &second, 1), ERR_OK);
    assert_false(on_disk(&b, "server0/store.sqlite", sealed, 60));
    assert_false(on_disk(&b, "server0/store.sqlite-wal", sealed, 60));
    bytes_clear(&noise);
    assert_int_equal(store_noise(b.store[0], &first, &noise), ERR_LOST);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_OK);
    assert_int_equal(store_end_run(b.store[0], second.run), ERR_OK);
    bytes_clear(&noise);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_LOST);
    /* what a round opened stays, and cannot become anything else */
    bytes_put_u64(&values, 17);
    assert_int_equal(store_put_index(b.store[0], &second, 3), ERR_OK);
    assert_int_equal(store_put_index(b.store[0], &second, 3), ERR_OK);
    assert_int_equal(store_put_index(b.store[0], &second, 4), ERR_MISMATCH);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_INDEX);
    assert_int_equal(store_put_values(b.store[0], &second, &values), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_OPENED);
    assert_int_equal(store_put_index(b.store[0], &second, 3), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_OPENED);
    values.data[0]++;
    assert_int_equal(store_put_values(b.store[0], &second, &values), ERR_MISMATCH);
    bytes_clear(&noise);
    bytes_clear(&values);
    bench_free(&b);
}

/* Noise was a column of its round once: it is found where it is now. */
static void noise_of_an_older_store_is_taken_over(void **state)
{
    const struct store_round first = round_of(1, 0);
    struct bench b;
    struct bytes noise = {0};
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    store_close(&b.store[0]);
    support_alter(&b.s, 0,
                  "ALTER TABLE rounds ADD COLUMN sealed BLOB;"
                  "UPDATE rounds SET sealed = (SELECT sealed FROM noise); DROP TABLE noise;"
                  "DROP INDEX came; DROP INDEX held;"
                  "PRAGMA user_version = 4");
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(store_noise(b.store[0], &first, &noise), ERR_OK);
    assert_int_equal(noise.size, 20);
    assert_memory_equal(noise.data, "these are the shares", 20);
    bytes_clear(&noise);
    bench_free(&b);
}

static void what_is_staged_can_be_dropped(void **state)
{
    const struct store_round first = round_of(1, 0), second = round_of(1, 1);
    struct bytes ids = {0};
    struct bench b;
    uint32_t rounds;
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    assert_int_equal(stage(b.store[0], &second), ERR_OK);
    {
        uint8_t head[32];
        assert_int_equal(store_entry(b.store[0], 2, &ids, head), ERR_RANGE); /* there is one */
    }
    assert_int_equal(store_run(b.store[0], first.run, &rounds, &ids), ERR_OK);
    assert_int_equal(rounds, 1);
    assert_int_equal(ids.size, UPLOAD_ID_SIZE);
    assert_int_equal(store_unstage(b.store[0]), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_NONE);
    assert_int_equal(standing_of(b.store[0], &first), STANDING_BOUND);
    bytes_clear(&ids);
    bench_free(&b);
}

/* --- agreement ----------------------------------------------------------------------------------- */

struct saying {
    struct round_statement by[3];
    enum err result[3];
    struct round_agreement agreement[3];
};

static enum err say(struct party *p, void *shared)
{
    struct saying *s = shared;
    s->result[p->index] = round_agree(p->net, &s->by[p->index], &s->agreement[p->index], NULL);
    return ERR_OK;
}

/* All say the same thing, with noise whose digests fit. */
static void all_alike(struct saying *s, enum standing standing)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < 3; i++) {
        struct round_statement *own = &s->by[i];
        own->intent = ROUND_BIND;
        own->standing = (uint8_t)standing;
        own->noise = 1;
        memset(own->request, 1, sizeof own->request);
        memset(own->replica[NET_PREV], 10 + (int)i, sizeof own->replica[0]);
        memset(own->replica[NET_NEXT], 10 + (int)(i + 1) % 3, sizeof own->replica[0]);
    }
}

static void expect_agreement(struct saying *s, enum err expected)
{
    assert_int_equal(three_run(1, say, s, NULL), ERR_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(s->result[i], expected);
}

/* One server that refuses, or sees something else, is enough: no two others can go on without it. */
static void one_server_can_refuse(void **state)
{
    struct saying s;
    (void)state;
    all_alike(&s, STANDING_NONE);
    expect_agreement(&s, ERR_OK);
    assert_true(s.agreement[0].noise);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *const differs[] = {s.by[i].request, s.by[i].step,      s.by[i].uploads,
                                    s.by[i].roster,  s.by[i].range,     s.by[i].ledger,
                                    &s.by[i].intent, &s.by[i].standing, s.by[i].replica[NET_PREV]};
        all_alike(&s, STANDING_NONE);
        s.by[i].verdict = ERR_BUDGET;
        expect_agreement(&s, ERR_BUDGET);
        for (size_t k = 0; k < sizeof differs / sizeof *differs; k++) {
            unsigned notice = 0;
            all_alike(&s, STANDING_NONE);
            *differs[k] ^= 1;
            assert_int_equal(three_run(1, say, &s, NULL), ERR_OK);
            for (unsigned j = 0; j < 3; j++)
                notice += s.result[j] == ERR_MISMATCH;
            /* a component of noise has two holders; anything else all three see */
            assert_int_equal(notice, k == 8 ? 2 : 3);
        }
    }
}

/* What a server says that does not follow the protocol, in place of its part of three. */
struct oddity {
    enum { VERDICT, CONFIRM, LEDGER, LIST } kind;
    enum err result[3];
    char words[3][512];
};

static enum err send_odd(struct party *p, const void *own, size_t size)
{
    uint8_t theirs[2][64] = {{0}};
    const struct net_round r = {.send = {own, own},
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
    const struct store_head head = {0};
    const struct {
        struct store_head head;
        uint64_t entry_size;
    } card = {.entry_size = 1 << 20};
    const uint32_t many[] = {100001, STANDING_NONE};
    struct round_statement own = {.verdict = i == 0 ? 200 : ERR_OK};
    struct round_agreement ignored;
    struct bytes last = {0}, entry = {0};
    uint8_t signature[2][64] = {{0}}, digest[32];
    struct round_uploads none = {0};
    bool lacking;
    enum err e;
    if (o->kind == VERDICT)
        e = round_agree(p->net, &own, &ignored, &log);
    else if (o->kind == CONFIRM)
        e = round_confirm(p->net, i == 0 ? ERR_SYSTEM : ERR_OK, signature, digest, &log);
    else if (o->kind == LEDGER)
        e = i == 0 ? send_odd(p, &card, sizeof card)
                   : round_ledger(p->net, &head, &last, &lacking, &entry, digest, &log);
    else
        e = i == 0 ? send_odd(p, many, sizeof many) : round_uploads(p->net, &none, digest, &log);
    o->result[i] = e;
    if (e != ERR_OK)
        net_abort(p->net);
    return ERR_OK;
}

static void what_a_server_says_has_bounds(void **state)
{
    static const struct {
        enum err e;
        const char *says;
    } expected[] = {
        [VERDICT] = {ERR_FORMAT, ""},
        [CONFIRM] = {ERR_SYSTEM, "server 0 refuses: "},
        [LEDGER] = {ERR_FORMAT, "server 0 says that its last debit has 1048576 bytes"},
        [LIST] = {ERR_FORMAT, ""},
    };
    (void)state;
    for (unsigned kind = VERDICT; kind <= LIST; kind++) {
        struct oddity o = {.kind = kind};
        assert_int_equal(three_run(kind, be_odd, &o, NULL), ERR_OK);
        for (unsigned i = 1; i < 3; i++) {
            assert_int_equal(o.result[i], expected[kind].e);
            assert_non_null(strstr(o.words[i], expected[kind].says));
        }
    }
}

/* Server 0 says that it has a debit, and leaves before it gives it. */
static enum err leave(struct party *p, void *shared)
{
    struct meeting *m = shared;
    struct bytes last = {0};
    struct ledger *ledger = NULL;
    struct {
        struct store_head head;
        uint64_t entry_size;
    } card = {.entry_size = 0};
    uint8_t ignored[32];
    if (p->index != 0)
        return meet(p, shared);
    TRY(store_ledger(m->b->store[0], &limits, &ledger, &card.head));
    ledger_free(&ledger);
    TRY(store_entry(m->b->store[0], card.head.number, &last, ignored));
    card.entry_size = last.size;
    bytes_clear(&last);
    m->result[0] = send_odd(p, &card, sizeof card);
    net_abort(p->net);
    return ERR_OK;
}

static void who_leaves_gives_no_debit(void **state)
{
    struct bench b;
    struct meeting m = {.b = &b};
    (void)state;
    bench_new(&b);
    for (unsigned i = 0; i < 3; i++)
        debit_times(&b, i, 0, i == 0 ? 3 : 2);
    assert_int_equal(three_run(1, leave, &m, NULL), ERR_OK);
    assert_int_equal(m.result[0], ERR_OK);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(m.result[i], ERR_PEER);
        assert_int_equal(m.head[i].number, 2); /* as before */
    }
    bench_free(&b);
}

static void a_round_goes_on_from_the_least_far(void **state)
{
    struct saying s;
    (void)state;
    all_alike(&s, STANDING_BOUND);
    s.by[1].standing = STANDING_OPENED;
    s.by[1].noise = 0;
    s.by[2].standing = STANDING_INDEX;
    s.by[1].selected[0] = s.by[2].selected[0] = 7;
    expect_agreement(&s, ERR_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(s.agreement[i].least, STANDING_BOUND);
        assert_false(s.agreement[i].noise);
    }
    s.by[2].selected[0] = 6; /* two that know the index know another */
    assert_int_equal(three_run(1, say, &s, NULL), ERR_OK);
    assert_int_equal(s.result[1], ERR_MISMATCH);
    assert_int_equal(s.result[2], ERR_MISMATCH);
    all_alike(&s, STANDING_BOUND);
    s.by[0].standing = 77;
    assert_int_equal(three_run(1, say, &s, NULL), ERR_OK);
    assert_int_equal(s.result[1], ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_debit_that_one_server_made_is_made_at_all),
        cmocka_unit_test(ledgers_that_differ_by_more_are_refused),
        cmocka_unit_test(a_neighbour_cannot_give_budget_back),
        cmocka_unit_test(an_altered_ledger_does_not_open),
        cmocka_unit_test(a_bound_range_is_refused_for_any_other_request),
        cmocka_unit_test(noise_is_sealed_and_wiped_once_the_next_is_bound),
        cmocka_unit_test(noise_of_an_older_store_is_taken_over),
        cmocka_unit_test(what_is_staged_can_be_dropped),
        cmocka_unit_test(one_server_can_refuse),
        cmocka_unit_test(what_a_server_says_has_bounds),
        cmocka_unit_test(who_leaves_gives_no_debit),
        cmocka_unit_test(a_round_goes_on_from_the_least_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
