#include "base/date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LAST INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

int64_t date_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

void date_text(int64_t seconds, char text[DATE_SIZE])
{
    time_t t = (time_t)(seconds < 0 ? 0 : seconds > LAST ? LAST : seconds);
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(text, DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

bool date_parse(const char *text, int64_t *seconds)
{
    struct tm utc = {0};
    char again[DATE_SIZE];
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
    date_text(*seconds, again);
    return strcmp(again, text) == 0;
}
