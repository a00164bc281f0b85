#include "aim/sql/utf16.h"

#include "base/text.h"

/* Takes one UTF-8 character and moves *p on; anything else counts as U+FFFD. */
static uint32_t take_character(const char **p)
{
    size_t n = text_character(*p);
    const unsigned char *u = (const unsigned char *)*p;
    uint32_t c = n <= 1 ? u[0] : u[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (u[i] & 0x3fu);
    *p += n == 0 ? 1 : n;
    return n == 0 ? 0xfffd : c;
}

void utf16_put(struct bytes *out, const char *text)
{
    while (*text != '\0') {
        uint32_t c = take_character(&text);
        if (c >= 0x10000) {
            bytes_put_u16(out, (uint16_t)(0xd800 + ((c - 0x10000) >> 10)));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        bytes_put_u16(out, (uint16_t)c);
    }
    bytes_put_u16(out, 0);
}

static void put_character(struct bytes *out, uint32_t c)
{
    if (c < 0x80) {
        bytes_put_u8(out, (uint8_t)c);
        return;
    }
    if (c >= 0x10000) {
        bytes_put_u8(out, (uint8_t)(0xf0 | c >> 18));
        bytes_put_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
    } else if (c >= 0x800) {
        bytes_put_u8(out, (uint8_t)(0xe0 | c >> 12));
    }
    bytes_put_u8(out, (uint8_t)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6));
    bytes_put_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
}

void utf16_text(struct bytes *out, const void *units, size_t n)
{
    const uint8_t *p = units;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = (uint32_t)integer_get(p + 2 * i, 2);
        uint32_t next = i + 1 < n ? (uint32_t)integer_get(p + 2 * i + 2, 2) : 0;
        if (c >= 0xd800 && c < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (next - 0xdc00);
            i++;
        } else if (c >= 0xd800 && c < 0xe000) {
            c = 0xfffd;
        }
        put_character(out, c);
    }
}
