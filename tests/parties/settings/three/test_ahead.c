/*
 * Noise made ahead: parties/store/store_ahead.c and parties/settings/three/ahead.c.
 * A block is used by one session, if all three have it, and is on no disk by then.
 */
#include "tests/support/stores.h"

#include "mpc/circuits/ring.h"
#include "parties/server/bell.h"
#include "parties/settings/three/ahead.h"
#include "parties/settings/three/split.h"
#include "parties/store/store_backup.h"
#include "protocols/range.h"

static const uint8_t session_id[32] = {9};

static const uint8_t *name_of(unsigned kind, size_t i)
{
    static uint8_t name[4][AHEAD_NAME];
    static unsigned next;
    uint8_t *out = name[next++ % 4];
    ahead_name(session_id, (enum noise_law)kind, i, out);
    return out;
}

/* Bytes that do not occur anywhere by chance. */
static void put(struct store *store, unsigned kind, size_t i)
{
    struct bytes noise CLEAN(bytes_clear) = {0};
    bytes_put_text(&noise, "these are shares of a block, and there are some");
    OK(store_ahead_put(store, (enum noise_law)kind, name_of(kind, i), &noise));
}

static size_t count_of(struct store *store, unsigned kind)
{
    struct ahead_blocks blocks;
    OK(store_ahead(store, &blocks));
    return blocks.count[kind];
}

static enum err take(struct store *store, unsigned kind, size_t i, struct bytes *noise)
{
    bytes_clear(noise);
    return store_ahead_take(store, (enum noise_law)kind, name_of(kind, i), noise);
}

/* --- an owner's blocks ------------------------------------------------------------------------ */

TEST(the_newest_blocks_of_an_owner_stay)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct bytes noise CLEAN(bytes_clear) = {0}, back CLEAN(bytes_clear) = {0};
    bytes_put_text(&noise, "a share of a block");
    put(b.store[0], NOISE_GUMBEL, 0);
    for (size_t i = 0; i < AHEAD_BLOCKS + 2; i++)
        for (unsigned again = 0; again < 2; again++)
            OK(store_ahead_push(b.store[0], NOISE_GAUSS, name_of(NOISE_GAUSS, i), &noise));
    assert_int_equal(count_of(b.store[0], NOISE_GAUSS), AHEAD_BLOCKS);
    assert_int_equal(count_of(b.store[0], NOISE_GUMBEL), 1);
    assert_int_equal(take(b.store[0], NOISE_GAUSS, 1, &back), ERR_LOST);
    OK(take(b.store[0], NOISE_GAUSS, 2, &back));
    assert_int_equal(back.size, noise.size);
}

/* --- one server's disk ------------------------------------------------------------------------ */

/* The sealed bytes of server 0's only block. */
static struct bytes sealed_of(struct stores_bench *b)
{
    struct bytes sealed = {0};
    struct query q = query_of(b->store[0], "SELECT sealed FROM ahead");
    assert_true(query_row(&q));
    query_bytes(&q, &sealed);
    OK(query_end(&q));
    return sealed;
}

static bool file_has(struct stores_bench *b, const char *name, const struct bytes *what)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    if (file_read(support_path(&b->s, "server0/%s", name), 1 << 26, &file, &quiet) != ERR_OK)
        return false;
    return file.size >= what->size && memmem(file.data, file.size, what->data, what->size) != NULL;
}

TEST(what_is_taken_is_nowhere_on_the_disk)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct bytes noise CLEAN(bytes_clear) = {0}, sealed CLEAN(bytes_clear) = {0};
    put(b.store[0], NOISE_GAUSS, 0);
    sealed = sealed_of(&b);
    assert_true(file_has(&b, "store.sqlite", &sealed) || file_has(&b, "store.sqlite-wal", &sealed));
    store_close(&b.store[0]);
    OK(open_store(&b, 0)); /* a restarted server */
    assert_int_equal(count_of(b.store[0], NOISE_GAUSS), 1);
    OK(take(b.store[0], NOISE_GAUSS, 0, &noise));
    assert_memory_equal(noise.data, "these are shares", 16);
    assert_false(file_has(&b, "store.sqlite", &sealed));
    assert_false(file_has(&b, "store.sqlite-wal", &sealed));
    assert_int_equal(count_of(b.store[0], NOISE_GAUSS), 0);
    assert_int_equal(take(b.store[0], NOISE_GAUSS, 0, &noise), ERR_LOST);
}

