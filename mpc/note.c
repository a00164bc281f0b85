#include "mpc/note.h"

#include "mpc/check.h"
#include "mpc/width.h"

#include <string.h>

#define STEP ((size_t)2048) /* lanes noted at a time; a multiple of 64 */

#define WIDTH 16
#define WORD uint16_t
#include "mpc/note_body.inc"
#define WIDTH 32
#define WORD uint32_t
#include "mpc/note_body.inc"
#define WIDTH 64
#define WORD uint64_t
#include "mpc/note_body.inc"
#define WIDTH 128
#define WORD word128
#include "mpc/note_body.inc"

/* --- vectors ---------------------------------------------------------------------------------- */

static void numbers(enum ring ring, void *out, const uint64_t *bits, size_t lane, size_t n,
                    unsigned shift)
{
    if (ring == RING_16)
        numbers16(out, bits, lane, n, shift);
    else if (ring == RING_32)
        numbers32(out, bits, lane, n, shift);
    else if (ring == RING_64)
        numbers64(out, bits, lane, n, shift);
    else
        numbers128(out, bits, lane, n, shift);
}

static void add_scaled(enum ring ring, void *z, const void *x, size_t n, word128 factor)
{
    if (ring == RING_16)
        add_scaled16(z, x, n, (uint16_t)factor);
    else if (ring == RING_32)
        add_scaled32(z, x, n, (uint32_t)factor);
    else if (ring == RING_64)
        add_scaled64(z, x, n, (uint64_t)factor);
    else
        add_scaled128(z, x, n, factor);
}

static void widened(enum ring ring, void *out, const void *x, size_t n, enum ring from)
{
    if (ring == RING_16)
        widened16(out, x, n, ring_size(from));
    else if (ring == RING_32)
        widened32(out, x, n, ring_size(from));
    else if (ring == RING_64)
        widened64(out, x, n, ring_size(from));
    else
        widened128(out, x, n, ring_size(from));
}

enum err note_room(struct party *p, struct operand *x, enum ring ring, size_t n)
{
    x->a = scratch_take(p->scratch, n, ring_size(ring));
    x->b = scratch_take(p->scratch, n, ring_size(ring));
    return x->a == NULL || x->b == NULL ? ERR_NOMEM : ERR_OK;
}

static struct operand at_lane(enum ring ring, struct operand x, size_t lane)
{
    return (struct operand){(uint8_t *)x.a + lane * ring_size(ring),
                            (uint8_t *)x.b + lane * ring_size(ring)};
}

/* --- stretches of lanes ----------------------------------------------------------------------- */

/* Lanes of one part, in which this server is j + role, and so holds those components first. */
struct stretch {
    struct party *p;
    unsigned role;
    size_t lane, n;
    enum ring ring;
    struct operand z; /* what is left of the relation's right side */
};

/* Calls for all lanes, part 0 first, so that the three note alike. */
static enum err each_stretch(struct party *p, enum ring ring, size_t n,
                             enum err (*note)(const struct stretch *s, const void *self),
                             const void *self)
{
    const struct parts parts = party_parts(p, n, 64);
    const struct part of_role[3] = {parts.j, parts.j1, parts.j2};
    struct stretch s = {.p = p, .ring = ring};
    for (unsigned j = 0; j < 3; j++) {
        const struct part *part = &of_role[s.role = (p->index + 3 - j) % 3];
        for (s.lane = part->begin; s.lane < part->end; s.lane += s.n) {
            const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
            s.n = part->end - s.lane < STEP ? part->end - s.lane : STEP;
            TRY(note_room(p, &s.z, ring, s.n));
            memset(s.z.a, 0, s.n * ring_size(ring));
            memset(s.z.b, 0, s.n * ring_size(ring));
            TRY(note(&s, self));
        }
    }
    return ERR_OK;
}

/* Of what this server holds of x, component j + k alone. */
static struct operand carried(const struct stretch *s, struct operand x, unsigned k)
{
    return (struct operand){s->role == k ? x.a : NULL, (s->role + 1) % 3 == k ? x.b : NULL};
}

