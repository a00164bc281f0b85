#include "aim/table/number.h"

#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number taken apart: (-1)^negative * digits * 10^exponent, if `exact`. */
struct number_parts {
    bool negative;
    bool exact; /* at most 18 digits, exponent within +-400 */
    uint64_t digits;
    int exponent;
};

static const char *parse_digits(const char *p, struct number_parts *n, int step, bool *some)
{
    for (; text_is_digit(*p); p++) {
        *some = true;
        if (n->digits > 99999999999999999u)
            n->exact = false;
        else
            n->digits = 10 * n->digits + (uint64_t)(*p - '0');
        n->exponent += n->exponent > -1000 ? step : 0;
    }
    return p;
}

static const char *parse_exponent(const char *p, struct number_parts *n)
{
    bool negative = *p == '-';
    int e = 0;
    if (*p == '-' || *p == '+')
        p++;
    if (!text_is_digit(*p))
        return NULL;
    for (; text_is_digit(*p); p++)
        e = e < 10000 ? 10 * e + (*p - '0') : e;
    n->exponent += negative ? -e : e;
    return p;
}

static bool parse(const char *text, struct number_parts *n)
{
    const char *p = text;
    bool some = false;
    *n = (struct number_parts){.exact = true};
    n->negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    p = parse_digits(p, n, 0, &some);
    if (*p == '.')
        p = parse_digits(p + 1, n, -1, &some);
    if (!some)
        return false;
    if (*p == 'e' || *p == 'E')
        p = parse_exponent(p + 1, n);
    if (n->exponent < -400 || n->exponent > 400)
        n->exact = false;
    return p != NULL && *p == '\0';
}

double number_power(int e)
{
    double p = 1;
    for (; e > 0; e--)
        p *= 10;
    return p;
}

bool number_double(const char *text, double *value)
{
    struct number_parts n;
    if (!parse(text, &n))
        return false;
    /* Both operands are exact, so the one operation rounds correctly. */
    if (n.exact && n.digits < UINT64_C(1) << 53 && n.exponent >= -22 && n.exponent <= 22) {
        double v = (double)n.digits;
        v = n.exponent < 0 ? v / number_power(-n.exponent) : v * number_power(n.exponent);
        *value = n.negative ? -v : v;
    } else {
        locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (c == (locale_t)0)
            return false;
        *value = strtod_l(text, NULL, c);
        freelocale(c);
    }
    return isfinite(*value);
}

bool number_integer(const char *text, int64_t *value)
{
    struct number_parts n;
    double v;
    if (!parse(text, &n))
        return false;
    while (n.exact && n.exponent < 0 && n.digits % 10 == 0) {
        n.digits /= 10;
        n.exponent++;
    }
    while (n.exact && n.exponent > 0 && n.digits < UINT64_C(100000000000000000)) {
        n.digits *= 10;
        n.exponent = n.digits == 0 ? 0 : n.exponent - 1;
    }
    if (n.exact && n.exponent < 0 && n.digits != 0)
        return false;
    if (n.exact && n.exponent <= 0) {
        *value = n.negative ? -(int64_t)n.digits : (int64_t)n.digits;
        return true;
    }
    if (!number_double(text, &v)) {
        *value = n.negative ? INT64_MIN : INT64_MAX; /* too large for a double */
        return true;
    }
    /* cppcheck-suppress incorrectLogicOperator ; it reads 0x1p63 as 1 */
    if (v >= 0x1p63 || v < -0x1p63) {
        *value = v > 0 ? INT64_MAX : INT64_MIN;
        return true;
    }
    if (v != floor(v))
        return false;
    *value = (int64_t)v;
    return true;
}

static void set_point(char *text)
{
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") != 0 ? strstr(text, point) : NULL;
    if (at != NULL) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
}

void number_print(char *text, size_t size, double value, int decimals)
{
    if (decimals < 0) {
        number_round(text, size, value, 17);
        return;
    }
    snprintf(text, size, "%.*f", decimals, value);
    set_point(text);
}

void number_round(char *text, size_t size, double value, int digits)
{
    snprintf(text, size, "%.*g", digits, value);
    set_point(text);
}

void number_shortest(char *text, size_t size, double value)
{
    double back;
    int digits = 15;
    number_round(text, size, value, digits);
    while (digits < 17 && !(number_double(text, &back) && back == value))
        number_round(text, size, value, ++digits);
}
