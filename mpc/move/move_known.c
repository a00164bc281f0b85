/*
 * What a server knows by itself: input, and its products with what the two others know.
 *
 * From server i's point of view: it is j in part i, and j+2 and j+1 in the two others. So it sends
 * an arrow's message for one part and receives that of another.
 */
#include "mpc/kernel/words.h"
#include "mpc/move/move_private.h"
#include "mpc/move/record.h"

#include <string.h>

#define STEP 512 /* lanes at a time; a multiple of 64 */

/* --- input of bits ---------------------------------------------------------------------------- */

struct inputting {
    struct party *p;
    struct planes u;
    struct party_parts parts; /* in words */
};

/* The stretch of one plane that begins at word `at` of the part's planes, taken end to end. */
static uint64_t *stretch(uint64_t *planes, size_t n, struct party_part part, size_t at,
                         size_t *words)
{
    size_t k = part_lanes(part), left = k - at % k;
    *words = left < *words ? left : *words;
    return planes + at / k * bits_words(n) + part.begin + at % k;
}

/* j -> j+1: v is masked as it leaves */
static enum err input_make(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct inputting *c = self;
    for (size_t done = 0, k; done < n / 8; done += k) {
        const size_t at = offset / 8 + done;
        uint64_t *mask = stretch(c->u.a, c->u.n, c->parts.j, at, (k = n / 8 - done, &k));
        uint64_t *bits = stretch(c->u.b, c->u.n, c->parts.j, at, &k);
        TRY(prg_fill(c->p->prg[0][PRG_INPUT], mask, 8 * k));
        c->p->kernel->xor_bits(bits, bits, mask, k);
        memcpy(out + 8 * done, bits, 8 * k);
    }
    return ERR_OK;
}

static enum err input_take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct inputting *c = self;
    for (size_t done = 0, k; done < n / 8; done += k) {
        const size_t at = offset / 8 + done;
        uint64_t *to = stretch(c->u.a, c->u.n, c->parts.j1, at, (k = n / 8 - done, &k));
        memcpy(to, in + 8 * done, 8 * k);
    }
    return ERR_OK;
}

static void zero_part(uint64_t *planes, const struct planes *u, struct party_part part)
{
    for (unsigned i = 0; i < u->width; i++)
        memset(planes + i * bits_words(u->n) + part.begin, 0, part_lanes(part) * sizeof *planes);
}

enum err move_input(struct party *p, struct planes u)
{
    struct inputting c = {p, u, party_parts(p, bits_words(u.n), 1)};
    const size_t j2 = u.width * part_lanes(c.parts.j2);
    const struct move_exchange exchange = {
        .send[NET_NEXT] = {{8 * u.width * part_lanes(c.parts.j), input_make, NULL, &c, false}},
        .receive[NET_PREV] = {{8 * u.width * part_lanes(c.parts.j1), NULL, input_take, &c, false}},
    };
    /* j+2 knows F and lacks what is sent; the component of j+1 and j+2 is 0 */
    for (size_t at = 0, k; at < j2; at += k) {
        uint64_t *mask = stretch(u.b, u.n, c.parts.j2, at, (k = SIZE_MAX, &k));
        TRY(prg_fill(p->prg[1][PRG_INPUT], mask, 8 * k));
    }
    zero_part(u.a, &u, c.parts.j2);
    zero_part(u.b, &u, c.parts.j1);
    TRY(RECORD(p, ERR_OK, say(p, RECORD_INPUT, u.n, u.width, 0)));
    return move_exchange(p, &exchange);
}

/* --- a bit that j knows, a bit that the others know ------------------------------------------- */

struct known_knowing {
    struct party *p;
    const struct move_known *terms;
    size_t size, product; /* of a word of the ring, and of the ring in which products are made */
};

/*
 * This server's role in one part of the lanes. What it needs only there is made a step at a time,
 * in order, as soon as a message that it sends or receives asks for it: both holders of a key draw
 * in the same steps.
 */
struct known_role {
    const struct known_knowing *c;
    enum err (*step)(const struct known_role *r, size_t lane, size_t n);
    struct party_part part;
    size_t made;   /* lane up to which that is done */
    uint8_t *sent; /* what goes to another as words of the product's ring */
};

