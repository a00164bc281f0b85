#include "bench/work.h"

#include "base/memory.h"
#include "harness/netio.h"
#include "harness/shares.h"
#include "mpc/circuits/argmax.h"
#include "mpc/circuits/compare.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/open.h"
#include "protocols/link.h"

#include <string.h>

#define ROW_BITS 64
#define MANY_OWNERS 100
#define L1_BITS 17
#define L1_CELLS 4096              /* of a marginal */
#define L1_BATCH ((size_t)1 << 22) /* cells of one call */

static enum err random_bits(struct party *p, struct bits *x, size_t n)
{
    TRY(bits_new(x, n));
    return party_random_bits(p, x);
}

static enum err random_words(struct party *p, struct share64 *x, size_t n)
{
    TRY(share64_new(x, n));
    return party_random64(p, x);
}

static enum err random_words16(struct party *p, struct share16 *x, size_t n)
{
    struct share64 whole;
    TRY(share16_new(x, n));
    whole = (struct share64){(uint64_t *)(void *)x->a, (uint64_t *)(void *)x->b, n / 4};
    return party_random64(p, &whole);
}

enum err work_prepare_and(struct party *p, struct work *w)
{
    TRY(random_bits(p, &w->bits[0], w->n));
    TRY(random_bits(p, &w->bits[1], w->n));
    return bits_new(&w->bits[2], w->n);
}

enum err work_run_and(struct party *p, struct work *w)
{
    return bits_and(p, w->bits[2], w->bits[0], w->bits[1]);
}

enum err work_prepare_words(struct party *p, struct work *w)
{
    TRY(random_words(p, &w->x, w->n));
    TRY(random_words(p, &w->y, w->n));
    TRY(share64_new(&w->z, w->n));
    TRY(bits_new(&w->bits[0], w->n));
    w->opened = memory_words(w->n, sizeof *w->opened);
    return w->opened == NULL ? ERR_NOMEM : ERR_OK;
}

enum err work_run_multiply(struct party *p, struct work *w)
{
    return ring64_multiply(p, w->z, w->x, w->y);
}

enum err work_run_open(struct party *p, struct work *w)
{
    return open_ring64(p, OPEN_NOISY_MARGINAL, w->x, w->opened);
}

/* The difference, and its sign. */
enum err work_run_less(struct party *p, struct work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        w->z.a[i] = w->x.a[i] - w->y.a[i];
        w->z.b[i] = w->x.b[i] - w->y.b[i];
    }
    return compare_top_bit(p, w->bits[0], w->z, 64);
}

enum err work_run_bit_to_ring(struct party *p, struct work *w)
{
    return convert_bit64(p, w->z, w->bits[0]);
}

enum err work_prepare_matrix(struct party *p, struct work *w)
{
    TRY(random_words16(p, &w->a, w->n * w->n));
    TRY(random_words16(p, &w->b, w->n * w->n));
    return share16_new(&w->c, w->n * w->n);
}

enum err work_run_matrix(struct party *p, struct work *w)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share16 sides;
    TRY(party_share16(p, &sides, w->n * w->n));
    move_part_side(p, sides.a, w->a);
    move_part_side(p, sides.b, w->b);
    memset(w->c.a, 0, w->c.n * sizeof *w->c.a);
    move_part_matrix(p, w->c.a, sides.a, sides.b, w->n, w->n, w->n);
    return move_settle(p, RING_16, OPERAND(w->c), w->c.a, w->c.n, NULL);
}

/* Dense cells: every C above 1, uniform up to 2^17. The timing leaves out making the flags. */
enum err work_prepare_counts(struct party *p, struct work *w)
{
    uint64_t state = 7;
    size_t spans = (w->n + L1_CELLS - 1) / L1_CELLS;
    TRY(random_words(p, &w->x, w->n));
    TRY(share64_new(&w->z, spans));
    TRY(planes_new(&w->planes, L1_BITS, w->n));
    struct bits all = planes_flat(&w->planes);
    TRY(party_random_bits(p, &all));
    w->estimates = memory_words(w->n, sizeof *w->estimates);
    w->spans = memory_array(spans, sizeof *w->spans);
    if (w->estimates == NULL || w->spans == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < w->n; i++)
        w->estimates[i] = (2 << CACHED_GRID) +
                          pattern_word(&state) % (((1 << 17) - 2) << CACHED_GRID);
    for (size_t k = 0; k < spans; k++) {
        size_t from = k * L1_CELLS, cells = w->n - from < L1_CELLS ? w->n - from : L1_CELLS;
        w->spans[k] = (struct cached_span){from, cells, w->estimates + from};
    }
    return ERR_OK;
}

