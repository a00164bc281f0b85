#include "parties/display/html.h"

#include "base/words.h"

#include <string.h>

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

void html_between(struct bytes *out, const char *before, const char *text, const char *after)
{
    bytes_put_text(out, before);
    html_text(out, text);
    bytes_put_text(out, after);
}

void html_text_cut(struct bytes *out, const char *text, size_t characters)
{
    if (text[words_prefix(text, characters)] == '\0') {
        html_text(out, text);
    } else {
        put_escaped(out, text, words_prefix(text, characters - 2));
        bytes_put(out, "..", 2);
    }
}
