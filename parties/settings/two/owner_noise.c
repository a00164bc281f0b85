#include "parties/settings/two/owner_noise.h"

#include "base/memory.h"
#include "base/prg.h"
#include "base/secret.h"
#include "mpc/pair/own_noise.h"

/* --- the owner's side ------------------------------------------------------------------------- */

static void draw(enum noise_law kind, uint64_t *word, size_t n)
{
    struct random r;
    random_fresh(&r);
    if (kind == NOISE_GAUSS)
        own_gauss(&r, &own_sigma_whole, word, n);
    else
        own_gumbel(&r, word, n);
    random_wipe(&r);
}

enum err owner_noise_draw(enum noise_law kind, size_t n, struct bytes part[2])
{
    uint8_t seed[SPLIT_SEED];
    uint64_t *word;
    enum err e = memory_new(&word, 2 * n);
    secret_random(seed, sizeof seed);
    if (e == ERR_OK)
        e = prg_words_once(seed, word + n, n);
    if (e == ERR_OK)
        draw(kind, word, n);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        bytes_put_u64(&part[PAIR_PROVIDER], word[i] - word[n + i]);
    bytes_put(&part[PAIR_KEEPER], seed, sizeof seed);
    memory_wipe_free(&word, 2 * n * sizeof *word);
    secret_wipe(seed, sizeof seed);
    TRY(e);
    TRY(bytes_ok(&part[PAIR_PROVIDER]));
    return bytes_ok(&part[PAIR_KEEPER]);
}

size_t owner_noise_bytes(unsigned server, size_t n)
{
    return server == PAIR_PROVIDER ? 8 * n : SPLIT_SEED;
}

/* --- a server's ------------------------------------------------------------------------------- */

static enum err read_block(const struct bytes *share, enum pair_end end, uint64_t *word, size_t n)
{
    if (share->size != owner_noise_bytes(end, n))
        return ERR_FORMAT;
    if (end == PAIR_KEEPER)
        return prg_words_once(share->data, word, n);
    for (size_t i = 0; i < n; i++)
        word[i] = integer_get(share->data + 8 * i, 8);
    return ERR_OK;
}

static enum err take_one(struct store *store, enum noise_law kind, const uint8_t *name,
                         enum pair_end end, struct own_tape *tape, size_t n)
{
    struct bytes share CLEAN(bytes_clear) = {0};
    uint64_t *word;
    enum err e;
    TRY(store_ahead_take(store, kind, name, &share));
    TRY(memory_new(&word, n));
    e = read_block(&share, end, word, n);
    if (e == ERR_OK)
        e = own_tape_add(tape, kind, word, n);
    memory_wipe_free(&word, n * sizeof *word);
    return e;
}

static size_t left_of(const struct own_tape *tape, unsigned kind)
{
    return tape->reel[kind].words - tape->reel[kind].next;
}

static enum err used_up(const struct study *study, enum noise_law kind, size_t needed, size_t left,
                        struct log *log)
{
    return log_fail(log, ERR_REFUSED,
                    "the noise that %s has sent is used up: the round takes %zu %s, and %zu are "
                    "left. Have %s run trefoil share again with the same data, which sends fresh "
                    "noise; then run the same command again",
                    study->owner[0].name, needed, kind == NOISE_GAUSS ? "Gaussians" : "Gumbels",
                    left, study->owner[0].name);
}

enum err owner_noise_take(struct ahead *a, struct store *store, const struct study *study,
                          enum pair_end end, struct own_tape *tape, const size_t count[NOISE_LAWS],
                          struct log *log)
{
    const struct price_ahead sizes = price_ahead(study);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        const size_t here = left_of(tape, k) + (a->blocks.count[k] - a->next[k]) * sizes.samples[k];
        if (here < count[k])
            return used_up(study, (enum noise_law)k, count[k], here, log);
    }
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        while (left_of(tape, k) < count[k]) {
            const enum err e = take_one(store, (enum noise_law)k, a->blocks.name[k][a->next[k]++],
                                        end, tape, sizes.samples[k]);
            if (e == ERR_AUTH || e == ERR_FORMAT || e == ERR_LOST)
                return log_fail(log, ERR_AGAIN,
                                "a block of the owner's noise is gone, or was altered, at this "
                                "server: the session ends, and the next one uses others");
            TRY(e);
        }
    return ERR_OK;
}
