#include "mpc/check/check_prime.h"

#include <string.h>

static enum err claim_matrices(struct check_prime *n, struct prg *weights)
{
    TRY(check_fold_pairs(n->p, &n->folded[0], n->matrices, weights));
    TRY(check_fold_made(n->p, &n->folded[1], n->matrices, weights));
    TRY(claims_of_matrices(n->p, &n->claims[CLAIMS_PAIRS], &n->folded[0]));
    return claims_of_matrices(n->p, &n->claims[CLAIMS_MADE], &n->folded[1]);
}

/* Counts the products that claims are sums of, and the blocks that they fill. */
static enum err count_elements(struct check_prime *n)
{
    size_t count;
    for (unsigned k = 0; k < 2; k++)
        for (size_t part = 0; part < n->folded[k].count; part++)
            n->strips += n->folded[k].f[part].n / (KERNEL_HALF * KERNEL_STRIP);
    count = n->strips * PRIME_BLOCK + n->log->products;
    n->blocks = count / PRIME_BLOCK + (count % PRIME_BLOCK != 0);
    return count > 2 * NUMBERS_MOST ? ERR_RANGE : ERR_OK;
}

enum err check_prime_claim(struct check_prime *n, struct prg *weights, struct prime_beside *beside)
{
    TRY(claims_new(n->p, n->claims, n->matrices != NULL, &n->words));
    TRY(claims_weigh(n->claims, weights));
    TRY(claims_make(n->p, n->claims));
    if (n->matrices != NULL)
        TRY(claim_matrices(n, weights));
    TRY(count_elements(n));
    n->due = n->words > 0 ? DUE_CHOOSE : DUE_NOTHING;
    *beside = (struct prime_beside){n->claims->claim[0], n->claims->claim[1],
                                    n->words * sizeof(uint64_t)};
    return ERR_OK;
}

static enum err choose(struct check_prime *n, struct prg *weights)
{
    uint64_t y, kappa;
    TRY(prime_choose(&n->field, weights));
    TRY(prime_draw(&n->field, weights, &y, 1));
    claims_settle(n->claims);
    for (unsigned kind = 0; kind < CLAIMS_KINDS; kind++) {
        if (n->claims[kind].words == 0)
            continue;
        TRY(prime_draw(&n->field, weights, &kappa, 1));
        claims_at(&n->claims[kind], &n->field, y, kappa, n->z);
    }
    claims_less_z(n->claims, n->log, &n->field, n->z);
    check_prime_columns(n);
    return ERR_OK;
}

/* --- points ----------------------------------------------------------------------------------- */

static void divide_sums(const struct check_prime *n, struct prime_sums *sums)
{
    const uint64_t p = n->field.p, by = n->p->index == 2 ? p - 1 : (p + 1) / 2;
    uint64_t *words = sums->point;
    for (size_t i = 0; i < sizeof *sums / sizeof *words; i++)
        words[i] = prime_times(&n->field, words[i], by);
}

/*
 * A summand by one product (docs/protocols.md): that of u, v is (n u_i + d u_(i+1)) (n v_i + d
 * v_(i+1)) / n d, with n, d = 2, 1 at server 0; 1, 2 at 1; 1, -1 at 2. So n_j / d_j + d_(j-1) /
 * n_(j-1) = 1. Sums are divided when they are complete.
 */
static void make_side(const struct check_prime *n, const uint64_t *a, const uint64_t *b,
                      size_t words, uint64_t *side)
{
    n->p->kernel->number_side(side, a, b, words, n->p->index, n->field.p,
                              n->field.reciprocal >> 32);
}

static void make_sides(const struct check_prime *n, const struct prime_view *block, uint64_t *u,
                       uint64_t *v)
{
    static const uint64_t zeros[PRIME_BLOCK];
    const uint64_t *x[4];
    for (unsigned k = 0; k < 4; k++)
        x[k] = block->x[k] != NULL ? block->x[k] : zeros;
    make_side(n, x[0], x[1], PRIME_BLOCK, u);
    make_side(n, x[2], x[3], PRIME_BLOCK, v);
}

/* Whether neither side is zero. */
static bool has_products(const struct prime_view *block)
{
    return (block->x[0] != NULL || block->x[1] != NULL) &&
           (block->x[2] != NULL || block->x[3] != NULL);
}

/* Sums at points as they add up, in three words; and sides that are not yet part of them. */
#define SIDES ((size_t)32)
struct prime_adding {
    struct prime_sums *sums;
    uint64_t point[PRIME_POINTS][3];
    uint64_t u[SIDES][PRIME_BLOCK], v[SIDES][PRIME_BLOCK];
    size_t waiting;
};

