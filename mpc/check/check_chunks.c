#include "mpc/check/check_chunks.h"

#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

/*
 * Gets all its pages at once: a fault for each costs half as much again. Nothing is zeroed here,
 * since spares are not zeroed either.
 */
static void *fresh_chunk(void)
{
    void *chunk = aligned_alloc(PAGE, CHECK_CHUNK);
#ifdef MADV_POPULATE_WRITE
    if (chunk != NULL)
        madvise(chunk, CHECK_CHUNK, MADV_POPULATE_WRITE); /* a hint: failing is harmless */
#endif
    return chunk;
}

enum err check_chunks_take(struct check_chunks *chunks, void **chunk)
{
    if (chunks->spares > 0) {
        *chunk = chunks->spare[--chunks->spares];
        return ERR_OK;
    }
    TRY(memory_room(&chunks->spare, &chunks->room, chunks->all + 1));
    *chunk = fresh_chunk();
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
