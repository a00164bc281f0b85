#include "mpc/circuits/compare.h"

#include "mpc/circuits/bits.h"
#include "mpc/circuits/carry.h"
#include "mpc/circuits/convert.h"
#include "mpc/move/record.h"

#define FEW ((size_t)8192) /* lanes */

#define DIGITS 16 /* most */

/* --- what is noted under a check -------------------------------------------------------------- */

/* Who knows what of the digits: shares of j's y(v) and top bit, and what the others know. */
struct noting {
    struct party *p;
    const struct move_carries *t;
    struct share64 x;
    unsigned width;
    struct bits one;
};

/* Bit b of a digit is the XOR of all y(v) where v is a multiple of 2^b. */
static void bits_of_digits(const struct noting *s, const struct planes *u)
{
    unsigned plane = 0, row = 0;
    bits_zero(planes_flat(u));
    for (unsigned k = 0; k < s->t->digits; row += (1u << s->t->width[k++]) - 1)
        for (unsigned b = 0; b < s->t->width[k]; b++, plane++)
            for (unsigned v = 1u << b; v < 1u << s->t->width[k]; v += 1u << b)
                bits_xor(planes_plane(u, plane), planes_plane(u, plane),
                         planes_plane(&s->t->y, row + v - 1));
    bits_copy(planes_plane(u, plane), planes_plane(&s->t->y, row));
}

/* c_0 times 1 is 0, and c are the carries of x_j + x_(j+1). */
static enum err note_bits(const struct noting *s)
{
    struct party *p = s->p;
    struct planes a, b, c;
    struct bits zero;
    struct move_term first;
    TRY(party_planes(p, &a, s->width, s->x.n));
    TRY(party_planes(p, &b, s->width, s->x.n));
    TRY(party_planes(p, &c, s->width, s->x.n));
    TRY(party_bits(p, &zero, s->x.n));
    carry_components(p, &a, &b, RING_64, OPERAND(s->x));
    bits_of_digits(s, &c);
    bits_xor(planes_flat(&c), planes_flat(&c), planes_flat(&a));
    bits_xor(planes_flat(&c), planes_flat(&c), planes_flat(&b));
    bits_zero(zero);
    first = bits_product(zero, planes_plane(&c, 0), s->one);
    TRY(record_bits(p, &first, 1));
    return carry_note(p, &a, &b, &c);
}

/*
 * With [v] = [a >= v] of a digit a, H half of its values, and 0 < v < H:
 *   [H + v] = [H] ([H] ^ [v] ^ [H + v])
 * so either all [H + v] are 0, or all [v] are 1, and the sums on the right are those of a mod H.
 */
static enum err note_values(const struct noting *s, unsigned row, unsigned width)
{
    struct party *p = s->p;
    const unsigned all = 1u << width;
    struct planes at_least;
    TRY(party_planes(p, &at_least, all - 1, s->x.n));
    for (unsigned v = 1; v < all; v++)
        bits_copy(planes_plane(&at_least, v - 1), planes_plane(&s->t->y, row + all - v - 1));
    for (unsigned half = all / 2; half > 1; half /= 2)
        for (unsigned v = 1; v < half; v++) {
            const struct bits top = planes_plane(&at_least, half - 1),
                              high = planes_plane(&at_least, half + v - 1),
                              low = planes_plane(&at_least, v - 1);
            const struct move_term term = bits_product(high, top, low);
            bits_xor(low, low, top);
            bits_xor(low, low, high);
            TRY(record_bits(p, &term, 1));
        }
    return ERR_OK;
}

/* hot plane v = [the others' digit is v], carried by component j+2. */
static void set_hot(const struct noting *s, const struct planes *hot, unsigned first,
                    unsigned width)
{
    const struct party_parts parts = party_parts(s->p, s->x.n, 64);
    const struct party_part part[2] = {parts.j2, parts.j1};
    const size_t stride = bits_words(s->x.n);
    bits_zero(planes_flat(hot));
    for (unsigned side = 0; side < 2; side++)
        for (unsigned v = 0; v < 1u << width; v++) {
            uint64_t *to = (side == 0 ? hot->a : hot->b) + v * stride;
            for (size_t w = part[side].begin / 64; w < bits_words(part[side].end); w++) {
                to[w] = UINT64_MAX;
                for (unsigned b = 0; b < width; b++)
                    to[w] &= s->t->known[(first + b) * stride + w] ^ (v >> b & 1 ? 0 : UINT64_MAX);
            }
        }
}

