#include "parties/server/round_uploads.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "parties/server/branches.h"
#include "parties/server/round.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct uploads_card {
    struct branch_card list;
    uint32_t last; /* enum store_standing */
};

#define CARD_SIZE (4 + 4 + 32)

/* On the wire as it is here: only bytes. */
struct uploads_entry {
    uint8_t id[UPLOAD_ID_SIZE]; /* first: entries are ordered by it */
    uint8_t digest[32];
    uint8_t owner[4];
    uint8_t counted; /* 1: by the run's last round */
    uint8_t held;    /* 0: the run has counted it, and it is no longer here */
};

_Static_assert(sizeof(struct uploads_entry) == UPLOAD_ID_SIZE + 32 + 4 + 2, "nothing between");

_Static_assert(UPLOAD_ID_SIZE == BRANCH_KEY, "branches are of ids");

#define ENTRIES_MAX 2000000

/* What the servers say, by their indices. */
struct lists {
    unsigned own, servers;
    unsigned believed; /* whose list says what the run has counted */
    struct uploads_card card[STUDY_SERVERS_MOST];
    struct uploads_entry *entry[STUDY_SERVERS_MOST]; /* our own for all, if all are alike */
};

/* --- lists ------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, UPLOAD_ID_SIZE);
}

static struct uploads_entry *look_up(const struct lists *l, unsigned server, const uint8_t *id)
{
    return bsearch(id, l->entry[server], l->card[server].list.count, sizeof(struct uploads_entry),
                   compare_ids);
}

static struct uploads_entry entry_of(const struct upload_name *u)
{
    struct uploads_entry e = {.held = 1};
    memcpy(e.id, u->id, sizeof e.id);
    memcpy(e.digest, u->digest, sizeof e.digest);
    integer_put(e.owner, u->owner, 4);
    return e;
}

static uint32_t owner_of(const struct uploads_entry *e)
{
    return (uint32_t)integer_get(e->owner, 4);
}

/* Lists the uploads that are here, and those that were counted and are gone. */
static enum err write_list(struct lists *l, const struct round_uploads *u)
{
    size_t counted = u->counted.size / UPLOAD_ID_SIZE, lost = 0;
    struct uploads_entry *list;
    TRY(memory_new(&list, u->count + counted));
    l->entry[l->own] = list;
    l->card[l->own] = (struct uploads_card){.list.count = (uint32_t)u->count, .last = u->last};
    if (u->count + counted > ENTRIES_MAX)
        return ERR_RANGE;
    for (size_t i = 0; i < u->count; i++)
        list[i] = entry_of(&u->upload[i]);
    for (size_t i = 0; i < counted; i++) {
        const uint8_t *id = u->counted.data + i * UPLOAD_ID_SIZE;
        struct uploads_entry *e = look_up(l, l->own, id);
        if (e == NULL) {
            e = &list[u->count + lost++];
            memcpy(e->id, id, sizeof e->id);
        }
        e->counted = 1;
    }
    qsort(list, u->count + lost, sizeof *list, compare_ids);
    l->card[l->own].list = branch_card(list, u->count + lost, sizeof *list);
    return ERR_OK;
}

/* Whether a list is in order, and names only owners of the study. */
static enum err check_list(const struct lists *l, unsigned server, const struct study *study)
{
    const struct uploads_entry *e = l->entry[server];
    for (uint32_t i = 0; i < l->card[server].list.count; i++)
        if ((i > 0 && compare_ids(e[i - 1].id, e[i].id) >= 0) ||
            owner_of(&e[i]) >= study_owners_most(study))
            return ERR_FORMAT;
    return ERR_OK;
}

static void put_card(const struct uploads_card *card, uint8_t said[CARD_SIZE])
{
    uint8_t *to = integer_put(integer_put(said, card->list.count, 4), card->last, 4);
    memcpy(to, card->list.digest, sizeof card->list.digest);
}

static enum err read_card(const uint8_t came[CARD_SIZE], struct uploads_card *card)
{
    card->list.count = (uint32_t)integer_get(came, 4);
    card->last = (uint32_t)integer_get(came + 4, 4);
    memcpy(card->list.digest, came + 8, sizeof card->list.digest);
    return card->list.count <= ENTRIES_MAX && card->last <= STANDING_OPENED ? ERR_OK : ERR_CHEAT;
}

/* If all hold the same, nothing is listed. */
static enum err exchange_lists(struct net *net, struct lists *l)
{
    const struct uploads_card *own = &l->card[l->own];
    uint8_t said[CARD_SIZE], came[2][CARD_SIZE];
    struct branch_card card[2];
    void *list[2] = {NULL, NULL};
    bool alike = true;
    enum err e = ERR_OK;
    put_card(own, said);
    TRY(round_broadcast(net, said, sizeof said, came[NET_PREV], came[NET_NEXT]));
    for (unsigned p = 0; p + 1 < l->servers; p++) {
        struct uploads_card *theirs = &l->card[net_neighbour(net, (enum net_peer)p)];
        TRY(read_card(came[p], theirs));
        card[p] = theirs->list;
        alike = alike && branch_alike(&card[p], &own->list);
    }
    if (!alike)
        e = branches_meet(net, l->entry[l->own], own->list.count, sizeof(struct uploads_entry),
                          card, list);
    for (unsigned p = 0; p + 1 < l->servers; p++)
        l->entry[net_neighbour(net, (enum net_peer)p)] = alike ? l->entry[l->own] : list[p];
    return e;
}

