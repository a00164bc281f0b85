#include "parties/server/round.h"

#include "base/bytes.h"
#include "base/secret.h"

#include <sodium.h>
#include <string.h>

enum err round_broadcast(struct net *net, const void *own, size_t size, void *prev, void *next)
{
    const struct net_round r = {
        .send = {own, own},
        .send_size = {size, size},
        .receive = {prev, next},
        .receive_size = {size, size},
    };
    return net_exchange(net, &r);
}

static enum err verdict_of(unsigned server, uint8_t verdict, struct log *log)
{
    if (verdict == ERR_OK)
        return ERR_OK;
    if (verdict >= ERR_COUNT)
        return ERR_FORMAT;
    log_error(log, "server %u refuses: %s", server, error_text((enum err)verdict));
    return (enum err)verdict;
}

static enum err differs(unsigned server, const char *what, struct log *log)
{
    log_error(log, "server %u has another %s; nothing was opened", server, what);
    return ERR_MISMATCH;
}

static bool has_noise(const struct round_statement *s)
{
    return s->intent == ROUND_BIND && s->obstacle != ROUND_NO_NOISE;
}

static enum err compare(unsigned server, enum net_peer peer, const struct round_statement *own,
                        const struct round_statement *other, struct log *log)
{
    const struct {
        const char *what;
        const uint8_t *a, *b;
    } parts[] = {
        {"request (the analyst or server 0 sent it another)", own->request, other->request},
        {"price, or other weights, for this request (another program?)", own->step, other->step},
        {"set of uploads", own->uploads, other->uploads},
        {"roster (number, keys, endpoints, deadlines, model; see trefoil roster show)", own->roster,
         other->roster},
        {"range of the noise tape", own->range, other->range},
        {"analyst who asks for this round", own->analyst, other->analyst},
        {"privacy ledger (was a server restored from a backup?)", own->ledger, other->ledger},
    };
    TRY(verdict_of(server, other->verdict, log));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memcmp(parts[i].a, parts[i].b, 32) != 0)
            return differs(server, parts[i].what, log);
    if (own->intent != other->intent)
        return differs(server, "position on the noise tape", log);
    if ((own->standing == STANDING_NONE) != (other->standing == STANDING_NONE))
        return differs(server, "past: the round is bound at one, and new to the other", log);
    if (other->standing == STANDING_NONE && other->obstacle != ROUND_READY)
        return ERR_FORMAT;
    /* what it holds with its next server, if we are that, is what we hold with our previous one */
    if (has_noise(own) && has_noise(other) &&
        memcmp(own->replica[peer], other->replica[1 - peer], sizeof own->replica[0]) != 0)
        return differs(server, "share of this round's noise: its store or ours was altered", log);
    return ERR_OK;
}

void round_put_head(const struct audit_head *head, uint8_t audit[40])
{
    memcpy(integer_put(audit, head->entries, 8), head->hash, sizeof head->hash);
}

static struct audit_head head_of(const uint8_t audit[40])
{
    struct audit_head head = {.entries = integer_get(audit, 8)};
    memcpy(head.hash, audit + 8, sizeof head.hash);
    return head;
}

/*
 * Who has opened the same thing has opened the same: also two neighbours, of which one may then be
 * believed.
 */
static enum err compare_opened(const struct round_statement *const by[3], struct log *log)
{
    for (unsigned i = 0; i < 3; i++) {
        const struct round_statement *a = by[i], *b = by[(i + 1) % 3];
        const char *what = NULL;
        if (a->standing >= STANDING_INDEX && b->standing >= STANDING_INDEX &&
            memcmp(a->selected, b->selected, sizeof a->selected) != 0)
            what = "indices";
        else if (a->standing == STANDING_OPENED && b->standing == STANDING_OPENED &&
                 memcmp(a->values, b->values, sizeof a->values) != 0)
            what = "values";
        if (what != NULL) {
            log_error(log,
                      "servers %u and %u have different %s of this round: one of them was altered, "
                      "or lies; nothing was opened",
                      i, (i + 1) % 3, what);
            return ERR_MISMATCH;
        }
    }
    return ERR_OK;
}

