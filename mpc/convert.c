#include "mpc/convert.h"

#include "mpc/ring.h"

#include <string.h>

#define STEP 512 /* lanes at a time, where words are made on the stack */

/*
 * The three parts of all lanes, in words of planes: in `j` this server knows x_j + x_(j+1), in `j2`
 * it is server j+2, in `j1` server j+1 of whom does.
 */
struct parts {
    struct part j, j2, j1;
    size_t lanes; /* in all */
};

static struct parts parts_of(const struct party *p, size_t n)
{
    size_t words = bits_words(n);
    return (struct parts){party_part(words, p->index), party_part(words, (p->index + 1) % 3),
                          party_part(words, (p->index + 2) % 3), n};
}

static size_t part_words(struct part part)
{
    return part.end - part.begin;
}

/* The lanes of a part: 64 a word but for the last of all. */
static size_t part_lanes(const struct parts *s, struct part part)
{
    size_t end = 64 * part.end < s->lanes ? 64 * part.end : s->lanes;
    return end > 64 * part.begin ? end - 64 * part.begin : 0;
}

/* --- numbers to bits -------------------------------------------------------------------------- */

struct splitting {
    struct party *p;
    struct planes *u, *t;
    struct parts s;
    unsigned digits; /* planes of digits; those above hold products of two */
};

/* The stretch of one plane of a part at word `at` of the part's planes one after the other. */
static uint64_t *stretch(uint64_t *planes, size_t n, struct part part, size_t at, size_t *words)
{
    size_t k = part_words(part), left = k - at % k;
    *words = left < *words ? left : *words;
    return planes + at / k * bits_words(n) + part.begin + at % k;
}

/* u.b holds the bits of x_j + x_(j+1) in part j; they are masked as they leave. */
static enum err split_produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct splitting *c = self;
    for (size_t done = 0, k; done < n / 8; done += k) {
        uint64_t *mask = stretch(c->u->a, c->u->n, c->s.j, offset / 8 + done,
                                 (k = n / 8 - done, &k));
        uint64_t *bits = stretch(c->u->b, c->u->n, c->s.j, offset / 8 + done, &k);
        TRY(prg_fill(c->p->prg[0][PRG_INPUT], mask, 8 * k));
        c->p->kernel->exclusive(bits, bits, mask, k);
        memcpy(out + 8 * done, bits, 8 * k);
    }
    return ERR_OK;
}

static enum err split_consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct splitting *c = self;
    for (size_t done = 0, k; done < n / 8; done += k) {
        uint64_t *to = stretch(c->u->a, c->u->n, c->s.j1, offset / 8 + done,
                               (k = n / 8 - done, &k));
        memcpy(to, in + 8 * done, 8 * k);
    }
    return ERR_OK;
}

static void zero_part(uint64_t *planes, size_t n, struct part part, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        memset(planes + i * bits_words(n) + part.begin, 0, part_words(part) * sizeof *planes);
}

static void slice_part(const struct splitting *c, const uint64_t *v, struct part part,
                       uint64_t *planes)
{
    kernel_slice64(c->p->kernel, v + 64 * part.begin, part_lanes(&c->s, part), c->digits,
                   planes + part.begin, bits_words(c->u->n));
}

/* The products of digits in a part that is known. */
static void pair_part(const struct splitting *c, struct part part, uint64_t *planes)
{
    const size_t stride = bits_words(c->u->n);
    for (unsigned k = 0; c->digits + k < c->u->width; k++) {
        const uint64_t *low = planes + 2 * k * stride, *high = low + stride;
        uint64_t *to = planes + (c->digits + k) * stride;
        for (size_t w = part.begin; w < part.end; w++)
            to[w] = low[w] & high[w];
    }
}

/* The bits of a + b in part j, a few lanes at a time. */
static void slice_sum(const struct splitting *c, struct share64 x)
{
    const size_t from = 64 * c->s.j.begin, lanes = part_lanes(&c->s, c->s.j);
    uint64_t sum[STEP];
    for (size_t at = 0; at < lanes; at += STEP) {
        size_t k = lanes - at < STEP ? lanes - at : STEP;
        for (size_t i = 0; i < k; i++)
            sum[i] = x.a[from + at + i] + x.b[from + at + i];
        kernel_slice64(c->p->kernel, sum, k, c->digits, c->u->b + (from + at) / 64,
                       bits_words(x.n));
    }
}