TEST(a_block_that_was_altered_or_moved_is_refused_once)
{
    static const char *const harm[] = {
        "UPDATE ahead SET sealed = CAST(sealed || x'00' AS BLOB)",
        "UPDATE ahead SET sealed = x'00'",
        "UPDATE ahead SET kind = 1 - kind",
        "UPDATE ahead SET name = (SELECT name FROM other)",
    };
    for (size_t k = 0; k < sizeof harm / sizeof *harm; k++) {
        struct stores_bench b CLEAN(bench_free) = bench_new();
        struct bytes noise CLEAN(bytes_clear) = {0};
        char words[1024] = "";
        const bool kind = k == 2, other = k == 3;
        put(b.store[0], NOISE_GAUSS, 0);
        OK(store_execute(b.store[0], "CREATE TABLE other AS SELECT * FROM ahead"));
        if (other)
            OK(store_execute(b.store[0], "DELETE FROM ahead"));
        if (other)
            put(b.store[0], NOISE_GAUSS, 1);
        support_alter(&b.s, 0, harm[k]);
        quiet.buffer = words;
        quiet.buffer_size = sizeof words;
        assert_int_equal(store_ahead_take(b.store[0], kind ? NOISE_GUMBEL : NOISE_GAUSS,
                                          name_of(NOISE_GAUSS, 0), &noise),
                         ERR_AUTH);
        quiet.buffer = NULL;
        support_says(words, "find out who writes to the server's folder");
        assert_int_equal(count_of(b.store[0], NOISE_GAUSS) + count_of(b.store[0], NOISE_GUMBEL), 0);
    }
}

TEST(what_is_not_kept_is_gone_and_so_is_all_at_the_end)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct store_contents contents;
    struct ahead_blocks keep = {.count = {1}};
    struct bytes statement CLEAN(bytes_clear) = {0};
    struct store *restored = NULL;
    for (size_t i = 0; i < 3; i++)
        put(b.store[0], NOISE_GAUSS, i);
    put(b.store[0], NOISE_GUMBEL, 0);
    memcpy(keep.name[0][0], name_of(NOISE_GAUSS, 1), AHEAD_NAME);
    OK(store_ahead_keep(b.store[0], &keep));
    assert_int_equal(count_of(b.store[0], NOISE_GAUSS), 1);
    assert_int_equal(count_of(b.store[0], NOISE_GUMBEL), 0);
    /* a backup has none: restored blocks may have been used meanwhile */
    OK(store_backup(support_path(&b.s, "server0"), support_path(&b.s, "backup"), &contents,
                    &quiet));
    OK(store_restore(support_path(&b.s, "backup"), support_path(&b.s, "again"), &contents, &quiet));
    OK(store_open(&restored, support_path(&b.s, "again"), b.s.study, &three_split, b.server[0], 0,
                  &quiet));
    assert_int_equal(count_of(restored, NOISE_GAUSS), 0);
    store_close(&restored);
    OK(store_purge(b.store[0], b.server[0], &statement));
    assert_int_equal(count_of(b.store[0], NOISE_GAUSS), 0);
}

/*
 * Before there are data a study file may change, even its noise: blocks of the old terms are
 * dropped.
 */
TEST(blocks_of_other_terms_are_dropped)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct study *study = (struct study *)b.s.study;
    put(b.store[0], NOISE_GAUSS, 0);
    store_close(&b.store[0]);
    study->terms.digest[0] ^= 1;
    OK(open_store(&b, 0));
    assert_int_equal(count_of(b.store[0], NOISE_GAUSS), 0);
    study->terms.digest[0] ^= 1;
}

/* --- three of them ---------------------------------------------------------------------------- */

struct ahead_comparing {
    unsigned has[3]; /* which blocks it has, as bits */
    struct ahead_blocks common[3];
    uint8_t digest[3][32];
    uint64_t rounds[3];
};

static enum err compare(struct party *p, void *shared)
{
    struct ahead_comparing *c = shared;
    struct ahead_talk talk;
    struct ahead_blocks own = {.count = {0}};
    const uint64_t before = net_exchanges(p->net);
    for (size_t i = 0; i < 3; i++)
        if (c->has[p->index] >> i & 1)
            for (unsigned k = 0; k < NOISE_LAWS; k++)
                memset(own.name[k][own.count[k]++], (int)(1 + i + 16 * k), AHEAD_NAME);
    ahead_talk(&talk, p->net, &own);
    TRY(net_settle(p->net));
    c->rounds[p->index] = net_exchanges(p->net) - before;
    c->common[p->index] = talk.common;
    ahead_digest(&talk, c->digest[p->index]);
    return ERR_OK;
}

