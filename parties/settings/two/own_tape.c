#include "parties/settings/two/own_tape.h"

#include "base/memory.h"
#include "base/secret.h"
#include "mpc/pair/own_noise.h"

#include <string.h>

void own_tape_start(struct own_tape *t, const uint8_t id[32])
{
    *t = (struct own_tape){0};
    memcpy(t->id, id, sizeof t->id);
    random_fresh(&t->random);
}

void own_tape_free(struct own_tape *t)
{
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        memory_wipe_free(&t->word[k], t->made[k] * sizeof *t->word[k]);
    random_wipe(&t->random);
}

bool own_tape_has(const struct own_tape *t, const size_t count[STAKE_KINDS])
{
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        if (t->made[k] - t->used[k] < count[k])
            return false;
    return true;
}

static void draw(struct own_tape *t, unsigned kind, uint64_t *out, size_t n)
{
    if (kind == STAKE_MEASURE)
        own_gauss(&t->random, &own_sigma_whole, out, n);
    else
        own_gumbel(&t->random, out, n);
}

enum err own_tape_make(struct own_tape *t, const size_t count[STAKE_KINDS])
{
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
        const size_t left = t->made[k] - t->used[k], before = t->made[k];
        uint64_t *more;
        if (left >= count[k])
            continue;
        TRY(memory_new(&more, t->used[k] + count[k]));
        if (before > 0)
            memcpy(more, t->word[k], before * sizeof *more);
        memory_wipe_free(&t->word[k], before * sizeof *more);
        t->word[k] = more;
        t->made[k] = t->used[k] + count[k];
        draw(t, k, more + before, count[k] - left);
    }
    return ERR_OK;
}

struct stake_place own_tape_next(const struct own_tape *t, const size_t count[STAKE_KINDS])
{
    struct stake_place place;
    memcpy(place.of, t->id, sizeof place.of);
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
        place.from[k] = t->used[k];
        place.count[k] = count[k];
    }
    return place;
}

static enum err stake_new(struct own_stake **stake, const struct stake_place *place)
{
    struct own_stake *s CLEAN(own_stake_free) = NULL;
    TRY(memory_new(&s, 1));
    s->place = *place;
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        TRY(memory_new(&s->word[k], place->count[k]));
    return memory_hand_over(stake, &s);
}

enum err own_tape_cut(struct own_tape *t, const size_t count[STAKE_KINDS], struct own_stake **stake)
{
    const struct stake_place place = own_tape_next(t, count);
    if (!own_tape_has(t, count))
        return ERR_MISUSE;
    TRY(stake_new(stake, &place));
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
        uint64_t *from = t->word[k] + t->used[k];
        if (count[k] == 0)
            continue;
        memcpy((*stake)->word[k], from, count[k] * sizeof *from);
        secret_wipe(from, count[k] * sizeof *from);
        t->used[k] += count[k];
    }
    return ERR_OK;
}

static void put_place(const struct stake_place *place, struct bytes *out)
{
    bytes_put(out, place->of, sizeof place->of);
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
        bytes_put_u64(out, place->from[k]);
        bytes_put_u64(out, place->count[k]);
    }
}

enum err own_stake_write(const struct own_stake *stake, struct bytes *out)
{
    put_place(&stake->place, out);
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        for (size_t i = 0; i < stake->place.count[k]; i++)
            bytes_put_u64(out, stake->word[k][i]);
    return bytes_ok(out);
}

enum err own_stake_read(struct own_stake **stake, const struct stake_place *place,
                        const struct bytes *kept)
{
    struct bytes own CLEAN(bytes_clear) = {0};
    struct reader in = reader_of(kept->data, kept->size);
    const uint8_t *at;
    size_t words = 0;
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        words += place->count[k];
    put_place(place, &own);
    TRY(bytes_ok(&own));
    at = reader_bytes(&in, own.size);
    if (at == NULL || memcmp(at, own.data, own.size) != 0 || kept->size - own.size != 8 * words)
        return ERR_FORMAT;
    TRY(stake_new(stake, place));
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        for (size_t i = 0; i < place->count[k]; i++)
            (*stake)->word[k][i] = reader_u64(&in);
    return ERR_OK;
}

void own_stake_free(struct own_stake **stake)
{
    if (*stake == NULL)
        return;
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        memory_wipe_free(&(*stake)->word[k], (*stake)->place.count[k] * sizeof *(*stake)->word[k]);
    memory_free(stake);
}
