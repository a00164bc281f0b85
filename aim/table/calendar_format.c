/* Formats of dates: reading, writing, and which lists of them are refused. */
#include "aim/table/calendar.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char fields[] = "YmdHMS";

static int *field_of(struct calendar_time *t, char field)
{
    int *const of[] = {&t->year, &t->month, &t->day, &t->hour, &t->minute, &t->second};
    return of[strchr(fields, field) - fields];
}

/*
 * Text in one format. A field of two digits may have one if neither neighbour in the format is a
 * field; so a format never reads a text in two ways, as it has no digits of its own.
 */
static bool parse_format(const char *format, const char *text, struct calendar_time *t)
{
    const char *begin = format;
    *t = (struct calendar_time){0};
    for (; *format != '\0'; format++) {
        const bool alone = format < begin + 2 || format[-2] != '%';
        int *value, digits = 0, most;
        if (*format != '%') {
            if (*text++ != *format)
                return false;
            continue;
        }
        value = field_of(t, *++format);
        most = *format == 'Y' ? 4 : 2;
        for (; digits < most && text_is_digit(*text); digits++)
            *value = 10 * *value + (*text++ - '0');
        if (digits < most && (digits == 0 || most == 4 || !alone || format[1] == '%'))
            return false;
    }
    return *text == '\0' && calendar_is_time(t);
}

static void print_format(const char *format, const struct calendar_time *t,
                         char text[CALENDAR_FORMAT])
{
    struct calendar_time copy = *t;
    size_t n = 0;
    for (; *format != '\0' && n + 5 < CALENDAR_FORMAT; format++)
        if (*format != '%')
            text[n++] = *format;
        else {
            const int value = *field_of(&copy, *++format);
            n += (size_t)snprintf(text + n, CALENDAR_FORMAT - n, *format == 'Y' ? "%04d" : "%02d",
                                  value);
        }
    text[n] = '\0';
}

bool calendar_parse(const struct calendar *c, const char *text, int64_t *number)
{
    struct calendar_time t;
    int64_t high;
    if (c->formats == 0)
        return calendar_read(text, c->unit, false, number, &high);
    for (uint32_t i = 0; i < c->formats; i++)
        if (parse_format(c->format[i], text, &t)) {
            *number = calendar_number(&t, c->unit);
            return true;
        }
    return false;
}

void calendar_print(const struct calendar *c, int64_t number, char text[CALENDAR_FORMAT])
{
    static const char *const usual[CALENDAR_UNITS] = {"%Y-%m-%d", "%Y-%m-%d %H:%M",
                                                      "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"};
    const struct calendar_time t = calendar_time(number, c->unit);
    print_format(c->formats > 0 ? c->format[0] : usual[c->unit], &t, text);
}

/* --- which formats may be --------------------------------------------------------------------- */

static enum err check_format(const char *format, const char *name, struct log *log)
{
    unsigned seen = 0, more, size = 0;
    for (const char *f = format; *f != '\0'; f++, size++) {
        const char *at;
        if (text_is_digit(*f))
            return log_fail(log, ERR_STUDY, "attribute %s: the format '%s' has a digit of its own",
                            name, format);
        if (*f != '%')
            continue;
        at = *++f != '\0' ? strchr(fields, *f) : NULL;
        if (at == NULL)
            return log_fail(log, ERR_STUDY,
                            "attribute %s: the format '%s' has a %% that is none of %%Y, %%m, %%d, "
                            "%%H, %%M and %%S",
                            name, format);
        more = 1u << (at - fields);
        if ((seen & more) != 0)
            return log_fail(log, ERR_STUDY, "attribute %s: the format '%s' has %%%c twice", name,
                            format, *f);
        seen |= more;
        size += 3;
    }
    if (*format == ' ' || (size > 0 && format[strlen(format) - 1] == ' '))
        return log_fail(log, ERR_STUDY, "attribute %s: the format '%s' has spaces around it", name,
                        format);
    if ((seen & 7) != 7)
        return log_fail(log, ERR_STUDY,
                        "attribute %s: the format '%s' needs the year %%Y, the month %%m and the "
                        "day %%d",
                        name, format);
    if (size >= CALENDAR_FORMAT - 5)
        return log_fail(log, ERR_STUDY, "attribute %s: the format '%s' is too long", name, format);
    return ERR_OK;
}

/* What is written must give back the number. */
static bool is_whole(const struct calendar *c)
{
    static const struct calendar_time probe = {2011, 12, 3, 4, 5, 6};
    const int64_t number = calendar_number(&probe, c->unit);
    char text[CALENDAR_FORMAT];
    int64_t back;
    calendar_print(c, number, text);
    return calendar_parse(c, text, &back) && back == number;
}

/*
 * Whether b reads a text of a's as another date. Pairs of digits in both begin at the same places,
 * since all fields have two or four and no digits are between them. If two formats read some text
 * differently, some pair is another field in each; so does a text whose pairs all differ, and are
 * from 1 to 12, which every field may be. The first time is nicer to show.
 */
static bool clash(const char *a, const char *b, enum calendar_unit unit, char text[CALENDAR_FORMAT],
                  struct calendar_time *one, struct calendar_time *other)
{
    static const struct calendar_time probes[] = {{2021, 3, 4, 5, 6, 7}, {1211, 3, 4, 5, 6, 7}};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        print_format(a, &probes[i], text);
        if (parse_format(a, text, one) && parse_format(b, text, other) &&
            calendar_number(one, unit) != calendar_number(other, unit))
            return true;
    }
    return false;
}

enum err calendar_check(const struct calendar *c, const char *name, uint32_t *bad, struct log *log)
{
    struct calendar_time one, other;
    char text[CALENDAR_FORMAT], first[CALENDAR_FORMAT], second[CALENDAR_FORMAT];
    const struct calendar second_unit = {.unit = CALENDAR_SECOND};
    const struct calendar *shown = c->unit == CALENDAR_DAY ? c : &second_unit;
    for (*bad = 0; *bad < c->formats; ++*bad)
        TRY(check_format(c->format[*bad], name, log));
    *bad = 0;
    if (c->formats > 0 && !is_whole(c))
        return log_fail(log, ERR_STUDY,
                        "attribute %s: the first format '%s' is written, and loses the %s; put one "
                        "first that has it",
                        name, c->format[0], calendar_unit_words[c->unit]);
    for (*bad = 1; *bad < c->formats; ++*bad)
        for (uint32_t i = 0; i < *bad; i++) {
            if (!clash(c->format[i], c->format[*bad], c->unit, text, &one, &other))
                continue;
            calendar_words(shown, calendar_number(&one, shown->unit), first);
            calendar_words(shown, calendar_number(&other, shown->unit), second);
            return log_fail(log, ERR_STUDY,
                            "attribute %s: '%s' would be %s in the format '%s', but %s in '%s'; "
                            "leave one out",
                            name, text, first, c->format[i], second, c->format[*bad]);
        }
    return ERR_OK;
}
