/* parties/display/assess_words.h - what a run found out about its own model, in a sentence. */
#pragma once

#include "aim/run/assess.h"

/* A line of text. */
void assess_words(const struct assess *a, struct bytes *text);
