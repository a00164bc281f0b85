#include "mpc/circuits/convert.h"

#include "mpc/circuits/carry.h"
#include "mpc/move/note.h"

#define STEP 512 /* lanes at a time, where words are made on the stack */

/* --- numbers to bits -------------------------------------------------------------------------- */

static void slice(const struct party *p, const uint64_t *v, struct party_part part, unsigned digits,
                  size_t n, uint64_t *planes)
{
    kernel_slice64(p->kernel, v, part.end - part.begin, digits, planes + part.begin / 64,
                   bits_words(n));
}

/* The bits of x_j + x_(j+1), a few lanes at a time. */
static void slice_sum(const struct party *p, struct share64 x, struct party_part part,
                      unsigned digits, uint64_t *planes)
{
    uint64_t sum[STEP];
    for (size_t at = part.begin, k; at < part.end; at += k) {
        k = part.end - at < STEP ? part.end - at : STEP;
        for (size_t i = 0; i < k; i++)
            sum[i] = x.a[at + i] + x.b[at + i];
        slice(p, sum, (struct party_part){at, at + k}, digits, x.n, planes);
    }
}

void convert_known(const struct party *p, uint64_t *planes, unsigned digits, struct share64 x)
{
    const struct party_parts parts = party_parts(p, x.n, 64);
    slice_sum(p, x, parts.j, digits, planes);
    slice(p, x.a + parts.j2.begin, parts.j2, digits, x.n, planes);
    slice(p, x.b + parts.j1.begin, parts.j1, digits, x.n, planes);
}

/* Makes u so that it can be checked: j inputs the carries of its addition instead of its sum. */
static enum err input_carries(struct party *p, struct planes *u, struct share64 x)
{
    struct planes a, b, c;
    TRY(party_planes(p, &a, u->width, x.n));
    TRY(party_planes(p, &b, u->width, x.n));
    TRY(party_planes(p, &c, u->width, x.n));
    carry_components(p, &a, &b, RING_64, OPERAND(x));
    TRY(carry_input(p, &c, &a, &b));
    bits_xor(planes_flat(u), planes_flat(&a), planes_flat(&b));
    bits_xor(planes_flat(u), planes_flat(u), planes_flat(&c));
    return carry_note(p, &a, &b, &c);
}

/* Boolean shares of the bits of u = x_j + x_(j+1), which j inputs, and of t = x_(j+2). */
static enum err split(struct party *p, struct planes *u, struct planes *t, struct share64 x)
{
    const struct party_parts parts = party_parts(p, x.n, 64);
    bits_zero(planes_flat(t));
    slice(p, x.a + parts.j2.begin, parts.j2, t->width, x.n, t->a);
    slice(p, x.b + parts.j1.begin, parts.j1, t->width, x.n, t->b);
    if (party_proves(p))
        return input_carries(p, u, x);
    slice_sum(p, x, parts.j, u->width, u->b);
    return move_input(p, *u);
}

enum err convert_to_bits(struct party *p, struct planes *out, struct share64 x)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes u, t;
    TRY(party_planes(p, &u, out->width, x.n));
    TRY(party_planes(p, &t, out->width, x.n));
    TRY(split(p, &u, &t, x));
    return adder_add(p, *out, &u, &t, false);
}

/* --- bits to numbers -------------------------------------------------------------------------- */

/*
 * Draws component k of `out`. `x`, whose other components are 0, receives the complement of its
 * bits.
 */
static enum err draw(struct party *p, struct share64 out, unsigned k, struct planes *x)
{
    const unsigned side = p->index == k ? 0 : 1;
    uint64_t *words = side == 0 ? out.a : out.b;
    TRY(party_planes(p, x, 64, out.n));
    bits_zero(planes_flat(x));
    if ((p->index + side) % 3 == k) {
        TRY(prg_fill(p->prg[side][PRG_RANDOM], words, out.n * sizeof *words));
        kernel_slice64(p->kernel, words, out.n, 64, side == 0 ? x->a : x->b, bits_words(out.n));
    }
    bits_not(p, planes_flat(x), planes_flat(x));
    return ERR_OK;
}

/* x at the ring's width */
static enum err widen(struct party *p, const struct planes *x, struct planes *wide)
{
    TRY(party_planes(p, wide, 64, x->n));
    const struct planes low = planes_view(wide, 0, x->width),
                        high = planes_view(wide, x->width, 64 - x->width);
    bits_copy(planes_flat(&low), planes_flat(x));
    bits_zero(planes_flat(&high));
    return ERR_OK;
}

