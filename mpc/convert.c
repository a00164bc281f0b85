#include "mpc/convert.h"

#include "base/memory.h"
#include "mpc/known.h"

#include <string.h>

/* Writes (or XORs) `width` planes of a part, packed closely, into the planes of all lanes. */
static void scatter(uint64_t *planes, size_t words, struct part part, unsigned width,
                    const uint64_t *from)
{
    size_t k = part.end - part.begin;
    for (unsigned i = 0; i < width; i++)
        memcpy(planes + i * words + part.begin, from + i * k, k * sizeof *from);
}

/* The low bits of up to a part's lanes of v, as closely packed planes. */
static void slice_part(const uint64_t *v, size_t n, struct part part, unsigned width,
                       uint64_t *planes)
{
    size_t begin = 64 * part.begin, end = 64 * part.end < n ? 64 * part.end : n;
    if (end > begin)
        bits_slice64(v + begin, end - begin, width, planes);
}

static enum err split(struct party *p, struct planes *u, struct planes *t, struct share64 x,
                      uint64_t *buffer, uint64_t *sum, uint64_t *mask)
{
    size_t words = bits_words(x.n);
    unsigned width = u->width;
    const struct part j = party_part(words, p->index), j2 = party_part(words, (p->index + 1) % 3),
                      j1 = party_part(words, (p->index + 2) % 3);
    size_t own = width * (j.end - j.begin), received = width * (j1.end - j1.begin);

    bits_zero(planes_flat(u));
    bits_zero(planes_flat(t));
    /* role j+2: F is known, t is component a */
    TRY(prg_fill(p->prg[1][PRG_INPUT], buffer, width * (j2.end - j2.begin) * sizeof *buffer));
    scatter(u->b, words, j2, width, buffer);
    slice_part(x.a, x.n, j2, width, buffer);
    scatter(t->a, words, j2, width, buffer);
    /* role j+1: t is component b; u's component arrives */
    slice_part(x.b, x.n, j1, width, buffer);
    scatter(t->b, words, j1, width, buffer);
    /* role j: u = a + b */
    for (size_t i = 64 * j.begin; i < 64 * j.end && i < x.n; i++)
        sum[i] = x.a[i] + x.b[i];
    slice_part(sum, x.n, j, width, buffer);
    TRY(prg_fill(p->prg[0][PRG_INPUT], mask, own * sizeof *mask));
    scatter(u->a, words, j, width, mask);
    for (size_t i = 0; i < own; i++)
        buffer[i] ^= mask[i];
    scatter(u->b, words, j, width, buffer);
    TRY(party_exchange(p, NET_NEXT, buffer, own * sizeof *buffer, NET_PREV, mask,
                       received * sizeof *mask));
    scatter(u->a, words, j1, width, mask);
    return ERR_OK;
}

enum err convert_split(struct party *p, struct planes *u, struct planes *t, struct share64 x)
{
    size_t words = (bits_words(x.n) / 3 + 1) * u->width;
    uint64_t *buffer = memory_words(words, sizeof *buffer);
    uint64_t *mask = memory_words(words, sizeof *mask);
    uint64_t *sum = memory_words(x.n, sizeof *sum);
    enum err e = buffer == NULL || mask == NULL || sum == NULL
                     ? ERR_NOMEM
                     : split(p, u, t, x, buffer, sum, mask);
    memory_wipe_free(&buffer, words * sizeof *buffer);
    memory_wipe_free(&mask, words * sizeof *mask);
    memory_wipe_free(&sum, x.n * sizeof *sum);
    return e;
}

enum err convert_to_bits(struct party *p, struct planes *out, struct share64 x)
{
    struct planes u = {0}, t = {0};
    enum err e = planes_new(&u, out->width, x.n);
    if (e == ERR_OK)
        e = planes_new(&t, out->width, x.n);
    if (e == ERR_OK)
        e = convert_split(p, &u, &t, x);
    if (e == ERR_OK)
        e = adder_add(p, *out, &u, &t, false);
    planes_free(&u);
    planes_free(&t);
    return e;
}

/* y = x + not n0 + not n1 + 2, on the ring's width: the component that servers 1 and 2 learn */
static enum err subtract_two(struct party *p, struct planes *y, const struct planes *x,
                             const struct planes *n0, const struct planes *n1)
{
    struct planes sum = {0}, carry = {0};
    enum err e = planes_new(&sum, y->width, x->n);
    if (e == ERR_OK)
        e = planes_new(&carry, y->width, x->n);
    if (e == ERR_OK)
        e = adder_save(p, &sum, &carry, x, n0, n1);
    if (e == ERR_OK) {
        bits_not(p, planes_plane(&carry, 0), planes_plane(&carry, 0));
        e = adder_add(p, *y, &sum, &carry, true);
    }
    planes_free(&sum);
    planes_free(&carry);
    return e;
}

/* Opens y to servers 1 and 2 alone; server 0 gets nothing. `value` holds a component on entry. */
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
    for (size_t i = 0; p->index != 0 && i < words; i++)
        received[i] ^= y->a[i] ^ y->b[i];
    return ERR_OK;
}

