#include "protocols/tape.h"

#include "base/secret.h"
#include "mpc/ring.h"
#include "protocols/discrete.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"

#include <string.h>

/* Samples made at a time: bounds the memory of the circuits (about 4 KiB a sample). */
#define TILE ((size_t)8192)

void tape_start(struct tape *tape, const uint8_t id[TAPE_ID_SIZE], enum tape_noise noise)
{
    *tape = (struct tape){.noise = noise};
    memcpy(tape->id, id, TAPE_ID_SIZE);
}

void tape_free(struct tape *tape)
{
    for (unsigned k = 0; k < TAPE_KINDS; k++)
        share64_free(&tape->reel[k].samples);
    *tape = (struct tape){0};
}

static enum err sample(struct party *p, const struct tape *tape, enum tape_kind kind,
                       struct share64 out)
{
    if (kind == TAPE_GUMBEL)
        return gumbel_sample(p, out);
    return tape->noise == TAPE_DISCRETE ? discrete_sample(p, out) : gauss_sample(p, out);
}

static enum err grow(struct tape *tape, enum tape_kind kind, size_t n)
{
    struct share64 longer;
    TRY(share64_new(&longer, n));
    ring64_copy(share64_view(longer, 0, tape->reel[kind].made), tape->reel[kind].samples);
    share64_free(&tape->reel[kind].samples);
    tape->reel[kind].samples = longer;
    return ERR_OK;
}

enum err tape_reserve(struct party *p, struct tape *tape, enum tape_kind kind, size_t count)
{
    size_t position = tape_position(tape, kind), wanted;
    if (count > SIZE_MAX / 64)
        return ERR_RANGE;
    if (position + count <= tape->reel[kind].made)
        return ERR_OK;
    /* whole words of pairs, so that tiles have no odd ends */
    wanted = (position + count + 127) / 128 * 128;
    TRY(grow(tape, kind, wanted));
    while (tape->reel[kind].made < wanted) {
        size_t n = wanted - tape->reel[kind].made < TILE ? wanted - tape->reel[kind].made : TILE;
        struct share64 out = share64_view(tape->reel[kind].samples, tape->reel[kind].made, n);
        TRY(sample(p, tape, kind, out));
        tape->reel[kind].made += n;
    }
    return ERR_OK;
}

size_t tape_position(const struct tape *tape, enum tape_kind kind)
{
    size_t next = tape->reel[kind].next;
    return kind == TAPE_GAUSS ? next + next % 2 : next;
}

enum err tape_take(struct tape *tape, enum tape_kind kind, struct share64 out)
{
    size_t position = tape_position(tape, kind), end = position + out.n;
    struct share64 used;
    if (position > tape->reel[kind].made || out.n > tape->reel[kind].made - position)
        return ERR_MISUSE;
    ring64_copy(out, share64_view(tape->reel[kind].samples, position, out.n));
    /* with the partner that an odd end leaves behind, and never uses */
    used = share64_view(tape->reel[kind].samples, tape->reel[kind].next,
                        end - tape->reel[kind].next);
    secret_wipe(used.a, used.n * sizeof *used.a);
    secret_wipe(used.b, used.n * sizeof *used.b);
    tape->reel[kind].next = end;
    return ERR_OK;
}
