/*
 * The verdict of `trefoil plan`. It takes rows as spread evenly over a column's values. The
 * formulas for relations follow what AIM and copulas made of generated tables (docs/results.md).
 *
 *   alone    L1 error of a single column: its noise; half of it is the share of misplaced rows
 *   mean     error of a column's mean in deviations: sigma sqrt(bins) / rows
 *   pair     L1 noise of an average pair's table that a round measures
 *   links    how far off a correlation is. AIM leaves of a typical one
 *              m + (1 - m) pair / (pair + 0.2)      m = exp(-rounds / (0.85 columns))
 *            m is for the pairs that no round measures, 0 if there are rounds for all. It leaves
 *            all where rounds no longer ask for pairs (aim/run/loop_choose.c)
 *   copula   the same of a copula: the noise of its form and of the rows that happen to be drawn,
 *              sqrt((1.2 noise)^2 + (0.8 / sqrt(rows))^2) + 0.01
 *            1.2 since rows are uneven; 0.01 since a normal distribution links real columns badly
 */
#include "parties/command/plan.h"

#include "aim/table/series.h"
#include "base/memory.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"
#include "parties/study/rounds.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TYPICAL 0.15    /* a correlation, without its sign */
#define ALONE_GOOD 0.2  /* L1: a tenth of the rows is in the wrong place */
#define MEAN_GOOD 0.2   /* of a deviation */
#define LINKS_GOOD 0.12 /* of a correlation */
#define LINKS_FINE 0.04 /* so near that no other method is worth it */
#define PAIR_GOOD 0.25  /* of the rows; above it coarser bins do better (docs/results.md) */
#define PAIR_MOST 0.5   /* of which rounds do not ask */
#define NUMBERS_LEAST 3 /* columns of numbers, from which a copula pays */
#define BINS_LEAST 4
#define COPULA_GAIN 0.9 /* of AIM's error, from which it is another method */

struct outlook {
    const struct plan_asked *asked;
    size_t columns, numbers; /* of these so many have an order */
    bool selects;            /* the study measures tables; else it is a copula */
    unsigned rounds;
    double alone, mean, pair, links, copula;
};

/* AIM of so many rounds, whatever the study's method or schedule. */
static struct aim_options fixed_rounds(const struct study *s, unsigned rounds, double rho)
{
    struct aim_options o = method_aim(s);
    o.limits = (struct ledger_limits){.rho = rho, .rows_per_person = s->rows_per_person};
    o.annealed = false;
    o.sweeps = 0;
    o.rounds = rounds;
    return o;
}

static double noise_of(double sigma, double cells, double rows)
{
    return sqrt(2 / M_PI) * sigma * cells / rows;
}

/* Cells of a pair on average, if no column of numbers has more than so many values; 0: as it is. */
static double pair_cells(const struct domain *grouped, uint32_t most)
{
    double before = 0, cells = 0, n = (double)grouped->attributes;
    for (size_t i = 0; i < grouped->attributes; i++) {
        const struct domain_attribute *a = &grouped->attribute[i];
        const double size = most > 0 && domain_has_order(a) && a->size > most ? most : a->size;
        cells += before * size;
        before += size;
    }
    return cells / fmax(1, n * (n - 1) / 2);
}

static double pair_noise(const struct outlook *x, double rho, uint32_t most)
{
    const struct plan_asked *p = x->asked;
    const struct aim_options o = fixed_rounds(p->study, x->rounds, rho);
    const double rows = fmax(1, (double)p->rows);
    struct domain grouped = {0};
    const double spread = measure_spread(o.noise_by);
    double noise = INFINITY;
    if (aim_expect_groups(&grouped, &o, rows, spread * aim_sigma(&o)) == ERR_OK)
        noise = noise_of(spread * aim_sigma_later(&o), pair_cells(&grouped, most), rows);
    memory_free(&grouped.attribute);
    return noise;
}

/* Of single columns: the error of their shares, and of the means of numbers. */
static void look_alone(struct outlook *x, double rho)
{
    const struct study *s = x->asked->study;
    const double rows = fmax(1, (double)x->asked->rows), d = (double)x->columns,
                 one = rho / pow(s->rows_per_person, 2);
    const struct aim_options o = fixed_rounds(s, x->rounds, rho);
    const double sigma = measure_spread(o.noise_by) *
                         (x->selects ? aim_sigma(&o) : ledger_deviation(d, s->copula_share * one));
    x->alone = x->mean = 0;
    for (size_t i = 0; i < x->columns; i++) {
        const struct domain_attribute *a = &s->domain->attribute[i];
        x->alone += noise_of(sigma, a->size, rows) / d;
        if (domain_has_order(a))
            x->mean += sigma * sqrt(a->size) / rows / (double)x->numbers;
    }
}

static enum err look_at(struct outlook *x, double rho)
{
    const struct study *s = x->asked->study;
    const double pairs = (double)x->columns * (double)(x->columns - 1) / 2;
    const double rows = fmax(1, (double)x->asked->rows);
    double missed, noise;
    look_alone(x, rho);
    missed = x->rounds >= pairs ? 0 : exp(-(double)x->rounds / (0.85 * (double)x->columns));
    x->pair = pair_noise(x, rho, 0);
    x->links = TYPICAL;
    if (x->pair < PAIR_MOST)
        x->links *= missed + (1 - missed) * x->pair / (x->pair + 0.2);
    TRY(plan_even_expect(s, rho / pow(s->rows_per_person, 2), rows, &noise));
    x->copula = fmin(TYPICAL, hypot(1.2 * noise, 0.8 / sqrt(rows)) + 0.01);
    return ERR_OK;
}

