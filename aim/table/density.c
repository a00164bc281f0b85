#include "aim/table/density.h"

#include "aim/table/step.h"
#include "base/memory.h"

#define TILT_MOST 300 /* beyond it, all is at one end; exp(300) is still far from overflow */
#define ROWS_ADDED 10

struct bin {
    double low, width; /* of an interval; of `values` numbers: from the first to one step further */
    double high;       /* of an interval */
    double values;     /* how many; 0: it is an interval */
    int64_t first;     /* the multiple it begins with, where there is a step */
    double tilt;
};

struct density {
    bool stepped;
    struct step step;
    double distance; /* between multiples */
    uint32_t bins;
    struct bin *bin;
};

/* --- exp(k * s) over s in [0, 1] -------------------------------------------------------------- */

/* Mean of s. Uses the series where the closed form would lose digits. */
static double mean_of(double k)
{
    double k2 = k * k;
    if (fabs(k) < 0.25)
        return 0.5 + k / 12 * (1 - k2 / 60 * (1 - k2 / 42 * (1 - k2 / 40)));
    return -1 / expm1(-k) - 1 / k;
}

/* Mean of s^2. */
static double square_of(double k)
{
    double k2 = k * k;
    if (fabs(k) < 0.25)
        return mean_of(k) - 1.0 / 6 + k2 / 360 * (1 - k2 / 42 * (1 - k2 / 40));
    return -1 / expm1(-k) - 2 * mean_of(k) / k;
}

/* The share of [from, to], within [0, 1]. */
static double share_of(double k, double from, double to)
{
    if (k == 0)
        return to - from;
    return k > 0 ? exp(k * (to - 1)) * expm1(-k * (to - from)) / expm1(-k)
                 : exp(k * from) * expm1(k * (to - from)) / expm1(k);
}

/* Where a share p of [from, to] ends, computed from the nearer end. */
static double inverse_of(double k, double from, double to, double p)
{
    double length = to - from, t = k * length;
    if (t == 0)
        return from + p * length;
    return p < 0.5 ? from + log1p(p * expm1(t)) / t * length
                   : to + log1p((1 - p) * expm1(-t)) / t * length;
}

/* --- bins ------------------------------------------------------------------------------------- */

static double value_of(const struct density *d, const struct bin *b, double index)
{
    return d->stepped ? step_value(&d->step, b->first + (int64_t)index) : b->low;
}

/* How many of its numbers are below x. */
static double values_below(const struct density *d, const struct bin *b, double x)
{
    if (!(x > value_of(d, b, 0)))
        return 0;
    if (x > value_of(d, b, b->values - 1))
        return b->values;
    return (double)(step_above(&d->step, x) - b->first);
}

/* Where x lies in a bin: 0 at its beginning, 1 at its end. */
static double place_of(const struct density *d, const struct bin *b, double x)
{
    if (b->values > 0)
        return values_below(d, b, x) / b->values;
    return fmin(fmax((x - b->low) / b->width, 0), 1);
}

/*
 * The multiples of a step are an interval rounded down: each stands for the piece of one step that
 * begins with it. The density has the same shape within every such piece: place = number + rest,
 * and the two are independent.
 */
static void moments(const struct density *d, const struct bin *b, double from, double to,
                    struct density_part *part)
{
    double length = to - from, k = b->tilt * length;
    double s = mean_of(k), s2 = square_of(k);
    double u = from + length * s, u2 = from * from + 2 * from * length * s + length * length * s2;
    double low = b->low, width = b->width;
    if (b->values > 0) {
        double piece = 1 / b->values, rest = piece * mean_of(b->tilt * piece),
               rest2 = piece * piece * square_of(b->tilt * piece);
        u -= rest;
        u2 -= 2 * u * rest + rest2;
        low = value_of(d, b, 0);
    }
    part->mean = low + width * u;
    part->square = low * low + 2 * low * width * u + width * width * u2;
}

struct density_part density_part(const struct density *d, uint32_t code, double low, double high)
{
    const struct bin *b = &d->bin[code];
    struct density_part part = {0};
    double from = place_of(d, b, low), to = place_of(d, b, high);
    if (!(to > from) || (b->values == 0 && !(high > nextafter(low, INFINITY))))
        return part; /* a single number of an interval has no rows */
    part.share = share_of(b->tilt, from, to);
    if (part.share > 0)
        moments(d, b, from, to, &part);
    return part;
}

double density_quantile(const struct density *d, uint32_t code, double low, double high, double p)
{
    const struct bin *b = &d->bin[code];
    double from = place_of(d, b, low), to = place_of(d, b, high);
    double u = fmin(fmax(inverse_of(b->tilt, from, to, p), from), to); /* against rounding */
    if (b->values == 0)
        return fmin(b->low + b->width * u, b->high);
    u = fmin(fmax(ceil(b->values * u) - 1, rint(b->values * from)), rint(b->values * to) - 1);
    return value_of(d, b, u);
}

double density_log(const struct density *d, uint32_t code, double x)
{
    const struct bin *b = &d->bin[code];
    double index, k = b->tilt;
    if (b->values == 0)
        return k * place_of(d, b, x) + (k != 0 ? log(k / expm1(k)) : 0) - log(b->width);
    index = fmax(values_below(d, b, nextafter(x, INFINITY)) - 1, 0);
    return log(share_of(k, index / b->values, (index + 1) / b->values)) -
           (d->stepped ? log(d->distance) : 0);
}

int density_decimals(const struct density *d)
{
    return d->stepped ? d->step.decimals : -1;
}

double density_tilt(const struct density *d, uint32_t code)
{
    return d->bin[code].tilt;
}

/* --- making it -------------------------------------------------------------------------------- */

