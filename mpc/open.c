#include "mpc/open.h"

enum err open_ring64(struct party *p, enum open_reason reason, struct share64 x, uint64_t *out)
{
    return move_open(p, reason, RING_64, operand_64(x), x.n, x.n, out);
}

enum err open_bits(struct party *p, enum open_reason reason, struct bits x, uint64_t *out)
{
    size_t words = bits_words(x.n);
    TRY(move_open(p, reason, RING_BITS, operand_bits(x), words, x.n, out));
    if (x.n % 64 != 0)
        out[words - 1] &= ((uint64_t)1 << (x.n % 64)) - 1;
    return ERR_OK;
}

enum err open_products(struct party *p, enum open_reason reason, struct share64 x, struct share64 y,
                       uint64_t *out)
{
    return move_open_products(p, reason, x, y, out);
}
