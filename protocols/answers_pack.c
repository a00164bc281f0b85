#include "protocols/answers_pack.h"

#include "base/prg.h"

#include <string.h>

size_t answers_bytes(uint64_t cells, unsigned bits)
{
    return (size_t)((cells * bits + 7) / 8);
}

enum err answers_mask(const uint8_t seed[2][ANSWERS_SEED_SIZE], uint8_t *vector, size_t bytes)
{
    TRY(prg_xor_once(seed[0], vector, bytes));
    return prg_xor_once(seed[1], vector, bytes);
}

enum err answers_pack(const int64_t *counts, uint64_t cells, unsigned bits, uint8_t *vector)
{
    memset(vector, 0, answers_bytes(cells, bits));
    for (uint64_t i = 0; i < cells; i++) {
        if (counts[i] < 0 || counts[i] >> bits != 0)
            return ERR_DATA;
        for (unsigned k = 0; k < bits; k++)
            vector[(i * bits + k) / 8] |= (uint8_t)((counts[i] >> k & 1) << ((i * bits + k) % 8));
    }
    return ERR_OK;
}
