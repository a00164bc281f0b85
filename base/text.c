#include "base/text.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

size_t text_character(const char *p)
{
    unsigned char first = (unsigned char)*p;
    size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    unsigned char second = n > 2 ? (unsigned char)p[1] : 0;
    if (first > 0xf4 || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
        return 0; /* longer than necessary, half of a surrogate pair, or beyond U+10FFFF */
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* One of the first 32 characters, or of the further controls of eight-bit code pages. */
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

struct text_hash text_hash(const uint8_t hash[32])
{
    struct text_hash t;
    sodium_bin2hex(t.text, sizeof t.text, hash, 32);
    return t;
}

bool text_hex(const char *text, void *out, size_t n)
{
    return strlen(text) == 2 * n && strspn(text, "0123456789abcdef") == 2 * n &&
           sodium_hex2bin(out, n, text, 2 * n, NULL, NULL, NULL) == 0;
}

void text_put_base64(char *text, const char *prefix, const void *p, size_t n)
{
    const size_t skip = strlen(prefix);
    memcpy(text, prefix, skip);
    sodium_bin2base64(text + skip, sodium_base64_ENCODED_LEN(n, BASE64), p, n, BASE64);
}

bool text_base64(const char *text, const char *prefix, void *out, size_t n)
{
    const size_t skip = strlen(prefix);
    size_t found = 0;
    return strncmp(text, prefix, skip) == 0 &&
           sodium_base642bin(out, n, text + skip, strlen(text + skip), NULL, &found, NULL,
                             BASE64) == 0 &&
           found == n;
}

char *text_value(char *text, const char *word)
{
    size_t n = strlen(word);
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (strncmp(line, word, n) == 0 && line[n] == ' ')
            return line + n + 1;
        line = end == NULL ? NULL : end + 1;
    }
    return NULL;
}

void text_put(struct bytes *b, const char *format, ...)
{
    va_list args;
    char *at;
    int n;
    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    at = n >= 0 ? (char *)bytes_extend(b, (size_t)n + 1) : NULL;
    b->failed = b->failed || n < 0;
    if (at == NULL)
        return;
    va_start(args, format);
    vsnprintf(at, (size_t)n + 1, format, args);
    va_end(args);
    b->size--; /* the NUL */
}

void text_put_hex(struct bytes *b, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_put(b, "%02x", ((const uint8_t *)p)[i]);
}

static int by_text(const void *a, const void *b, void *text)
{
    char *const *t = text;
    uint32_t i, j;
    memcpy(&i, a, sizeof i);
    memcpy(&j, b, sizeof j);
    return strcmp(t[i], t[j]);
}

void text_order(char *const *text, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, by_text, (void *)(uintptr_t)text);
}

uint32_t text_find(char *const *text, uint32_t n, const uint32_t *order, const char *wanted)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int c = strcmp(wanted, text[order[middle]]);
        if (c == 0)
            return order[middle];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return UINT32_MAX;
}
