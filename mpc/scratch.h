/*
 * mpc/scratch.h - working memory of the protocols: a stack that keeps its pages between calls.
 *
 * Vectors that live during one call come from here, so that hot paths neither map nor clear pages.
 * What is given is not zeroed. A call takes a mark, allocates, and releases to the mark on every
 * way out. Above 256 MiB memory goes back to the system when the stack is empty. Everything is
 * wiped before it is freed.
 */
#ifndef TREFOIL_MPC_SCRATCH_H
#define TREFOIL_MPC_SCRATCH_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct scratch;

struct scratch_mark {
    size_t block, used;
};

struct scratch *scratch_new(void) __attribute__((warn_unused_result));
void scratch_free(struct scratch **s);

/*
 * Up to 256 MiB of memory that is not used stay with a scratch, for the next call. This is one of
 * so many that have this together.
 */
void scratch_share(struct scratch *s, size_t scratches);

/* count * size bytes on a 64-byte boundary, or NULL. */
void *scratch_take(struct scratch *s, size_t count, size_t size)
    __attribute__((warn_unused_result));
struct scratch_mark scratch_mark(const struct scratch *s);
void scratch_release(struct scratch *s, struct scratch_mark mark);

/*
 * Releases, and gives the result of what has used the memory: the end of a call, which hands what
 * takes vectors and may fail to another.
 */
static inline enum err scratch_done(struct scratch *s, struct scratch_mark mark, enum err e)
{
    scratch_release(s, mark);
    return e;
}

/*
 * The same, and what stands there is wiped: for uploads and noise, which nobody should find later.
 */
enum err scratch_wiped(struct scratch *s, struct scratch_mark mark, enum err e) MUST_CHECK;

#endif