/* g = sum y(v) [b = v], p = sum y(v) ([b = v] ^ [b = v - 1]) ^ [b = N - 1] */
static enum err note_sums(const struct noting *s, unsigned digit, unsigned first, unsigned row)
{
    struct party *p = s->p;
    const unsigned all = 1u << s->t->width[digit];
    struct move_term generate[RECORD_PRODUCTS], propagate[RECORD_PRODUCTS];
    struct planes hot, either, tops;
    TRY(party_planes(p, &hot, all, s->x.n));
    TRY(party_planes(p, &either, all, s->x.n));
    set_hot(s, &hot, first, s->t->width[digit]);
    for (unsigned v = 1; v < all; v++) {
        const struct bits y = planes_plane(&s->t->y, row + v - 1), at = planes_plane(&hot, v);
        const struct bits to = planes_plane(&either, v);
        bits_xor(to, at, planes_plane(&hot, v - 1));
        generate[v - 1] = bits_product(planes_plane(&s->t->g, digit), y, at);
        propagate[v - 1] = bits_product(planes_plane(&s->t->p, digit), y, to);
    }
    propagate->c = OPERAND(planes_plane(&hot, all - 1));
    if (digit > 0)
        TRY(record_bits(p, propagate, all - 1));
    if (digit + 1 == s->t->digits) { /* both top bits are in g */
        TRY(party_planes(p, &tops, 2, s->x.n));
        set_hot(s, &tops, s->width - 1, 1);
        bits_xor(planes_plane(&tops, 1), planes_plane(&tops, 1),
                 planes_plane(&s->t->y, s->t->y.width - 1));
        generate->c = OPERAND(planes_plane(&tops, 1));
    }
    return record_bits(p, generate, all - 1);
}

static enum err note(struct party *p, const struct move_carries *t, struct share64 x,
                     unsigned width)
{
    struct noting s = {p, t, x, width, {NULL, NULL, 0}};
    TRY(party_bits(p, &s.one, x.n));
    bits_zero(s.one);
    bits_not(p, s.one, s.one);
    TRY(note_bits(&s));
    for (unsigned k = 0, first = 0, row = 0; k < t->digits; k++) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
        TRY(note_values(&s, row, t->width[k]));
        TRY(note_sums(&s, k, first, row));
        row += (1u << t->width[k]) - 1;
        first += t->width[k];
    }
    return ERR_OK;
}

/* --- the top bit ------------------------------------------------------------------------------ */

/*
 * How many digits the lower positions make: 8 of up to 6 bits where there are few lanes, since then
 * an exchange is worth more than bytes; else 16, or as few as there are positions.
 */
static unsigned digits_of(unsigned positions, size_t lanes)
{
    const unsigned d = (positions + 7) / 8;
    const unsigned wide = lanes <= FEW && d <= KERNEL_DIGIT ? d : (positions + 15) / 16;
    return (positions + wide - 1) / wide;
}

/* Each component's own: there is no carry. */
static void lowest_bit(const struct party *p, struct bits out, struct share64 x)
{
    kernel_slice64(p->kernel, x.a, x.n, 1, out.a, bits_words(x.n));
    kernel_slice64(p->kernel, x.b, x.n, 1, out.b, bits_words(x.n));
}

enum err compare_top_bit(struct party *p, struct bits out, struct share64 x, unsigned width)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct move_carries t = {.known = NULL};
    uint64_t *known;
    uint8_t digit[DIGITS];
    unsigned rows = 1;
    if (width == 0 || width > 64)
        return ERR_RANGE;
    if (width == 1) {
        lowest_bit(p, out, x);
        return ERR_OK;
    }
    t.digits = digits_of(width - 1, x.n);
    TRY(scratch_array(p->scratch, &known, bits_words(x.n) * width));
    for (unsigned k = 0; k < t.digits; k++) {
        digit[k] = (uint8_t)((width - 1) / t.digits + (k < (width - 1) % t.digits));
        rows += (1u << digit[k]) - 1;
    }
    t.known = known;
    t.width = digit;
    TRY(party_planes(p, &t.g, t.digits, x.n));
    TRY(party_planes(p, &t.p, t.digits, x.n));
    if (party_proves(p))
        TRY(party_planes(p, &t.y, rows, x.n));
    convert_known(p, known, width, x);
    TRY(move_carries(p, &t));
    if (party_proves(p))
        TRY(note(p, &t, x, width));
    return adder_carry(p, out, &t.g, &t.p);
}
