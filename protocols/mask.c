#include "protocols/mask.h"

#include "mpc/party/party.h"

#include <string.h>

enum err mask_vector(const uint8_t seed[2][MASK_SEED_SIZE], uint8_t *vector, size_t bytes)
{
    TRY(prg_xor_once(seed[0], vector, bytes));
    return prg_xor_once(seed[1], vector, bytes);
}

enum err mask_component(struct party *p, const uint8_t *seed, const uint8_t *vector, size_t bytes,
                        const uint8_t **component)
{
    uint8_t *made;
    *component = vector;
    if (seed == NULL)
        return ERR_OK;
    TRY(scratch_array(p->scratch, &made, bytes));
    *component = made;
    memset(made, 0, bytes);
    return prg_xor_once(seed, made, bytes);
}
