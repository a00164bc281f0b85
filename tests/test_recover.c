/*
 * parties/server/recover.c against two neighbours, for one or both of which the test answers:
 * nothing is taken over unless both give the same and it follows.
 */
#include "tests/support_patience.h"
#include "tests/support_stores.h"

#include "base/memory.h"
#include "netio/gate.h"
#include "parties/exchange/price.h"
#include "parties/server/recover.h"
#include "parties/server/worker.h"
#include "parties/study/study_ports.h"

#include <pthread.h>
#include <stdatomic.h>

#define DEBITS 3

struct scene;

struct neighbour {
    struct scene *c;
    unsigned index;
    struct netio *netio;
    struct gate *gate;
    pthread_t thread;
};

/* How the answer about one debit is changed. */
struct lie {
    unsigned own; /* debits that the restored server has */
    uint8_t run;  /* its run: another one means another past */
    bool both;    /* both neighbours tell the same lie, otherwise server 2 alone */
    unsigned of;  /* about which debit; 0: their number */
    enum lie_kind {
        TRUTH,
        ENTRY,
        CHAIN,
        GENEROUS,
        SELECTED,
        VALUES,
        SHORT,
        CUT,
        MORE,
        REFUSAL
    } kind;
    enum err e;
    uint64_t to; /* debits that are still taken over */
    const char *says;
};

struct scene {
    struct bench b;
    struct ledger_limits limits;
    struct neighbour neighbour[2];
    const struct lie *lie; /* set while nobody asks */
    atomic_bool stop;
};

/* --- ledgers ---------------------------------------------------------------------------------- */

/* Debits for which the study's budget has room, and whose rounds opened something. */
static void debit_small(struct scene *c, unsigned server, unsigned from, unsigned to, uint8_t run)
{
    struct store *store = c->b.store[server];
    for (unsigned i = from; i < to; i++) {
        const struct store_round r = round_of(run, i);
        struct bytes values = {0};
        struct ledger *ledger = NULL;
        struct store_head head;
        mpq_t cost;
        mpq_init(cost);
        mpq_set_ui(cost, 1, 1000000);
        assert_int_equal(store_ledger(store, &c->limits, &ledger, &head), ERR_OK);
        assert_int_equal(ledger_debit(ledger, cost, &quiet), ERR_OK);
        assert_int_equal(stage_with(store, &r, ledger), ERR_OK);
        assert_int_equal(store_bind(store, &r, &head), ERR_OK);
        bytes_put_u64(&values, 100 + i);
        assert_int_equal(store_put_index(store, &r, i), ERR_OK);
        assert_int_equal(store_put_values(store, &r, &values), ERR_OK);
        bytes_clear(&values);
        ledger_free(&ledger);
        mpq_clear(cost);
    }
}

/* --- neighbours ------------------------------------------------------------------------------- */

/* A second debit after which nothing is spent. */
static void fresh_entry(struct scene *c, struct bytes *entry, uint8_t next[32])
{
    const struct store_round r = round_of(1, 1);
    struct ledger *fresh CLEAN(ledger_free) = NULL;
    char *text CLEAN(memory_release) = NULL;
    bytes_clear(entry);
    assert_int_equal(store_entry(c->b.store[1], 1, entry, next), ERR_OK); /* of the head */
    bytes_clear(entry);
    assert_int_equal(ledger_new(&fresh, &c->limits, &quiet), ERR_OK);
    assert_int_equal(ledger_text(fresh, &text), ERR_OK);
    assert_int_equal(store_write_entry(&r, text, entry), ERR_OK);
    store_chain(entry->data, entry->size, next);
}

