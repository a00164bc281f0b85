/*
 * base/date.h - points in time as people write them, in UTC: 2026-12-01T18:00:00Z.
 *
 * Only for what is agreed in days and hours. The wall clock may jump: to wait or to measure, use
 * base/clock.h.
 */
#pragma once

#include "base/reader.h"
#include "base/words.h"

#include <stdbool.h>
#include <stdint.h>

#define DATE_SIZE 21 /* with the NUL */

/* Seconds since 1970 by the wall clock. */
int64_t date_now(void);

/* False unless `text` is a date of the years 1970 to 9999 in exactly that form. */
bool date_parse(const char *text, int64_t *seconds);
/* A date outside those years is written as the nearest one inside. */
struct words_text date_text(int64_t seconds);
/* Reads seconds since 1970 (u64); fails if they are outside those years, and have no text. */
int64_t date_read(struct reader *in);

/* Whole days since 1970-01-01, written 2026-12-01: coarse enough for a clock that is wrong. */
uint32_t date_today(void);
bool date_parse_day(const char *text, uint32_t *day);
struct words_text date_day_text(uint32_t day);
