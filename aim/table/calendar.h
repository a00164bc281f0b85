/*
 * aim/table/calendar.h - dates as whole numbers, and as the texts that people write.
 *
 * A date is a number of units (days, hours, minutes or seconds) since the beginning of 1970-01-01,
 * rounded down, before 1970 too. Years are 1 to 9999 of the Gregorian calendar, always. There are
 * no zones, no locale, no 24:00 and no second 60.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum calendar_unit { CALENDAR_DAY, CALENDAR_HOUR, CALENDAR_MINUTE, CALENDAR_SECOND };
#define CALENDAR_UNITS 4
extern const char *const calendar_unit_words[CALENDAR_UNITS]; /* "day" */
int64_t calendar_unit_seconds(enum calendar_unit unit);

/* Stretches of time, each of which begins with a unit; weeks begin on Mondays. */
enum calendar_part {
    CALENDAR_YEAR,
    CALENDAR_QUARTER,
    CALENDAR_MONTH,
    CALENDAR_WEEK,
    CALENDAR_OF_DAY,
    CALENDAR_OF_HOUR
};
#define CALENDAR_PARTS 6
extern const char *const calendar_part_words[CALENDAR_PARTS]; /* "year" */

struct calendar_time {
    int year, month, day, hour, minute, second;
};

/* The number of a time, which must be one, and the time at which a number begins. */
int64_t calendar_number(const struct calendar_time *t, enum calendar_unit unit);
struct calendar_time calendar_time(int64_t number, enum calendar_unit unit);
/* Whether it is a time of the years 1 to 9999, or a number of one. */
bool calendar_is_time(const struct calendar_time *t);
bool calendar_is_number(double number, enum calendar_unit unit);

/* Where the first part after the one with `number` begins. */
int64_t calendar_next(int64_t number, enum calendar_unit unit, enum calendar_part part);
/* What the part is called: its year, quarter 1 to 4, month 1 to 12, weekday 1 to 7, day, hour. */
int calendar_value(int64_t number, enum calendar_unit unit, enum calendar_part part);

/*
 * 2021-03-04, then perhaps a blank or T and 17:05, then perhaps :30, then perhaps a fraction. The
 * text stands for the units from *low to *high: a date without a time for all of its day. What is
 * finer than the unit is cut off; `exact` refuses it, and any time where units are days.
 */
bool calendar_read(const char *text, enum calendar_unit unit, bool exact, int64_t *low,
                   int64_t *high);

/* --- formats ---------------------------------------------------------------------------------- */

#define CALENDAR_FORMAT 64 /* bytes of a format or of a text that it writes, with the NUL */
#define CALENDAR_FORMATS 8

/*
 * How a column's dates are written: texts with %Y (four digits), %m, %d, %H, %M, %S (two digits; or
 * one, where other characters or the ends are on both sides). The first is written, all are read.
 * None: as calendar_read() does, with midnight where there is no time.
 */
struct calendar {
    enum calendar_unit unit;
    uint32_t formats;
    char format[CALENDAR_FORMATS][CALENDAR_FORMAT];
};

/*
 * ERR_STUDY, logged: a format that does not name year, month and day once each; one with a digit,
 * or a % that means nothing; a first one that leaves out a part of the unit; or two of which one
 * reads a text that the other writes as another date. *bad is the format at fault.
 */
enum err calendar_check(const struct calendar *c, const char *name, uint32_t *bad,
                        struct log *log) MUST_CHECK;

/* The number of a text in any of the formats; false if there is none. */
bool calendar_parse(const struct calendar *c, const char *text, int64_t *number);
/* In the first format; without one, as finely as the unit needs. */
void calendar_print(const struct calendar *c, int64_t number, char text[CALENDAR_FORMAT]);
/* "4 March 2021", "4 March 2021, 17:05". */
void calendar_words(const struct calendar *c, int64_t number, char text[CALENDAR_FORMAT]);
