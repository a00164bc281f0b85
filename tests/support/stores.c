#include "tests/support/stores.h"

#include "parties/settings/three/split.h"
#include "parties/study/study_uploads.h"

enum err open_store(struct stores_bench *b, unsigned i)
{
    return store_open(&b->store[i], support_path(&b->s, "server%u", i), b->s.study, &three_split,
                      b->server[i], i, &quiet);
}

struct stores_bench bench_new(void)
{
    return bench_of(&(const struct study_options){.owners = 2});
}

struct stores_bench bench_of(const struct study_options *o)
{
    struct stores_bench b = {0};
    struct bytes packed CLEAN(bytes_clear) = {0};
    b.s = support_study_of(o, &quiet);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(identity_load(&b.server[i], support_path(&b.s, "s%u.key", i), &quiet));
        OK(open_store(&b, i));
    }
    OK(identity_load(&b.owner, support_path(&b.s, "o1.key"), &quiet));
    bytes_extend(&packed, study_upload_bytes(b.s.study, 1));
    packed.data[3] = 7;
    OK(upload_make(b.parts, &three_split, b.owner, 1, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   b.s.study, study_upload_form(b.s.study, 1), &packed));
    return b;
}

void bench_free(struct stores_bench *b)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        store_close(&b->store[i]);
        identity_free(&b->server[i]);
        upload_clear(&b->parts[i]);
    }
    identity_free(&b->owner);
    support_study_free(&b->s);
}

struct store_round round_of(uint8_t run, uint32_t i)
{
    struct store_round r = {.sequence = i};
    memset(r.run, run, sizeof r.run);
    memset(r.request, (int)i, sizeof r.request);
    r.stake.of[0] = run;
    r.stake.from[NOISE_GAUSS] = 10 * i;
    r.stake.count[NOISE_GAUSS] = 10;
    return r;
}

enum err stage_with(struct store *store, const struct store_round *r, const struct ledger *after)
{
    struct bytes noise CLEAN(bytes_clear) = {0}, ids CLEAN(bytes_clear) = {0};
    uint8_t next[32] = {0};
    bytes_put(&noise, "these are the shares", 20);
    bytes_put(&ids, "0123456789abcdef", UPLOAD_ID_SIZE);
    return store_stage(store, r, after, &ids, &noise, next);
}

/* The ledger after one more debit; *head is the one before it. */
static enum err ledger_after(struct store *store, unsigned price, struct ledger **after,
                             struct store_head *head)
{
    mpq_t cost;
    enum err e = store_ledger(store, &limits, after, head);
    mpq_init(cost);
    mpq_set_ui(cost, price, 1);
    if (e == ERR_OK)
        e = ledger_debit(*after, cost, &quiet);
    mpq_clear(cost);
    return e;
}

enum err stage_at(struct store *store, const struct store_round *r, unsigned price)
{
    struct ledger *after CLEAN(ledger_free) = NULL;
    struct store_head head;
    TRY(ledger_after(store, price, &after, &head));
    return stage_with(store, r, after);
}

enum err stage(struct store *store, const struct store_round *r)
{
    return stage_at(store, r, 1);
}

static enum err bind(struct store *store, const struct store_round *r,
                     const struct vouchers *vouchers)
{
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    TRY(store_ledger(store, &limits, &ledger, &head));
    return store_bind(store, r, vouchers, &head);
}

enum err debit(struct store *store, const struct store_round *r, unsigned price)
{
    TRY(stage_at(store, r, price));
    return bind(store, r, &(const struct vouchers){0});
}

void staged_head(struct store *store, uint8_t next[32])
{
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_round round;
    struct store_head head;
    struct bytes entry CLEAN(bytes_clear) = {0};
    OK(store_ledger(store, &limits, &ledger, &head));
    OK(store_staged(store, &round, &entry));
    memcpy(next, head.head, 32);
    store_chain(entry.data, entry.size, next);
}

struct vouchers vouchers_of(const struct stores_bench *b, const uint8_t next[32])
{
    struct vouchers v;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(voucher_sign(b->s.study, b->server[i], next, v.by[i]));
    return v;
}

void debit_times(struct stores_bench *b, unsigned server, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        const struct store_round r = round_of(1, i);
        uint8_t next[32];
        OK(stage_at(b->store[server], &r, i + 1));
        staged_head(b->store[server], next);
        struct vouchers v = vouchers_of(b, next);
        OK(bind(b->store[server], &r, &v));
    }
}
