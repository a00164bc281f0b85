/* base/nearest.h - "did you mean": the nearest of some known words. */
#pragma once

#include <stddef.h>

/*
 * The index of the nearest word, measured in insertions, deletions, replacements and swaps of
 * neighbours; `count` if none is within a third of the word's length (or one, if that is more).
 */
size_t nearest(const char *word, const char *const *words, size_t count);