/* What two have is had: so a server that claims to lack it makes nobody open it once more. */
static void set_course(const struct round_statement *const by[3], struct round_agreement *agreement)
{
    unsigned indexed = 0, opened = 0;
    for (unsigned i = 0; i < 3; i++) {
        if (by[i]->standing >= STANDING_INDEX) {
            indexed++;
            agreement->selected = integer_get(by[i]->selected, 8);
        }
        if (by[i]->standing == STANDING_OPENED) {
            opened++;
            memcpy(agreement->values, by[i]->values, sizeof agreement->values);
        } else
            agreement->lacks = i;
    }
    agreement->course = opened == 3    ? ROUND_ANSWER
                        : opened == 2  ? ROUND_GIVE
                        : indexed >= 2 ? ROUND_MEASURE
                                       : ROUND_SELECT;
}

static enum err agreed(const struct round_statement *const by[3], struct round_agreement *agreement,
                       struct log *log)
{
    agreement->late = true;
    for (unsigned i = 0; i < 3; i++) {
        if (by[i]->standing > STANDING_OPENED || by[i]->obstacle > ROUND_OTHER_UPLOADS)
            return ERR_FORMAT;
        agreement->late = agreement->late && by[i]->late != 0;
        agreement->obstacle[i] = (enum round_obstacle)by[i]->obstacle;
    }
    TRY(compare_opened(by, log));
    set_course(by, agreement);
    return ERR_OK;
}

enum err round_agree(struct net *net, const struct round_statement *statement,
                     struct round_agreement *agreement, struct log *log)
{
    struct round_statement own = *statement, other[2];
    const struct round_statement *by[3];
    unsigned i = net_index(net);
    enum err mine = (enum err)own.verdict, e = ERR_OK;
    *agreement = (struct round_agreement){0};
    secret_random(agreement->own_fresh, sizeof agreement->own_fresh);
    request_digest(agreement->own_fresh, sizeof agreement->own_fresh, own.fresh);
    TRY(round_broadcast(net, &own, sizeof own, &other[NET_PREV], &other[NET_NEXT]));
    by[i] = &own;
    for (unsigned p = 0; e == ERR_OK && p < 2; p++) {
        unsigned server = net_index_of(i, (enum net_peer)p);
        by[server] = &other[p];
        agreement->audit[p] = head_of(other[p].audit);
        memcpy(agreement->fresh[p], other[p].fresh, sizeof agreement->fresh[p]);
        request_digest(&other[p], sizeof other[p], agreement->said[p]);
        e = compare(server, (enum net_peer)p, &own, &other[p], mine == ERR_OK ? log : NULL);
    }
    TRY(mine);
    TRY(e);
    return agreed(by, agreement, log);
}

struct confirmation {
    uint8_t verdict;
    uint8_t fresh[32];
    uint8_t said[32];      /* digest of the third server's statement */
    uint8_t signature[64]; /* of the receiver's log */
};

/* What neighbour p shows, against what it said, and against what the other neighbour said here. */
static enum err check_confirmation(unsigned i, enum net_peer p,
                                   const struct confirmation *confirmation,
                                   const struct round_agreement *agreement, struct log *log)
{
    unsigned server = net_index_of(i, p), third = net_index_of(i, (enum net_peer)(1 - p));
    uint8_t digest[32];
    if (memcmp(confirmation->said, agreement->said[1 - p], sizeof confirmation->said) != 0) {
        log_error(log,
                  "server %u told server %u something else of this round than server %u, or server "
                  "%u repeats it wrongly: one of the two departs from the protocol; nothing was "
                  "opened",
                  third, server, i, server);
        return ERR_MISMATCH;
    }
    request_digest(confirmation->fresh, sizeof confirmation->fresh, digest);
    if (memcmp(digest, agreement->fresh[p], sizeof digest) == 0)
        return ERR_OK;
    log_error(log,
              "server %u shows other random bytes than those that it had promised: it departs from "
              "the protocol; nothing was opened",
              server);
    return ERR_MISMATCH;
}

