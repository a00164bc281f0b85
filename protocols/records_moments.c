#include "protocols/records.h"

#include "mpc/check/check.h"
#include "mpc/check/check_matrix.h"
#include "protocols/records_sum.h"

#include <string.h>

/*
 * What is summed is the product of the scores' planes with themselves, R rows on both sides. One of
 * two equal cells is enough: in strips of rows, strip s has all columns from its first row on.
 */
#define STRIP ((size_t)64)
#define TILE_BYTES ((size_t)4 << 20)
#define TILE_LEAST ((size_t)2048)

struct moments {
    struct records_scores scores;
    size_t rows;  /* R */
    size_t *pair; /* of each pair of attributes: where its sums begin */
    size_t *from; /* of each strip: its first cell; and how many there are */
    struct share64 out;
    struct check_plans checks; /* where there is a check */
};

static size_t strips_of(const struct moments *m)
{
    return (m->rows + STRIP - 1) / STRIP;
}

static size_t strip_rows(const struct moments *m, size_t strip)
{
    return m->rows - strip * STRIP < STRIP ? m->rows - strip * STRIP : STRIP;
}

/* Cell (v, w) of a strip, v one of its rows and w from its first on. */
static size_t cell_of(const struct moments *m, size_t v, size_t w)
{
    const size_t strip = v / STRIP, first = strip * STRIP;
    return m->from[strip] + (v - first) * (m->rows - first) + (w - first);
}

static enum err strips_new(struct party *p, struct moments *m)
{
    const size_t strips = strips_of(m);
    TRY(scratch_array(p->scratch, &m->from, strips + 1));
    m->from[0] = 0;
    for (size_t s = 0; s < strips; s++)
        m->from[s + 1] = m->from[s] + strip_rows(m, s) * (m->rows - s * STRIP);
    return ERR_OK;
}

/* --- a block ---------------------------------------------------------------------------------- */

static enum err add_tile(struct party *lane, const struct records_sums *s,
                         const struct records_block *b, size_t from, size_t n, uint16_t *parts)
{
    const struct moments *m = s->self;
    uint16_t *side;
    TRY(scratch_array(lane->scratch, &side, m->rows * n));
    for (size_t v = 0; v < m->rows; v++)
        move_part_side(lane, side + v * n, share16_view(b->number, v * b->n + from, n));
    for (size_t k = 0; k < strips_of(m); k++) {
        const uint16_t *first = side + k * STRIP * n;
        move_part_matrix(lane, parts + m->from[k], first, first, strip_rows(m, k),
                         m->rows - k * STRIP, n);
    }
    return ERR_OK;
}

/* The whole matrix, from its strips. */
static void unfold(const struct moments *m, const uint16_t *cells, uint16_t *whole)
{
    for (size_t v = 0; v < m->rows; v++)
        for (size_t w = v; w < m->rows; w++)
            whole[v * m->rows + w] = whole[w * m->rows + v] = cells[cell_of(m, v, w)];
}

static void fold(const struct moments *m, const uint16_t *whole, uint16_t *cells)
{
    for (size_t k = 0; k < strips_of(m); k++)
        for (size_t v = k * STRIP; v < k * STRIP + strip_rows(m, k); v++)
            memcpy(cells + cell_of(m, v, k * STRIP), whole + v * m->rows + k * STRIP,
                   (m->rows - k * STRIP) * sizeof *cells);
}

/*
 * A check proves all cells of the product of two sides whose rows weigh differently. Both sides are
 * the block as it stands.
 */
static enum err settle_checked(struct party *p, const struct moments *m,
                               const struct records_block *b, const uint16_t *parts,
                               struct share16 cells)
{
    const struct share16 sides[2] = {b->number, b->number};
    const struct check_tile tile = {b->n, sides, NULL};
    struct check_matrices of = {.plans = &m->checks, .tile = &tile, .tiles = 1};
    uint16_t *whole;
    TRY(scratch_array(p->scratch, &whole, m->rows * m->rows));
    TRY(party_share16(p, &of.z, m->rows * m->rows));
    unfold(m, parts, whole);
    TRY(move_settle(p, RING_16, OPERAND(of.z), whole, of.z.n,
                    &(struct record_sums){.matrices = &of}));
    fold(m, of.z.a, cells.a);
    fold(m, of.z.b, cells.b);
    return ERR_OK;
}

