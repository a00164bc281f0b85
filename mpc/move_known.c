/*
 * What a server knows by itself: input, and its products with what the two others know.
 *
 * From server i's place: in part i it is j, and in the two others j+2 and j+1. So it sends an
 * arrow's message for one part and receives that of another.
 */
#include "mpc/move_private.h"
#include "mpc/width.h"

#include <string.h>

#define WIDTH 32
#define WORD uint32_t
#include "mpc/words.inc"
#define WIDTH 64
#define WORD uint64_t
#include "mpc/words.inc"
#define WIDTH 128
#define WORD word128
#include "mpc/words.inc"

#define STEP 512 /* lanes at a time */

static size_t part_lanes(struct part part)
{
    return part.end - part.begin;
}

/* --- input of bits ---------------------------------------------------------------------------- */

struct inputting {
    struct party *p;
    struct planes u;
    struct parts parts; /* in words */
};

/* The stretch of one plane of a part at word `at` of the part's planes one after the other. */
static uint64_t *stretch(uint64_t *planes, size_t n, struct part part, size_t at, size_t *words)
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

static void input_take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct inputting *c = self;
    for (size_t done = 0, k; done < n / 8; done += k) {
        const size_t at = offset / 8 + done;
        uint64_t *to = stretch(c->u.a, c->u.n, c->parts.j1, at, (k = n / 8 - done, &k));
        memcpy(to, in + 8 * done, 8 * k);
    }
}

static void zero_part(uint64_t *planes, const struct planes *u, struct part part)
{
    for (unsigned i = 0; i < u->width; i++)
        memset(planes + i * bits_words(u->n) + part.begin, 0, part_lanes(part) * sizeof *planes);
}

enum err move_input(struct party *p, struct planes u)
{
    struct inputting c = {p, u, party_parts(p, bits_words(u.n), 1)};
    const size_t j2 = u.width * part_lanes(c.parts.j2);
    const struct round round = {
        .send[NET_NEXT] = {{8 * u.width * part_lanes(c.parts.j), input_make, NULL, &c}},
        .receive[NET_PREV] = {{8 * u.width * part_lanes(c.parts.j1), NULL, input_take, &c}},
    };
    /* j+2 knows F and lacks what is sent; the component of j+1 and j+2 is 0 */
    for (size_t at = 0, k; at < j2; at += k) {
        uint64_t *mask = stretch(u.b, u.n, c.parts.j2, at, (k = SIZE_MAX, &k));
        TRY(prg_fill(p->prg[1][PRG_INPUT], mask, 8 * k));
    }
    zero_part(u.a, &u, c.parts.j2);
    zero_part(u.b, &u, c.parts.j1);
    return move_round(p, &round);
}

/* --- what is known, as words or as bits ------------------------------------------------------- */

struct knowing {
    struct party *p;
    const struct move_known *terms;
    size_t size; /* of a word */
    struct parts parts;
};

static void *lane_of(const struct knowing *c, const void *words, size_t lane)
{
    return (uint8_t *)(uintptr_t)words + lane * c->size;
}

static bool of_bits(const struct knowing *c)
{
    return c->terms->x.a != NULL;
}

/* out = `n` bits of v from lane `from` on, from lane 0 on. */
static void bits_from(uint64_t *out, const uint64_t *v, size_t from, size_t n)
{
    unsigned shift = from % 64;
    const uint64_t *at = v + from / 64;
    for (size_t i = 0; i < bits_words(n); i++) {
        out[i] = at[i] >> shift;
        if (shift != 0 && 64 * i + 64 - shift < n)
            out[i] |= at[i + 1] << (64 - shift);
    }
}

/* With b the bits as numbers: z = b - f;  z = (1 - 2 b) v - g;  z = b + g + h. */
static void bit_less(const struct knowing *c, void *z, const uint64_t *b, const void *f, size_t n)
{
    const struct kernel *k = c->p->kernel;
    if (c->terms->ring == RING_16)
        k->bit_less16(z, b, f, n);
    else if (c->terms->ring == RING_64)
        k->bit_less64(z, b, f, n);
    else
        for (size_t i = 0; i < n; i++)
            ((word128 *)z)[i] = (b[i / 64] >> i % 64 & 1) - ((const word128 *)f)[i];
}

static void bit_sign(const struct knowing *c, void *z, const uint64_t *b, const void *v,
                     const void *g, size_t n)
{
    const struct kernel *k = c->p->kernel;
    if (c->terms->ring == RING_16)
        k->bit_sign16(z, b, v, g, n);
    else if (c->terms->ring == RING_64)
        k->bit_sign64(z, b, v, g, n);
    else
        for (size_t i = 0; i < n; i++) {
            const word128 bit = b[i / 64] >> i % 64 & 1, sign = 0 - bit;
            ((word128 *)z)[i] = (((const word128 *)v)[i] ^ sign) + bit - ((const word128 *)g)[i];
        }
}

