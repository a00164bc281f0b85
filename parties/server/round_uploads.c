#include "parties/server/round_uploads.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "parties/server/branches.h"
#include "parties/server/round.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct card {
    struct branch_card list;
    uint32_t last; /* enum standing */
};

#define CARD_SIZE (4 + 4 + 32)

/* On the wire as it is here: only bytes. */
struct entry {
    uint8_t id[UPLOAD_ID_SIZE]; /* first: entries are ordered by it */
    uint8_t digest[32];
    uint8_t owner[4];
    uint8_t counted; /* 1: by the run's last round */
    uint8_t held;    /* 0: the run has counted it, and it is no longer here */
};

_Static_assert(sizeof(struct entry) == UPLOAD_ID_SIZE + 32 + 4 + 2, "nothing between");

_Static_assert(UPLOAD_ID_SIZE == BRANCH_KEY, "branches are of ids");

#define ENTRIES_MAX 2000000

/* What the servers say, by their indices. */
struct lists {
    unsigned own;
    struct card card[STUDY_SERVERS];
    struct entry *entry[STUDY_SERVERS]; /* our own for all, if all are alike */
};

/* --- lists ------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, UPLOAD_ID_SIZE);
}

static struct entry *look_up(const struct lists *l, unsigned server, const uint8_t *id)
{
    return bsearch(id, l->entry[server], l->card[server].list.count, sizeof(struct entry),
                   compare_ids);
}

static struct entry entry_of(const struct upload_name *u)
{
    struct entry e = {.held = 1};
    memcpy(e.id, u->id, sizeof e.id);
    memcpy(e.digest, u->digest, sizeof e.digest);
    integer_put(e.owner, u->owner, 4);
    return e;
}

static uint32_t owner_of(const struct entry *e)
{
    return (uint32_t)integer_get(e->owner, 4);
}

/* Lists the uploads that are here, and those that were counted and are gone. */
static enum err write_list(struct lists *l, const struct round_uploads *u)
{
    size_t counted = u->counted.size / UPLOAD_ID_SIZE, lost = 0;
    struct entry *list;
    TRY(memory_new(&list, u->count + counted));
    l->entry[l->own] = list;
    l->card[l->own] = (struct card){.list.count = (uint32_t)u->count, .last = u->last};
    if (u->count + counted > ENTRIES_MAX)
        return ERR_RANGE;
    for (size_t i = 0; i < u->count; i++)
        list[i] = entry_of(&u->upload[i]);
    for (size_t i = 0; i < counted; i++) {
        const uint8_t *id = u->counted.data + i * UPLOAD_ID_SIZE;
        struct entry *e = look_up(l, l->own, id);
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
    const struct entry *e = l->entry[server];
    for (uint32_t i = 0; i < l->card[server].list.count; i++)
        if ((i > 0 && compare_ids(e[i - 1].id, e[i].id) >= 0) ||
            owner_of(&e[i]) >= study_owners_most(study))
            return ERR_FORMAT;
    return ERR_OK;
}

static void put_card(const struct card *card, uint8_t said[CARD_SIZE])
{
    uint8_t *to = integer_put(integer_put(said, card->list.count, 4), card->last, 4);
    memcpy(to, card->list.digest, sizeof card->list.digest);
}

static enum err read_card(const uint8_t came[CARD_SIZE], struct card *card)
{
    card->list.count = (uint32_t)integer_get(came, 4);
    card->last = (uint32_t)integer_get(came + 4, 4);
    memcpy(card->list.digest, came + 8, sizeof card->list.digest);
    return card->list.count <= ENTRIES_MAX && card->last <= STANDING_OPENED ? ERR_OK : ERR_CHEAT;
}

/* If all hold the same, nothing is listed. */
static enum err exchange_lists(struct net *net, struct lists *l)
{
    const struct card *own = &l->card[l->own];
    uint8_t said[CARD_SIZE], came[2][CARD_SIZE];
    struct branch_card card[2];
    void *list[2] = {NULL, NULL};
    bool alike = true;
    enum err e = ERR_OK;
    put_card(own, said);
    TRY(round_broadcast(net, said, sizeof said, came[NET_PREV], came[NET_NEXT]));
    for (unsigned p = 0; p < 2; p++) {
        struct card *theirs = &l->card[net_index_of(l->own, (enum net_peer)p)];
        TRY(read_card(came[p], theirs));
        card[p] = theirs->list;
        alike = alike && branch_alike(&card[p], &own->list);
    }
    if (!alike)
        e = branches_meet(net, l->entry[l->own], own->list.count, sizeof(struct entry), card, list);
    for (unsigned p = 0; p < 2; p++)
        l->entry[net_index_of(l->own, (enum net_peer)p)] = alike ? l->entry[l->own] : list[p];
    return e;
}

/* --- what is counted -------------------------------------------------------------------------- */

/* Whether only what the run's last round counted may be counted now. */
static bool is_closed(const struct lists *l, const struct study *study)
{
    bool begun = false, unfinished = false, lost = false;
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        enum standing s = (enum standing)l->card[i].last;
        begun = begun || s != STANDING_NONE;
        unfinished = unfinished || s == STANDING_BOUND || s == STANDING_INDEX;
        lost = lost || s == STANDING_LOST; /* at one is enough: nobody plays the round again */
    }
    return begun && (!study->late_join || (unfinished && !lost));
}

