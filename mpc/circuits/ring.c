#include "mpc/circuits/ring.h"

#include "mpc/kernel/width.h"
#include "mpc/move/record.h"

#define WIDTH 64
#include "mpc/circuits/ring_body.inc"

#define WIDTH 128
#include "mpc/circuits/ring_body.inc"

void ring64_add(struct share64 out, struct share64 x, struct share64 y)
{
    for (size_t i = 0; i < out.n; i++) {
        out.a[i] = x.a[i] + y.a[i];
        out.b[i] = x.b[i] + y.b[i];
    }
}

void ring64_from128(struct share64 out, struct share128 x)
{
    for (size_t i = 0; i < out.n; i++) {
        out.a[i] = (uint64_t)x.a[i];
        out.b[i] = (uint64_t)x.b[i];
    }
}

/* --- products --------------------------------------------------------------------------------- */

static enum err multiply(struct party *p, enum share_ring ring, const struct move_term *product)
{
    return move_sums(
        p, &(struct move_sums){.ring = ring, .terms = product, .count = 1, .products = 1});
}

enum err ring64_multiply(struct party *p, struct share64 out, struct share64 x, struct share64 y)
{
    return multiply(p, RING_64,
                    &(struct move_term){OPERAND(out), OPERAND(x), OPERAND(y), .words = out.n});
}

enum err ring128_multiply(struct party *p, struct share128 out, struct share128 x,
                          struct share128 y)
{
    return multiply(p, RING_128,
                    &(struct move_term){OPERAND(out), OPERAND(x), OPERAND(y), .words = out.n});
}

enum err ring128_sums(struct party *p, const struct move_term *terms, size_t count,
                      unsigned products)
{
    return move_sums(
        p,
        &(struct move_sums){
            .ring = RING_128, .terms = terms, .count = count, .products = products, .apart = true});
}

enum err ring64_inner(struct party *p, struct share64 out, struct share64 x, struct share64 y,
                      const size_t *start)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct record_product product = {OPERAND(x), OPERAND(y), .c = 1};
    uint64_t *z;
    TRY(scratch_array(p->scratch, &z, out.n));
    for (size_t s = 0; s < out.n; s++) {
        const size_t n = start[s + 1] - start[s];
        z[s] = 0;
        move_part_inner(p, &z[s], share64_view(x, start[s], n), share64_view(y, start[s], n));
    }
    return move_settle(p, RING_64, OPERAND(out), z, out.n,
                       &(struct record_sums){.products = &product, .count = 1, .start = start});
}
