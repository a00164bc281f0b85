#include "aim/table/calendar.h"

#include "base/text.h"

#include <stdio.h>

#define DAY_S 86400
#define FIRST_DAY (-719162) /* 0001-01-01 */
#define LAST_DAY 2932896    /* 9999-12-31 */
#define ERA_DAYS 146097     /* in 400 years */

const char *const calendar_unit_words[CALENDAR_UNITS] = {"day", "hour", "minute", "second"};
const char *const calendar_part_words[CALENDAR_PARTS] = {"year", "quarter", "month",
                                                         "week", "day",     "hour"};

int64_t calendar_unit_seconds(enum calendar_unit unit)
{
    static const int64_t seconds[CALENDAR_UNITS] = {DAY_S, 3600, 60, 1};
    return seconds[unit];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* --- days ------------------------------------------------------------------------------------- */

/* Years begin in March, so that leap days come last. */
static int64_t days_of(int64_t year, int month, int day)
{
    const int64_t shifted = year - (month <= 2), era = floor_div(shifted, 400);
    const int64_t of_era = shifted - era * 400, of_year = (153 * ((month + 9) % 12) + 2) / 5;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year + day - 1 - 719468;
}

static struct calendar_time day_time(int64_t days)
{
    const int64_t shifted = days + 719468, era = floor_div(shifted, ERA_DAYS);
    const int64_t d = shifted - era * ERA_DAYS;
    const int64_t year = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    const int64_t of_year = d - (365 * year + year / 4 - year / 100),
                  month = (5 * of_year + 2) / 153;
    struct calendar_time t = {.day = (int)(of_year - (153 * month + 2) / 5) + 1,
                              .month = (int)(month < 10 ? month + 3 : month - 9)};
    t.year = (int)(year + era * 400) + (t.month <= 2);
    return t;
}

static int month_days(int year, int month)
{
    return (int)(days_of(year + month / 12, month % 12 + 1, 1) - days_of(year, month, 1));
}

/* --- numbers ---------------------------------------------------------------------------------- */

bool calendar_is_time(const struct calendar_time *t)
{
    return t->year >= 1 && t->year <= 9999 && t->month >= 1 && t->month <= 12 && t->day >= 1 &&
           t->day <= month_days(t->year, t->month) && t->hour >= 0 && t->hour < 24 &&
           t->minute >= 0 && t->minute < 60 && t->second >= 0 && t->second < 60;
}

bool calendar_is_number(double number, enum calendar_unit unit)
{
    const double a_day = DAY_S / (double)calendar_unit_seconds(unit);
    return number >= FIRST_DAY * a_day && number < (LAST_DAY + 1) * a_day;
}

int64_t calendar_number(const struct calendar_time *t, enum calendar_unit unit)
{
    const int64_t seconds = days_of(t->year, t->month, t->day) * DAY_S + t->hour * 3600 +
                            t->minute * 60 + t->second;
    return floor_div(seconds, calendar_unit_seconds(unit));
}

struct calendar_time calendar_time(int64_t number, enum calendar_unit unit)
{
    const int64_t seconds = number * calendar_unit_seconds(unit), days = floor_div(seconds, DAY_S);
    const int of_day = (int)(seconds - days * DAY_S);
    struct calendar_time t = day_time(days);
    t.hour = of_day / 3600;
    t.minute = of_day / 60 % 60;
    t.second = of_day % 60;
    return t;
}

/* Monday is 0; 1970-01-01 was a Thursday. */
static int weekday(int64_t days)
{
    return (int)(days + 3 - floor_div(days + 3, 7) * 7);
}

int64_t calendar_next(int64_t number, enum calendar_unit unit, enum calendar_part part)
{
    struct calendar_time t = calendar_time(number, unit);
    const int64_t a_day = DAY_S / calendar_unit_seconds(unit), day = floor_div(number, a_day);
    int months = 12;
    switch (part) {
    case CALENDAR_OF_HOUR:
        return unit == CALENDAR_DAY ? number + 1
                                    : (floor_div(number, a_day / 24) + 1) * (a_day / 24);
    case CALENDAR_OF_DAY:
        return (day + 1) * a_day;
    case CALENDAR_WEEK:
        return (day + 7 - weekday(day)) * a_day;
    case CALENDAR_MONTH:
        months = 1;
        break;
    case CALENDAR_QUARTER:
        months = 3;
        break;
    case CALENDAR_YEAR:
        break;
    }
    months = (t.month - 1) / months * months + months;
    return days_of(t.year + months / 12, months % 12 + 1, 1) * a_day;
}

int calendar_value(int64_t number, enum calendar_unit unit, enum calendar_part part)
{
    const struct calendar_time t = calendar_time(number, unit);
    switch (part) {
    case CALENDAR_YEAR:
        return t.year;
    case CALENDAR_QUARTER:
        return (t.month + 2) / 3;
    case CALENDAR_MONTH:
        return t.month;
    case CALENDAR_WEEK:
        return weekday(floor_div(number, DAY_S / calendar_unit_seconds(unit))) + 1;
    case CALENDAR_OF_DAY:
        return t.day;
    case CALENDAR_OF_HOUR:
        break;
    }
    return t.hour;
}

/* --- texts ------------------------------------------------------------------------------------ */

static bool read_digits(const char **text, int digits, int *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++, ++*text) {
        if (!text_is_digit(**text))
            return false;
        *value = 10 * *value + (**text - '0');
    }
    return true;
}