#define DEFINE_TO_RING(bits, word)                                                                 \
    static enum err to_ring##bits(struct party *p, struct share##bits out, struct planes *x,       \
                                  struct planes *n0, struct planes *n1, struct planes *y,          \
                                  uint64_t *received)                                              \
    {                                                                                              \
        size_t bytes = out.n * sizeof(word);                                                       \
        word *component[3] = {NULL, NULL, NULL};                                                   \
        component[p->index] = out.a;                                                               \
        component[(p->index + 1) % 3] = out.b;                                                     \
        if (p->index != 2)                                                                         \
            TRY(prg_fill(p->prg[0][PRG_RANDOM], out.a, bytes));                                    \
        if (p->index != 1)                                                                         \
            TRY(prg_fill(p->prg[1][PRG_RANDOM], out.b, bytes));                                    \
        if (component[0] != NULL)                                                                  \
            bits_slice##bits(component[0], out.n, bits, p->index == 0 ? n0->a : n0->b);            \
        if (component[1] != NULL)                                                                  \
            bits_slice##bits(component[1], out.n, bits, p->index == 1 ? n1->a : n1->b);            \
        bits_not(p, planes_flat(n0), planes_flat(n0));                                             \
        bits_not(p, planes_flat(n1), planes_flat(n1));                                             \
        TRY(subtract_two(p, y, x, n0, n1));                                                        \
        TRY(reveal_to_1_and_2(p, y, received));                                                    \
        if (component[2] != NULL)                                                                  \
            bits_unslice##bits(received, out.n, bits, component[2]);                               \
        return ERR_OK;                                                                             \
    }                                                                                              \
    enum err convert_to_ring##bits(struct party *p, struct share##bits out,                        \
                                   const struct planes *x)                                         \
    {                                                                                              \
        struct planes wide = {0}, n0 = {0}, n1 = {0}, y = {0};                                     \
        size_t words = bits * bits_words(out.n);                                                   \
        uint64_t *received = memory_words(words, sizeof *received);                                \
        enum err e = received == NULL ? ERR_NOMEM : planes_new(&wide, bits, out.n);                \
        if (e == ERR_OK)                                                                           \
            e = planes_new(&n0, bits, out.n);                                                      \
        if (e == ERR_OK)                                                                           \
            e = planes_new(&n1, bits, out.n);                                                      \
        if (e == ERR_OK)                                                                           \
            e = planes_new(&y, bits, out.n);                                                       \
        if (e == ERR_OK) {                                                                         \
            struct planes low = planes_view(&wide, 0, x->width);                                   \
            bits_copy(planes_flat(&low), planes_flat(x));                                          \
            e = to_ring##bits(p, out, &wide, &n0, &n1, &y, received);                              \
        }                                                                                          \
        planes_free(&wide);                                                                        \
        planes_free(&n0);                                                                          \
        planes_free(&n1);                                                                          \
        planes_free(&y);                                                                           \
        memory_wipe_free(&received, words * sizeof *received);                                     \
        return e;                                                                                  \
    }

DEFINE_TO_RING(64, uint64_t)
DEFINE_TO_RING(128, word128)

static uint64_t lane(const uint64_t *words, size_t i)
{
    return words[i / 64] >> (i % 64) & 1;
}

#define DEFINE_BIT(ring, word)                                                                     \
    static enum err bit##ring(struct party *p, struct share##ring out, struct bits x,              \
                              struct share##ring product, word *one, word *two)                    \
    {                                                                                              \
        const struct part j = party_part(x.n, p->index), j2 = party_part(x.n, (p->index + 1) % 3), \
                          j1 = party_part(x.n, (p->index + 2) % 3);                                \
        for (size_t i = j.begin; i < j.end; i++)                                                   \
            one[i] = lane(x.a, i) ^ lane(x.b, i);                                                  \
        for (size_t i = j2.begin; i < j2.end; i++)                                                 \
            two[i] = lane(x.a, i);                                                                 \
        for (size_t i = j1.begin; i < j1.end; i++)                                                 \
            two[i] = lane(x.b, i);                                                                 \
        TRY(known_product##ring(p, product, out, one, two, NULL, (struct share##ring){0}));        \
        for (size_t i = j2.begin; i < j2.end; i++)                                                 \
            out.a[i] += two[i];                                                                    \
        for (size_t i = j1.begin; i < j1.end; i++)                                                 \
            out.b[i] += two[i];                                                                    \
        for (size_t i = 0; i < x.n; i++) {                                                         \
            out.a[i] -= 2 * product.a[i];                                                          \
            out.b[i] -= 2 * product.b[i];                                                          \
        }                                                                                          \
        return ERR_OK;                                                                             \
    }                                                                                              \
    enum err convert_bit##ring(struct party *p, struct share##ring out, struct bits x)             \
    {                                                                                              \
        struct share##ring product = {0};                                                          \
        word *one = memory_words(x.n, sizeof *one), *two = memory_words(x.n, sizeof *two);         \
        enum err e = one == NULL || two == NULL ? ERR_NOMEM : share##ring##_new(&product, x.n);    \
        if (e == ERR_OK)                                                                           \
            e = bit##ring(p, out, x, product, one, two);                                           \
        share##ring##_free(&product);                                                              \
        memory_wipe_free(&one, x.n * sizeof *one);                                                 \
        memory_wipe_free(&two, x.n * sizeof *two);                                                 \
        return e;                                                                                  \
    }

DEFINE_BIT(64, uint64_t)
DEFINE_BIT(128, word128)
