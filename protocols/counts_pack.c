#include "protocols/counts_pack.h"

#include <string.h>

size_t counts_bytes(uint64_t cells, unsigned bits)
{
    return (size_t)((cells * bits + 7) / 8);
}

enum err counts_pack(const int64_t *counts, uint64_t cells, unsigned bits, uint8_t *vector)
{
    memset(vector, 0, counts_bytes(cells, bits));
    for (uint64_t i = 0; i < cells; i++) {
        if (counts[i] < 0 || counts[i] >> bits != 0)
            return ERR_DATA;
        for (unsigned k = 0; k < bits; k++)
            vector[(i * bits + k) / 8] |= (uint8_t)((counts[i] >> k & 1) << ((i * bits + k) % 8));
    }
    return ERR_OK;
}
