/*
 * parties/display/html.h - writes HTML so that nobody's names can become markup.
 *
 * text_put() (base/text.h) is for the program's own words and numbers; whatever comes from a study
 * file or from data goes through html_text().
 */
#pragma once

#include "base/bytes.h"

/*
 * What a browser may do with our pages: draw them, with the styles that are inside. Nothing is
 * fetched, run or sent, even if somebody's name became markup.
 */
#define HTML_POLICY                                                                                \
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

/* Writes text escaped, for use between tags and in attributes in double quotes. */
void html_text(struct bytes *out, const char *text);
/* The same, between two pieces of markup. */
void html_between(struct bytes *out, const char *before, const char *text, const char *after);
/* The same, cut to so many characters, with ".." where it was cut. */
void html_text_cut(struct bytes *out, const char *text, size_t characters);
