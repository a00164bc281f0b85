#include "parties/server/recover.h"

#include "netio/transport.h"
#include "parties/exchange/dials.h"
#include "parties/exchange/price.h"

#include <inttypes.h>
#include <string.h>

/* --- the neighbour's side --------------------------------------------------------------------- */

static enum err write_opened(struct store *store, uint64_t number, struct bytes *out)
{
    struct store_found found;
    struct bytes values CLEAN(bytes_clear) = {0};
    bool opened;
    TRY(store_round_of(store, number, &found));
    opened = found.standing == STANDING_OPENED;
    if (opened)
        TRY(store_values(store, &found.round, &values));
    bytes_put_u8(out, opened);
    bytes_put_u64(out, opened ? found.selected : 0);
    bytes_put_block(out, values.data, values.size);
    return ERR_OK;
}

static enum err write_debit(struct store *store, uint64_t number, struct bytes *out)
{
    struct bytes entry CLEAN(bytes_clear) = {0};
    uint8_t head[32];
    TRY(store_entry(store, number, &entry, head));
    bytes_put_block(out, entry.data, entry.size);
    bytes_put(out, head, sizeof head);
    return write_opened(store, number, out);
}

enum err recover_answer(struct store *store, const void *question, size_t n, struct bytes *answer)
{
    struct reader in = reader_of(question, n);
    uint64_t number = reader_u64(&in), count;
    TRY(reader_done(&in));
    TRY(store_debits(store, &count));
    bytes_put_u64(answer, count);
    if (number > 0 && number <= count)
        TRY(write_debit(store, number, answer));
    return bytes_ok(answer);
}

/* --- the restored server's side --------------------------------------------------------------- */

/* A neighbour's answer; entry and values point into its message. */
struct debit {
    struct bytes message;
    uint64_t count, selected;
    const uint8_t *entry, *head, *values;
    size_t entry_size, values_size;
    bool opened;
};

/* `entry` is NULL if the neighbour does not have this debit. */
static enum err read_debit(struct debit *d, const struct reply *reply, uint64_t number)
{
    struct reader in = reader_of(reply->payload, reply->size);
    d->count = reader_u64(&in);
    d->entry = NULL;
    if (number == 0 || number > d->count)
        return in.failed ? ERR_FORMAT : ERR_OK;
    d->entry = reader_block(&in, &d->entry_size);
    d->head = reader_bytes(&in, 32);
    d->opened = reader_u8(&in) != 0;
    d->selected = reader_u64(&in);
    d->values = reader_block(&in, &d->values_size);
    return reader_done(&in);
}

struct recovery {
    const struct recover_terms *t;
    struct ledger_limits limits; /* of a ledger without debits */
    unsigned last; /* neighbour: with two servers the first, which agrees with itself */
    struct dial *dial[2];
    struct debit debit[2];
};

static unsigned neighbour(const struct recovery *r, unsigned peer)
{
    return net_neighbour_of(r->t->study->servers, r->t->index, (enum net_peer)peer);
}

/* Asks both for debit `number`, or with 0 for how many there are. */
static enum err ask_both(struct recovery *r, uint64_t number)
{
    for (unsigned peer = 0; peer <= r->last; peer++) {
        struct debit *d = &r->debit[peer];
        const int64_t wait_ms = 1000 * (int64_t)r->t->study->connect_s;
        struct reply reply;
        enum err e;
        bytes_clear(&d->message);
        bytes_put_u8(&d->message, MESSAGE_LEDGER);
        bytes_put_u64(&d->message, number);
        e = dials_ask(r->dial[peer], &d->message, &reply, wait_ms, wait_ms);
        if (e == ERR_OK)
            e = reply.status;
        if (e == ERR_OK)
            e = read_debit(d, &reply, number);
        if (e != ERR_OK)
            return log_fail(r->t->log, e, "server %u (%s) does not give its ledger: %s. %s to run",
                            neighbour(r, peer), r->t->study->server[neighbour(r, peer)].name,
                            error_text(e), r->last == 0 ? "It has" : "Both neighbours have");
    }
    return ERR_OK;
}