static enum err bit_numbers(const struct stretch *s, struct operand *out, struct bits x,
                            unsigned shift)
{
    TRY(note_room(s->p, out, s->ring, s->n));
    numbers(s->ring, out->a, x.a, s->lane, s->n, shift);
    numbers(s->ring, out->b, x.b, s->lane, s->n, shift);
    return ERR_OK;
}

static void add(const struct stretch *s, struct operand x, word128 factor)
{
    if (x.a != NULL)
        add_scaled(s->ring, s->z.a, x.a, s->n, factor);
    if (x.b != NULL)
        add_scaled(s->ring, s->z.b, x.b, s->n, factor);
}

static enum err end(const struct stretch *s, const struct check_product *products, unsigned count)
{
    return check_ring(s->p, s->ring, products, count, NULL, s->z, s->n);
}

#define MINUS(x) ((word128)0 - (x))

/* --- one bit ---------------------------------------------------------------------------------- */

struct bit {
    struct bits x;
    struct operand t, out;
};

static enum err note_t(const struct stretch *s, const void *self)
{
    const struct bit *b = self;
    struct operand x;
    TRY(bit_numbers(s, &x, b->x, 0));
    add(s, carried(s, x, 0), 1);
    add(s, carried(s, x, 1), 1);
    add(s, at_lane(s->ring, b->t, s->lane), MINUS(1));
    return end(s, &(struct check_product){carried(s, x, 0), carried(s, x, 1), 2}, 1);
}

static enum err note_out(const struct stretch *s, const void *self)
{
    const struct bit *b = self;
    const struct operand t = at_lane(s->ring, b->t, s->lane);
    struct operand x;
    TRY(bit_numbers(s, &x, b->x, 0));
    add(s, t, 1);
    add(s, carried(s, x, 2), 1);
    add(s, at_lane(s->ring, b->out, s->lane), MINUS(1));
    return end(s, &(struct check_product){carried(s, x, 2), t, 2}, 1);
}

enum err note_known(struct party *p, enum ring ring, struct bits x, struct operand t)
{
    return each_stretch(p, ring, x.n, note_t, &(struct bit){x, t, {NULL, NULL}});
}

enum err note_bit(struct party *p, enum ring ring, struct bits x, struct operand t,
                  struct operand out)
{
    TRY(note_known(p, ring, x, t));
    return each_stretch(p, ring, x.n, note_out, &(struct bit){x, t, out});
}

/* --- truncation ------------------------------------------------------------------------------- */

static enum err note_sum(const struct stretch *s, const void *self)
{
    const struct note_truncation *v = self;
    const struct operand narrow = at_lane(v->product, v->t, s->lane);
    struct operand carry_s, carry_k, lifted, w, t;
    TRY(bit_numbers(s, &carry_s, v->carry_s, 0));
    TRY(bit_numbers(s, &carry_k, v->carry_k, 0));
    TRY(bit_numbers(s, &lifted, v->carry_k, v->lift));
    TRY(bit_numbers(s, &w, v->top, v->lift));
    TRY(note_room(s->p, &t, s->ring, s->n));
    widened(s->ring, t.a, narrow.a, s->n, v->product);
    widened(s->ring, t.b, narrow.b, s->n, v->product);
    add(s, at_lane(s->ring, v->out, s->lane), 1);
    add(s, at_lane(s->ring, v->shifted, s->lane), MINUS(1));
    add(s, lifted, 1);
    add(s, carried(s, w, 2), 1);
    add(s, t, (word128)1 << v->lift);
    add(s, carry_s, MINUS(1));
    const struct check_product products[] = {
        {carried(s, carry_s, 0), carried(s, carry_s, 1), -2},
        {carried(s, lifted, 0), carried(s, carry_k, 1), 2},
        {carried(s, w, 2), t, 1},
    };
    return end(s, products, 3);
}

enum err note_truncated(struct party *p, const struct note_truncation *terms)
{
    return each_stretch(p, terms->ring, terms->n, note_sum, terms);
}

/* --- sums of numbers that bits choose --------------------------------------------------------- */

static struct operand view64(struct share64 x, size_t lane)
{
    return (struct operand){x.a + lane, x.b + lane};
}

