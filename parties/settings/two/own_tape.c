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
    if (kind == STAKE_MEASURE)
        own_gauss(&t->random, &own_sigma_whole, out, n);
    else
        own_gumbel(&t->random, out, n);
    return ERR_OK;
}

/* Makes n words more, and forgets the places that are taken. */
static enum err extend(struct own_tape *t, unsigned kind, size_t n)
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
    const enum err e = draw(t, kind, word + left, n);
    if (e == ERR_OK) /* nobody takes words that were not drawn */
        r->words = left + n;
    else
        secret_wipe(word + left, n * sizeof *word);
    return e;
}

enum err own_tape_start(struct own_tape *t, const uint8_t id[32], const uint64_t run[STAKE_KINDS])
{
    *t = (struct own_tape){0};
    memcpy(t->id, id, sizeof t->id);
    random_fresh(&t->random);
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
        t->reel[k].batch = run[k] < OWN_TAPE_BATCH ? (size_t)run[k] : OWN_TAPE_BATCH;
        TRY(extend(t, k, t->reel[k].batch));
    }
    return ERR_OK;
}

void own_tape_free(struct own_tape *t)
{
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        memory_wipe_free(&t->reel[k].word, t->reel[k].words * sizeof *t->reel[k].word);
    random_wipe(&t->random);
}

bool own_tape_has(const struct own_tape *t, const size_t count[STAKE_KINDS])
{
    for (unsigned k = 0; k < STAKE_KINDS; k++)
        if (t->reel[k].words - t->reel[k].next < count[k])
            return false;
    return true;
}

enum err own_tape_make(struct own_tape *t, const size_t count[STAKE_KINDS])
{
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
        const struct own_reel *r = &t->reel[k];
        if (r->words - r->next < count[k])
            TRY(extend(t, k, count[k] - (r->words - r->next) + r->batch));
    }
    return ERR_OK;
}

struct stake_place own_tape_next(const struct own_tape *t, const size_t count[STAKE_KINDS])
{
    struct stake_place place;
    memcpy(place.of, t->id, sizeof place.of);
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
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
        uint64_t *from = t->reel[k].word + t->reel[k].next;
        if (count[k] == 0)
            continue;
        memcpy((*stake)->word[k], from, count[k] * sizeof *from);
        secret_wipe(from, count[k] * sizeof *from);
        t->reel[k].next += count[k];
    }
    return ERR_OK;
}

void own_tape_return(struct own_tape *t, struct own_stake *stake)
{
    if (memcmp(stake->place.of, t->id, sizeof t->id) != 0)
        return;
    for (unsigned k = 0; k < STAKE_KINDS; k++) {
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
