#include "base/nearest.h"

#include <string.h>

#define WORD_MAX 40 /* longer words are not mistyped commands or names */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[3][WORD_MAX + 1];
    size_t *before = row[0], *last = row[1], *now = row[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *spare = before;
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

size_t nearest(const char *word, const char *const *words, size_t count)
{
    size_t n = strlen(word);
    size_t best = count;
    size_t fewest = (n > 3 ? n / 3 : 1) + 1;
    if (n > WORD_MAX)
        return count;
    for (size_t i = 0; i < count; i++) {
        size_t m = strlen(words[i]);
        size_t d = m > WORD_MAX ? fewest : distance(word, n, words[i], m);
        if (d < fewest) {
            fewest = d;
            best = i;
        }
    }
    return best;
}
