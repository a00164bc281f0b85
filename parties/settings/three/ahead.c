#include "parties/settings/three/ahead.h"

#include "base/hash.h"
#include "parties/exchange/request.h"
#include "protocols/range.h"

#include <sodium.h>
#include <string.h>

/* --- what all three have ---------------------------------------------------------------------- */

static bool is_among(const uint8_t list[AHEAD_BLOCKS][AHEAD_NAME], const uint8_t *name)
{
    for (size_t i = 0; i < AHEAD_BLOCKS; i++)
        if (memcmp(list[i], name, AHEAD_NAME) == 0)
            return true;
    return false;
}

static enum err hear(void *self)
{
    struct ahead_talk *t = self;
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (size_t i = 0; i < AHEAD_BLOCKS; i++) {
            const uint8_t *name = t->sent[k][i];
            if (!sodium_is_zero(name, AHEAD_NAME) && is_among(t->came[0][k], name) &&
                is_among(t->came[1][k], name))
                memcpy(t->common.name[k][t->common.count[k]++], name, AHEAD_NAME);
        }
    return ERR_OK;
}

void ahead_talk(struct ahead_talk *t, struct net *net, const struct ahead_blocks *own)
{
    *t = (struct ahead_talk){0};
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        memcpy(t->sent[k], own->name[k], own->count[k] * AHEAD_NAME);
    net_ride(net, &(const struct net_rider){
                      .blocks = {.send = {t->sent, t->sent},
                                 .send_size = {sizeof t->sent, sizeof t->sent},
                                 .receive = {t->came[0], t->came[1]},
                                 .receive_size = {sizeof t->came[0], sizeof t->came[1]}},
                      .heard = hear,
                      .self = t});
}

void ahead_digest(const struct ahead_talk *t, uint8_t digest[32])
{
    request_digest(t->common.name, sizeof t->common.name, digest);
}

/* --- taking blocks ---------------------------------------------------------------------------- */

void ahead_name(const uint8_t session[32], enum noise_law kind, size_t i, uint8_t name[AHEAD_NAME])
{
    uint8_t rest[1 + 8], digest[32];
    integer_put(integer_put(rest, kind, 1), i, 8);
    hash_labelled(digest, "trefoil-ahead-name-1", session, 32, rest, sizeof rest);
    memcpy(name, digest, AHEAD_NAME);
}

/* Whether the tape has this many more samples of a kind. */
static bool has(const struct tape *tape, unsigned kind, size_t count)
{
    size_t only[NOISE_LAWS] = {0};
    only[kind] = count;
    return range_is_made(tape, only);
}

static enum err take_one(struct store *store, struct tape *tape, enum noise_law kind,
                         const uint8_t *name, size_t samples)
{
    struct range_place place = {.count = {0}};
    struct bytes noise CLEAN(bytes_clear) = {0};
    struct tape block CLEAN(tape_free) = {0};
    TRY(store_ahead_take(store, kind, name, &noise));
    memcpy(place.tape, tape->id, sizeof place.tape);
    place.count[kind] = samples;
    TRY(range_read(&block, &place, tape->noise, &noise));
    return tape_fill(tape, kind, block.reel[kind].samples);
}

/* If one cannot be used, others may be no better: deletes all, not to lose a session for each. */
static enum err leave_all(struct store *store, struct log *log)
{
    static const struct ahead_blocks none;
    TRY(store_ahead_keep(store, &none));
    return log_fail(log, ERR_AGAIN,
                    "a block of the noise made ahead was altered here, or is of another version of "
                    "trefoil; all of it was deleted, and the run goes on without");
}

enum err ahead_take(struct ahead *a, struct store *store, const struct study *study,
                    struct tape *tape, const size_t count[NOISE_LAWS], struct log *log)
{
    const struct price_ahead sizes = price_ahead(study);
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        while (!has(tape, k, count[k]) && a->next[k] < a->blocks.count[k]) {
            const enum err e = take_one(store, tape, (enum noise_law)k,
                                        a->blocks.name[k][a->next[k]++], sizes.samples[k]);
            if (e == ERR_AUTH || e == ERR_FORMAT || e == ERR_LOST)
                return leave_all(store, log);
            TRY(e);
        }
    return ERR_OK;
}