enum err convert_split(struct party *p, struct planes *u, struct planes *t, struct share64 x)
{
    return convert_split_pairs(p, u, t, u->width, x);
}

enum err convert_split_pairs(struct party *p, struct planes *u, struct planes *t, unsigned digits,
                             struct share64 x)
{
    struct splitting c = {p, u, t, parts_of(p, x.n), digits};
    const unsigned width = u->width;
    const struct net_flow flow = {
        .to = NET_NEXT,
        .from = NET_PREV,
        .send_size = width * part_words(c.s.j) * sizeof(uint64_t),
        .receive_size = width * part_words(c.s.j1) * sizeof(uint64_t),
        .produce = split_produce,
        .consume = split_consume,
        .self = &c,
    };
    slice_sum(&c, x);
    pair_part(&c, c.s.j, u->b);
    zero_part(t->a, x.n, c.s.j, width);
    zero_part(t->b, x.n, c.s.j, width);
    /* where this is j+2: F is known, t is component a */
    zero_part(u->a, x.n, c.s.j2, width);
    zero_part(t->b, x.n, c.s.j2, width);
    slice_part(&c, x.a, c.s.j2, t->a);
    pair_part(&c, c.s.j2, t->a);
    for (size_t at = 0, k; at < width * part_words(c.s.j2); at += k) {
        uint64_t *mask = stretch(u->b, x.n, c.s.j2, at, (k = SIZE_MAX, &k));
        TRY(prg_fill(p->prg[1][PRG_INPUT], mask, 8 * k));
    }
    /* where this is j+1: t is component b, u's component a arrives */
    zero_part(u->b, x.n, c.s.j1, width);
    zero_part(t->a, x.n, c.s.j1, width);
    slice_part(&c, x.b, c.s.j1, t->b);
    pair_part(&c, c.s.j1, t->b);
    return party_stream(p, &flow);
}

enum err convert_to_bits(struct party *p, struct planes *out, struct share64 x)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct planes u, t;
    enum err e = party_planes(p, &u, out->width, x.n);
    if (e == ERR_OK)
        e = party_planes(p, &t, out->width, x.n);
    if (e == ERR_OK)
        e = convert_split(p, &u, &t, x);
    if (e == ERR_OK)
        e = adder_add(p, *out, &u, &t, false);
    scratch_release(p->scratch, mark);
    return e;
}

/* --- bits to numbers -------------------------------------------------------------------------- */

/* y = x + not n0 + not n1 + 2, on the ring's width: the component that servers 1 and 2 learn */
static enum err subtract_two(struct party *p, struct planes *y, const struct planes *x,
                             const struct planes *n0, const struct planes *n1)
{
    struct planes sum, carry;
    TRY(party_planes(p, &sum, y->width, x->n));
    TRY(party_planes(p, &carry, y->width, x->n));
    TRY(adder_save(p, &sum, &carry, x, n0, n1));
    bits_not(p, planes_plane(&carry, 0), planes_plane(&carry, 0));
    return adder_add(p, *y, &sum, &carry, true);
}

/* Opens y to servers 1 and 2 alone; server 0 gets nothing. */
static enum err reveal_to_1_and_2(struct party *p, struct planes *y, uint64_t *received)
{
    size_t words = y->width * bits_words(y->n), bytes = words * sizeof *received;
    struct net_round r = {0};
    if (p->index == 0)
        r = (struct net_round){.send = {[NET_NEXT] = y->a, [NET_PREV] = y->b},
                               .send_size = {bytes, bytes}};
    else {
        enum net_peer from = p->index == 1 ? NET_PREV : NET_NEXT;
        r.receive[from] = received;
        r.receive_size[from] = bytes;
    }
    TRY(net_exchange(p->net, &r));
    if (p->index == 0)
        return ERR_OK;
    party_secret(p, received, bytes);
    p->kernel->exclusive(received, received, y->a, words);
    p->kernel->exclusive(received, received, y->b, words);
    return ERR_OK;
}

