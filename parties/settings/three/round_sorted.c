#include "parties/settings/three/round_sorted.h"

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

/* Servers differ in what they have kept: names the one that both others contradict, or two. */
static enum err differ(const struct round_sorted *r, const struct words_text *owner,
                       const uint8_t said[3])
{
    static const char lies[] = "departs from the protocol, or its store was altered";
    for (unsigned i = 0; i < 3; i++) {
        const unsigned j = (i + 1) % 3, k = (i + 2) % 3;
        if (said[j] == said[k] && said[j] != UNKNOWN)
            return log_fail(r->log, ERR_CHEAT,
                            "server %u says otherwise than both others whether the upload of %s is "
                            "sorted by person: it %s",
                            i, owner->text, lies);
    }
    for (unsigned i = 0; i < 3; i++)
        if (said[i] != SORTED && said[i] != UNSORTED)
            log_error(r->log,
                      "servers %u and %u differ in whether the upload of %s is sorted by person, "
                      "which was opened before: one of them %s",
                      (i + 1) % 3, (i + 2) % 3, owner->text, lies);
    return ERR_CHEAT;
}

/* Under a check nobody counts attempts. */
static enum err are_possible(const struct round_sorted *r, const uint8_t said[3])
{
    for (unsigned i = 0; i < 3; i++)
        if (said[i] >= STATES || (r->proved && said[i] == SPENT))
            return log_fail(r->log, ERR_CHEAT,
                            "server %u says of an upload what no server can: it departs from the "
                            "protocol, or its memory is faulty",
                            i);
    return ERR_OK;
}

/* What follows from what the three servers say, by their indices: a state that is not SPENT. */
static enum err settle(const struct round_sorted *r, const struct upload_name *u,
                       const uint8_t said[3], uint8_t *state)
{
    const struct words_text owner = study_owner_name(r->study, u->owner);
    unsigned servers[STATES] = {0}, spent = 3;
    TRY(are_possible(r, said));
    for (unsigned i = 0; i < 3; i++) {
        servers[said[i]]++;
        spent = said[i] == SPENT ? i : spent;
    }
    if (servers[SORTED] > 0 && servers[UNSORTED] > 0)
        return differ(r, &owner, said);
    *state = servers[SORTED] + servers[UNSORTED] < 2 ? UNKNOWN
             : servers[SORTED] > 0                   ? SORTED
                                                     : UNSORTED;
    if (*state != UNKNOWN || servers[SPENT] == 0)
        return ERR_OK;
    return log_fail(r->log, ERR_REFUSED, /* no round is lost */
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
            return log_fail(r->log, ERR_CHEAT,
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

/*
 * Compares what was opened with what is known here, and what each server will keep. Who knows an
 * upload's bit says that one, whatever was opened now: so nobody keeps another.
 */
static enum err compare(const struct round_sorted *r, const size_t *owner, const bool *sorted,
                        uint8_t *bit, uint8_t *const came[2], size_t count)
{
    struct store_sorted found;
    for (size_t k = 0; k < count; k++) {
        TRY(store_sorted(r->store, r->upload[owner[k]]->digest, &found));
        bit[k] = found.known ? found.sorted : sorted[k];
    }
    TRY(round_broadcast(r->net, bit, count, came[NET_PREV], came[NET_NEXT]));
    for (size_t k = 0; k < count; k++) {
        const struct words_text name = study_owner_name(r->study, owner[k]);
        if (bit[k] != sorted[k])
            return log_fail(r->log, ERR_CHEAT,
                            "whether the upload of %s is sorted by person was opened otherwise "
                            "than before: one of the others departs from the protocol",
                            name.text);
        for (unsigned p = 0; p < 2; p++)
            if (came[p][k] != bit[k])
                return log_fail(
                    r->log, ERR_CHEAT,
                    "whether the upload of %s is sorted by person was opened otherwise at server "
                    "%u: it departs from the protocol, or the third does",
                    name.text, net_index_of(net_index(r->net), (enum net_peer)p));
    }
    return ERR_OK;
}

static enum err keep(void *self, const size_t *owner, const bool *sorted, size_t count)
{
    const struct round_sorted *r = self;
    uint8_t *bits CLEAN(memory_release) = NULL;
    enum err e = ERR_OK;
    TRY(memory_new(&bits, 3 * count));
    TRY(compare(r, owner, sorted, bits, (uint8_t *const[2]){bits + count, bits + 2 * count},
                count));
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
    uint8_t *state CLEAN(memory_release) = NULL, *said[3], *settled;
    TRY(memory_new(&state, (3 + 1) * count));
    TRY(memory_new(&r->upload, r->study->owners));
    for (unsigned i = 0; i < 3; i++)
        said[i] = state + i * count;
    settled = state + 3 * count;
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