static void *lane_of(const struct known_knowing *c, const void *words, size_t lane)
{
    return (uint8_t *)(uintptr_t)words + lane * c->size;
}

/* Part of the shares of T, where they are asked for. */
static void keep_share(const struct known_knowing *c, bool b, size_t lane, const void *words,
                       size_t n)
{
    uint8_t *to = b ? c->terms->shares.b : c->terms->shares.a;
    if (to != NULL)
        memcpy(to + lane * c->product, words, n * c->product);
}

static void *sent_at(const struct known_role *r, size_t lane)
{
    return r->sent + (lane - r->part.begin) * r->c->product;
}

static enum err reach(struct known_role *r, size_t lane)
{
    for (size_t n; r->made < lane; r->made += n) {
        n = r->part.end - r->made < STEP ? r->part.end - r->made : STEP;
        TRY(r->step(r, r->made, n));
    }
    return ERR_OK;
}

/* z = b - f - g, with b the bits as numbers; without b they are 0. */
static void less(const struct known_knowing *c, void *z, const uint64_t *b, const void *f,
                 const void *g, size_t n)
{
    static const uint64_t none[STEP / 64];
    const struct kernel *k = c->p->kernel;
    b = b == NULL ? none : b;
    if (c->product == 2)
        k->bit_less16(z, b, f, g, n);
    else if (c->product == 4)
        k->bit_less32(z, b, f, g, n);
    else if (c->product == 8)
        k->bit_less64(z, b, f, g, n);
    else
        for (size_t i = 0; i < n; i++)
            ((word128 *)z)[i] = (b[i / 64] >> i % 64 & 1) - ((const word128 *)f)[i] -
                                ((const word128 *)g)[i];
}

/* z = (1 - 2 u) v + g */
static void sign(const struct known_knowing *c, void *z, const uint64_t *u, const void *v,
                 const void *g, size_t n)
{
    const struct kernel *k = c->p->kernel;
    if (c->product == 2)
        k->bit_sign16(z, u, v, g, n);
    else if (c->product == 8)
        k->bit_sign64(z, u, v, g, n);
    else
        for (size_t i = 0; i < n; i++) {
            const word128 bit = u[i / 64] >> i % 64 & 1;
            ((word128 *)z)[i] = (((const word128 *)v)[i] ^ (0 - bit)) + bit +
                                ((const word128 *)g)[i];
        }
}

/* z = u v + g */
static void times(const struct known_knowing *c, void *z, const uint64_t *u, const void *v,
                  const void *g, size_t n)
{
    const struct kernel *k = c->p->kernel;
    if (c->product == 2)
        k->bit_times16(z, u, v, g, n);
    else if (c->product == 4)
        k->bit_times32(z, u, v, g, n);
    else if (c->product == 8)
        k->bit_times64(z, u, v, g, n);
    else
        for (size_t i = 0; i < n; i++)
            ((word128 *)z)[i] = (((const word128 *)v)[i] &
                                 (0 - (word128)(u[i / 64] >> i % 64 & 1))) +
                                ((const word128 *)g)[i];
}

/* out = out + 2^shift z, from words of `narrow` bytes to words of `wide` */
static inline void lift_sizes(uint8_t *out, size_t wide, const uint8_t *z, size_t narrow,
                              unsigned shift, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        word128 sum = 0, v = 0;
        memcpy(&sum, out + i * wide, wide);
        memcpy(&v, z + i * narrow, narrow);
        sum += v << shift;
        memcpy(out + i * wide, &sum, wide);
    }
}

static void lift(const struct known_knowing *c, void *out, const void *z, size_t n)
{
    const unsigned shift = c->terms->shift;
    if (c->size == 4)
        lift_sizes(out, 4, z, 2, shift, n);
    else if (c->size == 8 && c->product == 4)
        lift_sizes(out, 8, z, 4, shift, n);
    else if (c->size == 8)
        lift_sizes(out, 8, z, 8, shift, n);
    else if (c->product == 8)
        lift_sizes(out, 16, z, 8, shift, n);
    else
        lift_sizes(out, 16, z, 16, shift, n);
}

