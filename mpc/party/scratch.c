#include "mpc/party/scratch.h"

#include "base/memory.h"
#include "base/secret.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISONED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONED 1
#endif
#endif
#ifdef POISONED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define BLOCKS 48
#define FIRST ((size_t)1 << 20)
#define KEEP ((size_t)256 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define GAP 64 /* between two vectors: a red zone, and no two share a cache line */

struct scratch {
    struct {
        uint8_t *memory;
        size_t size, used, most; /* most: up to there it may not be wiped */
    } block[BLOCKS];
    size_t blocks, total; /* total: bytes of all blocks */
    size_t current;       /* the blocks after it are empty */
    size_t keep;          /* bytes, at most, when nothing is used */
};

struct scratch *scratch_new(void)
{
    struct scratch *s = memory_array(1, sizeof *s);
    if (s != NULL)
        s->keep = KEEP;
    return s;
}

void scratch_share(struct scratch *s, size_t scratches)
{
    s->keep = KEEP / scratches;
}

static void free_blocks(struct scratch *s)
{
    for (size_t i = 0; i < s->blocks; i++) {
        ASAN_UNPOISON_MEMORY_REGION(s->block[i].memory, s->block[i].size);
        secret_wipe(s->block[i].memory, s->block[i].most);
        /* the allocator keeps what a thread frees: its pages go back, and the next are small */
        if (madvise(s->block[i].memory, s->block[i].size, MADV_DONTNEED) != 0)
            madvise(s->block[i].memory, s->block[i].size, MADV_DONTNEED_LOCKED);
        madvise(s->block[i].memory, s->block[i].size, MADV_NOHUGEPAGE);
        memory_free(&s->block[i].memory);
    }
    s->blocks = s->total = s->current = 0;
}

void scratch_free(struct scratch **s)
{
    if (*s != NULL)
        free_blocks(*s);
    memory_free(s);
}

static bool add_block(struct scratch *s, size_t bytes)
{
    size_t size = s->blocks == 0 ? FIRST : s->total; /* so that blocks are few */
    uint8_t *p;
    if (s->blocks == BLOCKS || bytes > SIZE_MAX / 2)
        return false;
    if (size < bytes)
        size = bytes;
    size = (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    p = aligned_alloc(HUGE_PAGE, size);
    if (p == NULL)
        return false;
    madvise(p, size, MADV_HUGEPAGE); /* a hint: failing is harmless */
    ASAN_POISON_MEMORY_REGION(p, size);
    s->block[s->blocks].memory = p;
    s->block[s->blocks].size = size;
    s->block[s->blocks].used = s->block[s->blocks].most = 0;
    s->blocks++;
    s->total += size;
    return true;
}

enum err scratch_take(struct scratch *s, void *address_of_pointer, size_t count, size_t size)
{
    size_t bytes;
    uint8_t *p;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return ERR_NOMEM;
    bytes = ((bytes + 63) & ~(size_t)63) + GAP;
    for (;; s->current++) {
        if (s->current == s->blocks && !add_block(s, bytes)) {
            s->current -= s->blocks > 0;
            return ERR_NOMEM;
        }
        if (s->block[s->current].size - s->block[s->current].used >= bytes)
            break;
    }
    p = s->block[s->current].memory + s->block[s->current].used;
    s->block[s->current].used += bytes;
    if (s->block[s->current].most < s->block[s->current].used)
        s->block[s->current].most = s->block[s->current].used;
    ASAN_UNPOISON_MEMORY_REGION(p, bytes - GAP);
    memcpy(address_of_pointer, &p, sizeof p);
    return ERR_OK;
}

struct scratch_mark scratch_mark(struct scratch *s)
{
    return (struct scratch_mark){s, s->current, s->blocks > 0 ? s->block[s->current].used : 0};
}

void scratch_release(const struct scratch_mark *mark)
{
    struct scratch *s = mark->of;
    for (size_t i = mark->block; i < s->blocks; i++) {
        const size_t from = i == mark->block ? mark->used : 0;
        ASAN_POISON_MEMORY_REGION(s->block[i].memory + from, s->block[i].used - from);
        s->block[i].used = from;
    }
    s->current = mark->block;
    if (mark->block == 0 && mark->used == 0 && s->total > s->keep)
        free_blocks(s);
}

void scratch_wipe(const struct scratch_mark *mark)
{
    struct scratch *s = mark->of;
    for (size_t i = mark->block; i < s->blocks; i++) {
        const size_t from = i == mark->block ? mark->used : 0, to = s->block[i].most;
        ASAN_UNPOISON_MEMORY_REGION(s->block[i].memory + from, to - from);
        secret_wipe(s->block[i].memory + from, to - from);
        ASAN_POISON_MEMORY_REGION(s->block[i].memory + from, to - from);
        s->block[i].most = from;
    }
    scratch_release(mark);
}