enum err work_prepare_cached(struct party *p, struct work *w)
{
    TRY(work_prepare_counts(p, w));
    return cached_new(p, &w->cached, w->x, &w->planes);
}

enum err work_run_distances(struct party *p, struct work *w)
{
    for (size_t k = 0, batch; k < w->z.n; k += batch) {
        batch = w->z.n - k < L1_BATCH / L1_CELLS ? w->z.n - k : L1_BATCH / L1_CELLS;
        TRY(cached_distance(p, share64_view(w->z, k, batch), w->cached, w->spans + k,
                            1 << CACHED_GRID));
    }
    return ERR_OK;
}

enum err work_run_caching_and_distances(struct party *p, struct work *w)
{
    cached_free(&w->cached);
    TRY(cached_new(p, &w->cached, w->x, &w->planes));
    return work_run_distances(p, w);
}

/* Signed differences must fit in 64 bits. */
enum err work_prepare_values(struct party *p, struct work *w)
{
    uint64_t state = 3;
    TRY(share64_new(&w->x, w->n));
    for (size_t i = 0; i < w->n; i++)
        ring64_add_public(p, share64_view(w->x, i, 1), pattern_word(&state) >> 2);
    return ERR_OK;
}

enum err work_run_argmax(struct party *p, struct work *w)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1};
    return argmax_open(p, w->x, 64, seed, &w->index);
}

/* Valid rows of random columns; a key is the row's place above bits that are also random. */
static enum err make_table(struct party *p, struct planes *table, size_t n)
{
    struct bits random;
    TRY(planes_new(table, LINK_FRONT + ROW_BITS, n));
    random = planes_flat(table);
    TRY(party_random_bits(p, &random));
    for (unsigned k = 0; k < LINK_FRONT; k++) {
        const struct bits x = planes_plane(table, k);
        if (k > 0 && k <= LINK_KEY / 2)
            continue;
        bits_zero(x);
        for (size_t i = 0; i < n; i++) {
            const uint64_t bit = k == 0 || (i >> (k - LINK_KEY / 2 - 1) & 1);
            x.a[i / 64] |= p->index == 0 ? bit << i % 64 : 0;
            x.b[i / 64] |= p->index == 2 ? bit << i % 64 : 0;
        }
    }
    return ERR_OK;
}

static enum err make_tables(struct party *p, struct work *w, size_t owners, unsigned columns)
{
    w->table = memory_array(owners, sizeof *w->table);
    w->tables = w->table == NULL ? 0 : owners;
    for (size_t k = 0; k < w->tables; k++)
        TRY(make_table(p, &w->table[k], w->n / owners));
    return w->table == NULL ? ERR_NOMEM
                            : planes_new(&w->planes, 1 + columns, link_rows(w->table, owners));
}

enum err work_prepare_two_owners(struct party *p, struct work *w)
{
    return make_tables(p, w, 2, 2 * ROW_BITS);
}

enum err work_prepare_many_owners(struct party *p, struct work *w)
{
    return make_tables(p, w, MANY_OWNERS, ROW_BITS);
}

enum err work_run_link(struct party *p, struct work *w)
{
    bool sorted[2];
    TRY(link_sorted(p, w->table, 2, NULL, NULL, sorted));
    return link_join(p, &w->planes, w->table, 2, SIZE_MAX, sorted);
}

enum err work_run_bound(struct party *p, struct work *w)
{
    bool sorted[MANY_OWNERS];
    TRY(link_sorted(p, w->table, MANY_OWNERS, NULL, NULL, sorted));
    return link_bound(p, &w->planes, w->table, MANY_OWNERS, 1, sorted);
}

void work_free(struct work *w)
{
    for (size_t k = 0; k < w->tables; k++)
        planes_free(&w->table[k]);
    memory_free(&w->table);
    for (int i = 0; i < 3; i++)
        bits_free(&w->bits[i]);
    share64_free(&w->x);
    share64_free(&w->y);
    share64_free(&w->z);
    share16_free(&w->a);
    share16_free(&w->b);
    share16_free(&w->c);
    cached_free(&w->cached);
    planes_free(&w->planes);
    memory_free_all(&w->spans, &w->estimates, &w->opened);
}
