/* base/nearest.h - "did you mean": the nearest of some known words. */
#ifndef TREFOIL_BASE_NEAREST_H
#define TREFOIL_BASE_NEAREST_H

#include <stddef.h>

/*
 * The index of the word with the fewest insertions, deletions, replacements and swaps of
 * neighbours away, if they are at most a third of the word (and at least one); else `count`.
 */
size_t nearest(const char *word, const char *const *words, size_t count);

#endif
