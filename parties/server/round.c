#include "parties/server/round.h"

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
    if (own->standing >= STANDING_INDEX && other->standing >= STANDING_INDEX &&
        memcmp(own->selected, other->selected, sizeof own->selected) != 0)
        return differs(server, "index that this round opened", log);
    /* what it holds with its next server, if we are that, is what we hold with our previous one */
    if (own->noise && other->noise &&
        memcmp(own->replica[peer], other->replica[1 - peer], sizeof own->replica[0]) != 0)
        return differs(server, "share of this round's noise: its store or ours was altered", log);
    return ERR_OK;
}

void round_put_head(const struct audit_head *head, uint8_t audit[40])
{
    for (unsigned k = 0; k < 8; k++)
        audit[k] = (uint8_t)(head->entries >> 8 * k);
    memcpy(audit + 8, head->hash, sizeof head->hash);
}

static struct audit_head head_of(const uint8_t audit[40])
{
    struct audit_head head = {0};
    for (unsigned k = 0; k < 8; k++)
        head.entries |= (uint64_t)audit[k] << 8 * k;
    memcpy(head.hash, audit + 8, sizeof head.hash);
    return head;
}

static enum err agreed(const struct round_statement *own, const struct round_statement other[2],
                       struct round_agreement *agreement)
{
    unsigned least = own->standing;
    agreement->noise = own->noise != 0;
    agreement->late = own->late != 0;
    for (unsigned p = 0; p < 2; p++) {
        if (other[p].standing > STANDING_OPENED)
            return ERR_FORMAT;
        least = other[p].standing < least ? other[p].standing : least;
        agreement->noise = agreement->noise && other[p].noise != 0;
        agreement->late = agreement->late && other[p].late != 0;
    }
    agreement->least = (enum standing)least;
    for (unsigned p = 0; p < 2; p++)
        agreement->audit[p] = head_of(other[p].audit);
    return ERR_OK;
}

enum err round_agree(struct net *net, const struct round_statement *own,
                     struct round_agreement *agreement, struct log *log)
{
    struct round_statement other[2];
    unsigned i = net_index(net);
    enum err mine = (enum err)own->verdict, e = ERR_OK;
    TRY(round_broadcast(net, own, sizeof *own, &other[NET_PREV], &other[NET_NEXT]));
    for (unsigned p = 0; e == ERR_OK && p < 2; p++)
        e = compare(net_index_of(i, (enum net_peer)p), (enum net_peer)p, own, &other[p],
                    mine == ERR_OK ? log : NULL);
    TRY(mine);
    TRY(e);
    return agreed(own, other, agreement);
}

struct confirmation {
    uint8_t verdict;
    uint8_t fresh[32];
    uint8_t signature[64]; /* of the receiver's log */
};

enum err round_confirm(struct net *net, enum err verdict, uint8_t signature[2][64],
                       uint8_t seed[32], struct log *log)
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
    own[0].verdict = (uint8_t)verdict;
    secret_random(own[0].fresh, sizeof own[0].fresh);
    own[1] = own[0];
    for (unsigned p = 0; p < 2; p++)
        memcpy(own[p].signature, signature[p], sizeof own[p].signature);
    TRY(net_exchange(net, &r));
    TRY(verdict);
    fresh[i] = own[0].fresh;
    for (unsigned p = 0; p < 2; p++) {
        unsigned server = net_index_of(i, (enum net_peer)p);
        TRY(verdict_of(server, other[p].verdict, log));
        fresh[server] = other[p].fresh;
        memcpy(signature[p], other[p].signature, sizeof other[p].signature);
    }
    crypto_hash_sha256_init(&hash);
    for (unsigned k = 0; k < 3; k++)
        crypto_hash_sha256_update(&hash, fresh[k], 32);
    crypto_hash_sha256_final(&hash, seed);
    return ERR_OK;
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
                  "server %u was restored from an old backup. Its operator should stop it and run "
                  "trefoil recover STUDY --key KEY --folder FOLDER",
                  own_index, (unsigned long long)own, server, (unsigned long long)theirs,
                  own < theirs ? own_index : server);
}

enum err round_ledger(struct net *net, const struct store_head *own, const struct bytes *last,
                      bool *lacking, struct bytes *entry, uint8_t next[32], struct log *log)
{
    const struct ledger_card card = {.head = *own, .entry_size = last->size};
    struct ledger_card other[2];
    uint8_t received[2][ENTRY_MAX];
    struct net_round r = {0};
    *lacking = false;
    TRY(round_broadcast(net, &card, sizeof card, &other[NET_PREV], &other[NET_NEXT]));
    for (unsigned p = 0; p < 2; p++) {
        unsigned i = net_index(net), server = net_index_of(i, (enum net_peer)p);
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
        if (other[p].head.number < own->number) {
            r.send[p] = last->data;
            r.send_size[p] = last->size;
        } else if (other[p].head.number > own->number) {
            r.receive[p] = received[p];
            r.receive_size[p] = (size_t)other[p].entry_size;
        }
    }
    TRY(net_exchange(net, &r));
    for (unsigned p = 0; p < 2 && !*lacking; p++)
        if (r.receive_size[p] > 0) { /* where both neighbours have it, either will do */
            *lacking = true;
            memcpy(next, other[p].head.head, 32);
            bytes_put(entry, received[p], r.receive_size[p]);
        }
    return bytes_ok(entry);
}
