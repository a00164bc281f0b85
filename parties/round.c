#include "parties/round.h"

#include "base/memory.h"
#include "base/secret.h"

#include <sodium.h>
#include <string.h>

/* The same block to both neighbours, theirs from both. */
static enum err broadcast(struct net *net, const void *own, size_t size, void *prev, void *next)
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

static enum err compare(unsigned server, const struct round_statement *own,
                        const struct round_statement *other, struct log *log)
{
    const struct {
        const char *what;
        const uint8_t *a, *b;
    } parts[] = {
        {"request (the analyst or server 0 sent it another)", own->request, other->request},
        {"set of uploads", own->uploads, other->uploads},
        {"roster (number, keys, endpoints, deadlines, model; see trefoil roster show)", own->roster,
         other->roster},
        {"position on the noise tape", own->tape, other->tape},
        {"privacy ledger (was a server restored from a backup?)", own->ledger, other->ledger},
    };
    TRY(verdict_of(server, other->verdict, log));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memcmp(parts[i].a, parts[i].b, 32) != 0) {
            log_error(log, "server %u has another %s; nothing was opened", server, parts[i].what);
            return ERR_MISMATCH;
        }
    return ERR_OK;
}

enum err round_agree(struct net *net, const struct round_statement *own, struct log *log)
{
    struct round_statement prev, next;
    unsigned i = net_index(net);
    enum err mine = (enum err)own->verdict, e;
    TRY(broadcast(net, own, sizeof *own, &prev, &next));
    e = compare(net_index_of(i, NET_PREV), own, &prev, mine == ERR_OK ? log : NULL);
    if (e == ERR_OK)
        e = compare(net_index_of(i, NET_NEXT), own, &next, mine == ERR_OK ? log : NULL);
    return mine != ERR_OK ? mine : e;
}

enum err round_confirm(struct net *net, enum err verdict, uint8_t seed[32], struct log *log)
{
    uint8_t words[3][33];
    unsigned i = net_index(net), prev = net_index_of(i, NET_PREV), next = net_index_of(i, NET_NEXT);
    crypto_hash_sha256_state hash;
    words[i][0] = (uint8_t)verdict;
    secret_random(words[i] + 1, 32);
    TRY(broadcast(net, words[i], sizeof words[i], words[prev], words[next]));
    TRY(verdict);
    TRY(verdict_of(prev, words[prev][0], log));
    TRY(verdict_of(next, words[next][0], log));
    crypto_hash_sha256_init(&hash);
    for (unsigned k = 0; k < 3; k++)
        crypto_hash_sha256_update(&hash, words[k] + 1, 32);
    crypto_hash_sha256_final(&hash, seed);
    return ERR_OK;
}

/* --- the ledger ---------------------------------------------------------------------------------- */

struct ledger_card {
    struct round_ledger ledger;
    uint64_t entry_size;
};

#define ENTRY_MAX 8192

static bool same_ledger(const struct round_ledger *a, const struct round_ledger *b)
{
    return a->number == b->number && memcmp(a->head, b->head, sizeof a->head) == 0;
}

/* ERR_OK: equal; ERR_AGAIN: one lacks the last debit of the other; ERR_MISMATCH: neither. */
static enum err compare_ledgers(const struct round_ledger *a, const struct round_ledger *b)
{
    if (same_ledger(a, b))
        return ERR_OK;
    return a->number + 1 == b->number || b->number + 1 == a->number ? ERR_AGAIN : ERR_MISMATCH;
}

enum err round_ledger(struct net *net, const struct round_ledger *own, const struct bytes *last,
                      bool *lacking, struct bytes *entry, uint8_t next[32], struct log *log)
{
    const struct ledger_card card = {.ledger = *own, .entry_size = last->size};
    struct ledger_card other[2];
    uint8_t received[2][ENTRY_MAX];
    struct net_round r = {0};
    *lacking = false;
    TRY(broadcast(net, &card, sizeof card, &other[NET_PREV], &other[NET_NEXT]));
    for (unsigned p = 0; p < 2; p++) {
        unsigned server = net_index_of(net_index(net), (enum net_peer)p);
        if (compare_ledgers(own, &other[p].ledger) == ERR_MISMATCH ||
            other[p].entry_size > ENTRY_MAX) {
            log_error(log,
                      "server %u has another privacy ledger (%llu debits there, %llu here): was a "
                      "server restored from a backup?",
                      server, (unsigned long long)other[p].ledger.number,
                      (unsigned long long)own->number);
            return ERR_MISMATCH;
        }
        if (other[p].ledger.number < own->number) {
            r.send[p] = last->data;
            r.send_size[p] = last->size;
        } else if (other[p].ledger.number > own->number) {
            r.receive[p] = received[p];
            r.receive_size[p] = (size_t)other[p].entry_size;
        }
    }
    TRY(net_exchange(net, &r));
    for (unsigned p = 0; p < 2 && !*lacking; p++)
        if (r.receive_size[p] > 0) { /* where both neighbours have it, either will do */
            *lacking = true;
            memcpy(next, other[p].ledger.head, 32);
            bytes_put(entry, received[p], r.receive_size[p]);
        }
    return bytes_ok(entry);
}

