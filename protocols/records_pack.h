/*
 * protocols/records_pack.h - owners' records as they travel: validity bits and codes in a vector,
 * plane after plane.
 *
 * Owners pack, and mask with mask_vector(); protocols/records.h counts. Nothing here reaches mpc/.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define RECORDS_ORDER_MAX 4 /* attributes of a marginal that is counted from records */
#define RECORDS_KEY_BITS 64 /* of a record's key, where records have one */

/* The codes of attribute a are 0 .. size[a] - 1. */
struct records_shape {
    size_t attributes;
    const uint32_t *size;
};

/* Planes of an attribute's code; bytes of a packed plane. */
unsigned records_code_bits(uint32_t size);
size_t records_plane_bytes(size_t records);
/* Bits of one record, including the validity bit; bytes of a packed vector of so many. */
unsigned records_bits(const struct records_shape *shape);
size_t records_bytes(const struct records_shape *shape, size_t records);

/*
 * `rows` rows, padded to `records`, packed into records_bytes(). ERR_DATA if there are more rows
 * than that, or a code outside its attribute.
 */
enum err records_pack(const struct records_shape *shape, uint16_t *const *column, size_t rows,
                      size_t records, uint8_t *vector) MUST_CHECK;

/*
 * Planes of keys, from the lowest bit up, which follow those of the codes: rows are sorted by key,
 * and padding has the key 0.
 */
size_t records_key_bytes(size_t records);
void records_pack_keys(const uint64_t *key, size_t rows, size_t records, uint8_t *planes);
