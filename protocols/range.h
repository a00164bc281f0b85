/*
 * protocols/range.h - a range of a noise tape, cut off so that it can be bound to a request, kept,
 * and used again for that request alone.
 *
 * A range is named by (tape id, and for each kind position and count). What is cut is a tape of its
 * own, which holds just the range. LEAKS: nothing; no message is sent.
 */
#pragma once

#include "base/bytes.h"
#include "protocols/tape.h"

/* Whether the tape has so many samples of each kind left. */
bool range_is_made(const struct tape *tape, const size_t count[NOISE_LAWS]);
/*
 * Moves the next samples of each kind to `range`; they are wiped on the tape. ERR_MISUSE if too
 * few.
 */
enum err range_cut(struct tape *tape, const size_t count[NOISE_LAWS],
                   struct tape *range) MUST_CHECK;

/*
 * Puts what is left of a range back on its tape, once it has been used for all that it was bound
 * to: at the tape's end, under new positions. Only for a range that nobody will read again for more
 * than what was used. All three call it alike.
 */
enum err range_return(struct tape *tape, struct tape *range) MUST_CHECK;

/*
 * The shares of a range from which nothing has been taken, as bytes; and back, as one of tape `id`.
 * ERR_FORMAT unless there are so many of each kind.
 */
enum err range_write(const struct tape *range, struct bytes *out) MUST_CHECK;
enum err range_read(struct tape *range, const uint8_t id[TAPE_ID_SIZE],
                    const uint64_t count[NOISE_LAWS], enum noise_kind noise,
                    const struct bytes *in) MUST_CHECK;

/*
 * HMAC-SHA-256 over the SHA-256 of each kind's component a (0) or b (1): the two servers that hold
 * a component compare these under a key that the third one lacks.
 */
#define RANGE_KEY_SIZE 16
void range_digest(const struct tape *range, unsigned component, const uint8_t key[RANGE_KEY_SIZE],
                  uint8_t digest[32]);