/* Whether one of the first `servers` says that the run has counted it. */
static bool was_counted(const struct lists *l, unsigned servers, const uint8_t *id)
{
    for (unsigned i = 0; i < servers; i++) {
        const struct entry *e = look_up(l, i, id);
        if (e != NULL && e->counted)
            return true;
    }
    return false;
}

/* The upload as a server holds it, or NULL. */
static const struct entry *held_at(const struct lists *l, unsigned server, const uint8_t *id)
{
    const struct entry *e = look_up(l, server, id);
    return e != NULL && e->held ? e : NULL;
}

static bool alike(const struct entry *a, const struct entry *b)
{
    return a != NULL && b != NULL && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

/* Whether both neighbours hold the same as this server; logs who does not. */
static bool held_by_all(const struct lists *l, const struct entry *own, const char *owner,
                        struct log *log)
{
    bool all = true;
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        const struct entry *theirs = held_at(l, i, own->id);
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
        const struct entry own = entry_of(&name);
        const struct phrase called = study_owner_name(u->study, name.owner);
        const char *owner = called.text;
        if (closed && !was_counted(l, STUDY_SERVERS, own.id)) {
            log_warn(log, "the rows of %s came after this run had begun, and are not counted %s",
                     owner, u->study->late_join ? "in the round that is played again" : "in it");
            continue;
        }
        if (!held_by_all(l, &own, owner, log))
            continue;
        crypto_hash_sha256_update(&hash, own.digest, sizeof own.digest);
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
    const struct entry *first = NULL; /* the first that is held */
    enum err e = ERR_OK;
    for (unsigned i = 0; first == NULL && i < STUDY_SERVERS; i++)
        first = held_at(l, i, id);
    if (first == NULL)
        return log_fail(log, ERR_MISMATCH,
                        "this run has counted an upload that no server holds any more, so it "
                        "cannot go on; restore the servers' folders from newer backups");
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        const struct phrase called = study_owner_name(study, owner_of(first));
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

/* Finds the uploads that server 2 has lost: it needs their vectors from server 1 again. */
static enum err find_lacking(const struct lists *l, struct round_uploads *u)
{
    for (size_t i = 0; i < u->count; i++)
        if (held_at(l, 2, u->upload[i].id) == NULL)
            bytes_put(&u->lacking, u->upload[i].id, UPLOAD_ID_SIZE);
    return bytes_ok(&u->lacking);
}

/* A run never goes on without rows that it has counted: its population would shrink unnoticed. */
static enum err check_all_counted(const struct lists *l, const struct study *study, struct log *log)
{
    enum err e = ERR_OK;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        for (uint32_t k = 0; k < l->card[i].list.count; k++) {
            const struct entry *counted = &l->entry[i][k];
            if (counted->counted && !was_counted(l, i, counted->id)) {
                enum err one = check_counted(l, study, counted->id, log);
                e = e == ERR_OK ? one : e;
            }
        }
    return e;
}

void round_uploads_topic(const struct net *net, const uint8_t digest[32],
                         uint8_t topic[SESSION_ID_SIZE])
{
    round_topic_of(net, "trefoil-uploads-1", digest, 32, topic);
}

static void free_lists(struct lists *l)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        if (i != l->own && l->entry[i] != l->entry[l->own])
            memory_free(&l->entry[i]);
    memory_free(&l->entry[l->own]);
}

enum err round_uploads(struct net *net, struct round_uploads *u, uint8_t digest[32],
                       struct log *log)
{
    struct lists l CLEAN(free_lists) = {.own = net_index(net)};
    u->kept = 0;
    TRY(write_list(&l, u));
    TRY(exchange_lists(net, &l));
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        TRY(check_list(&l, i, u->study));
    TRY(find_lacking(&l, u));
    TRY(check_all_counted(&l, u->study, log));
    keep(&l, u, digest, log);
    return ERR_OK;
}
