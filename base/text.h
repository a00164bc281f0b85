/* base/text.h - text from outside, as UTF-8, and what of it could steer a terminal. */
#ifndef TREFOIL_BASE_TEXT_H
#define TREFOIL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at `p`, or 0 if there is none. */
size_t text_character(const char *p);
/* Of such a character: whether a terminal may obey it. Line ends are among them. */
bool text_is_control(const char *p);
/* Makes those, and what is no UTF-8, `?`, but for line ends. */
void text_tame(char *text);

#endif
