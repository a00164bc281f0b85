#include "parties/display/assess_words.h"

#include "base/text.h"

#include <math.h>

static void put_mean(const struct assess *a, enum assess_which which, const char *what,
                     struct bytes *text)
{
    const struct assess_mean m = assess_mean(a, which);
    if (m.pairs == 0)
        return;
    text_put(text, " Over %zu pair%s of columns %s its mean error is %.3f (95 %%: %.3f to %.3f)",
             m.pairs, m.pairs == 1 ? "" : "s", what, fmax(0, m.error),
             fmax(0, m.error - ASSESS_BAND * m.deviation), m.error + ASSESS_BAND * m.deviation);
    if (a->alone != NULL)
        text_put(text, ", where independent columns have %.3f", fmax(0, m.alone));
    text_put(text, ".");
}

void assess_words(const struct assess *a, struct bytes *text)
{
    text_put(
        text,
        "Assessed at the end of the run, with noise: how far the run's model is from the rows, 0 "
        "alike and 2 nothing in common.");
    put_mean(a, ASSESS_HELD_OUT, "that no measurement holds", text);
    put_mean(a, ASSESS_MEASURED, "that were measured", text);
    text_put(text, " The intervals cover the noise in these figures alone.\n");
}