static void bit_plus(const struct knowing *c, void *z, const uint64_t *b, const void *g,
                     const void *h, size_t n)
{
    const struct kernel *k = c->p->kernel;
    if (c->terms->ring == RING_16)
        k->bit_plus16(z, b, g, h, n);
    else if (c->terms->ring == RING_64)
        k->bit_plus64(z, b, g, h, n);
    else
        for (size_t i = 0; i < n; i++)
            ((word128 *)z)[i] = (b[i / 64] >> i % 64 & 1) + ((const word128 *)g)[i] +
                                ((const word128 *)h)[i];
}

/* Of words: z = x - y;  z = x y - g;  z += x. */
static void less(const struct knowing *c, void *z, const void *x, const void *y, size_t n)
{
    if (c->terms->ring == RING_32)
        less32(z, x, y, n);
    else if (c->terms->ring == RING_64)
        less64(z, x, y, n);
    else
        less128(z, x, y, n);
}

static void times_less(const struct knowing *c, void *z, const void *x, const void *y,
                       const void *g, size_t n)
{
    if (c->terms->ring == RING_32)
        times_less32(z, x, y, g, n);
    else if (c->terms->ring == RING_64)
        times_less64(z, x, y, g, n);
    else
        times_less128(z, x, y, g, n);
}

static void add(const struct knowing *c, void *z, const void *x, size_t n)
{
    if (c->terms->ring == RING_32)
        add32(z, x, n);
    else if (c->terms->ring == RING_64)
        add64(z, x, n);
    else
        add128(z, x, n);
}

/* --- the arrows, a few lanes at a time -------------------------------------------------------- */

/* j -> j+1   a - F */
static enum err a_step(const struct knowing *c, size_t lane, void *z, size_t k)
{
    const struct bits x = c->terms->x;
    uint64_t b[STEP / 64 + 1], b2[STEP / 64 + 1];
    word128 f[STEP];
    TRY(prg_fill(c->p->prg[0][PRG_INPUT], f, k * c->size));
    if (!of_bits(c)) {
        less(c, z, lane_of(c, c->terms->known, lane), f, k);
        return ERR_OK;
    }
    bits_from(b, x.a, lane, k);
    bits_from(b2, x.b, lane, k);
    for (size_t i = 0; i < bits_words(k); i++)
        b[i] ^= b2[i];
    bit_less(c, z, b, f, k);
    return ERR_OK;
}

/* j -> j+1   r - F', and F' is component j */
static enum err rest_step(const struct knowing *c, size_t lane, void *z, size_t k)
{
    void *f = lane_of(c, c->terms->sum.a, lane);
    TRY(prg_fill(c->p->prg[0][PRG_INPUT], f, k * c->size));
    less(c, z, lane_of(c, c->terms->rest, lane), f, k);
    memcpy(lane_of(c, c->terms->sum.b, lane), z, k * c->size);
    return ERR_OK;
}

/* j+2 -> j   F b - G, which is component j; component j+2 is G + H, here G where H follows later */
static enum err first_step(const struct knowing *c, size_t lane, void *z, size_t k)
{
    uint64_t b[STEP / 64 + 1];
    word128 f[STEP], g[STEP], h[STEP];
    void *a = lane_of(c, c->terms->out.a, lane);
    TRY(prg_fill(c->p->prg[1][PRG_INPUT], f, k * c->size));
    if (of_bits(c)) {
        TRY(prg_fill(c->p->prg[0][PRG_RANDOM], g, k * c->size));
        TRY(prg_fill(c->p->prg[0][PRG_MASK], h, k * c->size));
        bits_from(b, c->terms->x.a, lane, k);
        bit_sign(c, z, b, f, g, k);
        bit_plus(c, a, b, g, h, k);
    } else {
        TRY(prg_fill(c->p->prg[0][PRG_RANDOM], a, k * c->size));
        times_less(c, z, f, lane_of(c, c->terms->known, lane), a, k);
    }
    memcpy(lane_of(c, c->terms->out.b, lane), z, k * c->size);
    return ERR_OK;
}

