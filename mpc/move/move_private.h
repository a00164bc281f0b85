/*
 * mpc/move/move_private.h - what moves are built on: an exchange, as messages. For
 * mpc/move/move*.c.
 */
#pragma once

#include "mpc/move/move.h"

#define MOVE_STEP ((size_t)16 << 10) /* bytes made at a time, in the first-level cache */
#define MOVE_MESSAGES 3              /* most to one neighbour in an exchange */

/*
 * So many bytes, made or taken from `offset` on, in order. With `both` the same ones go to both
 * neighbours: under a check each server puts into its script what it sends, or receives.
 */
struct move_message {
    size_t bytes;
    enum err (*make)(void *self, size_t offset, uint8_t *out, size_t n);
    enum err (*take)(void *self, size_t offset, const uint8_t *in, size_t n);
    void *self;
    bool both;
};

/* What goes to each neighbour, and what comes, end to end; a message of 0 bytes is none. */
struct move_exchange {
    struct move_message send[2][MOVE_MESSAGES], receive[2][MOVE_MESSAGES];
};
enum err move_exchange(struct party *p, const struct move_exchange *exchange) MUST_CHECK;

/* Messages that are in memory as they travel; of 0 bytes: none. */
struct move_message move_whole(const void *words, size_t bytes);
struct move_message move_kept(void *words, size_t bytes);

#define MOVE_DIGEST 32 /* SHA-256 */
enum err move_digest(const void *p, size_t bytes, uint8_t digest[MOVE_DIGEST]) MUST_CHECK;

/* Where there is a check: with digests. The log is not looked at. */
enum err move_open_checked(struct party *p, enum share_ring ring, struct move_operand x, size_t n,
                           uint64_t *out) MUST_CHECK;
enum err move_reveal_checked(struct party *p, unsigned from, const struct planes *y,
                             uint64_t *out) MUST_CHECK;

/* An opening in halves: the component that this server lacks; and the sum of the three. */
enum err move_third_checked(struct party *p, struct move_operand x, size_t words,
                            uint64_t *third) MUST_CHECK;
enum err move_opened(struct party *p, uint64_t *out, size_t words) MUST_CHECK;
