#include "parties/store/store_private.h"

/* Noise has its own table: a round's row changes at each step, and SQLite writes rows whole. */

/* What binds sealed shares of noise: the round's ledger entry, with this instead of the budget. */
static const char purpose[] = "trefoil-noise";

enum err store_put_noise(struct store *s, const struct store_round *round,
                         const struct bytes *noise)
{
    struct bytes binding CLEAN(bytes_clear) = {0};
    struct bytes sealed CLEAN(bytes_clear) = {0};
    struct query q;
    TRY(store_write_entry(round, purpose, &binding));
    TRY(store_seal(s, binding.data, binding.size, noise, &sealed));
    q = query_of(s, "INSERT INTO noise(run, sequence, sealed) VALUES(?, ?, ?)");
    store_put_name(&q, round->run, round->sequence);
    query_put_bytes(&q, &sealed);
    return query_run(&q, NULL);
}

enum err store_noise(struct store *store, const struct store_round *round, struct bytes *noise)
{
    struct query q = query_of(store, "SELECT sealed FROM noise WHERE run = ? AND sequence = ?");
    struct bytes binding CLEAN(bytes_clear) = {0};
    struct bytes sealed CLEAN(bytes_clear) = {0};
    bool found;
    store_put_name(&q, round->run, round->sequence);
    found = query_row(&q);
    if (found)
        query_bytes(&q, &sealed);
    TRY(query_end(&q));
    if (!found)
        return ERR_LOST;
    TRY(store_write_entry(round, purpose, &binding));
    return store_unseal(store, binding.data, binding.size, sealed.data, sealed.size, noise);
}

enum err store_wipe_noise(struct store *s, const uint8_t run[REQUEST_RUN_SIZE], uint32_t before,
                          bool *wiped)
{
    struct query q = query_of(s, "DELETE FROM noise WHERE run = ? AND sequence < ?");
    store_put_name(&q, run, before);
    return query_run(&q, wiped);
}