/* The complement of a component that both of its holders drew: zero in the other two. */
static void not_of(struct party *p, struct planes *n)
{
    bits_not(p, planes_flat(n), planes_flat(n));
}

#define DEFINE_TO_RING(bits, word)                                                                 \
    static enum err to_ring##bits(struct party *p, struct share##bits out, const struct planes *x) \
    {                                                                                              \
        const size_t words = bits_words(out.n);                                                    \
        struct planes wide, n0, n1, y;                                                             \
        uint64_t *received = scratch_take(p->scratch, words, bits * sizeof *received);             \
        word *component[3] = {NULL, NULL, NULL};                                                   \
        if (received == NULL)                                                                      \
            return ERR_NOMEM;                                                                      \
        TRY(party_planes(p, &wide, bits, out.n));                                                  \
        TRY(party_planes(p, &n0, bits, out.n));                                                    \
        TRY(party_planes(p, &n1, bits, out.n));                                                    \
        TRY(party_planes(p, &y, bits, out.n));                                                     \
        bits_zero(planes_flat(&wide));                                                             \
        bits_zero(planes_flat(&n0));                                                               \
        bits_zero(planes_flat(&n1));                                                               \
        memcpy(wide.a, x->a, x->width *words * sizeof *x->a);                                      \
        memcpy(wide.b, x->b, x->width *words * sizeof *x->b);                                      \
        component[p->index] = out.a;                                                               \
        component[(p->index + 1) % 3] = out.b;                                                     \
        if (p->index != 2)                                                                         \
            TRY(prg_fill(p->prg[0][PRG_RANDOM], out.a, out.n * sizeof(word)));                     \
        if (p->index != 1)                                                                         \
            TRY(prg_fill(p->prg[1][PRG_RANDOM], out.b, out.n * sizeof(word)));                     \
        if (component[0] != NULL)                                                                  \
            kernel_slice##bits(p->kernel, component[0], out.n, bits, p->index == 0 ? n0.a : n0.b,  \
                               words);                                                             \
        if (component[1] != NULL)                                                                  \
            kernel_slice##bits(p->kernel, component[1], out.n, bits, p->index == 1 ? n1.a : n1.b,  \
                               words);                                                             \
        not_of(p, &n0);                                                                            \
        not_of(p, &n1);                                                                            \
        TRY(subtract_two(p, &y, &wide, &n0, &n1));                                                 \
        TRY(reveal_to_1_and_2(p, &y, received));                                                   \
        if (component[2] != NULL)                                                                  \
            kernel_unslice##bits(p->kernel, received, words, out.n, bits, component[2]);           \
        return ERR_OK;                                                                             \
    }                                                                                              \
    enum err convert_to_ring##bits(struct party *p, struct share##bits out,                        \
                                   const struct planes *x)                                         \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        enum err e = to_ring##bits(p, out, x);                                                     \
        scratch_release(p->scratch, mark);                                                         \
        return e;                                                                                  \
    }

DEFINE_TO_RING(64, uint64_t)
DEFINE_TO_RING(128, word128)

/* --- one bit to a number ---------------------------------------------------------------------- */

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

static void bit_less128(word128 *out, const uint64_t *b, const word128 *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (b[i / 64] >> i % 64 & 1) - f[i];
}

static void bit_sign128(word128 *out, const uint64_t *b, const word128 *v, const word128 *g,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        word128 bit = b[i / 64] >> i % 64 & 1;
        out[i] = (v[i] ^ (0 - bit)) + bit - g[i];
    }
}

static void bit_plus128(word128 *out, const uint64_t *b, const word128 *g, const word128 *h,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (b[i / 64] >> i % 64 & 1) + g[i] + h[i];
}

#define BIT_16(p, name) (p)->kernel->name##16
#define BIT_32(p, name) (p)->kernel->name##32
#define BIT_64(p, name) (p)->kernel->name##64
#define BIT_128(p, name) name##128

