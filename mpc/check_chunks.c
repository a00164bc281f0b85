#include "mpc/check_chunks.h"

#include "base/memory.h"

static enum err grow(struct check_chunks *chunks)
{
    const size_t more = chunks->room == 0 ? 16 : 2 * chunks->room;
    void **grown = memory_grow(chunks->spare, more, sizeof *grown);
    if (grown == NULL)
        return ERR_NOMEM;
    chunks->spare = grown;
    chunks->room = more;
    return ERR_OK;
}

enum err check_chunks_take(struct check_chunks *chunks, void **chunk)
{
    if (chunks->spares > 0) {
        *chunk = chunks->spare[--chunks->spares];
        return ERR_OK;
    }
    if (chunks->all == chunks->room)
        TRY(grow(chunks));
    *chunk = memory_words(CHECK_CHUNK, 1);
    if (*chunk == NULL)
        return ERR_NOMEM;
    chunks->all++;
    return ERR_OK;
}

void check_chunks_give(struct check_chunks *chunks, void *chunk)
{
    chunks->spare[chunks->spares++] = chunk;
}

void check_chunks_free(struct check_chunks *chunks)
{
    while (chunks->spares > 0)
        memory_wipe_free(&chunks->spare[--chunks->spares], CHECK_CHUNK);
    memory_free(&chunks->spare);
}
