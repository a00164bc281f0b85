/*
 * protocols/range.h - a range of a noise tape, cut off so that it can be bound to a request, kept,
 * and used again for that request alone.
 *
 * A range is named by (tape id, and for each kind offset and length). What is cut is a tape of its
 * own, which holds just the range. LEAKS: nothing; no message is sent.
 */
#pragma once

#include "base/bytes.h"
#include "protocols/tape.h"

struct range_place {
    uint8_t tape[TAPE_ID_SIZE];
    uint64_t from[NOISE_LAWS], count[NOISE_LAWS];
};

/* Whether the tape has so many samples of each kind left. */
bool range_is_made(const struct tape *tape, const size_t count[NOISE_LAWS]);
/* The range that range_cut() would give. */
void range_next(const struct tape *tape, const size_t count[NOISE_LAWS], struct range_place *place);
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
 * The shares of a range from which nothing has been taken, as bytes; and back. ERR_FORMAT unless
 * they are `place`'s.
 */
enum err range_write(const struct tape *range, struct bytes *out) MUST_CHECK;
enum err range_read(struct tape *range, const struct range_place *place, enum noise_kind noise,
                    const struct bytes *in) MUST_CHECK;

/*
 * HMAC-SHA-256 over the SHA-256 of each kind's component a (0) or b (1): the two servers that hold
 * a component compare these under a key that the third one lacks.
 */
#define RANGE_KEY_SIZE 16
void range_digest(const struct tape *range, unsigned component, const uint8_t key[RANGE_KEY_SIZE],
                  uint8_t digest[32]);