TEST(what_all_three_have_is_common)
{
    for (unsigned a = 0; a < 512; a += 5) {
        struct ahead_comparing c = {.has = {a & 7, a >> 3 & 7, a >> 6}};
        const unsigned all = c.has[0] & c.has[1] & c.has[2];
        size_t n = 0;
        OK(three_run(a, compare, &c, NULL));
        for (unsigned i = 0; i < 3; i++) {
            n = 0;
            for (unsigned bit = 0; bit < 3; bit++)
                if (all >> bit & 1) {
                    assert_int_equal(c.common[i].name[NOISE_GAUSS][n][0], 1 + bit);
                    assert_int_equal(c.common[i].name[NOISE_GUMBEL][n][5], 17 + bit);
                    n++;
                }
            assert_int_equal(c.common[i].count[NOISE_GAUSS], n);
            assert_int_equal(c.common[i].count[NOISE_GUMBEL], n);
            assert_int_equal(c.rounds[i], 1);
            assert_memory_equal(c.digest[i], c.digest[0], 32);
        }
    }
}

/* Sessions: the first makes blocks, the others take them. */
struct sessions {
    struct stores_bench b;
    size_t samples, blocks; /* in a block; how many are made */
    size_t wanted;          /* samples, in a session that takes */
    size_t took, left[3];   /* samples; blocks that stay on disk */
    struct three_result made, taken;
    enum err result[3];
};

static enum err make_blocks(struct party *p, void *shared)
{
    struct sessions *s = shared;
    const size_t count[NOISE_LAWS] = {[NOISE_GAUSS] = s->samples};
    struct tape tape CLEAN(tape_free);
    struct share64 all CLEAN(share64_free) = {0};
    TRY(share64_new(&all, s->blocks * s->samples));
    tape_start(&tape, session_id, NOISE_BOX_MULLER);
    for (size_t i = 0; i < s->blocks; i++) {
        struct tape block CLEAN(tape_free) = {0};
        struct bytes noise CLEAN(bytes_clear) = {0};
        uint8_t name[AHEAD_NAME];
        ahead_name(session_id, NOISE_GAUSS, i, name);
        TRY(tape_reserve(p, &tape, NOISE_GAUSS, s->samples));
        TRY(range_cut(&tape, count, &block));
        TRY(range_write(&block, &noise));
        TRY(store_ahead_put(s->b.store[p->index], NOISE_GAUSS, name, &noise));
        ring64_copy(share64_view(all, i * s->samples, s->samples), block.reel[NOISE_GAUSS].samples);
    }
    three_put64(&s->made, p, all);
    return ERR_OK;
}

static enum err take_blocks(struct party *p, void *shared)
{
    struct sessions *s = shared;
    struct store *store = s->b.store[p->index];
    const size_t count[NOISE_LAWS] = {[NOISE_GAUSS] = s->wanted};
    struct tape tape CLEAN(tape_free);
    struct ahead_talk talk;
    struct ahead_blocks own;
    struct ahead ahead;
    TRY(store_ahead(store, &own));
    ahead_talk(&talk, p->net, &own);
    TRY(net_settle(p->net));
    TRY(store_ahead_keep(store, &talk.common));
    ahead = (struct ahead){.blocks = talk.common};
    tape_start(&tape, session_id, NOISE_BOX_MULLER);
    s->result[p->index] = ahead_take(&ahead, store, s->b.s.study, &tape, count, &quiet);
    TRY(store_ahead(store, &own));
    s->left[p->index] = own.count[NOISE_GAUSS];
    if (p->index == 0)
        s->took = tape.reel[NOISE_GAUSS].made;
    if (s->result[p->index] == ERR_OK && tape.reel[NOISE_GAUSS].made > 0)
        three_put64(&s->taken, p, tape.reel[NOISE_GAUSS].samples);
    return ERR_OK;
}

static struct sessions sessions_new(size_t blocks)
{
    struct sessions s = {.b = bench_new(), .blocks = blocks};
    s.samples = price_ahead(s.b.s.study).samples[NOISE_GAUSS];
    OK(three_result_new(&s.made, blocks * s.samples));
    OK(three_result_new(&s.taken, blocks * s.samples));
    OK(three_run(1, make_blocks, &s, NULL));
    return s;
}

static void sessions_free(struct sessions *s)
{
    three_result_free(&s->made);
    three_result_free(&s->taken);
    bench_free(&s->b);
}

/* The block, of those that were made, that has these samples; it is there, and whole. */
static size_t block_of(const struct sessions *s, size_t at)
{
    size_t i = 0;
    while (i < s->blocks && three_sum64(&s->made, i * s->samples) != three_sum64(&s->taken, at))
        i++;
    assert_true(i < s->blocks);
    for (size_t k = 0; k < s->samples; k++)
        assert_true(three_sum64(&s->made, i * s->samples + k) == three_sum64(&s->taken, at + k));
    return i;
}

