#include "parties/display/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void html_put(struct bytes *out, const char *format, ...)
{
    char text[2001];
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text)
        out->failed = true;
    else
        bytes_put(out, text, (size_t)n);
}

static void put_escaped(struct bytes *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (text[i]) {
        case '&':
            bytes_put(out, "&amp;", 5);
            break;
        case '<':
            bytes_put(out, "&lt;", 4);
            break;
        case '>':
            bytes_put(out, "&gt;", 4);
            break;
        case '"':
            bytes_put(out, "&quot;", 6);
            break;
        default:
            bytes_put(out, &text[i], 1);
        }
}

void html_text(struct bytes *out, const char *text)
{
    put_escaped(out, text, strlen(text));
}

/* Bytes of the first `characters` characters of UTF-8. */
static size_t bytes_of(const char *text, size_t characters)
{
    size_t n = 0;
    while (text[n] != '\0') {
        if (((unsigned char)text[n] & 0xC0) != 0x80 && characters-- == 0)
            break;
        n++;
    }
    return n;
}

void html_text_cut(struct bytes *out, const char *text, size_t characters)
{
    if (text[bytes_of(text, characters)] == '\0') {
        html_text(out, text);
    } else {
        put_escaped(out, text, bytes_of(text, characters - 2));
        bytes_put(out, "..", 2);
    }
}
