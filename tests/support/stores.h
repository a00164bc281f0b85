/* tests/support/stores.h - a server's folder, stores in it, and ledgers for them. */
#pragma once

#include "harness/cmocka.h"
#include "harness/three.h"
#include "tests/support/store.h"

#include "parties/store/store_private.h"

struct stores_bench {
    struct support_study s;
    struct identity *server[STUDY_SERVERS_MOST], *owner;
    struct store *store[STUDY_SERVERS_MOST];
    struct upload parts[3];
};

enum err open_store(struct stores_bench *b, unsigned i);
struct stores_bench bench_of(const struct study_options *o); /* at least two owners */
struct stores_bench bench_new(void);
void bench_free(struct stores_bench *b);

static const struct ledger_limits limits = {.rho = 100, .rows_per_person = 1};

/* The round of run `run` that debit i is for: its range follows that of i - 1. */
struct store_round round_of(uint8_t run, uint32_t i);

enum err stage_with(struct store *store, const struct store_round *r, const struct ledger *after);
enum err stage_at(struct store *store, const struct store_round *r, unsigned price);
enum err stage(struct store *store, const struct store_round *r);

/* The head that the debit of what is staged would give; and all three servers' vouchers for it. */
void staged_head(struct store *store, uint8_t next[32]);
struct vouchers vouchers_of(const struct stores_bench *b, const uint8_t next[32]);

/* Stages and binds one round at a price, without vouchers. */
enum err debit(struct store *store, const struct store_round *r, unsigned price);

/* Debits a store once for each i: the i-th costs i + 1. */
void debit_times(struct stores_bench *b, unsigned server, unsigned from, unsigned to);