/*
 * Round 1: bytes to the next server are first t - F of part j, then (1 - 2u) F - G of part j2; what
 * comes is a - F of part j1, kept in out.a until round 2, then component j of part j.
 */
#define DEFINE_BIT(ring, word)                                                                     \
    struct bit##ring {                                                                             \
        struct party *p;                                                                           \
        struct share##ring out;                                                                    \
        struct bits x;                                                                             \
        struct parts s;                                                                            \
    };                                                                                             \
    /* `k` lanes of part j from `lane` on */                                                       \
    static enum err input##ring(struct bit##ring *c, size_t lane, word *out, size_t k)             \
    {                                                                                              \
        uint64_t b[STEP / 64 + 1], b2[STEP / 64 + 1];                                              \
        word f[STEP];                                                                              \
        TRY(prg_fill(c->p->prg[0][PRG_INPUT], f, k * sizeof(word)));                               \
        bits_from(b, c->x.a, lane, k);                                                             \
        bits_from(b2, c->x.b, lane, k);                                                            \
        for (size_t i = 0; i < bits_words(k); i++)                                                 \
            b[i] ^= b2[i];                                                                         \
        BIT_##ring(c->p, bit_less)(out, b, f, k);                                                  \
        return ERR_OK;                                                                             \
    }                                                                                              \
    /* of part j2 */                                                                               \
    static enum err first##ring(struct bit##ring *c, size_t lane, word *out, size_t k)             \
    {                                                                                              \
        uint64_t b[STEP / 64 + 1];                                                                 \
        word f[STEP], g[STEP], h[STEP];                                                            \
        TRY(prg_fill(c->p->prg[1][PRG_INPUT], f, k * sizeof(word)));                               \
        TRY(prg_fill(c->p->prg[0][PRG_RANDOM], g, k * sizeof(word)));                              \
        TRY(prg_fill(c->p->prg[0][PRG_MASK], h, k * sizeof(word)));                                \
        bits_from(b, c->x.a, lane, k);                                                             \
        BIT_##ring(c->p, bit_sign)(out, b, f, g, k);                                               \
        BIT_##ring(c->p, bit_plus)(c->out.a + lane, b, g, h, k);                                   \
        memcpy(c->out.b + lane, out, k * sizeof(word));                                            \
        return ERR_OK;                                                                             \
    }                                                                                              \
    /* of part j1, in round 2 */                                                                   \
    static enum err second##ring(struct bit##ring *c, size_t lane, word *out, size_t k)            \
    {                                                                                              \
        uint64_t b[STEP / 64 + 1];                                                                 \
        word g[STEP], h[STEP];                                                                     \
        TRY(prg_fill(c->p->prg[1][PRG_RANDOM], g, k * sizeof(word)));                              \
        TRY(prg_fill(c->p->prg[1][PRG_MASK], h, k * sizeof(word)));                                \
        bits_from(b, c->x.b, lane, k);                                                             \
        BIT_##ring(c->p, bit_plus)(c->out.b + lane, b, g, h, k);                                   \
        BIT_##ring(c->p, bit_sign)(out, b, c->out.a + lane, h, k);                                 \
        memcpy(c->out.a + lane, out, k * sizeof(word));                                            \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static enum err steps##ring(struct bit##ring *c,                                               \
                                enum err (*step)(struct bit##ring *, size_t, word *, size_t),      \
                                size_t lane, uint8_t *out, size_t n)                               \
    {                                                                                              \
        word words[STEP];                                                                          \
        for (size_t at = 0, k; at < n; at += k) {                                                  \
            k = n - at < STEP ? n - at : STEP;                                                     \
            TRY(step(c, lane + at, words, k));                                                     \
            memcpy(out + at * sizeof(word), words, k * sizeof(word));                              \
        }                                                                                          \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static enum err round1_produce##ring(void *self, size_t offset, uint8_t *out, size_t n)        \
    {                                                                                              \
        struct bit##ring *c = self;                                                                \
        size_t at = offset / sizeof(word), end = at + n / sizeof(word);                            \
        size_t mine = part_lanes(&c->s, c->s.j), split = end < mine ? end : mine;                  \
        if (at < split) {                                                                          \
            TRY(steps##ring(c, input##ring, 64 * c->s.j.begin + at, out, split - at));             \
            out += (split - at) * sizeof(word);                                                    \
            at = split;                                                                            \
        }                                                                                          \
        return steps##ring(c, first##ring, 64 * c->s.j2.begin + (at - mine), out, end - at);       \
    }                                                                                              \
    static enum err round1_consume##ring(void *self, size_t offset, const uint8_t *in, size_t n)   \
    {                                                                                              \
        struct bit##ring *c = self;                                                                \
        size_t bytes = part_lanes(&c->s, c->s.j1) * sizeof(word);                                  \
        size_t k = offset >= bytes ? 0 : bytes - offset < n ? bytes - offset : n;                  \
        memcpy((uint8_t *)(c->out.a + 64 * c->s.j1.begin) + (k > 0 ? offset : 0), in, k);          \
        memcpy((uint8_t *)(c->out.a + 64 * c->s.j.begin) + (offset + k - bytes) * (k < n), in + k, \
               n - k);                                                                             \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static enum err round2_produce##ring(void *self, size_t offset, uint8_t *out, size_t n)        \
    {                                                                                              \
        struct bit##ring *c = self;                                                                \
        size_t at = offset / sizeof(word);                                                         \
        return steps##ring(c, second##ring, 64 * c->s.j1.begin + at, out, n / sizeof(word));       \
    }                                                                                              \
    static enum err round2_consume##ring(void *self, size_t offset, const uint8_t *in, size_t n)   \
    {                                                                                              \
        struct bit##ring *c = self;                                                                \
        memcpy((uint8_t *)(c->out.b + 64 * c->s.j.begin) + offset, in, n);                         \
        return ERR_OK;                                                                             \
    }                                                                                              \
    enum err convert_bit##ring(struct party *p, struct share##ring out, struct bits x)             \
    {                                                                                              \
        struct bit##ring c = {p, out, x, parts_of(p, x.n)};                                        \
        const size_t j = part_lanes(&c.s, c.s.j) * sizeof(word);                                   \
        const size_t j2 = part_lanes(&c.s, c.s.j2) * sizeof(word);                                 \
        const size_t j1 = part_lanes(&c.s, c.s.j1) * sizeof(word);                                 \
        const struct net_flow first = {.to = NET_NEXT,                                             \
                                       .from = NET_PREV,                                           \
                                       .send_size = j + j2,                                        \
                                       .receive_size = j1 + j,                                     \
                                       .produce = round1_produce##ring,                            \
                                       .consume = round1_consume##ring,                            \
                                       .self = &c};                                                \
        const struct net_flow second = {.to = NET_PREV,                                            \
                                        .from = NET_NEXT,                                          \
                                        .send_size = j1,                                           \
                                        .receive_size = j,                                         \
                                        .produce = round2_produce##ring,                           \
                                        .consume = round2_consume##ring,                           \
                                        .self = &c};                                               \
        TRY(party_stream(p, &first));                                                              \
        return party_stream(p, &second);                                                           \
    }

DEFINE_BIT(16, uint16_t)
DEFINE_BIT(32, uint32_t)
DEFINE_BIT(64, uint64_t)
DEFINE_BIT(128, word128)

#define DEFINE_TIMES(width)                                                                        \
    enum err convert_bit_times##width(struct party *p, struct share##width out, struct bits b,     \
                                      struct share##width v)                                       \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        struct share##width number;                                                                \
        enum err e = party_share##width(p, &number, out.n);                                        \
        if (e == ERR_OK)                                                                           \
            e = convert_bit##width(p, number, b);                                                  \
        if (e == ERR_OK)                                                                           \
            e = ring##width##_multiply(p, out, number, v);                                         \
        scratch_release(p->scratch, mark);                                                         \
        return e;                                                                                  \
    }

DEFINE_TIMES(32)
DEFINE_TIMES(64)
