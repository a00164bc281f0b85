#include "base/words.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct words_text words_time(double seconds)
{
    unsigned s = seconds > 0 ? (unsigned)lround(fmin(seconds, 1e9)) : 0;
    struct words_text w;
    if (seconds < 9.95)
        snprintf(w.text, sizeof w.text, "%.1f s", fmax(0, seconds));
    else if (s < 100)
        snprintf(w.text, sizeof w.text, "%u s", s);
    else if (s < 5970)
        snprintf(w.text, sizeof w.text, "%u min", (s + 30) / 60);
    else
        snprintf(w.text, sizeof w.text, "%u h %02u min", (s + 30) / 3600, (s + 30) % 3600 / 60);
    return w;
}

struct words_text words_bytes(uint64_t bytes)
{
    static const char *const unit[] = {"kB", "MB", "GB", "TB"};
    double v = (double)bytes / 1e3;
    struct words_text w;
    unsigned i = 0;
    for (; v >= 999.95 && i < 3; i++)
        v /= 1e3;
    if (bytes < 10000)
        snprintf(w.text, sizeof w.text, "%u bytes", (unsigned)bytes);
    else
        snprintf(w.text, sizeof w.text, "%.1f %s", v, unit[i]);
    return w;
}

struct words_text words_number(double v)
{
    struct words_text w;
    char *digits;
    snprintf(w.text, sizeof w.text, "%g", v);
    digits = strchr(w.text, 'e');
    if (digits != NULL) {
        digits += digits[1] == '-' || digits[1] == '+' ? 2 : 1;
        memmove(digits, digits + strspn(digits, "0"), strlen(digits + strspn(digits, "0")) + 1);
    }
    return w;
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

size_t words_length(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += begins_character(*text);
    return n;
}

size_t words_prefix(const char *text, size_t characters)
{
    size_t n = 0;
    for (; text[n] != '\0'; n++)
        if (begins_character(text[n]) && characters-- == 0)
            break;
    return n;
}

void words_fit(char *out, size_t size, const char *text, size_t columns)
{
    size_t n = words_length(text);
    if (n <= columns)
        snprintf(out, size, "%s%*s", text, (int)(columns - n), "");
    else
        snprintf(out, size, "%.*s..", (int)words_prefix(text, columns - 2), text);
}