/* j: a - F - F'; from what is added, c - F'', which stays in its place; both are components */
static enum err step_j(const struct known_role *r, size_t lane, size_t n)
{
    const struct known_knowing *c = r->c;
    const struct move_known *t = c->terms;
    void *a = lane_of(c, t->out.a, lane), *added = lane_of(c, t->added, lane);
    word128 f[STEP], f1[STEP];
    TRY(prg_fill(c->p->prg[0][PRG_INPUT], f, n * c->product));
    TRY(prg_fill(c->p->prg[1][PRG_MASK], f1, n * c->product));
    keep_share(c, false, lane, f, n);
    keep_share(c, true, lane, f1, n);
    less(c, sent_at(r, lane), t->known + lane / 64, f, f1, n);
    if (t->added == NULL)
        return ERR_OK;
    TRY(prg_fill(c->p->prg[0][PRG_INPUT], a, n * c->size));
    words_subtract(t->ring, added, a, n);
    memcpy(lane_of(c, t->out.b, lane), added, n * c->size);
    return ERR_OK;
}

/*
 * What both others make: component j+2 except for m b. `own` is their mask for the product with f,
 * which they send.
 */
static enum err step_other(const struct known_role *r, size_t lane, size_t n,
                           struct prg *known_to_j, struct prg *unknown_to_j, void *common,
                           bool second)
{
    const struct known_knowing *c = r->c;
    const struct move_known *t = c->terms;
    const uint64_t *u = t->known + lane / 64;
    word128 f[STEP], g[STEP], h[STEP];
    TRY(prg_fill(known_to_j, f, n * c->product));
    keep_share(c, !second, lane, f, n);
    TRY(prg_fill(unknown_to_j, g, n * c->product));
    TRY(prg_fill(unknown_to_j, h, n * c->product));
    if (t->added == NULL) {
        sign(c, sent_at(r, lane), u, f, second ? h : g, n);
        less(c, lane_of(c, common, lane), u, g, h, n);
        return ERR_OK;
    }
    times(c, sent_at(r, lane), u, f, second ? h : g, n);
    memcpy(lane_of(c, common, lane), lane_of(c, t->added, lane), n * c->size);
    less(c, f, NULL, g, h, n);
    lift(c, lane_of(c, common, lane), f, n);
    return ERR_OK;
}

/* j+1: F' b + H, component j+1; where something is added its other part comes from j */
static enum err step_j1(const struct known_role *r, size_t lane, size_t n)
{
    const struct known_knowing *c = r->c;
    const struct move_operand out = c->terms->out;
    TRY(step_other(r, lane, n, c->p->prg[0][PRG_MASK], c->p->prg[1][PRG_RANDOM], out.b, true));
    if (c->terms->added == NULL)
        return ERR_OK;
    memset(lane_of(c, out.a, lane), 0, n * c->size);
    lift(c, lane_of(c, out.a, lane), sent_at(r, lane), n);
    return ERR_OK;
}

/* j+2: F b + G, component j, with F'' where something is added */
static enum err step_j2(const struct known_role *r, size_t lane, size_t n)
{
    const struct known_knowing *c = r->c;
    const struct move_operand out = c->terms->out;
    TRY(step_other(r, lane, n, c->p->prg[1][PRG_INPUT], c->p->prg[0][PRG_RANDOM], out.a, false));
    if (c->terms->added == NULL)
        return ERR_OK;
    TRY(prg_fill(c->p->prg[1][PRG_INPUT], lane_of(c, out.b, lane), n * c->size));
    lift(c, lane_of(c, out.b, lane), sent_at(r, lane), n);
    return ERR_OK;
}

/* --- the arrows ------------------------------------------------------------------------------- */

/* m, or a product */
static enum err send_words(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct known_role *r = self;
    TRY(reach(r, r->part.begin + (offset + n) / r->c->product));
    memcpy(out, r->sent + offset, n);
    return ERR_OK;
}

/* c - F'' */
static enum err send_added(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct known_role *r = self;
    const struct known_knowing *c = r->c;
    TRY(reach(r, r->part.begin + (offset + n) / c->size));
    memcpy(out, (uint8_t *)lane_of(c, c->terms->added, r->part.begin) + offset, n);
    return ERR_OK;
}

/* What arrives becomes part of a component of this server's. */
struct known_arrival {
    struct known_role *role;
    void *component;
};

