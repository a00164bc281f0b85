/* Words of a study in words: where lines end. */
#include "parties/study/study_text.h"

#include <string.h>

const char *study_plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

void study_wrap(FILE *out, size_t *at, const char *word, const char *after)
{
    size_t n = strlen(word) + strlen(after) + 1;
    if (*at + n > 80) {
        fprintf(out, "\n  %-20s", "");
        *at = 22;
    }
    fprintf(out, " %s%s", word, after);
    *at += n;
}