enum err round_confirm(struct net *net, enum err verdict, const struct round_agreement *agreement,
                       uint8_t signature[2][64], uint8_t seed[32], struct log *log)
{
    struct confirmation own[2], other[2];
    const struct net_round r = {
        .send = {&own[NET_PREV], &own[NET_NEXT]},
        .send_size = {sizeof own[0], sizeof own[1]},
        .receive = {&other[NET_PREV], &other[NET_NEXT]},
        .receive_size = {sizeof other[0], sizeof other[1]},
    };
    unsigned i = net_index(net);
    const uint8_t *fresh[3];
    crypto_hash_sha256_state hash;
    for (unsigned p = 0; p < 2; p++) {
        own[p].verdict = (uint8_t)verdict;
        memcpy(own[p].fresh, agreement->own_fresh, sizeof own[p].fresh);
        memcpy(own[p].said, agreement->said[1 - p], sizeof own[p].said);
        memcpy(own[p].signature, signature[p], sizeof own[p].signature);
    }
    TRY(net_exchange(net, &r));
    TRY(verdict);
    fresh[i] = agreement->own_fresh;
    for (unsigned p = 0; p < 2; p++)
        TRY(verdict_of(net_index_of(i, (enum net_peer)p), other[p].verdict, log));
    for (unsigned p = 0; p < 2; p++) {
        TRY(check_confirmation(i, (enum net_peer)p, &other[p], agreement, log));
        fresh[net_index_of(i, (enum net_peer)p)] = other[p].fresh;
        memcpy(signature[p], other[p].signature, sizeof other[p].signature);
    }
    crypto_hash_sha256_init(&hash);
    for (unsigned k = 0; k < 3; k++)
        crypto_hash_sha256_update(&hash, fresh[k], 32);
    crypto_hash_sha256_final(&hash, seed);
    return ERR_OK;
}

enum err round_values(struct net *net, const struct round_agreement *agreement,
                      struct bytes *values, struct log *log)
{
    unsigned i = net_index(net), giver = net_index_of(agreement->lacks, NET_PREV);
    struct net_round r = {0};
    uint8_t digest[32];
    if (i == giver) {
        r.send[NET_NEXT] = values->data;
        r.send_size[NET_NEXT] = values->size;
    }
    if (i == agreement->lacks) {
        r.receive[NET_PREV] = values->data;
        r.receive_size[NET_PREV] = values->size;
    }
    TRY(net_exchange(net, &r));
    request_digest(values->data, values->size, digest);
    if (memcmp(digest, agreement->values, sizeof digest) == 0)
        return ERR_OK;
    log_error(log,
              "server %u gives other values than servers %u and %u say they have opened; they are "
              "not taken over",
              giver, giver, net_index_of(agreement->lacks, NET_NEXT));
    return ERR_MISMATCH;
}

enum err round_heads(struct net *net, const struct audit_head *own, struct audit_head theirs[2])
{
    uint8_t mine[40], other[2][40];
    round_put_head(own, mine);
    TRY(round_broadcast(net, mine, sizeof mine, other[NET_PREV], other[NET_NEXT]));
    for (unsigned p = 0; p < 2; p++)
        theirs[p] = head_of(other[p]);
    return ERR_OK;
}

enum err round_signatures(struct net *net, uint8_t signature[2][64])
{
    uint8_t mine[2][64];
    const struct net_round r = {
        .send = {mine[NET_PREV], mine[NET_NEXT]},
        .send_size = {sizeof mine[0], sizeof mine[1]},
        .receive = {signature[NET_PREV], signature[NET_NEXT]},
        .receive_size = {sizeof mine[0], sizeof mine[1]},
    };
    memcpy(mine, signature, sizeof mine);
    return net_exchange(net, &r);
}

/* --- the ledger ---------------------------------------------------------------------------------- */

struct ledger_card {
    struct store_head head;
    uint64_t entry_size;
};

#define ENTRY_MAX 8192

static bool same_ledger(const struct store_head *a, const struct store_head *b)
{
    return a->number == b->number && memcmp(a->head, b->head, sizeof a->head) == 0;
}