/* j+1 -> j   (a - F) b - H, which is component j+1; a - F stands in its place until now */
static enum err second_step(const struct knowing *c, size_t lane, void *z, size_t k)
{
    uint64_t bits[STEP / 64 + 1];
    word128 g[STEP], h[STEP];
    void *a = lane_of(c, c->terms->out.a, lane), *b = lane_of(c, c->terms->out.b, lane);
    if (of_bits(c)) {
        TRY(prg_fill(c->p->prg[1][PRG_RANDOM], g, k * c->size));
        TRY(prg_fill(c->p->prg[1][PRG_MASK], h, k * c->size));
        bits_from(bits, c->terms->x.b, lane, k);
        bit_plus(c, b, bits, g, h, k);
        bit_sign(c, z, bits, a, h, k);
    } else {
        TRY(prg_fill(c->p->prg[1][PRG_RANDOM], h, k * c->size));
        add(c, b, h, k);
        times_less(c, z, a, lane_of(c, c->terms->known, lane), h, k);
    }
    memcpy(a, z, k * c->size);
    return ERR_OK;
}

/*
 * An arrow between two roles: this server makes its message in one part, and takes it in another.
 */
struct arrow {
    const struct knowing *c;
    enum err (*step)(const struct knowing *, size_t lane, void *z, size_t k);
    size_t from, to; /* lanes in which this server sends, and receives */
    void *component; /* that takes what comes */
};

static enum err arrow_make(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct arrow *w = self;
    const size_t size = w->c->size, lanes = n / size, lane = w->from + offset / size;
    for (size_t at = 0, k; at < lanes; at += k) {
        k = lanes - at < STEP ? lanes - at : STEP;
        TRY(w->step(w->c, lane + at, out + at * size, k));
    }
    return ERR_OK;
}

static void arrow_take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct arrow *w = self;
    memcpy((uint8_t *)lane_of(w->c, w->component, w->to) + offset, in, n);
}

/* What j+1 and j+2 make alone, of words, between the rounds: the rest's components, G and H. */
static enum err between(const struct knowing *c)
{
    const struct move_known *t = c->terms;
    const struct part j1 = c->parts.j1, j2 = c->parts.j2;
    const size_t n1 = part_lanes(j1) * c->size, n2 = part_lanes(j2) * c->size;
    TRY(prg_fill(c->p->prg[1][PRG_RANDOM], lane_of(c, t->out.b, j1.begin), n1));
    for (size_t at = 0, k; at < part_lanes(j2); at += k) {
        word128 h[STEP];
        k = part_lanes(j2) - at < STEP ? part_lanes(j2) - at : STEP;
        TRY(prg_fill(c->p->prg[0][PRG_RANDOM], h, k * c->size));
        add(c, lane_of(c, t->out.a, j2.begin + at), h, k);
    }
    if (t->rest == NULL)
        return ERR_OK;
    TRY(prg_fill(c->p->prg[1][PRG_INPUT], lane_of(c, t->sum.b, j2.begin), n2));
    memcpy(lane_of(c, t->sum.a, j2.begin), lane_of(c, t->rest, j2.begin), n2);
    memcpy(lane_of(c, t->sum.b, j1.begin), lane_of(c, t->rest, j1.begin), n1);
    return ERR_OK;
}

enum err move_known(struct party *p, const struct move_known *t)
{
    const size_t size = ring_size(t->ring);
    const struct knowing c = {p, t, size, party_parts(p, t->n, t->x.a != NULL ? 64 : 1)};
    const size_t j = c.parts.j.begin, j1 = c.parts.j1.begin, j2 = c.parts.j2.begin;
    const size_t nj = part_lanes(c.parts.j) * size, nj1 = part_lanes(c.parts.j1) * size;
    const size_t nj2 = part_lanes(c.parts.j2) * size, rests = t->rest != NULL;
    struct arrow a = {&c, a_step, j, j1, t->out.a}, rest = {&c, rest_step, j, j1, t->sum.a};
    struct arrow first = {&c, first_step, j2, j, t->out.a},
                 second = {&c, second_step, j1, j, t->out.b};
    const struct round round1 = {
        .send[NET_NEXT] = {{nj, arrow_make, NULL, &a},
                           {nj * rests, arrow_make, NULL, &rest},
                           {nj2, arrow_make, NULL, &first}},
        .receive[NET_PREV] = {{nj1, NULL, arrow_take, &a},
                              {nj1 * rests, NULL, arrow_take, &rest},
                              {nj, NULL, arrow_take, &first}},
    };
    const struct round round2 = {
        .send[NET_PREV] = {{nj1, arrow_make, NULL, &second}},
        .receive[NET_NEXT] = {{nj, NULL, arrow_take, &second}},
    };
    TRY(move_round(p, &round1));
    if (!of_bits(&c))
        TRY(between(&c));
    return move_round(p, &round2);
}
