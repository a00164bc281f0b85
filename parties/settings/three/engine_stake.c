#include "parties/settings/three/engine_private.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/exchange/request.h"

#include <string.h>

/* --- places ----------------------------------------------------------------------------------- */

struct stake_place three_next(const struct three *g, const struct engine_step *step)
{
    struct stake_place place;
    memcpy(place.of, g->tape.id, sizeof place.of);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        place.from[k] = tape_position(&g->tape, (enum noise_law)k);
        place.count[k] = three_step(step)->noise[k];
    }
    return place;
}

/* --- making ----------------------------------------------------------------------------------- */

enum err three_supply(void *self, const struct engine_step *step, bool *made)
{
    struct three *g = self;
    const size_t *noise = three_step(step)->noise;
    TRY(ahead_take(&g->ahead, g->store, g->study, &g->tape, noise, g->log));
    *made = range_is_made(&g->tape, noise);
    return ERR_OK;
}

enum err three_reserve(void *self, const struct engine_step *step)
{
    struct three *g = self;
    const size_t *noise = three_step(step)->noise;
    TRY(tape_reserve(g->party, &g->tape, NOISE_GUMBEL, noise[NOISE_GUMBEL]));
    TRY(tape_reserve(g->party, &g->tape, NOISE_GAUSS, noise[NOISE_GAUSS]));
    return record_prove(g->party);
}

/* --- stakes ----------------------------------------------------------------------------------- */

void three_free_stake(void **stake)
{
    struct tape *range = *stake;
    if (range == NULL)
        return;
    tape_free(range);
    memory_free(&range);
    *stake = NULL;
}

enum err three_stake(void *self, const struct engine_step *step, void **stake, struct bytes *kept)
{
    struct three *g = self;
    struct tape *range;
    enum err e;
    TRY(memory_new(&range, 1));
    *stake = range;
    e = range_cut(&g->tape, three_step(step)->noise, range);
    if (e == ERR_OK)
        e = range_write(range, kept);
    if (e != ERR_OK)
        three_free_stake(stake);
    return e;
}

enum err three_take_stake(void *self, const struct stake_place *place, const struct bytes *kept,
                          void **stake)
{
    struct three *g = self;
    struct tape *range;
    enum err e;
    TRY(memory_new(&range, 1));
    *stake = range;
    e = range_read(range, place->of, place->count, g->tape.noise, kept);
    if (e != ERR_OK)
        three_free_stake(stake);
    return e;
}

enum err three_return_stake(void *self, void *stake)
{
    struct three *g = self;
    return range_return(&g->tape, stake);
}

/* --- what all must agree on ------------------------------------------------------------------- */

bool three_is_unfinished(const struct engine_step *s)
{
    const struct three_step *own = three_step(s);
    return ask_estimates(s->ask) && !counts_finished(own->scope.counts, own->select.squared);
}

static enum err digest_step(const struct engine_step *s, uint8_t digest[REQUEST_DIGEST_SIZE])
{
    const struct three_step *own = three_step(s);
    const struct select_request *select = &own->select;
    struct bytes b CLEAN(bytes_clear) = {0};
    bytes_put_double(&b, mpq_get_d(s->price.cost));
    bytes_put_double(&b, s->price.epsilon_slack);
    bytes_put_double(&b, s->price.delta_slack);
    bytes_put_u64(&b, own->noise[NOISE_GAUSS]);
    bytes_put_u64(&b, own->noise[NOISE_GUMBEL]);
    bytes_put_u64(&b, s->price.cells);
    bytes_put_u32(&b, select->shift);
    bytes_put_u32(&b, select->width);
    bytes_put_u8(&b, three_is_unfinished(s)); /* else masks would be those of different messages */
    for (size_t k = 0; select->multiplier != NULL && k < select->candidates; k++) {
        bytes_put_u64(&b, select->multiplier[k]);
        bytes_put_u64(&b, select->penalty[k]);
    }
    TRY(bytes_ok(&b));
    hash_bytes(b.data, b.size, digest);
    return ERR_OK;
}

/* Keyed digests of the two components of noise that are here. */
static enum err digest_noise(const struct three *g, const struct tape *range,
                             uint8_t replica[2][32])
{
    for (unsigned peer = 0; peer < 2; peer++) {
        uint8_t key[RANGE_KEY_SIZE];
        enum err e = session_prg_key(g->session, (g->party->index + peer) % 3, 0,
                                     "noise of a round", key);
        if (e == ERR_OK)
            range_digest(range, peer, key, replica[peer]);
        secret_wipe(key, sizeof key);
        TRY(e);
    }
    return ERR_OK;
}

enum err three_digests(void *self, const struct engine_step *step, const void *stake,
                       uint8_t own[32], uint8_t replica[2][32])
{
    TRY(digest_step(step, own));
    return stake == NULL ? ERR_OK : digest_noise(self, stake, replica);
}
