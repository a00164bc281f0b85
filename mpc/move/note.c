#include "mpc/move/note.h"

#include "mpc/kernel/width.h"
#include "mpc/kernel/words.h"
#include "mpc/move/record.h"

#define STEP ((size_t)1024) /* lanes noted at a time; a multiple of 64 */

/* What one component of a truncation's right side is made of; w may be NULL, for zeros. */
struct right {
    const void *out, *shifted, *t;
    const uint64_t *carry_s, *carry_k, *w;
};

#define WIDTH 32
#define HALF uint16_t
#include "mpc/move/note_body.inc"
#define WIDTH 64
#define HALF uint32_t
#include "mpc/move/note_body.inc"
#define WIDTH 128
#define HALF uint64_t
#include "mpc/move/note_body.inc"

/* --- vectors ---------------------------------------------------------------------------------- */

enum err note_room(struct party *p, struct move_operand *x, enum share_ring ring, size_t n)
{
    TRY(scratch_take(p->scratch, &x->a, n, ring_size(ring)));
    return scratch_take(p->scratch, &x->b, n, ring_size(ring));
}

static struct move_operand at_lane(enum share_ring ring, struct move_operand x, size_t lane)
{
    return (struct move_operand){(uint8_t *)x.a + lane * ring_size(ring),
                                 (uint8_t *)x.b + lane * ring_size(ring)};
}

/* --- stretches of lanes ----------------------------------------------------------------------- */

/* Lanes of one part, in which this server is j + role: so its component a is j + role. */
struct note_stretch {
    struct party *p;
    unsigned role;
    size_t lane, n;
    enum share_ring ring;
    struct move_operand z; /* the relation's right side */
};

/* Calls `note` for all lanes, part 0 first, so that the three servers note the same. */
static enum err each_stretch(struct party *p, enum share_ring ring, size_t n,
                             enum err (*note)(const struct note_stretch *s, const void *self),
                             const void *self)
{
    const struct party_parts parts = party_parts(p, n, 64);
    const struct party_part of_role[3] = {parts.j, parts.j1, parts.j2};
    struct note_stretch s = {.p = p, .ring = ring};
    for (unsigned j = 0; j < 3; j++) {
        const struct party_part *part = &of_role[s.role = (p->index + 3 - j) % 3];
        for (s.lane = part->begin; s.lane < part->end; s.lane += s.n) {
            const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
            s.n = part->end - s.lane < STEP ? part->end - s.lane : STEP;
            TRY(note_room(p, &s.z, ring, s.n));
            TRY(note(&s, self));
        }
    }
    return ERR_OK;
}

/* Bits of a stretch, as they are shared; and what this server holds of component j + k alone. */
static struct move_operand bits_here(const struct note_stretch *s, struct bits x)
{
    return (struct move_operand){x.a + s->lane / 64, x.b + s->lane / 64};
}

static struct move_operand carried(const struct note_stretch *s, struct bits x, unsigned k)
{
    const struct move_operand all = bits_here(s, x);
    return (struct move_operand){s->role == k ? all.a : NULL,
                                 (s->role + 1) % 3 == k ? all.b : NULL};
}

/* The same, without component j + k. */
static struct move_operand all_but(const struct note_stretch *s, struct bits x, unsigned k)
{
    const struct move_operand all = bits_here(s, x);
    return (struct move_operand){s->role == k ? NULL : all.a,
                                 (s->role + 1) % 3 == k ? NULL : all.b};
}

/* c 2^shift times the bits x_j and x_(j+1) */
static struct record_product of_bits(const struct note_stretch *s, struct bits x, int64_t c,
                                     unsigned shift)
{
    return (struct record_product){.x = carried(s, x, 0),
                                   .y = carried(s, x, 1),
                                   .c = c,
                                   .form = RECORD_BOTH,
                                   .shift = shift,
                                   .narrow = RING_BITS};
}

/* c 2^shift times the bit x_(j+2) and a number */
static struct record_product of_choice(const struct note_stretch *s, struct bits x,
                                       enum share_ring ring, struct move_operand y, int64_t c,
                                       unsigned shift)
{
    return (struct record_product){.x = carried(s, x, 2),
                                   .y = at_lane(ring, y, s->lane),
                                   .c = c,
                                   .form = RECORD_CHOICE,
                                   .shift = shift,
                                   .narrow = ring};
}

static enum err end(const struct note_stretch *s, const struct record_product *products,
                    unsigned count)
{
    return record_numbers(s->p, s->ring,
                          &(struct record_sums){.products = products, .count = count}, s->z, s->n);
}

/* --- one bit ---------------------------------------------------------------------------------- */

struct bit {
    struct bits x;
    struct move_operand t, out;
};

static enum err note_t(const struct note_stretch *s, const void *self)
{
    const struct bit *b = self;
    const struct move_operand t = at_lane(s->ring, b->t, s->lane), x = all_but(s, b->x, 2);
    const struct record_product product = of_bits(s, b->x, 2, 0);
    words_add_bits(s->ring, s->z.a, NULL, x.a, t.a, s->n);
    words_add_bits(s->ring, s->z.b, NULL, x.b, t.b, s->n);
    return end(s, &product, 1);
}