/* y = x - n0 - n1, from their complements: + not n0 + not n1 + 2 */
static enum err subtract_two(struct party *p, struct planes *y, const struct planes *x,
                             const struct planes *not_n0, const struct planes *not_n1)
{
    struct planes sum, carry;
    TRY(party_planes(p, y, x->width, x->n));
    TRY(party_planes(p, &sum, x->width, x->n));
    TRY(party_planes(p, &carry, x->width, x->n));
    TRY(adder_save(p, &sum, &carry, x, not_n0, not_n1));
    bits_not(p, planes_plane(&carry, 0), planes_plane(&carry, 0));
    return adder_add(p, *y, &sum, &carry, true);
}

enum err convert_to_ring64(struct party *p, struct share64 out, const struct planes *x)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t words = bits_words(out.n);
    uint64_t *received;
    struct planes wide, not_n0, not_n1, y;
    TRY(scratch_array(p->scratch, &received, words * 64));
    TRY(widen(p, x, &wide));
    TRY(draw(p, out, 0, &not_n0));
    TRY(draw(p, out, 1, &not_n1));
    TRY(subtract_two(p, &y, &wide, &not_n0, &not_n1));
    TRY(move_reveal(p, 0, &y, received));
    if (p->index != 0) /* they have component 2 */
        kernel_unslice64(p->kernel, received, words, out.n, 64, p->index == 2 ? out.a : out.b);
    return ERR_OK;
}

/* Planes of x in the first half of the lanes of `both`, of y in the second. */
static void set_side_by_side(struct planes *both, const struct planes *x, const struct planes *y)
{
    for (unsigned k = 0; k < both->width; k++) {
        const struct bits to = planes_plane(both, k);
        const size_t words = bits_words(x->n);
        const struct bits half[2] = {{to.a, to.b, x->n}, {to.a + words, to.b + words, x->n}};
        const struct planes *from[2] = {x, y};
        for (unsigned i = 0; i < 2; i++)
            if (k < from[i]->width)
                bits_copy(half[i], planes_plane(from[i], k));
            else
                bits_zero(half[i]);
    }
}

enum err convert_two_to_ring64(struct party *p, struct share64 out, const struct planes *x,
                               const struct planes *y)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes both;
    if (x->n != y->n || out.n != 2 * 64 * bits_words(x->n))
        return ERR_RANGE;
    TRY(party_planes(p, &both, x->width > y->width ? x->width : y->width, out.n));
    set_side_by_side(&both, x, y);
    return convert_to_ring64(p, out, &both);
}

/* --- one bit to a number ---------------------------------------------------------------------- */

/* x_j ^ x_(j+1), as j knows it, and x_(j+2), as the others do. */
static enum err bit_number(struct party *p, enum share_ring ring, struct move_operand out,
                           struct bits x)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct party_parts parts = party_parts(p, x.n, 64);
    uint64_t *known;
    struct move_operand t = {NULL, NULL};
    TRY(scratch_array(p->scratch, &known, bits_words(x.n)));
    for (size_t w = bits_words(parts.j.begin); w < bits_words(parts.j.end); w++)
        known[w] = x.a[w] ^ x.b[w];
    for (size_t w = bits_words(parts.j1.begin); w < bits_words(parts.j1.end); w++)
        known[w] = x.b[w];
    for (size_t w = bits_words(parts.j2.begin); w < bits_words(parts.j2.end); w++)
        known[w] = x.a[w];
    if (party_proves(p))
        TRY(note_room(p, &t, ring, x.n));
    TRY(move_known(
        p, &(struct move_known){.ring = ring, .n = x.n, .out = out, .known = known, .shares = t}));
    return party_proves(p) ? note_bit(p, ring, x, t, out) : ERR_OK;
}

enum err convert_bit16(struct party *p, struct share16 out, struct bits x)
{
    return bit_number(p, RING_16, OPERAND(out), x);
}

enum err convert_bit64(struct party *p, struct share64 out, struct bits x)
{
    return bit_number(p, RING_64, OPERAND(out), x);
}

enum err convert_bit128(struct party *p, struct share128 out, struct bits x)
{
    return bit_number(p, RING_128, OPERAND(out), x);
}