/* Whether one ledger can be the other one, or that without its last entry. */
static bool close_enough(const struct store_head *a, const struct store_head *b)
{
    return same_ledger(a, b) || a->number + 1 == b->number || b->number + 1 == a->number;
}

#define RECOVER "stop it and run trefoil recover STUDY --key KEY --folder FOLDER"

/* Says who is behind, and what helps. */
static void tell_behind(unsigned own_index, uint64_t own, unsigned server, uint64_t theirs,
                        struct log *log)
{
    if (own == theirs)
        log_error(
            log,
            "servers %u and %u have different privacy ledgers of %llu debits: one of them was "
            "altered, or debited for another analyst while it was alone. Compare their logs "
            "with trefoil audit; restore the wrong one from a backup, then run trefoil recover "
            "there",
            own_index, server, (unsigned long long)own);
    else
        log_error(log,
                  "the privacy ledger of server %u has %llu debits, that of server %u has %llu: "
                  "server %u was restored from an old backup. Its operator should " RECOVER,
                  own_index, (unsigned long long)own, server, (unsigned long long)theirs,
                  own < theirs ? own_index : server);
}

/* Whether the ledgers can be what a crash has left. */
static enum err compare_ledgers(unsigned i, const struct store_head *own,
                                const struct ledger_card other[2], struct log *log)
{
    for (unsigned p = 0; p < 2; p++) {
        unsigned server = net_index_of(i, (enum net_peer)p);
        if (!close_enough(own, &other[p].head)) {
            tell_behind(i, own->number, server, other[p].head.number, log);
            return ERR_MISMATCH;
        }
        if (other[p].entry_size > ENTRY_MAX) {
            log_error(log,
                      "server %u says that its last debit has %llu bytes; it should be looked "
                      "at",
                      server, (unsigned long long)other[p].entry_size);
            return ERR_FORMAT;
        }
    }
    return ERR_OK;
}

/* A debit that neighbour `server` is ahead with has to be the one that is staged here. */
static enum err is_staged(unsigned i, unsigned server, const struct store_head *own,
                          const struct store_head *theirs, const struct bytes *staged,
                          const uint8_t *entry, size_t n, struct log *log)
{
    uint8_t follows[32];
    memcpy(follows, own->head, sizeof follows);
    store_chain(entry, n, follows);
    if (n > 0 && n == staged->size && memcmp(entry, staged->data, n) == 0 &&
        memcmp(follows, theirs->head, sizeof follows) == 0)
        return ERR_OK;
    log_error(log,
              "server %u has made debit %llu, which server %u has not prepared: server %u was "
              "restored from a backup, or server %u is wrong. Server %u does not take it over by "
              "itself: its operator should " RECOVER ", which asks both neighbours",
              server, (unsigned long long)theirs->number, i, i, server, i);
    return ERR_MISMATCH;
}

enum err round_ledger(struct net *net, const struct store_head *own, const struct bytes *last,
                      const struct bytes *staged, bool *adopt, struct log *log)
{
    const struct ledger_card card = {.head = *own, .entry_size = last->size};
    struct ledger_card other[2];
    uint8_t received[2][ENTRY_MAX];
    struct net_round r = {0};
    unsigned i = net_index(net);
    *adopt = false;
    TRY(round_broadcast(net, &card, sizeof card, &other[NET_PREV], &other[NET_NEXT]));
    TRY(compare_ledgers(i, own, other, log));
    for (unsigned p = 0; p < 2; p++) {
        if (other[p].head.number < own->number) {
            r.send[p] = last->data;
            r.send_size[p] = last->size;
        } else if (other[p].head.number > own->number) {
            r.receive[p] = received[p];
            r.receive_size[p] = (size_t)other[p].entry_size;
        }
    }
    TRY(net_exchange(net, &r));
    for (unsigned p = 0; p < 2; p++)
        if (other[p].head.number > own->number) {
            TRY(is_staged(i, net_index_of(i, (enum net_peer)p), own, &other[p].head, staged,
                          received[p], r.receive_size[p], log));
            *adopt = true;
        }
    return ERR_OK;
}
