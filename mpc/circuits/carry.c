#include "mpc/circuits/carry.h"

#include "mpc/circuits/bits.h"
#include "mpc/move/record.h"

#include <string.h>

#define STEP 512 /* lanes at a time; a multiple of 64 */

/* Puts the bits of a ring's words into the lanes of a part, in planes of n lanes. */
static void slice(const struct party *p, uint64_t *planes, size_t n, unsigned width,
                  enum share_ring ring, const void *words, struct party_part part)
{
    const size_t size = ring_size(ring), stride = bits_words(n);
    for (size_t at = part.begin, k; at < part.end; at += k) {
        const uint8_t *from = (const uint8_t *)words + at * size;
        word128 wide[STEP];
        uint64_t narrow[STEP];
        k = part.end - at < STEP ? part.end - at : STEP;
        for (size_t i = 0; i < k; i++) {
            wide[i] = 0;
            memcpy(&wide[i], from + i * size, size);
            narrow[i] = (uint64_t)wide[i];
        }
        if (width > 64)
            kernel_slice128(p->kernel, wide, k, width, planes + at / 64, stride);
        else
            kernel_slice64(p->kernel, narrow, k, width, planes + at / 64, stride);
    }
}

void carry_components(const struct party *p, struct planes *a, struct planes *b,
                      enum share_ring ring, struct move_operand x)
{
    const struct party_parts parts = party_parts(p, a->n, 64);
    bits_zero(planes_flat(a));
    bits_zero(planes_flat(b));
    slice(p, a->a, a->n, a->width, ring, x.a, parts.j);
    slice(p, a->b, a->n, a->width, ring, x.b, parts.j2);
    slice(p, b->b, b->n, b->width, ring, x.b, parts.j);
    slice(p, b->a, b->n, b->width, ring, x.a, parts.j1);
}

enum err carry_input(struct party *p, const struct planes *c, const struct planes *a,
                     const struct planes *b)
{
    const struct party_part j = party_parts(p, c->n, 64).j;
    const size_t stride = bits_words(c->n);
    const struct planes in = planes_view(c, 1, c->width - 1);
    bits_zero(planes_plane(c, 0));
    for (unsigned k = 0; k + 1 < c->width; k++)
        for (size_t w = k * stride + j.begin / 64; w < k * stride + bits_words(j.end); w++)
            in.b[w] = (a->a[w] & b->b[w]) ^ (c->b[w] & (a->a[w] ^ b->b[w]));
    return move_input(p, in);
}

enum err carry_note(struct party *p, struct planes *a, struct planes *b, const struct planes *c)
{
    const unsigned w = c->width - 1;
    const struct planes low = planes_view(c, 0, w), high = planes_view(c, 1, w);
    const struct bits x = {a->a, a->b, planes_flat(&low).n}, y = {b->a, b->b, x.n};
    const struct move_term term = bits_product_plus(planes_flat(&high), x, y, planes_flat(&low));
    bits_xor(x, x, planes_flat(&low));
    bits_xor(y, y, planes_flat(&low));
    return record_bits(p, &term, 1);
}