static void add_points(const struct check_prime *n, struct prime_adding *to)
{
    n->p->kernel->number_points(to->point[0], to->u[0], to->v[0], to->waiting, n->field.p);
    to->waiting = 0;
}

/* Keeps the next sides waiting; those without products only until the next ones come. */
static void keep_sides(const struct check_prime *n, struct prime_adding *to, bool products)
{
    to->waiting += products;
    if (to->waiting == SIDES)
        add_points(n, to);
}

static void end_points(const struct check_prime *n, struct prime_adding *to)
{
    add_points(n, to);
    for (size_t c = 0; c < PRIME_POINTS; c++) {
        const uint64_t *sum = to->point[c];
        const uint64_t high = prime_wide(&n->field, (word128)sum[2] << 64 | sum[1]);
        to->sums->point[c] = prime_wide(&n->field, (word128)high << 64 | sum[0]);
    }
}

static void sum_block(struct check_prime *n, const struct prime_view *block, size_t at, void *arg)
{
    struct prime_adding *to = arg;
    (void)at;
    if (!has_products(block))
        return;
    make_sides(n, block, to->u[to->waiting], to->v[to->waiting]);
    keep_sides(n, to, true);
}

static void row_weights(const struct prime *f, const uint64_t r[PRIME_DIGITS],
                        uint64_t weight[PRIME_ROWS])
{
    weight[0] = 1;
    for (unsigned v = 0; v < PRIME_DIGITS; v++)
        for (unsigned a = 0; a < 1u << v; a++) {
            weight[a | 1u << v] = prime_times(f, weight[a], r[v]);
            weight[a] = prime_less(f, weight[a], weight[a | 1u << v]);
        }
}

/* f(r) = f(0) + r (f(1) - f(0) + (r - 1) f(inf)), a digit at a time from the highest down. */
static uint64_t value_at(const struct prime *f, const uint64_t values[PRIME_POINTS],
                         const uint64_t r[PRIME_DIGITS])
{
    uint64_t at[PRIME_POINTS];
    unsigned points = PRIME_POINTS;
    memcpy(at, values, sizeof at);
    for (unsigned v = PRIME_DIGITS; v-- > 0;) {
        points /= 3;
        for (unsigned k = 0; k < points; k++) {
            const uint64_t rise = prime_less(f, at[points + k], at[k]);
            const uint64_t inf = prime_times(f, at[2 * points + k], prime_less(f, r[v], 1));
            at[k] = prime_add(f, at[k], prime_times(f, r[v], prime_add(f, rise, inf)));
        }
    }
    return at[0];
}

/* --- folds ------------------------------------------------------------------------------------ */

/* R V_a + U_a S of every row, and R S. */
static void add_cross(struct check_prime *n, const uint64_t *u, const uint64_t *v, size_t at,
                      struct prime_sums *sums)
{
    const struct prime *f = &n->field;
    const size_t from = at * PRIME_COLUMNS;
    uint64_t r[PRIME_COLUMNS], s[PRIME_COLUMNS];
    make_side(n, n->mask[0][0] + from, n->mask[0][1] + from, PRIME_COLUMNS, r);
    make_side(n, n->mask[1][0] + from, n->mask[1][1] + from, PRIME_COLUMNS, s);
    for (size_t k = 0; k < PRIME_COLUMNS; k++)
        sums->square = prime_add(f, sums->square, prime_times(f, r[k], s[k]));
    for (size_t a = 0; a < PRIME_ROWS; a++) {
        word128 sum = 0;
        for (size_t k = 0, i = a * PRIME_COLUMNS; k < PRIME_COLUMNS; k++, i++)
            sum += (word128)r[k] * v[i] + (word128)s[k] * u[i];
        sums->cross[a] = prime_add(f, sums->cross[a], prime_wide(f, sum));
    }
}

static void sum_last_block(struct check_prime *n, const struct prime_view *block, size_t at,
                           void *arg)
{
    struct prime_adding *to = arg;
    uint64_t *u = to->u[to->waiting], *v = to->v[to->waiting];
    make_sides(n, block, u, v);
    add_cross(n, u, v, at, to->sums);
    keep_sides(n, to, has_products(block));
}

static enum err draw_masks(struct check_prime *n)
{
    n->columns = n->blocks * PRIME_COLUMNS;
    for (unsigned which = 0; which < 2; which++)
        for (unsigned side = 0; side < 2; side++) {
            uint64_t **m = &n->mask[which][side];
            TRY(scratch_array(n->p->scratch, m, n->columns));
            TRY(prime_mask(&n->field, n->p->prg[side][PRG_CHECK], *m, n->columns));
        }
    return ERR_OK;
}

