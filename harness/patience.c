#include "harness/patience.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>

static double slow(void)
{
    const char *factor = getenv("TREFOIL_SLOW");
    return factor != NULL ? fmax(1, strtod(factor, NULL)) : 1;
}

int64_t support_patience_ms(double seconds)
{
    return (int64_t)(1000 * PATIENCE * slow() * seconds);
}

int64_t support_end_ms(double seconds)
{
    return clock_now_ms() + support_patience_ms(seconds);
}

double support_deadline(double seconds)
{
    return clock_now_s() + PATIENCE * slow() * seconds;
}

bool support_again(double end)
{
    if (clock_now_s() > end)
        return false;
    clock_pause(5);
    return true;
}

unsigned support_slow(unsigned seconds)
{
    return (unsigned)ceil(slow() * seconds);
}

int64_t support_moment(int64_t ms)
{
    return clock_now_ms() + ms;
}

void support_pause_ms(int64_t ms)
{
    clock_pause(ms);
}