static enum err settle(struct party *p, const struct records_sums *s, const struct records_block *b,
                       uint16_t *parts, struct share16 cells)
{
    const struct moments *m = s->self;
    if (party_proves(p))
        return settle_checked(p, m, b, parts, cells);
    return move_settle(p, RING_16, OPERAND(cells), parts, cells.n, NULL);
}

/* --- moments of counts ------------------------------------------------------------------------ */

/* Where columns i < j stand among all pairs of d. */
static size_t pair_of(size_t d, size_t i, size_t j)
{
    return i * d - i * (i + 1) / 2 + j - i - 1;
}

/* Row v's cells among the sums, from the next row on. */
static void take_row(const struct records_sums *s, size_t v, size_t from, struct share64 sums)
{
    const struct moments *m = s->self;
    const struct records_scores *scores = &m->scores;
    const size_t at = cell_of(m, v, v);
    for (size_t w = v + 1; w < m->rows; w++) {
        const size_t cell = at + (w - v), i = scores->of[v], j = scores->of[w];
        const uint64_t weight = (uint64_t)scores->weight[v] * (uint64_t)scores->weight[w];
        size_t to;
        if (i == j || cell < from || cell >= from + sums.n)
            continue;
        to = m->pair[pair_of(s->shape->attributes, i, j)] + scores->in[v] * scores->groups[j] +
             scores->in[w];
        m->out.a[to] += weight * sums.a[cell - from];
        m->out.b[to] += weight * sums.b[cell - from];
    }
}

static void take(const struct records_sums *s, size_t from, struct share64 sums)
{
    const struct moments *m = s->self;
    for (size_t v = 0; v < m->rows; v++)
        take_row(s, v, from, sums);
}

/* Records of a tile: as many as there is memory for. */
static size_t tile_length(const struct moments *m)
{
    const size_t n = TILE_BYTES / sizeof(uint16_t) / m->rows / 64 * 64;
    return n < TILE_LEAST ? TILE_LEAST : n;
}

static enum err pairs_new(struct party *p, struct moments *m, size_t d)
{
    size_t at = 0, pair = 0;
    TRY(scratch_array(p->scratch, &m->pair, d * (d - 1) / 2));
    for (size_t i = 0; i < d; i++)
        for (size_t j = i + 1; j < d; j++) {
            m->pair[pair++] = at;
            at += m->scores.groups[i] * m->scores.groups[j];
        }
    return at == m->out.n ? ERR_OK : ERR_MISUSE;
}

enum err records_moments(struct party *p, const struct records_shape *shape,
                         const struct records_batch *batches, size_t count,
                         const int64_t *const *score, const int64_t *const *group,
                         struct share64 out)
{
    static const struct check_pair same = {0, 1};
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct moments m = {.out = out};
    TRY(records_scores_new(p, &m.scores, shape, score, group));
    m.rows = m.scores.row[shape->attributes];
    if (m.rows == 0)
        return ERR_OK; /* all scores are 0 */
    const size_t rows[2] = {m.rows, m.rows};
    TRY(pairs_new(p, &m, shape->attributes));
    TRY(strips_new(p, &m));
    m.checks = (struct check_plans){.rows = rows, .sides = 2, .pair = &same, .pairs = 1};
    if (party_proves(p))
        TRY(check_plans(p, &m.checks));
    return records_sum(p,
                       &(const struct records_sums){.shape = shape,
                                                    .scores = &m.scores,
                                                    .parts = m.from[strips_of(&m)],
                                                    .cells = m.from[strips_of(&m)],
                                                    .tile = tile_length(&m),
                                                    .add = add_tile,
                                                    .settle = settle,
                                                    .take = take,
                                                    .self = &m},
                       batches, count);
}
