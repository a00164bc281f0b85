/*
 * netio/frame.h - the clear header of a bulk frame.
 *
 *   offset  0  magic "TREF"      4       40  sender    2       64  total     8
 *           4  version           2       42  receiver  2       72  length    4
 *           6  kind              2       44  lane      4       76  zero      4
 *           8  session id       32       48  sequence  8
 *                                        56  exchange     8
 *
 * Little-endian. `length` is the body of this frame, `total` the payload of the exchange that it is
 * a part of, so that two programs that disagree about sizes notice in the first frame. The session
 * id has the same place in every version: a frame of another session is recognised before all else.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER 80
#define FRAME_VERSION 1
#define FRAME_SESSION 32

enum frame_kind { FRAME_DATA = 1, FRAME_ABORT = 2 };

struct frame_header {
    enum frame_kind kind;
    uint8_t session[FRAME_SESSION];
    uint16_t sender, receiver;
    uint32_t lane;
    uint64_t sequence, exchange, total;
    uint32_t length;
};

void frame_encode(const struct frame_header *h, uint8_t out[FRAME_HEADER]);

/* Whether a message is long enough to name a session and names another than `session`. */
bool frame_is_foreign(const void *message, size_t n, const uint8_t session[FRAME_SESSION]);

/*
 * The version that a message claims, at the same place in all versions; 0: it is no frame of ours.
 */
unsigned frame_version(const void *message, size_t n);

/*
 * Reads the header of a whole message. ERR_FORMAT unless magic, version, kind and zero are right,
 * `length` bytes of body and a tag follow, and nothing else does.
 */
enum err frame_parse(struct frame_header *h, const void *message, size_t n) MUST_CHECK;