/* Adds a share of zero. */
static enum err mask(struct check_prime *n, uint64_t *x, size_t words)
{
    uint64_t m[2][sizeof n->sums[0] / sizeof(uint64_t)];
    for (unsigned side = 0; side < 2; side++)
        TRY(prime_mask(&n->field, n->p->prg[side][PRG_CHECK], m[side], words));
    for (size_t i = 0; i < words; i++)
        x[i] = prime_add(&n->field, x[i], prime_less(&n->field, m[0][i], m[1][i]));
    return ERR_OK;
}

enum err check_prime_sum(struct check_prime *n, bool last, struct prime_beside *beside)
{
    const size_t bytes = last ? sizeof n->sums[0] : sizeof n->sums[0].point;
    struct prime_adding adding;
    if (n->words == 0)
        return ERR_OK;
    if (n->remainders++ == PRIME_REMAINDERS)
        return ERR_RANGE;
    memset(n->sums, 0, sizeof n->sums);
    memset(adding.point, 0, sizeof adding.point);
    adding.sums = &n->sums[0];
    adding.waiting = 0;
    if (last)
        TRY(draw_masks(n));
    check_prime_each_block(n, last ? sum_last_block : sum_block, &adding);
    end_points(n, &adding);
    divide_sums(n, &n->sums[0]);
    TRY(mask(n, n->sums[0].point, bytes / sizeof(uint64_t)));
    *beside = (struct prime_beside){&n->sums[0], &n->sums[1], bytes};
    n->due = last ? DUE_LAST : DUE_FOLD;
    return ERR_OK;
}

/* The sums have come: keeps by how much they are off Z, and Z of what is folded. */
static void take_sums(struct check_prime *n)
{
    const struct prime *f = &n->field;
    uint64_t *came = n->sums[1].point;
    for (size_t i = 0; i < sizeof n->sums[1] / sizeof *came; i++)
        came[i] = prime_short(f, came[i]);
    for (unsigned side = 0; side < 2; side++) {
        uint64_t sum = 0;
        for (unsigned a = 0; a < PRIME_ROWS; a++)
            sum = prime_add(f, sum, n->sums[side].point[kernel_point_of_row(a, PRIME_DIGITS)]);
        n->remainder[n->remainders - 1][side] = prime_less(f, sum, n->z[side]);
        n->z[side] = value_at(f, n->sums[side].point, n->r);
    }
}

enum err check_prime_coin(struct check_prime *n, struct prg *weights)
{
    const bool last = n->due == DUE_LAST;
    if (n->due == DUE_CHOOSE)
        TRY(choose(n, weights));
    if (last || n->due == DUE_FOLD) {
        TRY(prime_draw(&n->field, weights, n->r, PRIME_DIGITS));
        n->zeta = 0;
        while (last && n->zeta == 0)
            TRY(prime_draw(&n->field, weights, &n->zeta, 1));
        take_sums(n);
    }
    n->due = DUE_NOTHING;
    return ERR_OK;
}

/* Rows weighed, column by column. */
static void fold_rows(const struct prime *f, const uint64_t x[PRIME_BLOCK],
                      const uint64_t weight[PRIME_ROWS], uint64_t out[PRIME_COLUMNS])
{
    for (size_t s = 0; s < PRIME_COLUMNS; s++) {
        word128 sum = 0;
        for (size_t a = 0; a < PRIME_ROWS; a++)
            sum += (word128)weight[a] * x[a * PRIME_COLUMNS + s];
        out[s] = prime_wide(f, sum);
    }
}

struct folding {
    uint64_t weight[PRIME_ROWS];
    struct prime_block *out;
};

/* The rows of a vector of a block, weighed, or zeros where it is missing. */
static void fold_vector(const struct check_prime *n, const struct prime_view *block, unsigned v,
                        const uint64_t weight[PRIME_ROWS], uint64_t out[PRIME_COLUMNS])
{
    if (block->x[v] != NULL)
        fold_rows(&n->field, block->x[v], weight, out);
    else
        memset(out, 0, PRIME_COLUMNS * sizeof *out);
}

static void fold_block(struct check_prime *n, const struct prime_view *block, size_t at, void *arg)
{
    const struct folding *g = arg;
    for (unsigned v = 0; v < 4; v++)
        fold_vector(n, block, v, g->weight,
                    g->out[at / PRIME_ROWS].x[v] + at % PRIME_ROWS * PRIME_COLUMNS);
}

enum err check_prime_fold(struct check_prime *n)
{
    const size_t blocks = n->blocks / PRIME_ROWS + (n->blocks % PRIME_ROWS != 0);
    struct folding g;
    TRY(scratch_array(n->p->scratch, &g.out, blocks));
    row_weights(&n->field, n->r, g.weight);
    memset(&g.out[blocks - 1], 0, sizeof *g.out);
    check_prime_each_block(n, fold_block, &g);
    n->block = g.out;
    n->blocks = blocks;
    return ERR_OK;
}