static void one_number(struct density *d, const struct domain_attribute *a, uint32_t code)
{
    const double x = domain_number(a, code);
    d->bin[code] = (struct bin){.low = x, .width = 1, .values = 1, .first = (int64_t)x};
}

static void numeric_bin(struct density *d, const struct domain_attribute *a, uint32_t code)
{
    struct bin *b = &d->bin[code];
    double low = a->edges[code], high = a->edges[code + 1];
    *b = (struct bin){
        .low = low, .width = high - low, .high = high, .values = domain_spike(a, code) ? 1 : 0};
    if (d->stepped) {
        uint64_t count = 0;
        b->first = domain_multiples(a, code, &count);
        b->values = (double)count;
        b->low = value_of(d, b, 0);
        b->width = b->values * d->distance;
    }
}

/* The nearest bin before or after `code` that is not a spike, or d->bins. */
static uint32_t neighbour(const struct density *d, const struct domain_attribute *a, uint32_t code,
                          bool after)
{
    for (uint32_t i = code; after ? i + 1 < d->bins : i > 0;) {
        i = after ? i + 1 : i - 1;
        if (!domain_spike(a, i))
            return i;
    }
    return d->bins;
}

/* The slope of the logarithm of the density, from the middle of a bin to that of the next. */
static double slope(const struct density *d, const double *counts, uint32_t i, uint32_t k)
{
    const struct bin *x = &d->bin[i], *y = &d->bin[k];
    double rise = log((fmax(counts[k], 0) + ROWS_ADDED) / y->width) -
                  log((fmax(counts[i], 0) + ROWS_ADDED) / x->width);
    return rise / (y->low + y->width / 2 - x->low - x->width / 2);
}

static double trend(const struct density *d, const struct domain_attribute *a, const double *counts,
                    uint32_t code)
{
    uint32_t before = neighbour(d, a, code, false), after = neighbour(d, a, code, true);
    double left = before < d->bins ? slope(d, counts, before, code) : 0;
    double right = after < d->bins ? slope(d, counts, code, after) : 0;
    if (before == d->bins || after == d->bins)
        return left + right;
    return left * right > 0 ? 2 * left * right / (left + right) : 0;
}

/* The rate at which, of two bins' rows, the second's remain beyond the width of the first. */
static double exponential(const struct density *d, const struct domain_attribute *a,
                          const double *counts, uint32_t code)
{
    uint32_t before = neighbour(d, a, code, false);
    double rows;
    if (before == d->bins)
        return 0;
    rows = fmax(counts[code], 0) + ROWS_ADDED;
    return -log1p((fmax(counts[before], 0) + ROWS_ADDED) / rows) / d->bin[before].width;
}

/* The tilt that gives a bin the declared mean. */
static double typical(struct density *d, uint32_t code, double mean)
{
    struct bin *b = &d->bin[code];
    double low = -TILT_MOST, high = TILT_MOST;
    for (int i = 0; i < 100; i++) {
        b->tilt = low + (high - low) / 2;
        if (density_whole(d, code).mean < mean)
            low = b->tilt;
        else
            high = b->tilt;
    }
    return b->tilt;
}

static double bounded(double tilt)
{
    return fmin(fmax(tilt, -TILT_MOST), TILT_MOST);
}

static void tilt_all(struct density *d, const struct domain_attribute *a, const double *counts)
{
    const uint32_t last = domain_tail_bin(a);
    for (uint32_t code = 0; counts != NULL && code < d->bins; code++)
        if (!domain_spike(a, code))
            d->bin[code].tilt = bounded(d->bin[code].width * trend(d, a, counts, code));
    switch (a->tail) {
    case DOMAIN_TAIL_TREND:
        return;
    case DOMAIN_TAIL_EXPONENTIAL:
        if (counts != NULL)
            d->bin[last].tilt = bounded(d->bin[last].width * exponential(d, a, counts, last));
        return;
    case DOMAIN_TAIL_TYPICAL:
        d->bin[last].tilt = typical(d, last, a->typical);
        return;
    }
}

enum err density_new(struct density **out, const struct domain_attribute *a, const double *counts)
{
    struct density *d CLEAN(density_free) = NULL;
    *out = NULL;
    TRY(memory_new(&d, 1));
    TRY(memory_new(&d->bin, a->values));
    d->bins = a->values;
    d->distance = domain_has_bins(a) ? a->step : 1;
    d->stepped = d->distance > 0 && step_of(d->distance, &d->step);
    for (uint32_t code = 0; code < d->bins; code++)
        (domain_has_bins(a) ? numeric_bin : one_number)(d, a, code);
    if (domain_has_bins(a))
        tilt_all(d, a, counts);
    return memory_hand_over(out, &d);
}

void density_free(struct density **d)
{
    if (*d == NULL)
        return;
    memory_free(&(*d)->bin);
    memory_free(d);
}

enum err densities_of(struct densities *out, const struct domain *d,
                      enum err (*count)(const void *self, uint16_t attribute, double *counts),
                      const void *self)
{
    struct densities all CLEAN(densities_clear) = {.attributes = d->attributes};
    TRY(memory_new(&all.of, d->attributes));
    for (uint16_t i = 0; i < d->attributes; i++) {
        const struct domain_attribute *a = &d->attribute[i];
        double *counts CLEAN(memory_release) = NULL;
        if (!domain_has_order(a))
            continue;
        if (count != NULL) {
            TRY(memory_new(&counts, a->size));
            TRY(count(self, i, counts));
        }
        TRY(density_new(&all.of[i], a, counts));
    }
    *out = all;
    all = (struct densities){0};
    return ERR_OK;
}

void densities_clear(struct densities *d)
{
    for (size_t i = 0; d->of != NULL && i < d->attributes; i++)
        density_free(&d->of[i]);
    memory_free(&d->of);
}