/* --- what is counted -------------------------------------------------------------------------- */

/* Adds an upload to the digest of what is counted: its id, and its digest as it is held. */
static void add_counted(crypto_hash_sha256_state *hash, const struct uploads_entry *held)
{
    crypto_hash_sha256_update(hash, held->id, sizeof held->id);
    crypto_hash_sha256_update(hash, held->digest, sizeof held->digest);
}

/*
 * Whether only what the run's last round counted may be counted now. That the run has begun is in
 * the ledger, which is the same at all of them. Rows may join it unless its last round may have to
 * be played again as it was: what all but one have opened is not, nor what one has lost.
 */
static bool is_closed(const struct lists *l, const struct study *study)
{
    unsigned opened = 0;
    bool lost = false;
    for (unsigned i = 0; i < l->servers; i++) {
        opened += l->card[i].last == STANDING_OPENED;
        lost = lost || l->card[i].last == STANDING_LOST;
    }
    return l->card[l->own].last != STANDING_NONE &&
           (!study->late_join || (opened + 1 < l->servers && !lost));
}

static bool says_counted(const struct lists *l, unsigned server, const uint8_t *id)
{
    const struct uploads_entry *e = look_up(l, server, id);
    return e != NULL && e->counted;
}

/* The upload as a server holds it, or NULL. */
static const struct uploads_entry *held_at(const struct lists *l, unsigned server,
                                           const uint8_t *id)
{
    const struct uploads_entry *e = look_up(l, server, id);
    return e != NULL && e->held ? e : NULL;
}

/* As `server` holds it, or else the first that does. */
static const struct uploads_entry *held_somewhere(const struct lists *l, unsigned server,
                                                  const uint8_t *id)
{
    const struct uploads_entry *e = NULL;
    for (unsigned k = 0; e == NULL && k < l->servers; k++)
        e = held_at(l, (server + k) % l->servers, id);
    return e;
}

