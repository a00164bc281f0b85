#include "base/date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400
#define DAY_LENGTH 10
#define LAST INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

int64_t date_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

struct words_text date_text(int64_t seconds)
{
    time_t t = (time_t)(seconds < 0 ? 0 : seconds > LAST ? LAST : seconds);
    struct words_text w;
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(w.text, sizeof w.text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return w;
}

int64_t date_read(struct reader *in)
{
    const uint64_t seconds = reader_u64(in);
    in->failed = in->failed || seconds > LAST;
    return in->failed ? 0 : (int64_t)seconds;
}

bool date_parse(const char *text, int64_t *seconds)
{
    struct tm utc = {0};
    int end = 0;
    if (strlen(text) != DATE_SIZE - 1 ||
        sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
               &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &end) != 6 ||
        end != DATE_SIZE - 1)
        return false;
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    *seconds = timegm(&utc);
    /* a 31st of February comes out as another date */
    return strcmp(date_text(*seconds).text, text) == 0;
}

uint32_t date_today(void)
{
    int64_t now = date_now();
    return now < 0 ? 0 : (uint32_t)(now / DAY_S);
}

bool date_parse_day(const char *text, uint32_t *day)
{
    char whole[DATE_SIZE];
    int64_t seconds;
    if (strlen(text) != DAY_LENGTH)
        return false;
    snprintf(whole, sizeof whole, "%.10sT00:00:00Z", text);
    if (!date_parse(whole, &seconds))
        return false;
    *day = (uint32_t)(seconds / DAY_S);
    return true;
}

struct words_text date_day_text(uint32_t day)
{
    struct words_text w = date_text((int64_t)day * DAY_S);
    w.text[DAY_LENGTH] = '\0';
    return w;
}