/* The answer about a debit, in its parts: how many, entry, head, opened, index, values. */
static void change(struct scene *c, const struct lie *lie, struct bytes *answer)
{
    struct reader in = reader_of(answer->data, answer->size);
    struct bytes entry CLEAN(bytes_clear) = {0}, out CLEAN(bytes_clear) = {0};
    uint64_t count = reader_u64(&in), selected;
    size_t n, values;
    const uint8_t *p = reader_block(&in, &n), *head = reader_bytes(&in, 32), *v;
    uint8_t next[32], opened = reader_u8(&in);
    selected = reader_u64(&in);
    v = reader_block(&in, &values);
    assert_int_equal(reader_done(&in), ERR_OK);
    bytes_put(&entry, p, n);
    memcpy(next, head, sizeof next);
    if (lie->kind == ENTRY)
        entry.data[20] ^= 1;
    if (lie->kind == CHAIN)
        next[7] ^= 1;
    if (lie->kind == GENEROUS)
        fresh_entry(c, &entry, next);
    selected += lie->kind == SELECTED;
    bytes_put_u64(&out, count);
    bytes_put_block(&out, entry.data, entry.size);
    bytes_put(&out, next, sizeof next);
    bytes_put_u8(&out, opened);
    bytes_put_u64(&out, selected);
    bytes_put_block(&out, v, values - (lie->kind == SHORT));
    if (lie->kind == VALUES)
        out.data[out.size - 1] ^= 1;
    if (lie->kind == CUT)
        out.size--;
    if (lie->kind == MORE)
        bytes_put_u8(&out, 0);
    bytes_clear(answer);
    bytes_put(answer, out.data, out.size);
}

static enum err answer(struct neighbour *n, const struct gate_client *to, const struct bytes *ask)
{
    const struct lie *lie = n->c->lie;
    struct reader in = reader_of(ask->data + 1, ask->size - 1);
    bool lies = reader_u64(&in) == lie->of && (lie->both || n->index == 2) && lie->kind != TRUTH;
    struct bytes answer CLEAN(bytes_clear) = {0}, out CLEAN(bytes_clear) = {0};
    enum err e = recover_answer(n->c->b.store[n->index], ask->data + 1, ask->size - 1, &answer);
    if (lies && lie->of == 0 && lie->kind == CUT)
        answer.size--;
    else if (lies && lie->kind != REFUSAL)
        change(n->c, lie, &answer);
    if (e == ERR_OK)
        e = reply_write(MESSAGE_LEDGER, lies && lie->kind == REFUSAL ? ERR_REFUSED : ERR_OK, "",
                        answer.data, answer.size, &out);
    if (e == ERR_OK)
        e = gate_reply(n->gate, to, out.data, out.size);
    return e;
}

static void *serve(void *arg)
{
    struct neighbour *n = arg;
    struct gate_client from;
    struct bytes message CLEAN(bytes_clear) = {0};
    enum err e = ERR_OK;
    while ((e == ERR_OK || e == ERR_TIMEOUT) && !atomic_load(&n->c->stop)) {
        e = gate_receive(n->gate, &from, &message, support_moment(20));
        if (e == ERR_OK)
            e = answer(n, &from, &message);
    }
    return NULL;
}

static void neighbour_new(struct scene *c, unsigned peer)
{
    struct neighbour *n = &c->neighbour[peer];
    char listen[STUDY_ENDPOINT_SIZE];
    struct gate_options o = {.listen = listen, .max_message = 65536, .log = &quiet};
    n->c = c;
    n->index = 1 + peer;
    debit_small(c, n->index, 0, DEBITS, 1);
    assert_int_equal(netio_new(&n->netio, &quiet), ERR_OK);
    assert_int_equal(
        netio_allow(n->netio, "gate", c->b.server[0]->public.curve, role_user(ROLE_SERVER, 0)),
        ERR_OK);
    study_endpoint(c->b.s.study, n->index, STUDY_GATE, listen);
    o.netio = n->netio;
    o.curve_public = c->b.server[n->index]->public.curve;
    o.curve_secret = c->b.server[n->index]->curve_secret;
    assert_int_equal(gate_new(&n->gate, &o), ERR_OK);
    assert_int_equal(pthread_create(&n->thread, NULL, serve, n), 0);
}

static void scene_new(struct scene *c, const struct lie *lie)
{
    memset(c, 0, sizeof *c);
    c->lie = lie;
    c->b = bench_new();
    assert_int_equal(price_limits(c->b.s.study, &c->limits, &quiet), ERR_OK);
    debit_small(c, 0, 0, lie->own, lie->run);
    for (unsigned peer = 0; peer < 2; peer++)
        neighbour_new(c, peer);
}

