/*
 * parties/server/site.h - what the threads of one server share. The server sets it up before they
 * start, and they borrow it. A part that fails to start leaves the cleanup to the call that ends
 * it.
 */
#pragma once

#include "netio/gate.h"
#include "parties/audit/audit.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/head.h"
#include "parties/server/bell.h"
#include "parties/server/status.h"
#include "parties/setting/split.h"
#include "parties/store/store_ledger.h"
#include "parties/study/study_ports.h"

#include <stdatomic.h>

struct forward;
struct ranks;

struct site {
    const struct study *study;
    const struct split *split; /* how its setting splits uploads */
    const struct identity *me;
    unsigned index;
    const uint8_t *sealing; /* secret key of its seals; NULL: the study has none */
    struct bounds *bounds;
    struct ledger_limits limits; /* of a ledger without debits: price_limits() */
    struct store *store;
    struct audit *audit;
    struct netio *netio;
    struct transport *control, *bulk[STUDY_LANES_MAX]; /* bulk: one for each lane it can use */
    unsigned lanes;
    struct ranks *ranks; /* lanes of other processes; or NULL */
    struct gate *gate;
    struct forward *forward; /* where vectors are passed on */
    struct status status;
    struct bell bell;  /* rings when a request waits for the worker */
    unsigned ahead_s;  /* seconds idle before servers make noise ahead; 0: this one never does */
    atomic_bool *stop; /* a thread that sees it set returns soon */
    struct log *log;
};

/* The gate's `user` number for the sender of a message: role << 24 | index in the study. */
static inline uint32_t role_user(enum study_role role, size_t index)
{
    return (uint32_t)role << 24 | (uint32_t)index;
}

/* Whether so much of the budget is spent that the rest buys no round. */
bool site_is_spent(const struct site *site);

/* Signs the ledger's head for a client that has seen `seen` of its debits; from any thread. */
enum err site_head(const struct site *site, uint64_t seen, struct head *head) MUST_CHECK;
