#include "parties/command/plan.h"

#include "base/memory.h"
#include "parties/exchange/price.h"
#include "parties/study/fine.h"
#include "parties/study/rounds.h"

#include <math.h>

struct noise_made {
    double rho, sigma;         /* of the run; of a cell of a one-way */
    double later;              /* of a cell after these */
    double select;             /* epsilon of a selection; or in sweeps the first sigma of scores */
    double one_ways, workload; /* means */
    double pairs;              /* the mean of pairs of columns, however large */
};

/* Expected L1 noise of a marginal that is measured once. An error is at most 2. */
static double noise_of(const struct plan_asked *p, double sigma, uint64_t cells)
{
    return sqrt(2 / M_PI) * sigma * (double)cells / fmax(1, (double)p->rows);
}

static double noise_error(const struct plan_asked *p, double sigma, uint64_t cells)
{
    return fmin(2, noise_of(p, sigma, cells));
}

/* Cells of a marginal when it is measured: one-ways come before anything is merged. */
static uint64_t cells_of(const struct plan_asked *p, const struct clique *c,
                         const struct domain *grouped)
{
    return clique_cells(c, c->n > 1 ? grouped : p->study->domain);
}

static double noise_of_pairs(const struct plan_asked *p, double sigma, const struct domain *grouped)
{
    const struct workload *w = p->study->workload;
    double sum = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < w->queries; i++)
        if (w->query[i].clique.n == 2) {
            sum += noise_of(p, sigma, cells_of(p, &w->query[i].clique, grouped));
            pairs++;
        }
    return pairs > 0 ? sum / (double)pairs : 0;
}

static enum err add_noise(const struct plan_asked *p, const struct aim_options *o,
                          struct noise_made *x)
{
    const struct workload *w = p->study->workload;
    const double sigma = aim_sigma(o) * measure_spread(o->noise_by);
    struct domain grouped;
    TRY(aim_expect_groups(&grouped, o, (double)p->rows, sigma));
    for (size_t i = 0; i < w->one_ways; i++)
        x->one_ways += noise_error(p, sigma, w->query[i].cells) / (double)w->one_ways;
    for (size_t i = 0; i < w->cliques; i++)
        x->workload += noise_error(p, x->later, cells_of(p, &w->clique[i], &grouped)) /
                       (double)w->cliques;
    x->pairs = noise_of_pairs(p, x->later, &grouped);
    memory_free(&grouped.attribute);
    return ERR_OK;
}

static bool select_of(const struct study *s, const struct aim_options *o, double *select)
{
    struct price_sweep sweep;
    uint64_t multiplier;
    *select = aim_epsilon(o);
    if (s->sweeps == 0)
        return *select > 0 && measure_multiplier(aim_sigma_later(o), &multiplier, NULL) == ERR_OK;
    if (price_check_noise(s, NULL) != ERR_OK || price_sweep(s, &sweep) != ERR_OK)
        return false;
    *select = sweep.most_sigma;
    return true;
}

/* For the study with another budget and other rounds; false if they do not go with it. */
static bool errors_of(const struct plan_asked *p, double epsilon, unsigned rounds,
                      struct noise_made *x)
{
    struct study other = *p->study;
    struct aim_options o = p->options;
    uint64_t multiplier, later;
    *x = (struct noise_made){0};
    other.epsilon = epsilon;
    if (!p->study->annealed)
        other.rounds = o.rounds = rounds;
    if (price_limits(&other, &o.limits, NULL) != ERR_OK ||
        measure_multiplier(aim_sigma(&o), &multiplier, NULL) != ERR_OK ||
        (other.sweeps == 0 && measure_multiplier(aim_sigma_later(&o), &later, NULL) != ERR_OK) ||
        !select_of(&other, &o, &x->select))
        return false;
    x->rho = o.limits.rho;
    x->sigma = measure_sigma(multiplier, o.noise_by);
    x->later = aim_sigma_later(&o) * measure_spread(o.noise_by);
    return add_noise(p, &o, x) == ERR_OK;
}

