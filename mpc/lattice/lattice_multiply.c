/* What the provider does. */
#include "base/memory.h"
#include "mpc/lattice/lattice_private.h"

#include <string.h>

void lattice_products_free(struct lattice_products **products)
{
    if (*products != NULL)
        memory_free(&(*products)->part);
    memory_free(products);
}

/* Where c0 of a ciphertext is. */
static const uint8_t *at_index(const uint8_t *upload, size_t index)
{
    return upload + LATTICE_SEED + index * LATTICE_POLY_SIZE;
}

static enum err take(const struct lattice_ring *ring, const uint8_t *upload, size_t index,
                     struct lattice_poly c[2])
{
    TRY(lattice_unpack(ring, at_index(upload, index), &c[0]));
    return lattice_shown(ring, upload, index, &c[1]);
}

enum err lattice_upload_check(const struct lattice_ring *ring, const uint8_t *upload, size_t size)
{
    struct lattice_poly *room = memory_words(1, sizeof *room);
    enum err e = room == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t k = 0; e == ERR_OK && k < (size - LATTICE_SEED) / LATTICE_POLY_SIZE; k++)
        e = lattice_unpack(ring, at_index(upload, k), room);
    memory_free(&room);
    return e;
}

/* All products of one block, whose tiles are room for. */
static enum err add_block(struct lattice_products *p, const struct lattice_plan *plan,
                          const uint8_t *upload, size_t block, struct lattice_poly (*tile)[2])
{
    const size_t tiles = plan->lefts + plan->rights;
    for (size_t k = 0; k < tiles; k++)
        TRY(take(p->ring, upload, 1 + block * tiles + k, tile[k]));
    for (size_t r = 0; r < p->results; r++) {
        const struct lattice_poly *a = tile[plan->result[r][0]];
        const struct lattice_poly *b = tile[plan->lefts + plan->result[r][1]];
        lattice_add_product(p->ring, &p->part[r][0], &a[0], &b[0]);
        lattice_add_products(p->ring, &p->part[r][1], &a[0], &b[1], &a[1], &b[0]);
        lattice_add_product(p->ring, &p->part[r][2], &a[1], &b[1]);
    }
    return ERR_OK;
}

enum err lattice_multiply(struct lattice_products **products, const struct lattice_ring *ring,
                          const struct lattice_plan *plan, const uint8_t *upload)
{
    struct lattice_products *p CLEAN(lattice_products_free) = memory_words(1, sizeof *p);
    struct lattice_poly(*tile)[2] = memory_words(plan->lefts + plan->rights, sizeof *tile);
    enum err e = p == NULL || tile == NULL ? ERR_NOMEM : ERR_OK;
    *products = NULL;
    if (e == ERR_OK) {
        p->ring = ring;
        p->results = plan->results;
        p->part = memory_words(plan->results, sizeof *p->part);
        e = p->part == NULL ? ERR_NOMEM : take(ring, upload, 0, p->pk);
    }
    for (size_t b = 0; e == ERR_OK && b < plan->blocks; b++)
        e = add_block(p, plan, upload, b, tile);
    memory_free(&tile);
    return e == ERR_OK ? memory_hand_over(products, &p) : e;
}

/* --- for the keeper --------------------------------------------------------------------------- */

/* Room for one result, wiped at the end. */
struct lattice_hiding {
    struct lattice_poly part[3], r, mask;
    int8_t small[LATTICE_N];
};

/* part[0] + pk[0] r + M, part[1] + pk[1] r + t f, part[2] */
static enum err hide(const struct lattice_products *p, struct prg *prg, struct lattice_hiding *h,
                     uint64_t *low)
{
    TRY(lattice_ternary(prg, h->small));
    lattice_small(p->ring, &h->r, h->small, NULL);
    lattice_values(p->ring, &h->r);
    for (unsigned k = 0; k < 2; k++)
        lattice_add_product(p->ring, &h->part[k], &p->pk[k], &h->r);
    TRY(lattice_flood(p->ring, prg, &h->mask, low));
    lattice_values(p->ring, &h->mask);
    lattice_add(p->ring, &h->part[0], &h->mask);
    TRY(lattice_errors(prg, h->small));
    lattice_small(p->ring, &h->mask, NULL, h->small);
    lattice_values(p->ring, &h->mask);
    lattice_add(p->ring, &h->part[1], &h->mask);
    return ERR_OK;
}

enum err lattice_hide(const struct lattice_products *products, size_t result, struct prg *prg,
                      uint8_t out[LATTICE_RESULT_SIZE], uint64_t *share)
{
    struct lattice_hiding *h = memory_words(1, sizeof *h);
    enum err e = h == NULL ? ERR_NOMEM : ERR_OK;
    if (e == ERR_OK) {
        memcpy(h->part, products->part[result], sizeof h->part);
        e = hide(products, prg, h, share);
    }
    for (unsigned k = 0; e == ERR_OK && k < 3; k++)
        lattice_pack(&h->part[k], out + k * LATTICE_POLY_SIZE);
    for (size_t i = 0; e == ERR_OK && i < LATTICE_N; i++)
        share[i] = -share[i];
    memory_wipe_free(&h, sizeof *h);
    return e;
}