static void scene_free(struct scene *c)
{
    atomic_store(&c->stop, true);
    for (unsigned peer = 0; peer < 2; peer++) {
        pthread_join(c->neighbour[peer].thread, NULL);
        gate_free(&c->neighbour[peer].gate);
        netio_free(&c->neighbour[peer].netio);
    }
    bench_free(&c->b);
}

/* --- tests ------------------------------------------------------------------------------------ */

static const struct lie lies[] = {
    {0, 1, false, 1, TRUTH, ERR_OK, DEBITS, ""},
    {2, 1, false, 1, TRUTH, ERR_OK, DEBITS, ""},
    {3, 1, false, 3, REFUSAL, ERR_OK, DEBITS, ""}, /* has all of them, and asks for none */
    {1, 2, false, 1, TRUTH, ERR_MISMATCH, 1, "debit 1 of this server's ledger is another than its"},
    {0, 1, false, 0, CUT, ERR_FORMAT, 0, "server 2 (s2) does not give its ledger: "},
    {0, 1, false, 0, REFUSAL, ERR_REFUSED, 0, "server 2 (s2) does not give its ledger: "},
    {0, 1, false, 3, CUT, ERR_FORMAT, 0, "server 2 (s2) does not give its ledger: "},
    {0, 1, false, 1, MORE, ERR_FORMAT, 0, "server 2 (s2) does not give its ledger: "},
    {1, 1, false, 1, CUT, ERR_FORMAT, 1, "server 2 (s2) does not give its ledger: "},
    {0, 1, false, 3, ENTRY, ERR_MISMATCH, 0, "servers 2 and 1 disagree on debit 3, which is not"},
    {0, 1, false, 3, CHAIN, ERR_MISMATCH, 0, "servers 2 and 1 disagree on debit 3, which is not"},
    {1, 1, false, 1, ENTRY, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 1, which is not"},
    {0, 1, false, 2, ENTRY, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 2, which is not"},
    {0, 1, false, 2, SELECTED, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 2, which is"},
    {0, 1, false, 2, VALUES, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 2, which is not"},
    {0, 1, false, 1, SHORT, ERR_MISMATCH, 0, "servers 2 and 1 disagree on debit 1, which is not"},
    {0, 1, true, 2, ENTRY, ERR_MISMATCH, 1, "does not follow the ones here"},
    {0, 1, true, 1, CHAIN, ERR_MISMATCH, 0, "does not follow the ones here"},
    {1, 1, true, 2, GENEROUS, ERR_MISMATCH, 1, "would change the budget, or give some of it back"},
};

/* One lying server changes nothing, and two that tell the same lie give nothing back. */
TEST(only_what_both_say_and_follows_is_taken)
{
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        const struct lie *lie = &lies[k];
        struct scene c CLEAN(scene_free);
        struct netio *netio CLEAN(netio_free) = NULL;
        char words[4096] = "";
        struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
        uint64_t from = 9, to = 9, count = 9;
        enum err e;
        scene_new(&c, lie);
        assert_int_equal(netio_new(&netio, &quiet), ERR_OK);
        {
            const struct recover_terms terms = {.study = c.b.s.study,
                                                .me = c.b.server[0],
                                                .store = c.b.store[0],
                                                .netio = netio,
                                                .log = &log};
            quiet.buffer = words; /* the store's own words */
            quiet.buffer_size = sizeof words;
            e = recover_ledger(&terms, &from, &to);
            quiet.buffer = NULL;
        }
        if (e != lie->e || strstr(words, lie->says) == NULL)
            fail_msg("row %zu: %s: %s", k, error_text(e), words);
        assert_int_equal(store_debits(c.b.store[0], &count), ERR_OK);
        if (count != lie->to || (to != count && lie->of != 0))
            fail_msg("row %zu: %u debits, %u told", k, (unsigned)count, (unsigned)to);
    }
}