static enum err note_out(const struct note_stretch *s, const void *self)
{
    const struct bit *b = self;
    const struct move_operand t = at_lane(s->ring, b->t, s->lane), u = carried(s, b->x, 2);
    const struct move_operand out = at_lane(s->ring, b->out, s->lane);
    const struct record_product product = of_choice(s, b->x, s->ring, b->t, 2, 0);
    words_add_bits(s->ring, s->z.a, t.a, u.a, out.a, s->n);
    words_add_bits(s->ring, s->z.b, t.b, u.b, out.b, s->n);
    return end(s, &product, 1);
}

enum err note_known(struct party *p, enum share_ring ring, struct bits x, struct move_operand t)
{
    return each_stretch(p, ring, x.n, note_t, &(struct bit){x, t, {NULL, NULL}});
}

enum err note_bit(struct party *p, enum share_ring ring, struct bits x, struct move_operand t,
                  struct move_operand out)
{
    TRY(note_known(p, ring, x, t));
    return each_stretch(p, ring, x.n, note_out, &(struct bit){x, t, out});
}

/* --- truncation ------------------------------------------------------------------------------- */

/* One component of the right side. */
static void right_of(const struct note_stretch *s, const struct note_truncation *v, void *z,
                     const struct right *of)
{
    if (s->ring == RING_32)
        truncated32(z, of, ring_size(v->product), v->lift, s->n);
    else if (s->ring == RING_64)
        truncated64(z, of, ring_size(v->product), v->lift, s->n);
    else
        truncated128(z, of, ring_size(v->product), v->lift, s->n);
}

static enum err note_sum(const struct note_stretch *s, const void *self)
{
    const struct note_truncation *v = self;
    const struct move_operand out = at_lane(s->ring, v->out, s->lane), w = carried(s, v->top, 2);
    const struct move_operand shifted = at_lane(s->ring, v->shifted, s->lane);
    const struct move_operand t = at_lane(v->product, v->t, s->lane);
    const struct move_operand carry_s = bits_here(s, v->carry_s),
                              carry_k = bits_here(s, v->carry_k);
    right_of(s, v, s->z.a, &(struct right){out.a, shifted.a, t.a, carry_s.a, carry_k.a, w.a});
    right_of(s, v, s->z.b, &(struct right){out.b, shifted.b, t.b, carry_s.b, carry_k.b, w.b});
    const struct record_product products[] = {
        of_bits(s, v->carry_s, -2, 0),
        of_bits(s, v->carry_k, 2, v->lift),
        of_choice(s, v->top, v->product, v->t, 1, v->lift),
    };
    return end(s, products, 3);
}

enum err note_truncated(struct party *p, const struct note_truncation *terms)
{
    return each_stretch(p, terms->ring, terms->n, note_sum, terms);
}

/* --- sums of numbers that bits choose --------------------------------------------------------- */

static struct move_operand view64(struct share64 x, size_t lane)
{
    return (struct move_operand){x.a + lane, x.b + lane};
}

/* V is carried by components j and j+1. */
static enum err note_product(const struct note_stretch *s, const void *self)
{
    const struct note_choice *c = self;
    const struct move_operand t = at_lane(RING_64, c->t, s->lane), v = view64(c->v, s->lane);
    struct move_operand sum = v;
    if (s->role == 1)
        sum.b = NULL;
    if (s->role == 2)
        sum.a = NULL;
    const struct record_product product = {t, sum, .c = 1};
    return record_numbers(s->p, RING_64, &(struct record_sums){.products = &product, .count = 1},
                          at_lane(RING_64, c->product, s->lane), s->n);
}

/* The sums of one part, of which this server has u and w where it holds component j+2. */
struct choices {
    const struct note_choice *c;
    unsigned role;
    struct party_part part;
    struct move_operand u, w, rest; /* rest: V - 2 P */
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
    size_t *start;
    struct move_operand z;
    TRY(scratch_array(p->scratch, &start, s->count + 1));
    TRY(note_room(p, &s->u, RING_64, n));
    TRY(note_room(p, &s->w, RING_64, n));
    TRY(note_room(p, &s->rest, RING_64, n));
    TRY(note_room(p, &z, RING_64, s->count));
    for (size_t q = 0; q <= s->count; q++)
        start[q] = c->start[s->first + q] - s->part.begin;
    fill_component(s, ka, c->s.a, c->v.a, c->product.a, s->u.a, s->w.a, s->rest.a);
    fill_component(s, kb, c->s.b, c->v.b, c->product.b, s->u.b, s->w.b, s->rest.b);
    right_side(s, ka, z.a, c->out.a, c->product.a, s->u.a, c->v.a);
    right_side(s, kb, z.b, c->out.b, c->product.b, s->u.b, c->v.b);
    const struct move_operand t = at_lane(RING_64, c->t, s->part.begin);
    const struct record_product products[] = {
        {{ka == 2 ? s->u.a : NULL, kb == 2 ? s->u.b : NULL}, s->rest, .c = 1},
        {{ka == 2 ? s->w.a : NULL, kb == 2 ? s->w.b : NULL}, t, .c = 1},
    };
    return record_numbers(p, RING_64,
                          &(struct record_sums){.products = products, .count = 2, .start = start},
                          z, s->count);
}

enum err note_choice(struct party *p, const struct note_choice *terms)
{
    const struct party_parts parts = party_parts(p, terms->s.n, 64);
    const struct party_part of_role[3] = {parts.j, parts.j1, parts.j2};
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
