#include "mpc/check_chunks.h"

#include "base/memory.h"

enum err check_chunks_take(struct check_chunks *chunks, void **chunk)
{
    if (chunks->spares > 0) {
        *chunk = chunks->spare[--chunks->spares];
        return ERR_OK;
    }
    TRY(memory_room(&chunks->spare, &chunks->room, chunks->all + 1));
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