/* One more two digits, behind a character; false if they should be there and are not. */
static bool read_next(const char **text, char before, int *value, bool *some)
{
    *some = **text == before;
    if (!*some)
        return true;
    ++*text;
    return read_digits(text, 2, value);
}

bool calendar_read(const char *text, enum calendar_unit unit, bool exact, int64_t *low,
                   int64_t *high)
{
    struct calendar_time t = {0};
    enum calendar_unit said = CALENDAR_DAY;
    bool some;
    if (!read_digits(&text, 4, &t.year) || *text != '-' ||
        !read_next(&text, '-', &t.month, &some) || *text != '-' ||
        !read_next(&text, '-', &t.day, &some))
        return false;
    if (*text == ' ' || *text == 'T') {
        said = CALENDAR_MINUTE;
        if (!read_next(&text, *text, &t.hour, &some) || *text != ':' ||
            !read_next(&text, ':', &t.minute, &some) || !read_next(&text, ':', &t.second, &some))
            return false;
        if (some) {
            said = CALENDAR_SECOND;
            if (*text == '.' && text_is_digit(text[1]) && !exact)
                for (text++; text_is_digit(*text); text++)
                    ;
        }
    }
    if (*text != '\0' || !calendar_is_time(&t))
        return false;
    if (exact && (unit == CALENDAR_DAY    ? said > CALENDAR_DAY
                  : unit == CALENDAR_HOUR ? t.minute + t.second > 0
                                          : unit == CALENDAR_MINUTE && t.second > 0))
        return false;
    *low = *high = calendar_number(&t, unit);
    if (said < unit)
        *high += calendar_unit_seconds(said) / calendar_unit_seconds(unit) - 1;
    return true;
}

void calendar_words(const struct calendar *c, int64_t number, char text[CALENDAR_FORMAT])
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    const struct calendar_time t = calendar_time(number, c->unit);
    const int n = snprintf(text, CALENDAR_FORMAT, "%d %s %d", t.day, months[t.month - 1], t.year);
    if (c->unit != CALENDAR_DAY)
        snprintf(text + n, CALENDAR_FORMAT - (size_t)n,
                 c->unit == CALENDAR_SECOND ? ", %02d:%02d:%02d" : ", %02d:%02d", t.hour, t.minute,
                 t.second);
}
