#include "base/encoding.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

bool encoding_printable(const char *text, char *out, size_t size)
{
    bool utf8 = true;
    size_t used = 0;
    while (*text != '\0' && used + 8 < size) {
        size_t n = text_character(text);
        utf8 &= n > 0;
        if (n == 0 || text_is_control(text)) {
            out[used++] = '?';
            text += n > 0 ? n : 1;
        } else {
            memcpy(out + used, text, n);
            used += n;
            text += n;
        }
    }
    strcpy(out + used, *text != '\0' ? "..." : "");
    return utf8;
}

bool encoding_steers(const char *text)
{
    while (*text != '\0' && text_character(text) > 0 && !text_is_control(text))
        text += text_character(text);
    return *text != '\0';
}

bool encoding_reorders(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    for (; *p != 0; p++)
        if ((p[0] == 0xd8 && p[1] == 0x9c) ||
            (p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f)) ||
            (p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||
            (p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9))
            return true;
    return false;
}

/* Of one or two bytes: accents (U+0300 to U+036F) and most letters that bear them have no more. */
static unsigned code_point(const unsigned char *p)
{
    return p[0] < 0x80 ? p[0] : (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
}

const char *encoding_decomposed(const char *text, char points[24])
{
    const unsigned char *p = (const unsigned char *)text, *before = NULL;
    for (size_t n; *p != '\0' && (n = text_character((const char *)p)) > 0; p += n) {
        if (before != NULL && n == 2 && code_point(p) >= 0x300 && code_point(p) <= 0x36f) {
            snprintf(points, 24, "U+%04X U+%04X", code_point(before), code_point(p));
            return points;
        }
        before = n <= 2 ? p : NULL;
    }
    return NULL;
}

const char *encoding_guess(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= 0x80 && (unsigned char)*text <= 0x9f)
            return "Windows-1252";
    return "Latin-1 (ISO 8859-1) or Windows-1252";
}

size_t encoding_mark(const char *p, size_t n)
{
    return n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

const char *encoding_foreign(const char *p, size_t n)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *name;
    } mark[] = {
        {"\xff\xfe\0\0", 4, "in UTF-32"},
        {"\0\0\xfe\xff", 4, "in UTF-32"},
        {"\xff\xfe", 2, "in UTF-16"},
        {"\xfe\xff", 2, "in UTF-16"},
        {"PK\x03\x04", 4, "a spreadsheet or zip archive"},
        {"\x1f\x8b", 2, "compressed by gzip"},
        {"(\xb5/\xfd", 4, "compressed by zstd"},
    };
    size_t nuls = 0, odd = 0;
    for (size_t i = 0; i < sizeof mark / sizeof mark[0]; i++)
        if (n >= mark[i].size && memcmp(p, mark[i].bytes, mark[i].size) == 0)
            return mark[i].name;
    n = n < 512 ? n : 512;
    for (size_t i = 0; i < n; i++) {
        nuls += p[i] == 0;
        odd += p[i] == 0 && i % 2 == 1;
    }
    if (nuls < 4 || nuls * 3 < n)
        return NULL;
    return odd == nuls || odd == 0 ? "in UTF-16" : "no text";
}
