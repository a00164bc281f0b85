/* What is known about the numbers inside bins: steps, spikes, the tail. */
#include "aim/table/domain_private.h"
#include "aim/table/step.h"

#include <math.h>

bool domain_spike(const struct domain_attribute *a, uint32_t code)
{
    return domain_has_bins(a) && a->edges[code] == a->edges[code + 1];
}

/* Whether a spike before the bin has taken its lower edge. */
static bool edge_taken(const struct domain_attribute *a, uint32_t code)
{
    return code > 0 && domain_spike(a, code - 1);
}

uint32_t domain_bin(const struct domain_attribute *a, double x)
{
    uint32_t low = 0, high = a->values;
    if (!(x >= a->edges[0] && x <= a->edges[high]))
        return DOMAIN_NO_CODE;
    while (high - low > 1) { /* edges[low] <= x, and x < edges[high] or x is the very last edge */
        uint32_t middle = low + (high - low) / 2;
        if (a->edges[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return edge_taken(a, low) && x == a->edges[low] ? low - 1 : low;
}

int64_t domain_multiples(const struct domain_attribute *a, uint32_t code, uint64_t *count)
{
    const double low = a->edges[code], high = a->edges[code + 1];
    const bool closed = code + 1 == a->values || domain_spike(a, code);
    struct step s;
    int64_t first, end;
    *count = 0;
    if (!step_of(a->step, &s))
        return 0;
    first = step_above(&s, edge_taken(a, code) ? nextafter(low, INFINITY) : low);
    end = step_above(&s, closed ? nextafter(high, INFINITY) : high);
    while (first < end && domain_missing_number(a, step_value(&s, first)))
        first++;
    while (first < end && domain_missing_number(a, step_value(&s, end - 1)))
        end--;
    *count = end > first ? (uint64_t)(end - first) : 0;
    return first;
}

/* --- more about the attribute that was added last --------------------------------------------- */

static enum err check_multiples(const struct domain_attribute *a, struct log *log)
{
    char low[COLUMN_TEXT], high[COLUMN_TEXT];
    for (uint32_t code = 0; code < a->values; code++) {
        uint64_t count;
        domain_multiples(a, code, &count);
        if (count == 0)
            return log_fail(log, ERR_STUDY,
                            "attribute %s: the bin from %s to %s holds no multiple of the step %g; "
                            "move its edges, or take a smaller step",
                            a->name, domain_text(a, code, 6, low),
                            domain_text(a, code + 1, 6, high), a->step);
    }
    return ERR_OK;
}

/* Whether a number is among the multiples of its bin, which would then have a gap. */
static bool amid_multiples(const struct domain_attribute *a, uint32_t code, double x)
{
    struct step s;
    uint64_t count;
    int64_t first = domain_multiples(a, code, &count), k;
    if (!step_of(a->step, &s))
        return false;
    k = step_above(&s, x);
    return count == 0 || (k >= first && k < first + (int64_t)count && step_value(&s, k) == x);
}

enum err domain_check_missing(const struct domain_attribute *a, struct log *log)
{
    char text[COLUMN_TEXT], low[COLUMN_TEXT], high[COLUMN_TEXT];
    for (uint32_t i = 0; domain_has_bins(a) && i < a->missing_numbers; i++) {
        const double x = a->missing_number[i];
        const uint32_t code = domain_bin(a, x);
        if (code == DOMAIN_NO_CODE)
            continue;
        if (domain_spike(a, code))
            return log_fail(log, ERR_STUDY, "attribute %s: %s is both a spike and missing", a->name,
                            domain_print(a, x, 6, text));
        if (amid_multiples(a, code, x))
            return log_fail(log, ERR_STUDY,
                            "attribute %s: %s is missing, and amid the numbers of the bin from %s "
                            "to %s; put an edge there",
                            a->name, domain_print(a, x, 6, text), domain_text(a, code, 6, low),
                            domain_text(a, code + 1, 6, high));
    }
    return ERR_OK;
}

enum err domain_set_step(struct domain *d, double step, bool whole, struct log *log)
{
    struct domain_attribute *a = &d->attribute[d->attributes - 1];
    struct step s;
    if (!step_of(step, &s))
        return log_fail(log, ERR_STUDY,
                        "attribute %s: the step %g is not above 0 with at most %d digits after the "
                        "point",
                        a->name, step, STEP_DECIMALS);
    if (!step_reaches(&s, a->edges[0]) || !step_reaches(&s, a->edges[a->values]))
        return log_fail(log, ERR_STUDY,
                        "attribute %s: the step %g is too fine for numbers as large as its edges; "
                        "take a larger one",
                        a->name, step);
    a->step = step;
    a->whole = whole;
    TRY(check_multiples(a, log));
    return domain_check_missing(a, log);
}

/* The first and the last number of a bin, or its edges. */
static void bin_ends(const struct domain_attribute *a, uint32_t code, double *low, double *high)
{
    struct step s;
    uint64_t count;
    *low = a->edges[code];
    *high = a->edges[code + 1];
    if (a->step > 0 && step_of(a->step, &s)) {
        int64_t first = domain_multiples(a, code, &count);
        *low = step_value(&s, first);
        *high = step_value(&s, first + (int64_t)count - 1);
    }
}

uint32_t domain_tail_bin(const struct domain_attribute *a)
{
    for (uint32_t code = a->values; code-- > 0;) {
        double low, high;
        bin_ends(a, code, &low, &high);
        if (low < high)
            return code;
    }
    return DOMAIN_NO_CODE;
}

enum err domain_set_tail(struct domain *d, enum domain_tail tail, double typical, struct log *log)
{
    struct domain_attribute *a = &d->attribute[d->attributes - 1];
    const uint32_t code = domain_tail_bin(a);
    double low, high;
    if (tail != DOMAIN_TAIL_TREND && code == DOMAIN_NO_CODE)
        return log_fail(log, ERR_STUDY,
                        "attribute %s: every bin holds one number, so that none has a tail; leave "
                        "it out",
                        a->name);
    a->tail = tail;
    if (tail != DOMAIN_TAIL_TYPICAL)
        return ERR_OK;
    bin_ends(a, code, &low, &high);
    a->typical = typical;
    if (!(typical > low && typical < high))
        return log_fail(log, ERR_STUDY,
                        "attribute %s: %g is not typical of the bin from %g to %g; it should be "
                        "between the two",
                        a->name, typical, low, high);
    return ERR_OK;
}
