#include "parties/settings/three/ahead.h"

#include "base/hash.h"
#include "protocols/range.h"

#include <string.h>

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
    uint64_t count[NOISE_LAWS] = {0};
    struct bytes noise CLEAN(bytes_clear) = {0};
    struct tape block CLEAN(tape_free) = {0};
    TRY(store_ahead_take(store, kind, name, &noise));
    count[kind] = samples;
    TRY(range_read(&block, tape->id, count, tape->noise, &noise));
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
