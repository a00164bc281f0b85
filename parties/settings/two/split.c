#include "parties/settings/two/split.h"

#include "base/memory.h"
#include "base/prg.h"
#include "mpc/lattice/lattice.h"
#include "parties/settings/two/owner_noise.h"

/* The stream of a seed, as bytes; wiped by memory_wipe_free(). */
static enum err stream_of(const uint8_t seed[SPLIT_SEED], size_t bytes, uint8_t **stream)
{
    TRY(memory_new(stream, bytes));
    return prg_xor_once(seed, *stream, bytes);
}

static enum err subtract(const uint8_t seed[SPLIT_SEED], uint8_t *vector, size_t bytes)
{
    uint8_t *stream = NULL;
    const enum err e = stream_of(seed, bytes, &stream);
    for (size_t at = 0; e == ERR_OK && at < bytes; at += 8)
        integer_put(vector + at, integer_get(vector + at, 8) - integer_get(stream + at, 8), 8);
    memory_wipe_free(&stream, bytes);
    return e;
}

_Static_assert(sizeof(struct lattice_seeds) == SPLIT_SEEDS_MOST * SPLIT_SEED,
               "the key's seed comes first: the keeper gets it");

static enum err encrypt(const struct lattice_plan *plan, const uint16_t *codes,
                        const uint8_t seed[][SPLIT_SEED], struct bytes *out)
{
    struct lattice_ring *ring CLEAN(lattice_ring_free) = NULL;
    uint8_t *upload = bytes_extend(out, lattice_upload_size(plan));
    if (upload == NULL)
        return ERR_NOMEM;
    TRY(lattice_ring_new(&ring));
    return lattice_encrypt(ring, plan, codes, (const struct lattice_seeds *)seed, upload);
}

static enum err encrypt_rows(const struct study *study, size_t owner,
                             const uint8_t seed[][SPLIT_SEED], struct bytes *vector)
{
    struct lattice_plan *plan CLEAN(lattice_plan_free) = NULL;
    const size_t n = vector->size / 2;
    uint16_t *codes = NULL;
    enum err e = study_encrypted_plan(study, owner, &plan);
    if (e == ERR_OK && n != plan->shape.rows * plan->shape.attributes)
        e = ERR_MISUSE;
    if (e == ERR_OK)
        e = memory_new(&codes, n);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        codes[i] = (uint16_t)integer_get(vector->data + 2 * i, 2);
    bytes_clear(vector);
    if (e == ERR_OK)
        e = encrypt(plan, codes, seed, vector);
    memory_wipe_free(&codes, n * sizeof *codes);
    return e;
}

static enum err mask(const struct study *study, size_t owner, unsigned form,
                     const uint8_t seed[][SPLIT_SEED], struct bytes *vector)
{
    return form == UPLOAD_ENCRYPTED ? encrypt_rows(study, owner, seed, vector)
                                    : subtract(seed[0], vector->data, vector->size);
}

static enum err check_vector(unsigned form, const struct bytes *vector)
{
    struct lattice_ring *ring CLEAN(lattice_ring_free) = NULL;
    if (form != UPLOAD_ENCRYPTED)
        return ERR_OK;
    TRY(lattice_ring_new(&ring));
    return lattice_upload_check(ring, vector->data, vector->size);
}

const struct split two_split = {
    .servers = 2,
    .components = 2,
    .held = 1,
    .component = {{1}, {0}},
    .given = 0,
    .passed = SPLIT_NOBODY,
    .seeds = 3,
    .gets = {{"the masked counts", "a random seed"}, {"the encrypted rows", "the key's seed"}},
    .bytes = study_form_bytes,
    .mask = mask,
    .check = check_vector,
    .noise = owner_noise_draw,
    .noise_bytes = owner_noise_bytes};

static void add(uint64_t *words, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        words[i] += integer_get(bytes + 8 * i, 8);
}

enum err two_split_add(const struct upload *u, enum pair_end end, uint64_t *words, size_t n)
{
    uint8_t *stream = NULL;
    enum err e;
    if (end == PAIR_PROVIDER) {
        if (u->vector.size != 8 * n)
            return ERR_MISUSE;
        add(words, u->vector.data, n);
        return ERR_OK;
    }
    e = stream_of(u->seed[0], 8 * n, &stream);
    if (e == ERR_OK)
        add(words, stream, n);
    memory_wipe_free(&stream, 8 * n);
    return e;
}
