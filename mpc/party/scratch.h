/*
 * mpc/party/scratch.h - working memory of the protocols: a stack that keeps its pages between
 * calls.
 *
 * Vectors that live during one call come from here, so that hot paths neither map nor clear pages.
 * The memory is not zeroed. Above 256 MiB it goes back to the system when the stack is empty.
 * Everything is wiped before it is freed.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct scratch;

struct scratch *scratch_new(void) __attribute__((warn_unused_result));
void scratch_free(struct scratch **s);

/*
 * A scratch keeps up to 256 MiB of unused memory for the next call. This makes it one of so many
 * that share that bound.
 */
void scratch_share(struct scratch *s, size_t scratches);

/* `count` objects of the type pointed to, on a 64-byte boundary; or elements of another size. */
#define scratch_array(s, address_of_pointer, count)                                                \
    scratch_take((s), (void *)(address_of_pointer), (count), sizeof **(address_of_pointer))
enum err scratch_take(struct scratch *s, void *address_of_pointer, size_t count,
                      size_t size) MUST_CHECK;

/*
 * The stack as it is now. A scope that takes a mark gives back, on every way out, what it took:
 *     const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
 */
struct scratch_mark {
    struct scratch *of;
    size_t block, used;
};
struct scratch_mark scratch_mark(struct scratch *s);
void scratch_release(const struct scratch_mark *mark);
/*
 * The same, and wipes that memory, with what scopes within gave back: uploads and noise, which
 * nobody should find later.
 */
void scratch_wipe(const struct scratch_mark *mark);
