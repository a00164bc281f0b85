/*
 * netio/hkdf.h - HKDF-SHA256 with an empty salt, as netio/ uses it.
 *
 * `info` is built from length-prefixed fields (bytes_put_block), label first, so that no two uses
 * can give the same bytes.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

/* Adds a number as a field of four bytes. */
void hkdf_put_u32(struct bytes *info, uint32_t v);

enum err hkdf_sha256(const uint8_t *secret, size_t secret_size, const struct bytes *info,
                     uint8_t *out, size_t out_size) MUST_CHECK;
