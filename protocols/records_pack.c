#include "protocols/records_pack.h"

#include <string.h>

unsigned records_code_bits(uint32_t size)
{
    unsigned k = 0;
    while ((uint32_t)1 << k < size)
        k++;
    return k;
}

size_t records_plane_bytes(size_t records)
{
    return records / 8 + (records % 8 != 0);
}

unsigned records_bits(const struct records_shape *shape)
{
    unsigned bits = 1;
    for (size_t a = 0; a < shape->attributes; a++)
        bits += records_code_bits(shape->size[a]);
    return bits;
}

size_t records_bytes(const struct records_shape *shape, size_t records)
{
    return records_bits(shape) * records_plane_bytes(records);
}

/* The lowest bit of `value`, in a plane of zeros. */
static void put_bit(uint8_t *plane, size_t i, unsigned value)
{
    plane[i / 8] = (uint8_t)(plane[i / 8] | (value & 1) << (i % 8));
}

/* Planes in order: validity, then each attribute's code from the highest bit down. */
enum err records_pack(const struct records_shape *shape, uint16_t *const *column, size_t rows,
                      size_t records, uint8_t *vector)
{
    size_t plane_bytes = records_plane_bytes(records), plane = 1;
    memset(vector, 0, records_bytes(shape, records));
    if (rows > records)
        return ERR_DATA;
    for (size_t i = 0; i < rows; i++)
        put_bit(vector, i, 1);
    for (size_t a = 0; a < shape->attributes; a++) {
        unsigned bits = records_code_bits(shape->size[a]);
        for (size_t i = 0; i < rows; i++) {
            if (column[a][i] >= shape->size[a])
                return ERR_DATA;
            for (unsigned k = 0; k < bits; k++)
                put_bit(vector + (plane + k) * plane_bytes, i, column[a][i] >> (bits - 1 - k));
        }
        plane += bits;
    }
    return ERR_OK;
}

size_t records_key_bytes(size_t records)
{
    return RECORDS_KEY_BITS * records_plane_bytes(records);
}

void records_pack_keys(const uint64_t *key, size_t rows, size_t records, uint8_t *planes)
{
    const size_t plane_bytes = records_plane_bytes(records);
    memset(planes, 0, records_key_bytes(records));
    for (size_t i = 0; i < rows; i++)
        for (unsigned k = 0; k < RECORDS_KEY_BITS; k++)
            put_bit(planes + k * plane_bytes, i, (unsigned)(key[i] >> k & 1));
}
