#include "parties/server/round_sorted.h"

#include "base/hash.h"
#include "base/memory.h"
#include "parties/server/round.h"

#include <string.h>

enum { UNKNOWN, SORTED, UNSORTED, SPENT, STATES };

/* --- what is known ---------------------------------------------------------------------------- */

static enum err recall(const struct round_sorted *r, const struct upload_name *u, uint8_t *state)
{
    struct store_sorted found;
    TRY(store_sorted(r->store, u->digest, &found));
    *state = found.known                                       ? found.sorted ? SORTED : UNSORTED
             : !r->proved && found.attempts >= SORTED_ATTEMPTS ? SPENT
                                                               : UNKNOWN;
    return ERR_OK;
}

/* What follows from what the three servers say, by their indices: a state that is not SPENT. */
static enum err settle(const struct round_sorted *r, const struct upload_name *u,
                       const uint8_t said[STUDY_SERVERS], uint8_t *state)
{
    const struct phrase owner = study_owner_name(r->study, u->owner);
    unsigned servers[STATES] = {0}, spent = STUDY_SERVERS;
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        if (said[i] >= STATES)
            return ERR_FORMAT;
        servers[said[i]]++;
        spent = said[i] == SPENT ? i : spent;
    }
    if (servers[SORTED] > 0 && servers[UNSORTED] > 0)
        return log_fail(r->log, ERR_MISMATCH,
                        "servers differ in whether the upload of %s is sorted by person, which was "
                        "opened before: one departs from the protocol, or its store was altered",
                        owner.text);
    *state = servers[SORTED] + servers[UNSORTED] < 2 ? UNKNOWN
             : servers[SORTED] > 0                   ? SORTED
                                                     : UNSORTED;
    if (*state != UNKNOWN || servers[SPENT] == 0)
        return ERR_OK;
    return log_fail(r->log, ERR_LOST,
                    "server %u has tried %d times to open whether the upload of %s is sorted by "
                    "person, and tries no more: find out who broke that off. The owner may "
                    "withdraw the upload and send it again",
                    spent, SORTED_ATTEMPTS, owner.text);
}

/* All three go on with the same uploads and states, or end here. */
static enum err confirm(const struct round_sorted *r, const uint8_t uploads[32],
                        const uint8_t *state, size_t count)
{
    uint8_t own[32], came[2][32];
    hash_labelled(own, "trefoil-sorted-1", uploads, 32, state, count);
    TRY(round_broadcast(r->net, own, sizeof own, came[NET_PREV], came[NET_NEXT]));
    for (unsigned p = 0; p < 2; p++)
        if (memcmp(came[p], own, sizeof own) != 0)
            return log_fail(r->log, ERR_MISMATCH,
                            "server %u was told of other uploads than this one, or otherwise which "
                            "are sorted by person: it departs from the protocol, or the third does",
                            net_index_of(net_index(r->net), (enum net_peer)p));
    return ERR_OK;
}

/* --- what is opened --------------------------------------------------------------------------- */

/* Counts an attempt for each upload; they are on disk together. */
static enum err count_attempts(void *self, const size_t *owner, size_t count)
{
    const struct round_sorted *r = self;
    enum err e = ERR_OK;
    if (r->proved)
        return ERR_OK;
    TRY(store_batch(r->store));
    for (size_t k = 0; e == ERR_OK && k < count; k++)
        e = store_try_sorted(r->store, r->upload[owner[k]]->digest);
    return store_batch_end(r->store, e);
}

/* Compares what was opened with what the neighbours opened, and with what is known here. */
static enum err compare(const struct round_sorted *r, const size_t *owner, const uint8_t *bit,
                        size_t count, uint8_t *const came[2])
{
    TRY(round_broadcast(r->net, bit, count, came[NET_PREV], came[NET_NEXT]));
    for (size_t k = 0; k < count; k++) {
        struct store_sorted found;
        TRY(store_sorted(r->store, r->upload[owner[k]]->digest, &found));
        if ((found.known && found.sorted != bit[k]) || came[NET_PREV][k] != bit[k] ||
            came[NET_NEXT][k] != bit[k])
            return log_fail(r->log, ERR_MISMATCH,
                            "whether the upload of %s is sorted by person was opened otherwise at "
                            "another server, or before: a server departs from the protocol",
                            study_owner_name(r->study, owner[k]).text);
    }
    return ERR_OK;
}

static enum err keep(void *self, const size_t *owner, const bool *sorted, size_t count)
{
    const struct round_sorted *r = self;
    uint8_t *bits CLEAN(memory_release) = NULL;
    enum err e = ERR_OK;
    TRY(memory_new(&bits, 3 * count));
    for (size_t k = 0; k < count; k++)
        bits[k] = sorted[k];
    TRY(compare(r, owner, bits, count, (uint8_t *const[2]){bits + count, bits + 2 * count}));
    TRY(store_batch(r->store));
    for (size_t k = 0; e == ERR_OK && k < count; k++)
        e = store_put_sorted(r->store, r->upload[owner[k]]->digest, sorted[k]);
    return store_batch_end(r->store, e);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Notes what is known of an upload, here as well if this server did not know. */
static enum err note(const struct round_sorted *r, const struct upload_name *u, uint8_t own,
                     uint8_t settled, struct keyed *keyed)
{
    keyed->known[u->owner] = settled != UNKNOWN;
    keyed->left_out[u->owner] = settled == UNSORTED;
    return settled == own || settled == UNKNOWN
               ? ERR_OK
               : store_put_sorted(r->store, u->digest, settled == SORTED);
}

enum err round_sorted(struct round_sorted *r, const struct upload_name *upload, size_t count,
                      const uint8_t uploads[32], struct keyed *keyed)
{
    const unsigned me = net_index(r->net);
    uint8_t *state CLEAN(memory_release) = NULL, *said[STUDY_SERVERS], *settled;
    TRY(memory_new(&state, (STUDY_SERVERS + 1) * count));
    TRY(memory_new(&r->upload, r->study->owners));
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        said[i] = state + i * count;
    settled = state + STUDY_SERVERS * count;
    for (size_t k = 0; k < count; k++) {
        r->upload[upload[k].owner] = &upload[k];
        TRY(recall(r, &upload[k], &said[me][k]));
    }
    TRY(round_broadcast(r->net, said[me], count, said[net_index_of(me, NET_PREV)],
                        said[net_index_of(me, NET_NEXT)]));
    for (size_t k = 0; k < count; k++)
        TRY(settle(r, &upload[k], (const uint8_t[]){said[0][k], said[1][k], said[2][k]},
                   &settled[k]));
    TRY(confirm(r, uploads, settled, count));
    for (size_t k = 0; k < count; k++)
        TRY(note(r, &upload[k], said[me][k], settled[k], keyed));
    keyed->watch = (struct keyed_watch){count_attempts, keep, r};
    return ERR_OK;
}

void round_sorted_clear(struct round_sorted *r)
{
    memory_free(&r->upload);
}
