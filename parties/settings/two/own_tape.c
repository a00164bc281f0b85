#include "parties/settings/two/own_tape.h"

#include "base/memory.h"
#include "base/secret.h"
#include "mpc/pair/own_noise.h"

#include <string.h>

static enum err draw(struct own_tape *t, unsigned kind, uint64_t *out, size_t n)
{
    const struct own_reel *r = &t->reel[kind];
    if (r->make != NULL)
        return r->make(r->self, out, n);
    if (kind == NOISE_GUMBEL)
        own_gumbel(&t->random, out, n);
    else
        own_gauss(&t->random, kind == OWN_PARTS ? &own_sigma_fifth : &own_sigma_whole, out, n);
    return ERR_OK;
}

/* n words more, those given or new ones, and forgets the places that are taken. */
static enum err extend(struct own_tape *t, unsigned kind, const uint64_t *given, size_t n)
{
    struct own_reel *r = &t->reel[kind];
    const size_t left = r->words - r->next;
    uint64_t *word;
    TRY(memory_new(&word, left + n));
    if (left > 0)
        memcpy(word, r->word + r->next, left * sizeof *word);
    memory_wipe_free(&r->word, r->words * sizeof *word);
    r->word = word;
    r->before += r->next;
    r->words = left;
    r->next = 0;
    enum err e = ERR_OK;
    if (given != NULL)
        memcpy(word + left, given, n * sizeof *word);
    else
        e = draw(t, kind, word + left, n);
    if (e == ERR_OK) /* nobody takes words that were not drawn */
        r->words = left + n;
    else
        secret_wipe(word + left, n * sizeof *word);
    return e;
}

static size_t batch_of(uint64_t run)
{
    if (run == 0)
        return 0;
    return run < OWN_TAPE_LEAST ? OWN_TAPE_LEAST
                                : (run < OWN_TAPE_BATCH ? (size_t)run : OWN_TAPE_BATCH);
}

enum err own_tape_start(struct own_tape *t, const uint8_t id[32], const uint64_t run[OWN_REELS])
{
    *t = (struct own_tape){0};
    memcpy(t->id, id, sizeof t->id);
    random_fresh(&t->random);
    for (unsigned k = 0; k < OWN_REELS; k++) {
        t->reel[k].batch = batch_of(run[k]);
        TRY(extend(t, k, NULL, t->reel[k].batch));
    }
    return ERR_OK;
}

void own_tape_free(struct own_tape *t)
{
    for (unsigned k = 0; k < OWN_REELS; k++)
        memory_wipe_free(&t->reel[k].word, t->reel[k].words * sizeof *t->reel[k].word);
    random_wipe(&t->random);
}

enum err own_tape_add(struct own_tape *t, unsigned kind, const uint64_t *word, size_t n)
{
    return extend(t, kind, word, n);
}

bool own_tape_has(const struct own_tape *t, const size_t count[NOISE_LAWS])
{
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        if (t->reel[k].words - t->reel[k].next < count[k])
            return false;
    return true;
}

static enum err fill(struct own_tape *t, unsigned kind, size_t count)
{
    const struct own_reel *r = &t->reel[kind];
    const size_t left = r->words - r->next;
    return left < count ? extend(t, kind, NULL, count - left + r->batch) : ERR_OK;
}

enum err own_tape_make(struct own_tape *t, const size_t count[NOISE_LAWS])
{
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        TRY(fill(t, k, count[k]));
    return ERR_OK;
}

/* Moves the next words of a reel, and leaves zeros there. */
static void take(struct own_reel *r, uint64_t *out, size_t n)
{
    uint64_t *from = r->word + r->next;
    if (n == 0)
        return;
    memcpy(out, from, n * sizeof *out);
    secret_wipe(from, n * sizeof *from);
    r->next += n;
}

enum err own_tape_parts(struct own_tape *t, uint64_t *out, size_t n)
{
    TRY(fill(t, OWN_PARTS, n));
    take(&t->reel[OWN_PARTS], out, n);
    return ERR_OK;
}

struct stake_place own_tape_next(const struct own_tape *t, const size_t count[NOISE_LAWS])
{
    struct stake_place place;
    memcpy(place.of, t->id, sizeof place.of);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        place.from[k] = t->reel[k].before + t->reel[k].next;
        place.count[k] = count[k];
    }
    return place;
}

static enum err stake_new(struct own_stake **stake, const struct stake_place *place)
{
    struct own_stake *s CLEAN(own_stake_free) = NULL;
    TRY(memory_new(&s, 1));
    s->place = *place;
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        TRY(memory_new(&s->word[k], place->count[k]));
    return memory_hand_over(stake, &s);
}

enum err own_tape_cut(struct own_tape *t, const size_t count[NOISE_LAWS], struct own_stake **stake)
{
    const struct stake_place place = own_tape_next(t, count);
    if (!own_tape_has(t, count))
        return ERR_MISUSE;
    TRY(stake_new(stake, &place));
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        take(&t->reel[k], (*stake)->word[k], count[k]);
    return ERR_OK;
}

void own_tape_return(struct own_tape *t, struct own_stake *stake)
{
    if (memcmp(stake->place.of, t->id, sizeof t->id) != 0)
        return;
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        struct own_reel *r = &t->reel[k];
        const size_t count = (size_t)stake->place.count[k], unused = count - stake->used[k];
        if (unused == 0 || r->before + r->next != stake->place.from[k] + count || unused > r->next)
            continue;
        r->next -= unused;
        r->before += unused; /* they get new places: a place belongs to one request for ever */
        memcpy(r->word + r->next, stake->word[k] + stake->used[k], unused * sizeof *r->word);
        secret_wipe(stake->word[k] + stake->used[k], unused * sizeof *r->word);
        stake->used[k] = count;
    }
}

static void put_place(const struct stake_place *place, struct bytes *out)
{
    bytes_put(out, place->of, sizeof place->of);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        bytes_put_u64(out, place->from[k]);
        bytes_put_u64(out, place->count[k]);
    }
}

enum err own_stake_write(const struct own_stake *stake, struct bytes *out)
{
    put_place(&stake->place, out);
    for (unsigned k = 0; k < NOISE_LAWS; k++)
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
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        words += place->count[k];
    put_place(place, &own);
    TRY(bytes_ok(&own));
    at = reader_bytes(&in, own.size);
    if (at == NULL || memcmp(at, own.data, own.size) != 0 || kept->size - own.size != 8 * words)
        return ERR_FORMAT;
    TRY(stake_new(stake, place));
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (size_t i = 0; i < place->count[k]; i++)
            (*stake)->word[k][i] = reader_u64(&in);
    return ERR_OK;
}

void own_stake_free(struct own_stake **stake)
{
    if (*stake == NULL)
        return;
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        memory_wipe_free(&(*stake)->word[k], (*stake)->place.count[k] * sizeof *(*stake)->word[k]);
    memory_free(stake);
}