static void print_epsilon(const struct plan_asked *p, double epsilon)
{
    struct noise_made x;
    if (!errors_of(p, epsilon, p->study->rounds, &x))
        printf("  %7.3g  does not fit this study\n", epsilon);
    else
        printf("  %7.3g  %10.4g  %8.4g  %12.4g  %14.4f  %14.4f\n", epsilon, x.rho, x.sigma,
               x.select, x.one_ways, x.workload);
}

static bool pairs_at(const void *self, unsigned rounds, double *noise)
{
    const struct plan_asked *p = self;
    struct noise_made x;
    if (!errors_of(p, p->study->epsilon, rounds, &x))
        return false;
    *noise = x.pairs;
    return *noise > 0;
}

static void print_advice(const struct plan_asked *p)
{
    const struct rounds_noise noise = {pairs_at, p};
    const unsigned rounds = p->study->rounds;
    struct rounds_advice a;
    if (!rounds_advise(&a, &noise, p->study->domain->attributes))
        return;
    printf("advice: about %u rounds; %u where columns depend little on each other, %u where\n"
           "many depend on many. This cannot be known without looking at the data.\n",
           a.about, a.least, a.most);
    if (rounds < a.least)
        printf("This study has fewer: marginals that matter will not be measured.\n");
    else if (rounds > a.most)
        printf("This study has more: they add noise and tell little.\n");
}

/* More rounds measure more marginals, each with more noise. */
static void print_rounds(const struct plan_asked *p)
{
    static const double times[] = {0.25, 0.5, 1, 2, 4};
    const struct workload *w = p->study->workload;
    unsigned before = 0;
    if (p->study->annealed || p->study->rounds == 0)
        return;
    printf("noise by rounds, at epsilon %g:\n"
           "   rounds     sigma  one-ways, mean  workload, mean  marginals measured, at most\n",
           p->study->epsilon);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        const double rounds = fmin(STUDY_ROUNDS_MAX, ceil(p->study->rounds * times[i]));
        const size_t others = w->queries - w->one_ways;
        struct noise_made x;
        if ((unsigned)rounds == before || !errors_of(p, p->study->epsilon, (unsigned)rounds, &x))
            continue;
        before = (unsigned)rounds;
        printf("  %7u  %8.4g  %14.4f  %14.4f  %zu of %zu%s\n", before, x.later, x.one_ways,
               x.workload, before < others ? before : others, others,
               before == p->study->rounds ? "  (this study)" : "");
    }
    print_advice(p);
}

static void print_bins(const struct plan_asked *p)
{
    struct noise_made x;
    if (errors_of(p, p->study->epsilon, p->study->rounds, &x))
        fine_print(stdout, p->study, &p->grouped, (double)p->rows, x.sigma);
}

static void print_errors(const struct plan_asked *p)
{
    static const double epsilon[] = {0.5, 1, 2, 4};
    bool own = false;
    printf("noise by epsilon (delta %g), and the L1 error to expect of a measured\n"
           "marginal where all owners have %s rows (fewer: more, in proportion):\n",
           p->study->delta, study_rows_key(p->study));
    printf("  epsilon         rho     sigma  %s  one-ways, mean  workload, mean\n",
           p->study->sweeps > 0 ? "of scores   " : "eps of round");
    for (size_t i = 0; i < sizeof epsilon / sizeof epsilon[0]; i++) {
        own |= fabs(epsilon[i] - p->study->epsilon) < 1e-9;
        print_epsilon(p, epsilon[i]);
    }
    if (!own) {
        print_epsilon(p, p->study->epsilon);
        printf("  (the last line is the study's own)\n");
    }
    if (p->study->sweeps > 0)
        printf("sigma is that of the one-ways; the workload's marginals are taken as measured in\n"
               "the last sweep, with %d marginals for each attribute.\n",
               SCHEDULE_SET);
    if (p->merges)
        printf("The workload's marginals are of merged values, as above.\n");
    printf("An error of 2 means that nothing but noise would come out. The model shares what\n"
           "it measures among marginals, so that most come out better than measured alone.\n");
}

void plan_noise(const struct plan_asked *p)
{
    print_errors(p);
    print_rounds(p);
    print_bins(p);
}