static bool alike(const struct uploads_entry *a, const struct uploads_entry *b)
{
    return a != NULL && b != NULL && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

/* Whether both neighbours hold the same as this server; logs who does not. */
static bool held_by_all(const struct lists *l, const struct uploads_entry *own, const char *owner,
                        struct log *log)
{
    bool all = true;
    for (unsigned i = 0; i < l->servers; i++) {
        const struct uploads_entry *theirs = held_at(l, i, own->id);
        if (theirs == NULL)
            log_warn(log,
                     "the upload of %s is not complete at server %u, and is left out until it is",
                     owner, i);
        else if (!alike(theirs, own))
            log_error(log, "%s sent server %u another upload than this one; it is left out", owner,
                      i);
        all = all && alike(theirs, own);
    }
    return all;
}

/* Keeps what is counted, and says why the rest is not. */
static void keep(const struct lists *l, struct round_uploads *u, uint8_t digest[32],
                 struct log *log)
{
    bool closed = is_closed(l, u->study);
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    for (size_t i = 0; i < u->count; i++) {
        const struct upload_name name = u->upload[i];
        const struct uploads_entry own = entry_of(&name);
        const struct words_text called = study_owner_name(u->study, name.owner);
        const char *owner = called.text;
        if (closed && !says_counted(l, l->believed, own.id)) {
            log_warn(log, "the rows of %s came after this run had begun, and are not counted %s",
                     owner, u->study->late_join ? "in the round that is played again" : "in it");
            continue;
        }
        if (!held_by_all(l, &own, owner, log))
            continue;
        add_counted(&hash, &own);
        u->upload[i] = u->upload[u->kept]; /* what is not kept stays, behind what is */
        u->upload[u->kept++] = name;
    }
    crypto_hash_sha256_final(&hash, digest);
}

/* --- what has to be --------------------------------------------------------------------------- */

/* Checks an upload that the run has counted: names servers that do not hold it, or not alike. */
static enum err check_counted(const struct lists *l, const struct study *study, const uint8_t *id,
                              struct log *log)
{
    const struct uploads_entry *first = held_somewhere(l, l->believed, id);
    enum err e = ERR_OK;
    if (first == NULL)
        return log_fail(log, ERR_MISMATCH,
                        "this run has counted an upload that no server holds any more, so it "
                        "cannot go on; restore the servers' folders from newer backups");
    for (unsigned i = 0; i < l->servers; i++) {
        const struct words_text called = study_owner_name(study, owner_of(first));
        const char *owner = called.text;
        if (alike(held_at(l, i, id), first))
            continue;
        log_error(log,
                  "this run has counted the rows of %s, but server %u does not hold them any more "
                  "(was an old backup restored there?). %s should run trefoil share again, with "
                  "the same table and key; then the run goes on",
                  owner, i, owner);
        e = ERR_MISMATCH;
    }
    return e;
}

/* Finds the uploads of which that server has lost the vectors, which it needs again. */
static enum err find_lacking(const struct lists *l, struct round_uploads *u)
{
    for (size_t i = 0; i < u->count && u->passed != SPLIT_NOBODY; i++)
        if (held_at(l, u->passed, u->upload[i].id) == NULL)
            bytes_put(&u->lacking, u->upload[i].id, UPLOAD_ID_SIZE);
    return bytes_ok(&u->lacking);
}

/* A run never goes on without rows that it has counted: its population would shrink unnoticed. */
static enum err check_all_counted(const struct lists *l, const struct study *study, struct log *log)
{
    enum err e = ERR_OK;
    for (uint32_t k = 0; k < l->card[l->believed].list.count; k++) {
        const struct uploads_entry *entry = &l->entry[l->believed][k];
        enum err one = entry->counted ? check_counted(l, study, entry->id, log) : ERR_OK;
        e = e == ERR_OK ? one : e;
    }
    return e;
}

/* --- whom to believe -------------------------------------------------------------------------- */

/* Whether a server lists any upload as counted; and the digest of those, as keep() makes it. */
static bool digest_counted(const struct lists *l, unsigned server, uint8_t digest[32])
{
    bool any = false;
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    for (uint32_t k = 0; k < l->card[server].list.count; k++) {
        const struct uploads_entry *e = &l->entry[server][k];
        const struct uploads_entry *held = e->counted ? held_somewhere(l, server, e->id) : NULL;
        any = any || e->counted;
        if (held != NULL)
            add_counted(&hash, held);
    }
    crypto_hash_sha256_final(&hash, digest);
    return any;
}

/* The first upload that server a lists as counted and server b does not, or NULL. */
static const struct uploads_entry *only_at(const struct lists *l, unsigned a, unsigned b)
{
    for (uint32_t k = 0; k < l->card[a].list.count; k++) {
        const struct uploads_entry *e = &l->entry[a][k];
        if (e->counted && !says_counted(l, b, e->id))
            return e;
    }
    return NULL;
}

/* Names a server that lists other uploads as counted than the one that is believed. */
static void tell_apart(const struct lists *l, const struct study *study, unsigned server,
                       struct log *log)
{
    const struct uploads_entry *more = only_at(l, server, l->believed);
    const struct uploads_entry *e = more != NULL ? more : only_at(l, l->believed, server);
    const struct uploads_entry *held = e != NULL ? held_somewhere(l, l->believed, e->id) : NULL;
    if (e != NULL)
        log_error(log,
                  "server %u says that this run has %scounted the rows of %s, and this server "
                  "that it has%s: one of the two was restored from a backup, or lies",
                  server, more != NULL ? "" : "not ",
                  held != NULL ? study_owner_name(study, owner_of(held)).text : "somebody",
                  more != NULL ? " not" : "");
}

/*
 * What this server has counted it knows by itself. One whose rounds came from its neighbours
 * (recover.h) believes the one whose list gives the digest that is in the ledger.
 */
static enum err choose_believed(struct lists *l, const struct round_uploads *u, struct log *log)
{
    uint8_t digest[32];
    bool known = u->last == STANDING_NONE || digest_counted(l, l->own, digest);
    l->believed = l->own;
    for (unsigned k = 1; !known && k < l->servers; k++) {
        l->believed = (l->own + k) % l->servers;
        known = digest_counted(l, l->believed, digest) &&
                memcmp(digest, u->bound, sizeof digest) == 0;
    }
    if (!known && is_closed(l, u->study))
        return log_fail(log, ERR_MISMATCH,
                        "this server was restored and does not know what this run has counted, and "
                        "no other server's list is what the ledger says; restore newer backups");
    if (!known)
        l->believed = l->own;
    for (unsigned i = 0; known && i < l->servers; i++)
        if (digest_counted(l, i, digest)) /* if not, it was restored, and knows nothing */
            tell_apart(l, u->study, i, log);
    return ERR_OK;
}

void round_uploads_topic(const struct net *net, const uint8_t digest[32],
                         uint8_t topic[SESSION_ID_SIZE])
{
    round_topic_of(net, "trefoil-uploads-1", digest, 32, topic);
}

static void free_lists(struct lists *l)
{
    for (unsigned i = 0; i < l->servers; i++)
        if (i != l->own && l->entry[i] != l->entry[l->own])
            memory_free(&l->entry[i]);
    memory_free(&l->entry[l->own]);
}

enum err round_uploads(struct net *net, struct round_uploads *u, uint8_t digest[32],
                       struct log *log)
{
    struct lists l CLEAN(free_lists) = {.own = net_index(net), .servers = net_servers(net)};
    u->kept = 0;
    TRY(write_list(&l, u));
    TRY(exchange_lists(net, &l));
    for (unsigned i = 0; i < l.servers; i++)
        TRY(check_list(&l, i, u->study));
    TRY(find_lacking(&l, u));
    TRY(choose_believed(&l, u, log));
    TRY(check_all_counted(&l, u->study, log));
    keep(&l, u, digest, log);
    return ERR_OK;
}
