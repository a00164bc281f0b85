/*
 * netio/seal.h - authenticated encryption of one direction of one lane: AES-128-GCM, nonce = the
 * frame's sequence number, associated data = the clear header.
 *
 * Sequence numbers must strictly increase at the sealing side: seal_frame() refuses one that it has
 * passed, so that a nonce is never used twice under a key. Both sides count the 16-byte blocks that
 * a key has handled, and both replace it by HKDF(key) before a frame that would pass the limit;
 * since frames are opened in the order in which they were sealed, both do so at the same frame.
 */
#pragma once

#include "netio/gcm.h"

#define SEAL_KEY GCM_KEY
#define SEAL_TAG GCM_TAG
/* Blocks after which a key is replaced: far below GCM's bound of 2^32. */
#define SEAL_BLOCKS ((uint64_t)1 << 30)

struct seal;

enum seal_side { SEAL_SENDER, SEAL_RECEIVER };

/* `blocks` of 0 means SEAL_BLOCKS; a frame longer than that has a key of its own. */
enum err seal_new(struct seal **seal, enum seal_side side, const uint8_t key[SEAL_KEY],
                  uint64_t blocks) MUST_CHECK;
void seal_free(struct seal **seal);

/* Writes n bytes of cipher text and then the tag to `out` (n + SEAL_TAG bytes). */
enum err seal_frame(struct seal *seal, uint64_t sequence, const void *ad, size_t ad_size,
                    const void *plain, size_t n, uint8_t *out) MUST_CHECK;

/*
 * Opens `sealed` (n + SEAL_TAG bytes) into `plain`, which may be `sealed` itself. ERR_AUTH if it
 * does not authenticate; `plain` is wiped then, and nothing opened later will authenticate if this
 * frame was the first of a new key: the caller must give the direction up.
 */
enum err seal_open(struct seal *seal, uint64_t sequence, const void *ad, size_t ad_size,
                   const uint8_t *sealed, size_t n, void *plain) MUST_CHECK;
