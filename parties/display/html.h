/*
 * parties/display/html.h - writing HTML without ever writing a name of somebody's as markup.
 *
 * html_put() is for the program's own words and numbers; whatever comes from a study file or from data goes
 * through html_text().
 */
#ifndef TREFOIL_PARTIES_DISPLAY_HTML_H
#define TREFOIL_PARTIES_DISPLAY_HTML_H

#include "base/bytes.h"

/* At most 2000 bytes at once; more marks `out` as failed. */
void html_put(struct bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Escaped, for text between tags and for attributes in double quotes. */
void html_text(struct bytes *out, const char *text);
/* The same, cut between characters to so many, with ".." where it was cut. */
void html_text_cut(struct bytes *out, const char *text, size_t characters);

#endif
