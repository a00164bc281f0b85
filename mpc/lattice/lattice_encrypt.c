/* What an owner does, and the secret key. */
#include "base/memory.h"
#include "base/secret.h"
#include "mpc/lattice/lattice_private.h"

#include <string.h>

/* --- a key ------------------------------------------------------------------------------------ */

void lattice_key_free(struct lattice_key **key)
{
    memory_wipe_free(key, sizeof **key);
}

enum err lattice_key_new(struct lattice_key **key, const struct lattice_ring *ring,
                         const uint8_t seed[LATTICE_SEED])
{
    struct lattice_key *made CLEAN(lattice_key_free) = memory_words(1, sizeof *made);
    struct prg *prg CLEAN(prg_free) = NULL;
    int8_t s[LATTICE_N];
    *key = NULL;
    if (made == NULL)
        return ERR_NOMEM;
    made->ring = ring;
    TRY(prg_new(&prg, seed));
    TRY(lattice_ternary(prg, s));
    lattice_small(ring, &made->s, s, NULL);
    secret_wipe(s, sizeof s);
    lattice_values(ring, &made->s);
    lattice_add_product(ring, &made->square, &made->s, &made->s);
    return memory_hand_over(key, &made);
}

/* --- ciphertexts ------------------------------------------------------------------------------ */

enum err lattice_shown(const struct lattice_ring *ring, const uint8_t seed[LATTICE_SEED],
                       size_t index, struct lattice_poly *c1)
{
    struct prg *prg CLEAN(prg_free) = NULL;
    uint8_t key[LATTICE_SEED] = {0};
    TRY(prg_xor_from(seed, index * sizeof key, key, sizeof key));
    TRY(prg_new(&prg, key));
    return lattice_uniform(ring, prg, c1);
}

/* An owner at work; the last two are room. */
struct lattice_owner {
    const struct lattice_ring *ring;
    const struct lattice_plan *plan;
    const uint16_t *codes;
    const struct lattice_seeds *seeds;
    struct lattice_key *key;
    struct prg *errors;
    struct lattice_poly *c0, *c1;
};

/* c0 = m + t e - c1 s; m: bits, or NULL for zeros. */
static enum err encrypt(const struct lattice_owner *o, const int8_t *m, size_t index, uint8_t *out)
{
    int8_t e[LATTICE_N];
    TRY(lattice_shown(o->ring, o->seeds->shown, index, o->c1));
    TRY(lattice_errors(o->errors, e));
    lattice_small(o->ring, o->c0, m, e);
    secret_wipe(e, sizeof e);
    lattice_values(o->ring, o->c0);
    lattice_negate(o->ring, o->c1);
    lattice_add_product(o->ring, o->c0, o->c1, &o->key->s);
    lattice_pack(o->c0, out);
    return ERR_OK;
}

/* The columns of a tile, which begin at `begin`, in a block. */
static void lay_tile(const struct lattice_owner *o, size_t block, bool left, size_t begin,
                     int8_t *m)
{
    const struct lattice_plan *p = o->plan;
    const size_t columns = left ? p->left : p->right, n = p->rows;
    memset(m, 0, LATTICE_N);
    for (size_t i = 0; i < n && block * n + i < p->shape.rows; i++) {
        const uint16_t *row = o->codes + (block * n + i) * p->shape.attributes;
        for (size_t a = 0; a < p->shape.attributes; a++) {
            const size_t at = p->first[a] + row[a] - begin;
            if (row[a] < p->shape.size[a] && at < columns)
                m[left ? i + at * n : n - 1 - i + at * p->left * n] = 1;
        }
    }
}

static enum err encrypt_block(const struct lattice_owner *o, size_t block, size_t *index,
                              uint8_t **out)
{
    const struct lattice_plan *p = o->plan;
    int8_t m[LATTICE_N];
    for (size_t k = 0; k < p->lefts + p->rights; k++, *out += LATTICE_POLY_SIZE) {
        const bool left = k < p->lefts;
        lay_tile(o, block, left, left ? k * p->left : (k - p->lefts) * p->right, m);
        TRY(encrypt(o, m, (*index)++, *out));
    }
    secret_wipe(m, sizeof m);
    return ERR_OK;
}

static void owner_clear(struct lattice_owner *o)
{
    lattice_key_free(&o->key);
    prg_free(&o->errors);
    memory_wipe_free(&o->c0, sizeof *o->c0);
    memory_free(&o->c1);
}

enum err lattice_encrypt(const struct lattice_ring *ring, const struct lattice_plan *plan,
                         const uint16_t *codes, const struct lattice_seeds *seeds, uint8_t *upload)
{
    struct lattice_owner o CLEAN(owner_clear) = {
        .ring = ring, .plan = plan, .codes = codes, .seeds = seeds};
    size_t index = 0;
    o.c0 = memory_words(1, sizeof *o.c0);
    o.c1 = memory_words(1, sizeof *o.c1);
    if (o.c0 == NULL || o.c1 == NULL)
        return ERR_NOMEM;
    TRY(lattice_key_new(&o.key, ring, seeds->key));
    TRY(prg_new(&o.errors, seeds->errors));
    memcpy(upload, seeds->shown, LATTICE_SEED);
    upload += LATTICE_SEED;
    TRY(encrypt(&o, NULL, index++, upload));
    upload += LATTICE_POLY_SIZE;
    for (size_t b = 0; b < plan->blocks; b++)
        TRY(encrypt_block(&o, b, &index, &upload));
    return ERR_OK;
}

/* --- decryption ------------------------------------------------------------------------------- */

/* A provider that follows the protocol sends no other words, whatever the owner did. */
static enum err unpack(const struct lattice_key *key, const uint8_t *in, struct lattice_poly *to)
{
    return lattice_unpack(key->ring, in, to) == ERR_OK ? ERR_OK : ERR_FORMAT;
}

static enum err decrypt(const struct lattice_key *key, const uint8_t *in, struct lattice_poly *sum,
                        struct lattice_poly *part, uint64_t *share)
{
    TRY(unpack(key, in, sum));
    TRY(unpack(key, in + LATTICE_POLY_SIZE, part));
    lattice_add_product(key->ring, sum, part, &key->s);
    TRY(unpack(key, in + 2 * LATTICE_POLY_SIZE, part));
    lattice_add_product(key->ring, sum, part, &key->square);
    lattice_coefficients(key->ring, sum);
    return lattice_low(key->ring, sum, share) ? ERR_OK : ERR_DATA;
}

enum err lattice_open(const struct lattice_key *key, const uint8_t in[LATTICE_RESULT_SIZE],
                      uint64_t *share)
{
    struct lattice_poly *room = memory_words(2, sizeof *room);
    enum err e = room == NULL ? ERR_NOMEM : decrypt(key, in, room, room + 1, share);
    memory_wipe_free(&room, 2 * sizeof *room);
    return e;
}