/* The same debit; and the same values, where both have opened them. */
static bool alike(const struct debit *a, const struct debit *b)
{
    return a->entry != NULL && b->entry != NULL && a->entry_size == b->entry_size &&
           memcmp(a->entry, b->entry, a->entry_size) == 0 && memcmp(a->head, b->head, 32) == 0 &&
           (!a->opened || !b->opened ||
            (a->selected == b->selected && a->values_size == b->values_size &&
             memcmp(a->values, b->values, a->values_size) == 0));
}

/* Asks both for debit `number`, in which they have to agree. */
static enum err ask_for(struct recovery *r, uint64_t number)
{
    TRY(ask_both(r, number));
    if (alike(&r->debit[0], &r->debit[r->last]))
        return ERR_OK;
    return log_fail(r->t->log, ERR_MISMATCH,
                    "servers %u and %u disagree on debit %" PRIu64
                    ", which is not taken over. One of their folders was altered; compare the "
                    "audit logs of all servers (trefoil audit), and restore that one from a backup",
                    neighbour(r, 0), neighbour(r, r->last), number);
}

static bool has(const struct debit *d, const uint8_t head[32])
{
    return d->entry != NULL && memcmp(d->head, head, 32) == 0;
}

/* This server's ledger must be how the neighbours' ledgers begin. */
static enum err check_past(struct recovery *r, const struct store_head *head)
{
    if (head->number == 0)
        return ERR_OK;
    TRY(ask_for(r, head->number));
    if (has(&r->debit[0], head->head))
        return ERR_OK;
    return log_fail(r->t->log, ERR_MISMATCH,
                    "debit %" PRIu64
                    " of this server's ledger is another than its neighbours': this folder is not "
                    "an old state of theirs. Restore another backup, or begin with an empty folder",
                    head->number);
}

/* Public values that both neighbours have stored, and that are alike. */
static enum err take_values(struct recovery *r, uint64_t number)
{
    const struct debit *a = &r->debit[0], *b = &r->debit[r->last];
    const struct bytes values = {.data = a->message.data + (a->values - a->message.data),
                                 .size = a->values_size};
    struct store_found found;
    if (!a->opened || !b->opened)
        return ERR_OK;
    TRY(store_round_of(r->t->store, number, &found));
    TRY(store_put_index(r->t->store, &found.round, a->selected));
    return store_put_values(r->t->store, &found.round, &values);
}

/* The next debit: *to moves on when it is taken over. */
static enum err take_debit(struct recovery *r, uint64_t *to)
{
    const uint64_t number = *to + 1;
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    struct bytes entry CLEAN(bytes_clear) = {0};
    TRY(ask_for(r, number));
    TRY(store_ledger(r->t->store, &r->limits, &ledger, &head));
    bytes_put(&entry, r->debit[0].entry, r->debit[0].entry_size);
    TRY(bytes_ok(&entry));
    TRY(store_adopt(r->t->store, &entry, &head, r->debit[0].head, ledger));
    *to = number;
    return take_values(r, number);
}

/* How many debits both have. A last one that only one has is for the next session to sort out. */
static enum err count_debits(struct recovery *r, uint64_t *both)
{
    unsigned fewer;
    TRY(ask_both(r, 0));
    fewer = r->debit[0].count < r->debit[r->last].count ? 0 : r->last;
    *both = r->debit[fewer].count;
    if (r->debit[r->last - fewer].count - *both <= 1)
        return ERR_OK;
    return log_fail(r->t->log, ERR_MISMATCH,
                    "server %u has %" PRIu64 " debits and server %u only %" PRIu64
                    ": that one was restored from an old backup too. What one server alone says is "
                    "not taken over; restore a newer backup at server %u or here",
                    neighbour(r, r->last - fewer), r->debit[r->last - fewer].count,
                    neighbour(r, fewer), *both, neighbour(r, fewer));
}

