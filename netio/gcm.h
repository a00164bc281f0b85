/*
 * netio/gcm.h - AES-128-GCM under one key, in one direction, for seal.c, which counts nonces.
 *
 * It uses libipsec-mb where the build has it and the processor has AVX-512 and VAES, else
 * libcrypto. Both give the same bytes.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GCM_KEY 16
#define GCM_NONCE 12
#define GCM_TAG 16

struct gcm;

enum err gcm_new(struct gcm **gcm, bool seals, const uint8_t key[GCM_KEY]) MUST_CHECK;
void gcm_free(struct gcm **gcm);

/* n bytes of cipher text and the tag go to `out`. */
enum err gcm_seal(struct gcm *gcm, const uint8_t nonce[GCM_NONCE], const void *ad, size_t ad_size,
                  const void *plain, size_t n, uint8_t *out) MUST_CHECK;

/* ERR_AUTH if `sealed` does not authenticate; then `plain`, which may be `sealed`, is wiped. */
enum err gcm_open(struct gcm *gcm, const uint8_t nonce[GCM_NONCE], const void *ad, size_t ad_size,
                  const uint8_t *sealed, size_t n, void *plain) MUST_CHECK;