static enum err take_m(void *self, size_t offset, const uint8_t *in, size_t n)
{
    static const word128 none[STEP];
    const struct known_arrival *v = self;
    const struct known_knowing *c = v->role->c;
    size_t lane = v->role->part.begin + offset / c->product, lanes = n / c->product;
    TRY(reach(v->role, lane + lanes));
    keep_share(c, v->role->step == step_j1, lane, in, lanes);
    for (size_t k; lanes > 0; lanes -= k, lane += k, in += k * c->product) {
        void *out = lane_of(c, v->component, lane);
        uint64_t u[STEP / 64];
        word128 z[STEP];
        k = lanes < STEP ? lanes : STEP;
        words_bits_from(u, c->terms->known, lane, k);
        if (c->terms->added == NULL) {
            sign(c, out, u, in, out, k);
            continue;
        }
        times(c, z, u, in, none, k);
        lift(c, out, z, k);
    }
    return ERR_OK;
}

static enum err take_product(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct known_arrival *v = self;
    const struct known_knowing *c = v->role->c;
    const size_t lane = v->role->part.begin + offset / c->product, lanes = n / c->product;
    if (c->terms->added == NULL) {
        memcpy(lane_of(c, v->component, lane), in, n);
        return ERR_OK;
    }
    TRY(reach(v->role, lane + lanes));
    lift(c, lane_of(c, v->component, lane), in, lanes);
    return ERR_OK;
}

static enum err take_added(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct known_arrival *v = self;
    const struct known_knowing *c = v->role->c;
    const size_t lane = v->role->part.begin + offset / c->size, lanes = n / c->size;
    TRY(reach(v->role, lane + lanes));
    words_add(c->terms->ring, lane_of(c, v->component, lane), in, lanes);
    return ERR_OK;
}

/* Room for what is sent: where nothing is added, products are components as they are. */
static enum err make_room(const struct known_knowing *c, struct known_role *role[3])
{
    const struct move_known *t = c->terms;
    for (unsigned k = 0; k < 3; k++) {
        struct known_role *r = role[k];
        r->made = r->part.begin;
        if (k > 0 && t->added == NULL)
            r->sent = lane_of(c, k == 1 ? t->out.a : t->out.b, r->part.begin);
        else
            TRY(scratch_take(c->p->scratch, &r->sent, part_lanes(r->part), c->product));
    }
    return ERR_OK;
}

enum err move_known(struct party *p, const struct move_known *t)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct party_parts parts = party_parts(p, t->n, 64);
    const struct known_knowing c = {p, t, ring_size(t->ring),
                                    ring_size(t->added != NULL ? t->product : t->ring)};
    struct known_role j = {&c, step_j, .part = parts.j}, j1 = {&c, step_j1, .part = parts.j1},
                      j2 = {&c, step_j2, .part = parts.j2};
    struct known_arrival product_j2 = {&j, t->out.a}, product_j1 = {&j, t->out.b};
    struct known_arrival m_j1 = {&j1, t->out.b}, m_j2 = {&j2, t->out.a}, added = {&j1, t->out.a};
    const size_t nj = part_lanes(parts.j), nj1 = part_lanes(parts.j1), nj2 = part_lanes(parts.j2);
    const size_t more = t->added != NULL ? c.size : 0;
    const struct move_exchange exchange = {
        .send[NET_NEXT] = {{nj * more, send_added, NULL, &j, false},
                           {nj * c.product, send_words, NULL, &j, true},
                           {nj2 * c.product, send_words, NULL, &j2, false}},
        .send[NET_PREV] = {{nj * c.product, send_words, NULL, &j, true},
                           {nj1 * c.product, send_words, NULL, &j1, false}},
        .receive[NET_PREV] = {{nj1 * more, NULL, take_added, &added, false},
                              {nj1 * c.product, NULL, take_m, &m_j1, true},
                              {nj * c.product, NULL, take_product, &product_j2, false}},
        .receive[NET_NEXT] = {{nj2 * c.product, NULL, take_m, &m_j2, true},
                              {nj * c.product, NULL, take_product, &product_j1, false}},
    };
    if (party_proves(p) && t->shares.a == NULL) /* nobody could note what it must be */
        return ERR_MISUSE;
    TRY(make_room(&c, (struct known_role *[]){&j, &j1, &j2}));
    return move_exchange(p, &exchange);
}