/* Whether this server is as it was before it has sent anything that opens a value of a round. */
static enum err is_unopened(const struct recovery *r, uint64_t number, bool *unopened)
{
    struct store_found found;
    bool opened;
    TRY(store_round_of(r->t->store, number, &found));
    TRY(audit_has_opened(r->t->audit, found.round.run, found.round.sequence, &opened));
    *unopened = found.standing == STANDING_BOUND && found.attempts == 0 && !opened;
    return ERR_OK;
}

/*
 * A last debit that neither neighbour has was never opened: a server opens a round only once both
 * others have confirmed that its debit is on their disks. It was left by a crash, or taken over
 * from a server that lied. The ledger without it must be how both neighbours' ledgers begin.
 *
 * Of two servers one drops nothing. If the other lacks what it has confirmed, its folder was put
 * back, and nobody knows whether it had sent its part of the round: it takes the debit over.
 */
static enum err drop_last(struct recovery *r, struct store_head *head)
{
    struct store_head before = {.number = head->number - 1};
    struct audit_entry dropped = {.kind = AUDIT_DROPPED, .head.entries = head->number};
    struct bytes ignored CLEAN(bytes_clear) = {0};
    bool unopened;
    if (head->number == 0 || r->t->study->servers == 2)
        return ERR_OK;
    TRY(is_unopened(r, head->number, &unopened));
    if (!unopened)
        return ERR_OK;
    TRY(ask_both(r, head->number));
    if (has(&r->debit[0], head->head) || has(&r->debit[r->last], head->head) ||
        r->debit[0].count < before.number || r->debit[r->last].count < before.number)
        return ERR_OK;
    if (before.number > 0)
        TRY(store_entry(r->t->store, before.number, &ignored, before.head));
    TRY(check_past(r, &before));
    memcpy(dropped.head.hash, head->head, sizeof dropped.head.hash);
    TRY(audit_note(r->t->audit, &dropped));
    TRY(store_drop_last(r->t->store, head->number));
    log_warn(r->t->log,
             "dropped debit %" PRIu64 ", which no other server has made: nothing was opened for "
             "it. Owners and analysts who have seen it refuse this server until they take its "
             "line out of their files of ledgers",
             head->number);
    *head = before;
    return ERR_OK;
}

static enum err take_all(struct recovery *r, uint64_t *from, uint64_t *to)
{
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    uint64_t both;
    TRY(price_limits(r->t->study, &r->limits, r->t->log));
    TRY(store_ledger(r->t->store, &r->limits, &ledger, &head));
    TRY(drop_last(r, &head));
    *from = *to = head.number;
    TRY(count_debits(r, &both));
    if (both < head.number)
        return ERR_OK;
    TRY(check_past(r, &head));
    if (both == head.number)
        return ERR_OK;
    /* its head stands for all before: so nothing is taken if anything differs */
    TRY(ask_for(r, both));
    while (*to < both)
        TRY(take_debit(r, to));
    return ERR_OK;
}

static void clear(struct recovery *r)
{
    for (unsigned peer = 0; peer < 2; peer++) {
        dial_free(&r->dial[peer]);
        bytes_clear(&r->debit[peer].message);
    }
}

enum err recover_ledger(const struct recover_terms *terms, uint64_t *from, uint64_t *to)
{
    struct recovery r CLEAN(clear) = {.t = terms, .last = terms->study->servers - 2};
    *from = *to = 0;
    for (unsigned peer = 0; peer <= r.last; peer++) {
        TRY(dials_new(&r.dial[peer], terms->netio, terms->study, terms->me, neighbour(&r, peer),
                      terms->log));
        TRY(dial_watch(r.dial[peer]));
    }
    return take_all(&r, from, to);
}
