/*
 * base/prg.h - a keyed stream of pseudorandom bytes: AES-128-CTR.
 *
 * Each stream belongs to one (session, key index, lane, purpose) and only moves forward, so that no
 * position is ever used twice. Both holders of the key must draw the same amounts in the same
 * order.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct prg;

enum err prg_new(struct prg **prg, const uint8_t key[16]) MUST_CHECK;
void prg_free(struct prg **prg);

/* The next n bytes of the stream. */
enum err prg_fill(struct prg *prg, void *p, size_t n) MUST_CHECK;
/* The same, XORed with what p holds. */
enum err prg_xor(struct prg *prg, void *p, size_t n) MUST_CHECK;

/*
 * p = p ^ the first n bytes of the stream of a key that is used once, such as an upload's seed.
 */
enum err prg_xor_once(const uint8_t key[16], void *p, size_t n) MUST_CHECK;
/* The same with the bytes of that stream from `from` on. */
enum err prg_xor_from(const uint8_t key[16], uint64_t from, void *p, size_t n) MUST_CHECK;
/* n words that such a key stands for: the stream, 8 bytes each, little-endian. */
enum err prg_words_once(const uint8_t key[16], uint64_t *word, size_t n) MUST_CHECK;
