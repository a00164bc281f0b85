#include "base/rate.h"

bool rate_take(struct rate *r, double per_second, double burst, int64_t now_ms)
{
    double refilled = r->since_ms == 0 ? 0 : (double)(now_ms - r->since_ms) / 1000 * per_second;
    r->used = r->used > refilled ? r->used - refilled : 0;
    r->since_ms = now_ms;
    if (r->used + 1 > burst)
        return false;
    r->used++;
    return true;
}
