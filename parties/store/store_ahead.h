/*
 * parties/store/store_ahead.h - blocks of noise that the servers made when they were idle
 * (parties/settings/three/ahead.h).
 *
 * A block is a number of samples of one kind, named after the session that made it. Its shares are
 * sealed, with its name, its kind and the study's terms as associated data. What a session takes is
 * deleted before it is used: overwritten on disk, and gone from the write-ahead log too. So each
 * server by itself ensures that a block enters at most one session. Each call is on disk when it
 * returns; only store_ahead_put() and store_ahead_push() may be called in a batch.
 *
 * Or blocks are an owner's, and its shares of them in the form in which it sends them
 * (parties/setting/split.h).
 */
#pragma once

#include "parties/exchange/price.h"
#include "parties/store/store.h"

#define AHEAD_NAME PRICE_AHEAD_NAME
#define AHEAD_BLOCKS PRICE_AHEAD_BLOCKS /* of a kind, at most */

/* The blocks of each kind that are here, in the order of their names. */
struct ahead_blocks {
    size_t count[NOISE_LAWS];
    uint8_t name[NOISE_LAWS][AHEAD_BLOCKS][AHEAD_NAME];
};

/* ERR_FORMAT, logged, if there are more than there may be. */
enum err store_ahead(struct store *store, struct ahead_blocks *blocks) MUST_CHECK;
enum err store_ahead_put(struct store *store, enum noise_law kind, const uint8_t name[AHEAD_NAME],
                         const struct bytes *noise) MUST_CHECK;
/* The same again is fine, and if there are AHEAD_BLOCKS of its kind the oldest makes room. */
enum err store_ahead_push(struct store *store, enum noise_law kind, const uint8_t name[AHEAD_NAME],
                          const struct bytes *noise) MUST_CHECK;
/*
 * Deletes a block, and appends what it held to `noise`. ERR_AUTH, logged, if it does not unseal:
 * then it is gone as well. ERR_LOST if it is not here.
 */
enum err store_ahead_take(struct store *store, enum noise_law kind, const uint8_t name[AHEAD_NAME],
                          struct bytes *noise) MUST_CHECK;
/* Deletes all blocks except these. */
enum err store_ahead_keep(struct store *store, const struct ahead_blocks *keep) MUST_CHECK;
