/*
 * protocols/mask.h - the mask over what an owner sends, counts or records: the streams of two
 * seeds.
 *
 *   component 0, 1   a seed each, which stands for its stream
 *   component 2      the vector, XORed with both streams
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define MASK_SEED_SIZE 16

/* An owner's vector becomes component 2. The seeds must be used for nothing else. */
enum err mask_vector(const uint8_t seed[2][MASK_SEED_SIZE], uint8_t *vector,
                     size_t bytes) MUST_CHECK;

/* A whole component: `vector`, or what a seed stands for, in the server's scratch. */
struct party;
enum err mask_component(struct party *p, const uint8_t *seed, const uint8_t *vector, size_t bytes,
                        const uint8_t **component) MUST_CHECK;
