/*
 * mpc/pair/pair.h - one end of what two servers compute together: a provider, which garbles, and a
 * keeper, which evaluates.
 *
 * Nothing in this room sends: functions make and take messages, and the caller exchanges them. Both
 * servers must follow the protocol; what cannot come from one that does ends in an error, but a
 * server that lies can learn what it should not (docs/security.md).
 *
 * Once a session, base oblivious transfers over ristretto255 (Chou, Orlandi 2015), j = 0 .. 127:
 *   K -> P   hello    A = y G
 *   P -> K   choices  B_j = x_j G + Delta_j A
 *   each: key = SHA-256(label, id, j, A, B_j, point), 16 bytes of it; the point is y B_j for bit 0
 *   and y (B_j - A) for bit 1 at the keeper, x_j A at the provider, which is one of the two
 * The provider has Delta: 128 random bits, the lowest 1, the difference of the two labels of every
 * wire of the session. From then on each key is a stream that only moves on (labels.h).
 * Cost: 4,128 bytes, 384 multiplications by scalars at the provider and the keeper together.
 * LEAKS: nothing. B_j is uniform whatever the bit; the other key takes a Diffie-Hellman problem.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

enum pair_end { PAIR_PROVIDER, PAIR_KEEPER }; /* as servers are numbered */

#define PAIR_ID_SIZE 32
#define PAIR_HELLO_SIZE 32
#define PAIR_CHOICES_SIZE (128 * 32)

struct pair;

/* `id` is the session's: fresh, the same at both ends. */
enum err pair_new(struct pair **pair, enum pair_end end, const uint8_t id[PAIR_ID_SIZE]) MUST_CHECK;
void pair_free(struct pair **pair);

/* Keeper, provider, keeper, each once: else ERR_MISUSE. ERR_FORMAT: there is no valid point. */
enum err pair_hello(struct pair *keeper, uint8_t hello[PAIR_HELLO_SIZE]) MUST_CHECK;
enum err pair_choose(struct pair *provider, const uint8_t hello[PAIR_HELLO_SIZE],
                     uint8_t choices[PAIR_CHOICES_SIZE]) MUST_CHECK;
enum err pair_chosen(struct pair *keeper, const uint8_t choices[PAIR_CHOICES_SIZE]) MUST_CHECK;
