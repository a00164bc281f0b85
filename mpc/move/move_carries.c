/*
 * What a carry needs from the digits of two numbers that are added: server j knows one, the two
 * others know the other. mpc/move/move.h has the arrows.
 *
 * With a the digit of j's number, b that of the others', N = 2^d, and y(v) = [a + v >= N], y(0) =
 * 0, y(N) = 1: a carry comes out where y(b) is 1, and goes through where y(b + 1) is and y(b) is
 * not. So b chooses among bits that j knows, and can choose in each share of these by itself.
 */
#include "mpc/move/move_private.h"

#include <string.h>

#define BLOCK 8 /* words at a time */

struct carrying {
    struct party *p;
    const struct move_carries *t;
    size_t stride; /* words of a plane */
    unsigned
        rows; /* bits of j's that are shared: y(1) .. y(N - 1) of each digit, and the top bit */
    unsigned sums; /* g of each digit, then p of all but the lowest */
};

/* --- blocks of words -------------------------------------------------------------------------- */

/* Rows of `words` words each: what j knows, from `first` on in the known planes. */
static void known_rows(const struct carrying *c, size_t first, size_t words, uint64_t *row)
{
    const uint64_t *bits = c->t->known + first;
    for (unsigned k = 0; k < c->t->digits; k++) {
        const unsigned d = c->t->width[k], all = 1u << d;
        for (unsigned b = 0, half = 1; b < d; b++, half *= 2, bits += c->stride)
            for (unsigned v = half; v-- > 0;) {
                /* [a >= v] of b bits, v from 1 on, stands in the row of y(N - v) */
                uint64_t *low = row + (all - v - 1) * words, *high = low - half * words;
                for (size_t w = 0; w < words; w++) {
                    const uint64_t at_least = v == 0 ? UINT64_MAX : low[w];
                    high[w] = at_least & bits[w];
                    if (v > 0)
                        low[w] = at_least | bits[w];
                }
            }
        row += (all - 1) * words;
    }
    memcpy(row, bits, words * sizeof *row);
}

/*
 * The sums that the others' digits choose from rows, `words` words each. `last` is set for the rows
 * that include the constant 1.
 */
static void choose(const struct carrying *c, const uint64_t *row, size_t first, size_t words,
                   bool last, uint64_t *sum)
{
    const unsigned digits = c->t->digits;
    const uint64_t *bits = c->t->known + first;
    uint64_t unused[BLOCK];
    for (unsigned k = 0; k < digits; k++) {
        uint64_t *p = k == 0 ? unused : sum + (digits + k - 1) * words;
        c->p->kernel->digit(sum + k * words, p, row, words, c->t->width[k], bits, c->stride, words,
                            last);
        row += ((1u << c->t->width[k]) - 1) * words;
        bits += c->t->width[k] * c->stride;
    }
    for (size_t w = 0; w < words; w++)
        sum[(digits - 1) * words + w] ^= row[w] ^ (last ? bits[w] : 0);
}

/* Adds sums of a block to one component of the planes. */
static void add_sums(const struct carrying *c, bool b, size_t first, size_t words,
                     const uint64_t *sum)
{
    const unsigned digits = c->t->digits;
    for (unsigned k = 0; k < c->sums; k++, sum += words) {
        const struct planes *to = k < digits ? &c->t->g : &c->t->p;
        const size_t plane = k < digits ? k : k - digits + 1;
        uint64_t *at = (b ? to->b : to->a) + plane * c->stride + first;
        for (size_t w = 0; w < words; w++)
            at[w] ^= sum[w];
    }
}

/* Keeps one component of a block's rows, as shares of what j knows, where that is asked for. */
static void keep_rows(const struct carrying *c, bool b, size_t first, size_t words,
                      const uint64_t *row)
{
    uint64_t *to = b ? c->t->y.b : c->t->y.a;
    for (unsigned k = 0; to != NULL && k < c->rows; k++)
        memcpy(to + k * c->stride + first, row + k * words, words * sizeof *to);
}

/* --- what is made before the exchange, and after it ------------------------------------------- */

/* This server's role in a part: rows or sums of its words, block by block. */
struct carries_role {
    struct party_part part; /* words */
    uint64_t *rows;         /* m: sent by j, received by the others */
    uint64_t *sums; /* sent by one of the others; at j: what comes from j+2, then from j+1 */
};

static enum err make_rows(const struct carrying *c, const struct carries_role *j, uint64_t *room)
{
    uint64_t *m = j->rows;
    for (size_t at = j->part.begin, n; at < j->part.end; at += n, m += c->rows * n) {
        const size_t left = j->part.end - at, words = n = left < BLOCK ? left : BLOCK;
        known_rows(c, at, words, m);
        for (unsigned side = 0; side < 2; side++) {
            struct prg *prg = c->p->prg[side][side == 0 ? PRG_INPUT : PRG_MASK];
            TRY(prg_fill(prg, room, c->rows * words * sizeof *room));
            c->p->kernel->xor_bits(m, m, room, c->rows * words);
            keep_rows(c, side == 1, at, words, room);
        }
    }
    return ERR_OK;
}