/* Whether the study is good for what it is made for, as its method counts that. */
static bool is_good(const struct outlook *x)
{
    if (x->alone > ALONE_GOOD)
        return false;
    return x->columns < 2 || (x->selects ? x->pair <= PAIR_GOOD : x->copula <= LINKS_GOOD);
}

/* The least epsilon, in steps of a tenth, with which it is good; 0: none. */
static double epsilon_needed(const struct outlook *now)
{
    struct study other = *now->asked->study;
    other.left = 0; /* a run that goes on cannot have another */
    for (other.epsilon *= 1.1; other.epsilon <= STUDY_EPSILON_MAX; other.epsilon *= 1.1) {
        struct ledger_limits limits;
        struct outlook then = *now;
        if (price_limits(&other, &limits, NULL) == ERR_OK && look_at(&then, limits.rho) == ERR_OK &&
            is_good(&then))
            return other.epsilon;
    }
    return 0;
}

/* The most bins with which pairs are good, if a column of numbers has more; else 0. */
static uint32_t bins_needed(const struct outlook *x, double rho)
{
    uint32_t largest = 0, bins = 0;
    for (size_t i = 0; i < x->columns; i++) {
        const struct domain_attribute *a = &x->asked->study->domain->attribute[i];
        if (domain_has_order(a) && a->size > largest)
            largest = a->size;
    }
    for (uint32_t most = BINS_LEAST; most < largest && pair_noise(x, rho, most) <= PAIR_GOOD;
         most++)
        bins = most;
    return bins;
}

/* --- the three lines -------------------------------------------------------------------------- */

static const char *no_if(bool bad)
{
    return bad ? "no " : "";
}

static void print_useful(const struct outlook *x)
{
    const double links = x->selects ? x->links : x->copula;
    printf("useful at %" PRIu64 " %s: %scolumns (+-%.2g %%)",
           x->asked->rows / series_units(x->asked->study->domain),
           series_counted(x->asked->study->domain), no_if(x->alone > ALONE_GOOD),
           fmin(100, 50 * x->alone));
    if (x->numbers > 0)
        printf(", %smeans (+-%.1g sd)", no_if(x->mean > MEAN_GOOD), x->mean);
    if (x->columns > 1)
        printf(", %srelations", no_if(x->numbers > 1 ? links > LINKS_GOOD : !is_good(x)));
    putchar('\n');
}

static void print_epsilon(const struct outlook *x, bool numbers)
{
    struct outlook then = *x;
    double epsilon;
    then.selects &= !numbers;
    epsilon = epsilon_needed(&then);
    if (epsilon > 0)
        printf("epsilon of at least %.2g for this many %s%s", epsilon,
               series_counted(x->asked->study->domain),
               x->selects && numbers ? ", with method: copula" : "");
    else
        printf("more %s; no epsilon is enough for these", series_counted(x->asked->study->domain));
}

/* Prints the change, and returns by which measure it helps. */
static const char *print_change(const struct outlook *x, double rho)
{
    const struct study *s = x->asked->study;
    const bool numbers = x->numbers >= NUMBERS_LEAST && 2 * x->numbers >= x->columns &&
                         s->zeros == 0 && !s->late_join; /* which a copula does not take */
    const uint32_t bins = x->selects && !is_good(x) ? bins_needed(x, rho) : 0;
    if (x->selects && numbers && x->links > LINKS_FINE && x->copula < COPULA_GAIN * x->links) {
        printf("method: copula if you want correlations (+-%.2g, not +-%.2g)", x->copula, x->links);
        return "correlations; below, \"method\" says what suits tables of columns";
    }
    if (bins > 0)
        printf("%u to %u bins a column", (2 * bins + 2) / 3, bins);
    else if (!is_good(x))
        print_epsilon(x, numbers);
    else if (!x->selects && x->columns > 1 && x->pair <= PAIR_GOOD)
        printf("method: aim if you want tables of columns, not correlations");
    else
        printf("nothing, this study is about right");
    return !x->selects || (numbers && bins == 0 && !is_good(x))
               ? "correlations"
               : "less error in tables of two columns";
}

enum err plan_verdict(const struct plan_asked *p, double rho)
{
    const struct study *s = p->study;
    struct outlook x = {.asked = p, .columns = s->domain->attributes};
    const char *measure;
    for (size_t i = 0; i < x.columns; i++)
        x.numbers += domain_has_order(&s->domain->attribute[i]);
    x.selects = method_of(s)->selects;
    x.rounds = x.selects && !s->annealed && s->sweeps == 0
                   ? s->rounds
                   : SCHEDULE_SET * (unsigned)x.columns; /* about what the others measure */
    TRY(look_at(&x, rho));
    print_useful(&x);
    printf("helps most: ");
    measure = print_change(&x, rho);
    printf("\nbetter means: %s\n", measure);
    return ERR_OK;
}
