/*
 * netio/gcm_ipsec.h - AES-128-GCM by libipsec-mb, for gcm.c. Its code for AVX-512 takes a third of
 * libcrypto's time; its code for other processors is not used.
 */
#pragma once

#include "netio/gcm.h"

struct gcm_ipsec;

/* NULL, with ERR_OK, where the build lacks the library or the processor the instructions. */
enum err gcm_ipsec_new(struct gcm_ipsec **gcm, bool seals, const uint8_t key[GCM_KEY]) MUST_CHECK;
void gcm_ipsec_free(struct gcm_ipsec **gcm);

/* Seals or opens n bytes from `in` to `out`, and gives their tag. */
void gcm_ipsec_run(const struct gcm_ipsec *gcm, const uint8_t nonce[GCM_NONCE], const void *ad,
                   size_t ad_size, const void *in, size_t n, void *out, uint8_t tag[GCM_TAG]);

/* Its name and version, or NULL where there is none. */
const char *gcm_ipsec_version(void);
