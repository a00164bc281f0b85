#include "base/unicode.h"

#include "base/text.h"

#include <string.h>

/* The size of a text's first character if that is white space or has no width; else 0. */
static size_t space(const char *text)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", /* U+205F */
        "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf", /* U+FEFF */
    };
    const unsigned char *p = (const unsigned char *)text;
    if (*p == ' ' || (*p >= '\t' && *p <= '\r'))
        return 1;
    if (p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0x80 && p[2] <= 0x8b) /* U+2000 to U+200B */
        return 3;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strncmp(text, wide[i], strlen(wide[i])) == 0)
            return strlen(wide[i]);
    return 0;
}

static void put_spaceless(struct bytes *out, const char *text)
{
    while (*text != '\0') {
        const size_t gap = space(text);
        if (gap == 0)
            bytes_put_u8(out, (uint8_t)*text);
        text += gap > 0 ? gap : 1;
    }
}

/* Whether it is ASCII; ERR_DATA where it is not even UTF-8. */
static enum err scan(const char *text, bool *ascii)
{
    *ascii = true;
    for (size_t n; *text != '\0'; text += n) {
        n = text_character(text);
        if (n == 0)
            return ERR_DATA;
        *ascii = *ascii && n == 1;
    }
    return ERR_OK;
}

/* Spaces go first: what they kept apart may be one letter. */
enum err unicode_put(struct bytes *out, const char *text, struct unicode_form form)
{
    struct bytes spaceless CLEAN(bytes_clear) = {0};
    bool ascii;
    TRY(scan(text, &ascii));
    if (form.spaceless) {
        put_spaceless(&spaceless, text);
        bytes_put_u8(&spaceless, 0);
        TRY(bytes_ok(&spaceless));
        text = (const char *)spaceless.data;
        TRY(scan(text, &ascii));
    }
    if (ascii && form.caseless)
        for (; *text != '\0'; text++)
            bytes_put_u8(out, (uint8_t)(*text + (*text >= 'A' && *text <= 'Z' ? 32 : 0)));
    else if (!ascii && (form.composed || form.caseless))
        TRY(unicode_map(out, text, form));
    else
        bytes_put_text(out, text);
    return bytes_ok(out);
}