/* V is carried by components j and j+1. */
static enum err note_product(const struct stretch *s, const void *self)
{
    const struct note_choice *c = self;
    const struct operand t = at_lane(RING_64, c->t, s->lane), v = view64(c->v, s->lane);
    struct operand sum = v;
    if (s->role == 1)
        sum.b = NULL;
    if (s->role == 2)
        sum.a = NULL;
    add(s, at_lane(RING_64, c->product, s->lane), 1);
    return end(s, &(struct check_product){t, sum, 1}, 1);
}

/* The sums of one part, of which this server has u and w where it holds component j+2. */
struct choices {
    const struct note_choice *c;
    unsigned role;
    struct part part;
    struct operand u, w, rest; /* rest: V - 2 P */
    size_t first, count;
};

/* One component, which is j + k. */
static void fill_component(const struct choices *s, unsigned k, const uint64_t *bits,
                           const uint64_t *v, const uint64_t *product, uint64_t *u, uint64_t *w,
                           uint64_t *rest)
{
    for (size_t i = s->part.begin, at = 0; i < s->part.end; i++, at++) {
        rest[at] = (k == 2 ? 0 : v[i]) - 2 * product[i];
        if (k != 2)
            continue;
        u[at] = bits[i / 64] >> i % 64 & 1;
        w[at] = (1 - 2 * u[at]) * v[i];
    }
}

/* out - sum of P + u v_(j+2), of one component */
static void right_side(const struct choices *s, unsigned k, uint64_t *z, const uint64_t *out,
                       const uint64_t *product, const uint64_t *u, const uint64_t *v)
{
    for (size_t q = 0; q < s->count; q++) {
        const size_t *start = s->c->start + s->first + q;
        z[q] = out[s->first + q];
        for (size_t i = start[0]; i < start[1]; i++)
            z[q] -= product[i] + (k == 2 ? u[i - s->part.begin] * v[i] : 0);
    }
}

static enum err note_sums(struct party *p, struct choices *s)
{
    const struct note_choice *c = s->c;
    const size_t n = s->part.end - s->part.begin;
    const unsigned ka = s->role, kb = (s->role + 1) % 3;
    size_t *start = scratch_take(p->scratch, s->count + 1, sizeof *start);
    struct operand z;
    TRY(note_room(p, &s->u, RING_64, n));
    TRY(note_room(p, &s->w, RING_64, n));
    TRY(note_room(p, &s->rest, RING_64, n));
    TRY(note_room(p, &z, RING_64, s->count));
    if (start == NULL)
        return ERR_NOMEM;
    for (size_t q = 0; q <= s->count; q++)
        start[q] = c->start[s->first + q] - s->part.begin;
    fill_component(s, ka, c->s.a, c->v.a, c->product.a, s->u.a, s->w.a, s->rest.a);
    fill_component(s, kb, c->s.b, c->v.b, c->product.b, s->u.b, s->w.b, s->rest.b);
    right_side(s, ka, z.a, c->out.a, c->product.a, s->u.a, c->v.a);
    right_side(s, kb, z.b, c->out.b, c->product.b, s->u.b, c->v.b);
    const struct operand t = at_lane(RING_64, c->t, s->part.begin);
    const struct check_product products[] = {
        {{ka == 2 ? s->u.a : NULL, kb == 2 ? s->u.b : NULL}, s->rest, 1},
        {{ka == 2 ? s->w.a : NULL, kb == 2 ? s->w.b : NULL}, t, 1},
    };
    return check_ring(p, RING_64, products, 2, start, z, s->count);
}

enum err note_choice(struct party *p, const struct note_choice *terms)
{
    const struct parts parts = party_parts(p, terms->s.n, 64);
    const struct part of_role[3] = {parts.j, parts.j1, parts.j2};
    size_t sum = 0;
    TRY(note_known(p, RING_64, terms->s, terms->t));
    TRY(each_stretch(p, RING_64, terms->s.n, note_product, terms));
    for (unsigned j = 0; j < 3; j++) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
        struct choices s = {.c = terms, .role = (p->index + 3 - j) % 3, .first = sum};
        s.part = of_role[s.role];
        while (sum < terms->out.n && terms->start[sum + 1] <= s.part.end)
            sum++;
        s.count = sum - s.first;
        TRY(note_sums(p, &s));
    }
    return ERR_OK;
}
