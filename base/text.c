#include "base/text.h"

#include <string.h>

size_t text_character(const char *p)
{
    unsigned char first = (unsigned char)*p;
    size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    if (first > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Of the first 32 characters, or one of those that eight-bit code pages have besides. */
bool text_is_control(const char *p)
{
    unsigned char first = (unsigned char)p[0];
    return first < 0x20 || first == 0x7f || (first == 0xc2 && (unsigned char)p[1] < 0xa0);
}

void text_tame(char *text)
{
    while (*text != '\0') {
        size_t n = text_character(text);
        bool fine = n > 0 && (*text == '\n' || !text_is_control(text));
        n = n > 0 ? n : 1;
        if (!fine)
            memset(text, '?', n);
        text += n;
    }
}