/* --- uploads ------------------------------------------------------------------------------------- */

struct entry {
    uint8_t id[UPLOAD_ID_SIZE];
    uint8_t digest[32];
};

#define ENTRIES_MAX 100000

static enum err exchange_lists(struct net *net, const struct entry *own, uint32_t count,
                               struct entry *lists[2], uint32_t counts[2])
{
    struct net_round r = {0};
    TRY(broadcast(net, &count, sizeof count, &counts[NET_PREV], &counts[NET_NEXT]));
    for (unsigned p = 0; p < 2; p++) {
        if (counts[p] > ENTRIES_MAX)
            return ERR_FORMAT;
        lists[p] = memory_array(counts[p], sizeof *lists[p]);
        if (lists[p] == NULL)
            return ERR_NOMEM;
        r.send[p] = own;
        r.send_size[p] = count * sizeof *own;
        r.receive[p] = lists[p];
        r.receive_size[p] = counts[p] * sizeof *lists[p];
    }
    return net_exchange(net, &r);
}

static const struct entry *look_up(const struct entry *list, uint32_t count, const uint8_t *id)
{
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(list[i].id, id, UPLOAD_ID_SIZE) == 0)
            return &list[i];
    return NULL;
}

/* Whether both neighbours hold this upload, alike; says who does not. */
static bool held_by_all(struct net *net, const struct entry *own, struct entry *const lists[2],
                        const uint32_t counts[2], const char *owner, struct log *log)
{
    bool all = true;
    for (unsigned p = 0; p < 2; p++) {
        const struct entry *theirs = look_up(lists[p], counts[p], own->id);
        unsigned server = net_index_of(net_index(net), (enum net_peer)p);
        if (theirs == NULL)
            log_warn(log, "the upload of %s is not complete at server %u and waits", owner, server);
        else if (memcmp(theirs->digest, own->digest, 32) != 0)
            log_error(log, "%s sent server %u other words than this one; its upload is left out",
                      owner, server);
        all = all && theirs != NULL && memcmp(theirs->digest, own->digest, 32) == 0;
    }
    return all;
}

enum err round_uploads(struct net *net, const uint8_t terms[32], struct upload *uploads,
                       size_t *count, const char *(*name)(const void *self, uint32_t owner),
                       const void *self, uint8_t digest[32], struct log *log)
{
    struct entry *own = memory_array(*count, sizeof *own), *lists[2] = {NULL, NULL};
    uint32_t counts[2];
    size_t kept = 0;
    enum err e = own == NULL ? ERR_NOMEM : *count > ENTRIES_MAX ? ERR_RANGE : ERR_OK;
    crypto_hash_sha256_state hash;
    for (size_t i = 0; e == ERR_OK && i < *count; i++) {
        memcpy(own[i].id, uploads[i].id, UPLOAD_ID_SIZE);
        upload_digest(&uploads[i], terms, own[i].digest);
    }
    if (e == ERR_OK)
        e = exchange_lists(net, own, (uint32_t)*count, lists, counts);
    crypto_hash_sha256_init(&hash);
    for (size_t i = 0; e == ERR_OK && i < *count; i++) {
        if (!held_by_all(net, &own[i], lists, counts, name(self, uploads[i].owner), log)) {
            upload_clear(&uploads[i]);
            continue;
        }
        crypto_hash_sha256_update(&hash, own[i].digest, 32);
        if (kept != i) {
            uploads[kept] = uploads[i];
            uploads[i] = (struct upload){0};
        }
        kept++;
    }
    crypto_hash_sha256_final(&hash, digest);
    if (e == ERR_OK)
        *count = kept;
    memory_free(&own);
    memory_free(&lists[0]);
    memory_free(&lists[1]);
    return e;
}
