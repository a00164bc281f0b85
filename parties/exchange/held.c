#include "parties/exchange/held.h"

void held_put(struct bytes *out, const struct held *held)
{
    bytes_put_u8(out, (uint8_t)held->state);
    if (held->state == HELD_NOTHING)
        return;
    bytes_put_u64(out, (uint64_t)held->time);
    bytes_put_u64(out, held->bytes);
    bytes_put(out, held->digest, sizeof held->digest);
}

void held_read(struct reader *in, struct held *held)
{
    unsigned state = reader_u8(in);
    *held = (struct held){0};
    if (state > HELD_WITHDRAWN)
        in->failed = true;
    if (in->failed || state == HELD_NOTHING)
        return;
    held->state = (enum held_state)state;
    held->time = (int64_t)reader_u64(in);
    held->bytes = reader_u64(in);
    reader_copy(in, held->digest, sizeof held->digest);
}
