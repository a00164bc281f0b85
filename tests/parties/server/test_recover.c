/*
 * parties/server/recover.c against two neighbours, for one or both of which the test answers:
 * nothing is taken over unless both give the same and it follows.
 */
#include "harness/patience.h"
#include "tests/support/stores.h"

#include "netio/gate.h"
#include "parties/exchange/message.h"
#include "parties/exchange/price.h"
#include "parties/server/recover.h"
#include "parties/server/worker.h"
#include "parties/study/study_ports.h"

#include <pthread.h>
#include <stdatomic.h>

#define DEBITS 3

struct recover_scene;

struct neighbour {
    struct recover_scene *c;
    unsigned index;
    struct netio *netio;
    struct gate *gate;
    pthread_t thread;
};

/* How the answer about one debit is changed. */
struct recover_lie {
    unsigned own;                /* debits that the restored server has */
    uint8_t run;                 /* its run: another one means another past */
    enum { TWO, ONE, BOTH } who; /* tells the lie: server 2 or 1, or both the same */
    unsigned of;                 /* about which debit; 0: their number */
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

struct recover_scene {
    struct stores_bench b;
    struct audit *audit;
    struct ledger_limits limits;
    struct neighbour neighbour[2];
    const struct recover_lie *lie; /* set while nobody asks */
    atomic_bool stop;
};

/* --- ledgers ---------------------------------------------------------------------------------- */

/* A debit for which the study's budget has room. */
static void bind_small(struct recover_scene *c, unsigned server, const struct store_round *r)
{
    struct store *store = c->b.store[server];
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    mpq_t cost;
    mpq_init(cost);
    mpq_set_ui(cost, 1, 1000000);
    OK(store_ledger(store, &c->limits, &ledger, &head));
    OK(ledger_debit(ledger, cost, &quiet));
    OK(stage_with(store, r, ledger));
    OK(store_bind(store, r, &(const struct vouchers){0}, &head));
    mpq_clear(cost);
}

/* Debits whose rounds opened something. */
static void debit_small(struct recover_scene *c, unsigned server, unsigned from, unsigned to,
                        uint8_t run)
{
    struct store *store = c->b.store[server];
    for (unsigned i = from; i < to; i++) {
        const struct store_round r = round_of(run, i);
        struct bytes values CLEAN(bytes_clear) = {0};
        bind_small(c, server, &r);
        bytes_put_u64(&values, 100 + i);
        OK(store_put_index(store, &r, i));
        OK(store_put_values(store, &r, &values));
    }
}

/* --- neighbours ------------------------------------------------------------------------------- */

/* A second debit after which nothing is spent. */
static void fresh_entry(struct recover_scene *c, struct bytes *entry, uint8_t next[32])
{
    const struct store_round r = round_of(1, 1);
    struct ledger *fresh CLEAN(ledger_free) = NULL;
    char *text CLEAN(memory_release) = NULL;
    bytes_clear(entry);
    OK(store_entry(c->b.store[1], 1, entry, next)); /* of the head */
    bytes_clear(entry);
    OK(ledger_new(&fresh, &c->limits, &quiet));
    OK(ledger_text(fresh, &text));
    OK(store_write_entry(&r, text, entry));
    store_chain(entry->data, entry->size, next);
}

/* The answer about a debit, in its parts: how many, entry, head, opened, index, values. */
static void change(struct recover_scene *c, const struct recover_lie *lie, struct bytes *answer)
{
    struct reader in = reader_of(answer->data, answer->size);
    struct bytes entry CLEAN(bytes_clear) = {0}, out CLEAN(bytes_clear) = {0};
    uint64_t count = reader_u64(&in), selected;
    size_t n, values;
    const uint8_t *p = reader_block(&in, &n), *head = reader_bytes(&in, 32), *v;
    uint8_t next[32], opened = reader_u8(&in);
    selected = reader_u64(&in);
    v = reader_block(&in, &values);
    OK(reader_done(&in));
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
    const struct recover_lie *lie = n->c->lie;
    struct reader in = reader_of(ask->data + 1, ask->size - 1);
    bool lies = reader_u64(&in) == lie->of && lie->kind != TRUTH &&
                (lie->who == BOTH || (lie->who == ONE) == (n->index == 1));
    struct bytes answer CLEAN(bytes_clear) = {0}, out CLEAN(bytes_clear) = {0};
    TRY(recover_answer(n->c->b.store[n->index], ask->data + 1, ask->size - 1, &answer));
    if (lies && lie->of == 0 && lie->kind == CUT)
        answer.size--;
    else if (lies && lie->kind != REFUSAL)
        change(n->c, lie, &answer);
    TRY(reply_write(MESSAGE_LEDGER, lies && lie->kind == REFUSAL ? ERR_REFUSED : ERR_OK, "",
                    answer.data, answer.size, &out));
    return gate_reply(n->gate, to, out.data, out.size);
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

static void neighbour_new(struct recover_scene *c, unsigned peer)
{
    struct neighbour *n = &c->neighbour[peer];
    char listen[STUDY_ENDPOINT_SIZE];
    struct gate_options o = {.listen = listen, .max_message = 65536, .log = &quiet};
    n->c = c;
    n->index = 1 + peer;
    debit_small(c, n->index, 0, DEBITS, 1);
    OK(netio_new(&n->netio, &quiet));
    OK(netio_allow(n->netio, "gate", c->b.server[0]->public.curve, role_user(ROLE_SERVER, 0)));
    study_endpoint(c->b.s.study, n->index, STUDY_GATE, listen);
    o.netio = n->netio;
    o.curve_public = c->b.server[n->index]->public.curve;
    o.curve_secret = c->b.server[n->index]->curve_secret;
    OK(gate_new(&n->gate, &o));
    assert_int_equal(pthread_create(&n->thread, NULL, serve, n), 0);
}

static void scene_of(struct recover_scene *c, const struct recover_lie *lie, bool two)
{
    memset(c, 0, sizeof *c);
    c->lie = lie;
    c->b = bench_new();
    c->b.s.study->servers = two ? 2 : 3;
    OK(price_limits(c->b.s.study, &c->limits, &quiet));
    OK(audit_open(&c->audit, support_path(&c->b.s, "server0"), c->b.s.study, c->b.server[0], 0,
                  &quiet));
    debit_small(c, 0, 0, lie->own, lie->run);
    for (unsigned peer = 0; peer < 2; peer++)
        neighbour_new(c, peer);
}

static void scene_new(struct recover_scene *c, const struct recover_lie *lie)
{
    scene_of(c, lie, false);
}

static void scene_free(struct recover_scene *c)
{
    atomic_store(&c->stop, true);
    for (unsigned peer = 0; peer < 2; peer++) {
        pthread_join(c->neighbour[peer].thread, NULL);
        gate_free(&c->neighbour[peer].gate);
        netio_free(&c->neighbour[peer].netio);
    }
    audit_close(&c->audit);
    bench_free(&c->b);
}

static enum err recover(struct recover_scene *c, uint64_t *from, uint64_t *to, char words[4096])
{
    struct log log = {.buffer = words, .buffer_size = 4096, .level = LOG_WARN};
    enum err e;
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, &quiet);
    {
        const struct recover_terms terms = {.study = c->b.s.study,
                                            .me = c->b.server[0],
                                            .store = c->b.store[0],
                                            .audit = c->audit,
                                            .netio = netio,
                                            .log = &log};
        quiet.buffer = words; /* the store's own words */
        quiet.buffer_size = 4096;
        e = recover_ledger(&terms, from, to);
        quiet.buffer = NULL;
    }
    return e;
}

/* --- tests ------------------------------------------------------------------------------------ */

static const struct recover_lie lies[] = {
    {0, 1, TWO, 1, TRUTH, ERR_OK, DEBITS, ""},
    {2, 1, TWO, 1, TRUTH, ERR_OK, DEBITS, ""},
    {3, 1, TWO, 3, TRUTH, ERR_OK, DEBITS, ""}, /* has all of them */
    {3, 1, TWO, 3, REFUSAL, ERR_REFUSED, DEBITS, "server 2 (s2) does not give its ledger: "},
    {3, 2, TWO, 3, TRUTH, ERR_MISMATCH, DEBITS, "debit 3 of this server's ledger is another"},
    {1, 2, TWO, 1, TRUTH, ERR_MISMATCH, 1, "debit 1 of this server's ledger is another than its"},
    {0, 1, TWO, 0, CUT, ERR_FORMAT, 0, "server 2 (s2) does not give its ledger: "},
    {0, 1, TWO, 0, REFUSAL, ERR_REFUSED, 0, "server 2 (s2) does not give its ledger: "},
    {0, 1, TWO, 3, CUT, ERR_FORMAT, 0, "server 2 (s2) does not give its ledger: "},
    {0, 1, TWO, 1, MORE, ERR_FORMAT, 0, "server 2 (s2) does not give its ledger: "},
    {1, 1, TWO, 1, CUT, ERR_FORMAT, 1, "server 2 (s2) does not give its ledger: "},
    {0, 1, TWO, 3, ENTRY, ERR_MISMATCH, 0, "servers 2 and 1 disagree on debit 3, which is not"},
    {0, 1, TWO, 3, CHAIN, ERR_MISMATCH, 0, "servers 2 and 1 disagree on debit 3, which is not"},
    {1, 1, TWO, 1, ENTRY, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 1, which is not"},
    {0, 1, TWO, 2, ENTRY, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 2, which is not"},
    {0, 1, TWO, 2, SELECTED, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 2, which is"},
    {0, 1, TWO, 2, VALUES, ERR_MISMATCH, 1, "servers 2 and 1 disagree on debit 2, which is not"},
    {0, 1, TWO, 1, SHORT, ERR_MISMATCH, 0, "servers 2 and 1 disagree on debit 1, which is not"},
    {0, 1, BOTH, 2, ENTRY, ERR_MISMATCH, 1, "does not follow the ones here"},
    {0, 1, BOTH, 1, CHAIN, ERR_MISMATCH, 0, "does not follow the ones here"},
    {1, 1, BOTH, 2, GENEROUS, ERR_MISMATCH, 1, "would change the budget, or give some of it back"},
};

/* One lying server changes nothing, and two that tell the same lie give nothing back. */
TEST(only_what_both_say_and_follows_is_taken)
{
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        const struct recover_lie *lie = &lies[k];
        struct recover_scene c CLEAN(scene_free);
        char words[4096] = "";
        uint64_t from = 9, to = 9, count = 9;
        scene_new(&c, lie);
        enum err e = recover(&c, &from, &to, words);
        if (e != lie->e || strstr(words, lie->says) == NULL)
            fail_msg("row %zu: %s: %s", k, error_text(e), words);
        OK(store_debits(c.b.store[0], &count));
        if (count != lie->to || (to != count && lie->of != 0))
            fail_msg("row %zu: %u debits, %u told", k, (unsigned)count, (unsigned)to);
    }
}

/* A last debit that is only bound here. */
static const struct alone {
    struct recover_lie lie;   /* `own`: opened debits before it */
    uint8_t run;              /* 1: the neighbours have it too, if they have as many */
    bool tried, opened, made; /* a part of it was sent; is logged; or only noise is logged */
    bool dropped;
} alone[] = {
    {{3, 1, TWO, 3, TRUTH, ERR_OK, 3, "dropped debit 4, which no"}, 9, 0, 0, 0, true},
    {{2, 1, TWO, 3, TRUTH, ERR_OK, 3, "dropped debit 3, which no"}, 9, 0, 0, 0, true},
    {{0, 1, TWO, 3, TRUTH, ERR_OK, 3, "dropped debit 1, which no"}, 9, 0, 0, 0, true},
    {{3, 1, TWO, 3, TRUTH, ERR_OK, 3, "dropped debit 4, which no"}, 9, 0, 0, true, true},
    {{2, 1, TWO, 3, TRUTH, ERR_OK, 3, ""}, 1, 0, 0, 0, false},
    /* one has it, and the other lies */
    {{2, 1, ONE, 3, CHAIN, ERR_MISMATCH, 3, "disagree on"}, 1, 0, 0, 0, false},
    {{2, 1, TWO, 3, CHAIN, ERR_MISMATCH, 3, "disagree on"}, 1, 0, 0, 0, false},
    {{3, 1, TWO, 3, TRUTH, ERR_OK, 4, ""}, 9, true, 0, 0, false},
    {{3, 1, TWO, 3, TRUTH, ERR_OK, 4, ""}, 9, 0, true, 0, false},
    {{2, 1, TWO, 3, TRUTH, ERR_MISMATCH, 3, "is another than its"}, 9, 0, true, 0, false},
    {{4, 1, TWO, 3, TRUTH, ERR_OK, 5, ""}, 9, 0, 0, 0, false}, /* they lack more */
    {{3, 2, TWO, 3, TRUTH, ERR_MISMATCH, 4, "is another than its"}, 9, 0, 0, 0, false},
    {{3, 1, TWO, 3, ENTRY, ERR_MISMATCH, 4, "disagree on debit 3"}, 9, 0, 0, 0, false},
    {{3, 1, TWO, 4, REFUSAL, ERR_REFUSED, 4, "does not give its"}, 9, 0, 0, 0, false},
};

/* Dropped if neither neighbour has it, nothing was opened, and what was before is theirs too. */
TEST(a_debit_that_nobody_else_has_is_dropped)
{
    for (size_t k = 0; k < sizeof alone / sizeof *alone; k++) {
        const struct alone *a = &alone[k];
        const struct store_round r = round_of(a->run, a->lie.own);
        struct audit_opening line = {.round = r.sequence, .values = 3, .spent = 1, .what = "-"};
        struct audit_file *log CLEAN(audit_file_free) = NULL;
        struct recover_scene c CLEAN(scene_free);
        char words[4096] = "";
        uint64_t from = 9, to = 9, count = 9;
        scene_new(&c, &a->lie);
        bind_small(&c, 0, &r);
        if (a->tried)
            OK(store_attempt(c.b.store[0], &r));
        snprintf(line.reason, sizeof line.reason, a->made ? "REJECT_BIT" : "SELECTED_INDEX");
        memcpy(line.run, r.run, sizeof line.run);
        if (a->made || a->opened)
            OK(audit_note(c.audit,
                          &(const struct audit_entry){.kind = AUDIT_OPEN, .opening = line}));
        enum err e = recover(&c, &from, &to, words);
        if (e != a->lie.e || strstr(words, a->lie.says) == NULL)
            fail_msg("row %zu: %s: %s", k, error_text(e), words);
        OK(store_debits(c.b.store[0], &count));
        if (count != a->lie.to || (strstr(words, "dropped debit") != NULL) != a->dropped)
            fail_msg("row %zu: %u debits: %s", k, (unsigned)count, words);
        /* less is spent than before, and the log says why */
        line.spent = 0;
        OK(audit_note(c.audit, &(const struct audit_entry){.kind = AUDIT_OPEN, .opening = line}));
        e = audit_file_read(&log, support_path(&c.b.s, "server0/audit.log"), &quiet);
        assert_int_equal(e, a->dropped || !(a->made || a->opened) ? ERR_OK : ERR_DATA);
        assert_int_equal(a->dropped,
                         e == ERR_OK && log->entries > 2 &&
                             log->entry[log->entries - 2].kind == AUDIT_DROPPED &&
                             log->entry[log->entries - 2].head.entries == a->lie.own + 1);
    }
}

TEST(of_two_servers_one_takes_what_the_other_has)
{
    static const struct recover_lie truth = {1, 1, TWO, 3, TRUTH, ERR_OK, DEBITS, ""};
    struct recover_scene c CLEAN(scene_free);
    char words[4096] = "";
    uint64_t from = 9, to = 9;
    scene_of(&c, &truth, true);
    OK(recover(&c, &from, &to, words));
    assert_int_equal(from, truth.own);
    assert_int_equal(to, truth.to);
}

/*
 * Of two servers the other may have sent its part and been put back since: so what one alone has
 * stays, and the other takes it over.
 */
TEST(of_two_servers_no_debit_is_dropped)
{
    static const struct recover_lie truth = {3, 1, TWO, 3, TRUTH, ERR_OK, 4, ""};
    const struct store_round r = round_of(9, truth.own);
    struct recover_scene c CLEAN(scene_free);
    char words[4096] = "";
    uint64_t from = 9, to = 9, count = 9;
    scene_of(&c, &truth, true);
    bind_small(&c, 0, &r);
    OK(recover(&c, &from, &to, words));
    assert_string_equal(words, "");
    OK(store_debits(c.b.store[0], &count));
    assert_int_equal(count, truth.to);
}