/* f of key_j or key_(j+1), which chooses what is sent; the masks are of key_(j+2). */
static enum err make_sums(const struct carrying *c, const struct carries_role *r, bool second,
                          uint64_t *room)
{
    struct prg *f = second ? c->p->prg[0][PRG_MASK] : c->p->prg[1][PRG_INPUT];
    struct prg *masks = c->p->prg[second][PRG_RANDOM];
    uint64_t *sum = r->sums, *mask = room + c->rows * BLOCK;
    for (size_t at = r->part.begin, n; at < r->part.end; at += n, sum += c->sums * n) {
        const size_t left = r->part.end - at, words = n = left < BLOCK ? left : BLOCK;
        TRY(prg_fill(f, room, c->rows * words * sizeof *room));
        TRY(prg_fill(masks, mask, 2 * c->sums * words * sizeof *mask));
        keep_rows(c, !second, at, words, room);
        choose(c, room, at, words, false, sum);
        c->p->kernel->xor_bits(sum, sum, mask + (second ? c->sums * words : 0), c->sums * words);
        add_sums(c, !second, at, words, sum);
        add_sums(c, second, at, words, mask);
        add_sums(c, second, at, words, mask + c->sums * words);
    }
    return ERR_OK;
}

/* Component j+2, once m is there. */
static void use_rows(const struct carrying *c, const struct carries_role *r, bool second,
                     uint64_t *room)
{
    const uint64_t *m = r->rows;
    for (size_t at = r->part.begin, n; at < r->part.end; at += n, m += c->rows * n) {
        n = r->part.end - at < BLOCK ? r->part.end - at : BLOCK;
        keep_rows(c, second, at, n, m);
        choose(c, m, at, n, true, room);
        add_sums(c, second, at, n, room);
    }
}

static void use_sums(const struct carrying *c, const struct carries_role *j)
{
    for (unsigned b = 0; b < 2; b++) {
        const uint64_t *sum = j->sums + b * c->sums * part_lanes(j->part);
        for (size_t at = j->part.begin, n; at < j->part.end; at += n, sum += c->sums * n) {
            n = j->part.end - at < BLOCK ? j->part.end - at : BLOCK;
            add_sums(c, b == 1, at, n, sum);
        }
    }
}

/* --- the arrows ------------------------------------------------------------------------------- */

static enum err carries(const struct carrying *c, struct carries_role *j, struct carries_role *j1,
                        struct carries_role *j2)
{
    struct party *p = c->p;
    struct carries_role *const role[] = {j, j1, j2};
    uint64_t *room;
    TRY(scratch_array(p->scratch, &room, BLOCK * (c->rows + 2 * c->sums)));
    for (unsigned k = 0; k < 3; k++) {
        const size_t n = part_lanes(role[k]->part);
        TRY(scratch_array(p->scratch, &role[k]->rows, n * c->rows));
        TRY(scratch_array(p->scratch, &role[k]->sums, n * c->sums * (k == 0 ? 2 : 1)));
    }
    TRY(make_rows(c, j, room));
    TRY(make_sums(c, j1, true, room));
    TRY(make_sums(c, j2, false, room));
    const size_t nj = 8 * part_lanes(j->part), nj1 = 8 * part_lanes(j1->part),
                 nj2 = 8 * part_lanes(j2->part);
    struct move_message rows = move_whole(j->rows, c->rows * nj), rows_j1, rows_j2;
    rows_j1 = move_kept(j1->rows, c->rows * nj1);
    rows_j2 = move_kept(j2->rows, c->rows * nj2);
    rows.both = rows_j1.both = rows_j2.both = true;
    const struct move_exchange exchange = {
        .send[NET_NEXT] = {rows, move_whole(j2->sums, c->sums * nj2)},
        .send[NET_PREV] = {rows, move_whole(j1->sums, c->sums * nj1)},
        .receive[NET_PREV] = {rows_j1, move_kept(j->sums, c->sums * nj)},
        .receive[NET_NEXT] = {rows_j2,
                              move_kept(j->sums + c->sums * part_lanes(j->part), c->sums * nj)},
    };
    TRY(move_exchange(p, &exchange));
    use_sums(c, j);
    use_rows(c, j1, true, room);
    use_rows(c, j2, false, room);
    return ERR_OK;
}

static struct party_part in_words(struct party_part lanes)
{
    return (struct party_part){bits_words(lanes.begin), bits_words(lanes.end)};
}

enum err move_carries(struct party *p, const struct move_carries *t)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct party_parts parts = party_parts(p, t->g.n, 64);
    struct carrying c = {
        .p = p, .t = t, .stride = bits_words(t->g.n), .rows = 1, .sums = 2 * t->digits - 1};
    struct carries_role j = {.part = in_words(parts.j)}, j1 = {.part = in_words(parts.j1)},
                        j2 = {.part = in_words(parts.j2)};
    for (unsigned k = 0; k < t->digits; k++) {
        c.rows += (1u << t->width[k]) - 1;
        memset(t->g.a + k * c.stride, 0, c.stride * sizeof *t->g.a);
        memset(t->g.b + k * c.stride, 0, c.stride * sizeof *t->g.b);
        memset(t->p.a + k * c.stride, 0, c.stride * sizeof *t->p.a);
        memset(t->p.b + k * c.stride, 0, c.stride * sizeof *t->p.b);
    }
    return carries(&c, &j, &j1, &j2);
}
