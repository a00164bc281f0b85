/* parties/display/assess_words.h - what a run found out about its own model, in a sentence. */
#ifndef TREFOIL_PARTIES_DISPLAY_ASSESS_WORDS_H
#define TREFOIL_PARTIES_DISPLAY_ASSESS_WORDS_H

#include "aim/run/assess.h"

/* A line of text. */
void assess_words(const struct assess *a, struct bytes *text);

#endif