/* --- what is opened --------------------------------------------------------------------------- */

/* U*, V*, Z*, how far each fold was off; then two words of each remainder of a ring. */
static size_t opened_elements(const struct check_prime *n)
{
    return 2 * n->columns + 1 + n->remainders;
}

size_t check_prime_opened(const struct check_prime *n)
{
    size_t words = opened_elements(n);
    if (n->words == 0)
        return 0;
    for (unsigned kind = 0; kind < CLAIMS_KINDS; kind++)
        words += 2 * n->claims[kind].count;
    return words;
}

struct starring {
    uint64_t weight[PRIME_ROWS], *out[2];
};

static void star_block(struct check_prime *n, const struct prime_view *block, size_t at, void *arg)
{
    const struct prime *f = &n->field;
    const struct starring *g = arg;
    for (unsigned v = 0; v < 4; v++) {
        const size_t from = at * PRIME_COLUMNS;
        uint64_t *out = g->out[v % 2] + (v < 2 ? 0 : n->columns) + from;
        const uint64_t *m = n->mask[v / 2][v % 2] + from;
        fold_vector(n, block, v, g->weight, out);
        for (size_t s = 0; s < PRIME_COLUMNS; s++)
            out[s] = prime_add(f, out[s], prime_times(f, n->zeta, m[s]));
    }
}

/* Z* of one component: z + zeta sum weight[a] E[a] + zeta^2 e. */
static uint64_t star_z(const struct check_prime *n, unsigned side,
                       const uint64_t weight[PRIME_ROWS])
{
    const struct prime *f = &n->field;
    uint64_t sum = prime_times(f, n->sums[side].square, n->zeta);
    for (unsigned a = 0; a < PRIME_ROWS; a++)
        sum = prime_add(f, sum, prime_times(f, n->sums[side].cross[a], weight[a]));
    return prime_add(f, n->z[side], prime_times(f, sum, n->zeta));
}

void check_prime_put(struct check_prime *n, uint64_t *a, uint64_t *b)
{
    struct starring g = {.out = {a, b}};
    if (n->words == 0)
        return;
    row_weights(&n->field, n->r, g.weight);
    check_prime_each_block(n, star_block, &g);
    for (unsigned side = 0; side < 2; side++) {
        uint64_t *out = g.out[side] + 2 * n->columns;
        *out++ = star_z(n, side, g.weight);
        for (unsigned k = 0; k < n->remainders; k++)
            *out++ = n->remainder[k][side];
        for (unsigned kind = 0; kind < CLAIMS_KINDS; kind++)
            for (size_t t = 0; t < n->claims[kind].count; t++) {
                const word128 d = n->claims[kind].remainder[side][t];
                *out++ = (uint64_t)d;
                *out++ = (uint64_t)(d >> 64);
            }
    }
}

void check_prime_join(const struct check_prime *n, const uint64_t *a, const uint64_t *b,
                      const uint64_t *third, uint64_t *joined)
{
    const struct prime *f = &n->field;
    const size_t elements = opened_elements(n);
    size_t at = elements;
    if (n->words == 0)
        return;
    for (size_t i = 0; i < elements; i++)
        joined[i] = prime_short(f, prime_add(f, a[i], b[i]) + prime_short(f, third[i]));
    for (unsigned kind = 0; kind < CLAIMS_KINDS; kind++)
        for (size_t t = 0; t < n->claims[kind].count; t++, at += 2) {
            const uint64_t *const of[3] = {a + at, b + at, third + at};
            word128 sum = 0;
            for (unsigned k = 0; k < 3; k++)
                sum += (word128)of[k][1] << 64 | of[k][0];
            sum = claims_modulo(&n->claims[kind], sum);
            joined[at] = (uint64_t)sum;
            joined[at + 1] = (uint64_t)(sum >> 64);
        }
}

bool check_prime_hold(const struct check_prime *n, const uint64_t *joined)
{
    const struct prime *f = &n->field;
    const uint64_t *u = joined, *v = u + n->columns, *z = v + n->columns;
    const size_t words = check_prime_opened(n);
    uint64_t sum = 0;
    if (n->words == 0)
        return true;
    for (size_t i = 0; i < n->columns; i++)
        sum = prime_add(f, sum, prime_times(f, u[i], v[i]));
    for (const uint64_t *zero = z + 1; zero < joined + words; zero++)
        if (*zero != 0)
            return false;
    return sum == *z;
}