/* As many blocks as needed, each in one session, with the very samples that were made. */
TEST(blocks_are_taken_once_as_they_were_made)
{
    struct sessions s CLEAN(sessions_free) = sessions_new(4);
    bool seen[4] = {false};
    s.wanted = s.samples + 1;
    for (unsigned session = 0; session < 3; session++) {
        OK(three_run(2 + session, take_blocks, &s, NULL));
        assert_int_equal(s.took, session < 2 ? 2 * s.samples : 0);
        for (unsigned i = 0; i < 3; i++) {
            OK(s.result[i]);
            assert_int_equal(s.left[i], session == 0 ? 2 : 0);
        }
        s.taken.n = s.took;
        assert_true(three_replicated(&s.taken, 64));
        for (size_t at = 0; at < s.took; at += s.samples) {
            const size_t block = block_of(&s, at);
            assert_false(seen[block]);
            seen[block] = true;
        }
    }
}

/* Whichever one or two bring back used blocks: the third no longer has them. */
TEST(a_restored_backup_brings_nothing_back)
{
    for (unsigned who = 1; who < 7; who++) {
        struct sessions s CLEAN(sessions_free) = sessions_new(2);
        for (unsigned i = 0; i < 3; i++)
            if (who >> i & 1)
                OK(store_execute(s.b.store[i], "CREATE TABLE old AS SELECT * FROM ahead"));
        s.wanted = s.samples;
        OK(three_run(2, take_blocks, &s, NULL));
        assert_int_equal(s.took, s.samples);
        for (unsigned i = 0; i < 3; i++)
            if (who >> i & 1)
                support_alter(&s.b.s, i, "DELETE FROM ahead; INSERT INTO ahead SELECT * FROM old");
        s.wanted = 2 * s.samples;
        OK(three_run(3, take_blocks, &s, NULL));
        assert_int_equal(s.took, s.samples); /* the one block that nobody has used */
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(s.left[i], 0);
    }
}

/*
 * A server that finds a block altered ends the session and trusts no other; the next one has none.
 */
TEST(altered_blocks_cost_one_session)
{
    struct sessions s CLEAN(sessions_free) = sessions_new(3);
    s.wanted = s.samples;
    support_alter(&s.b.s, 1, "UPDATE ahead SET sealed = CAST(sealed || x'00' AS BLOB)");
    OK(three_run(2, take_blocks, &s, NULL));
    OK(s.result[0]);
    assert_int_equal(s.result[1], ERR_AGAIN);
    OK(three_run(3, take_blocks, &s, NULL));
    assert_int_equal(s.took, 0);
    for (unsigned i = 0; i < 3; i++) {
        OK(s.result[i]);
        assert_int_equal(s.left[i], 0);
    }
}

/*
 * The same goes for blocks of another size, as a later version may make: they unseal, but do not
 * fit.
 */
TEST(blocks_of_another_size_cost_one_session)
{
    struct sessions s CLEAN(sessions_free) = sessions_new(3);
    s.wanted = s.samples;
    for (unsigned i = 0; i < 3; i++) {
        const struct ahead_blocks none = {.count = {0}};
        OK(store_ahead_keep(s.b.store[i], &none));
        for (size_t k = 0; k < 3; k++)
            put(s.b.store[i], NOISE_GAUSS, k);
    }
    OK(three_run(2, take_blocks, &s, NULL));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(s.result[i], ERR_AGAIN);
        assert_int_equal(s.left[i], 0);
    }
    OK(three_run(3, take_blocks, &s, NULL));
    for (unsigned i = 0; i < 3; i++)
        OK(s.result[i]);
    assert_int_equal(s.took, 0);
}

/* --- the bell --------------------------------------------------------------------------------- */

TEST(a_bell_ends_what_is_armed_and_nothing_else)
{
    struct bell bell CLEAN(bell_free);
    atomic_bool ends = false;
    bell_new(&bell);
    bell_arm(&bell, &ends);
    assert_false(atomic_load(&ends));
    bell_ring(&bell);
    assert_true(atomic_load(&ends));
    bell_disarm(&bell);
    atomic_store(&ends, false);
    bell_ring(&bell);
    assert_false(atomic_load(&ends));
    assert_true(bell_has_rung(&bell));
    bell_arm(&bell, &ends); /* it rang earlier */
    assert_true(atomic_load(&ends));
    bell_disarm(&bell);
    bell_forget(&bell);
    atomic_store(&ends, false);
    bell_arm(&bell, &ends);
    assert_false(atomic_load(&ends));
}
