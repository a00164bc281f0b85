#include "parties/store/store_private.h"

/* Noise has its own table: a round's row changes at each step, and SQLite writes rows whole. */

/* What binds sealed shares of noise: the round's ledger entry, with this instead of the budget. */
static const char purpose[] = "trefoil-noise";

enum err store_put_noise(struct store *s, const struct store_round *round,
                         const struct bytes *noise)
{
    struct bytes binding CLEAN(bytes_clear) = {0};
    struct bytes sealed CLEAN(bytes_clear) = {0};
    TRY(store_write_entry(round, purpose, &binding));
    TRY(store_seal(s, binding.data, binding.size, noise, &sealed));
    return CHANGE(s, NULL, "INSERT INTO noise(run, sequence, sealed) VALUES(?, ?, ?)",
                  STORE_NAME(round), BYTES(sealed.data, sealed.size));
}

enum err store_noise(struct store *store, const struct store_round *round, struct bytes *noise)
{
    struct query q = QUERY(store, "SELECT sealed FROM noise WHERE run = ? AND sequence = ?",
                           STORE_NAME(round));
    struct bytes binding CLEAN(bytes_clear) = {0};
    struct bytes sealed CLEAN(bytes_clear) = {0};
    TRY(query_one(&q, &sealed));
    TRY(store_write_entry(round, purpose, &binding));
    return store_unseal(store, binding.data, binding.size, sealed.data, sealed.size, noise);
}

enum err store_wipe_noise(struct store *s, const uint8_t run[REQUEST_RUN_SIZE], uint32_t before,
                          bool *wiped)
{
    return CHANGE(s, wiped, "DELETE FROM noise WHERE run = ? AND sequence < ?",
                  BYTES(run, REQUEST_RUN_SIZE), NUMBER(before));
}
