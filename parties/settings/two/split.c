#include "parties/settings/two/split.h"

#include "base/memory.h"
#include "base/prg.h"
#include "mpc/lattice/lattice.h"
#include "parties/settings/two/owner_noise.h"

static enum err subtract(const uint8_t seed[SPLIT_SEED], uint8_t *vector, size_t n)
{
    uint64_t *word;
    enum err e;
    TRY(memory_new(&word, n));
    e = prg_words_once(seed, word, n);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        integer_put(vector + 8 * i, integer_get(vector + 8 * i, 8) - word[i], 8);
    memory_wipe_free(&word, n * sizeof *word);
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
                                    : subtract(seed[0], vector->data, vector->size / 8);
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

enum err two_split_add(const struct upload *u, enum pair_end end, uint64_t *words, size_t n)
{
    uint64_t *mask;
    enum err e;
    if (end == PAIR_PROVIDER) {
        if (u->vector.size != 8 * n)
            return ERR_MISUSE;
        for (size_t i = 0; i < n; i++)
            words[i] += integer_get(u->vector.data + 8 * i, 8);
        return ERR_OK;
    }
    TRY(memory_new(&mask, n));
    e = prg_words_once(u->seed[0], mask, n);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        words[i] += mask[i];
    memory_wipe_free(&mask, n * sizeof *mask);
    return e;
}
