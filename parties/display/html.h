/*
 * parties/display/html.h - writing HTML without ever writing a name of somebody's as markup.
 *
 * text_put() (base/text.h) is for the program's own words and numbers; whatever comes from a study
 * file or from data goes through html_text().
 */
#ifndef TREFOIL_PARTIES_DISPLAY_HTML_H
#define TREFOIL_PARTIES_DISPLAY_HTML_H

#include "base/bytes.h"

/* Escaped, for text between tags and for attributes in double quotes. */
void html_text(struct bytes *out, const char *text);
/* The same, cut between characters to so many, with ".." where it was cut. */
void html_text_cut(struct bytes *out, const char *text, size_t characters);

#endif
