#include "base/words.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *words_time(double seconds, char text[WORDS_SIZE])
{
    unsigned s = seconds > 0 && seconds < 1e9 ? (unsigned)lround(seconds) : 0;
    if (seconds < 9.95)
        snprintf(text, WORDS_SIZE, "%.1f s", fmax(0, seconds));
    else if (s < 100)
        snprintf(text, WORDS_SIZE, "%u s", s);
    else if (s < 5970)
        snprintf(text, WORDS_SIZE, "%u min", (s + 30) / 60);
    else
        snprintf(text, WORDS_SIZE, "%u h %02u min", (s + 30) / 3600, (s + 30) % 3600 / 60);
    return text;
}

const char *words_bytes(uint64_t bytes, char text[WORDS_SIZE])
{
    static const char *const unit[] = {"kB", "MB", "GB", "TB"};
    double v = (double)bytes / 1e3;
    unsigned i = 0;
    if (bytes < 10000) {
        snprintf(text, WORDS_SIZE, "%u bytes", (unsigned)bytes);
        return text;
    }
    for (; v >= 999.95 && i < 3; i++)
        v /= 1e3;
    snprintf(text, WORDS_SIZE, "%.1f %s", v, unit[i]);
    return text;
}

const char *words_number(double v, char text[WORDS_SIZE])
{
    char *digits;
    snprintf(text, WORDS_SIZE, "%g", v);
    digits = strchr(text, 'e');
    if (digits != NULL) {
        digits += digits[1] == '-' || digits[1] == '+' ? 2 : 1;
        memmove(digits, digits + strspn(digits, "0"), strlen(digits + strspn(digits, "0")) + 1);
    }
    return text;
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
