#include "parties/study/fine.h"

#include <inttypes.h>
#include <math.h>

#define BAND 2.0 /* deviations of noise: 95 % */
#define PAIR_NOISE 0.25

uint32_t fine_values_most(double rows, double sigma)
{
    const double most = floor(rows * FINE_NOISE_SHARE / (BAND * sigma));
    return most < 2 ? 2 : most < DOMAIN_SIZE_MAX ? (uint32_t)most : DOMAIN_SIZE_MAX;
}

/*
 * The most values that columns may have if noise is to give a measured pair an L1 error of no more
 * than PAIR_NOISE; at least 2. docs/results.md shows how near that was to the best on a real table.
 */
static uint32_t pair_values(double rows, double sigma)
{
    const double most = floor(sqrt(PAIR_NOISE * rows / (sqrt(2 / M_PI) * sigma)));
    return most < 2 ? 2 : most < DOMAIN_SIZE_MAX ? (uint32_t)most : DOMAIN_SIZE_MAX;
}

static void print_column(FILE *out, const struct domain_attribute *a, double rows, double sigma)
{
    const double each = rows / a->values, noise = BAND * sigma;
    const uint32_t most = fine_values_most(rows, sigma);
    const char *what = domain_has_bins(a) ? "bins" : "values";
    if (!domain_has_order(a) || a->values <= most)
        return;
    fprintf(out, "  %s: %" PRIu32 " %s of about %.3g rows, each with noise of +-%.3g", a->name,
            a->values, what, each, noise);
    fprintf(out, noise >= each ? ":\n    more than is there" : ":\n    %.0f %% of them",
            100 * noise / each);
    if (noise * 2 > rows * FINE_NOISE_SHARE) /* even two bins */
        fprintf(out, ", and too few rows for bins at this budget\n");
    else
        fprintf(out, "; with %" PRIu32 " bins it would be %.0f %%\n", most,
                100 * noise * most / rows);
}

/* Marginals where noise is expected to move as many rows as there are, if they are measured. */
static void print_marginals(FILE *out, const struct study *s, const struct domain *grouped,
                            double rows, double sigma)
{
    const struct workload *w = s->workload;
    size_t noisy = 0, finest = 0;
    for (size_t i = 0; i < w->cliques; i++) {
        const uint64_t cells = clique_cells(&w->clique[i], grouped);
        if (sqrt(2 / M_PI) * sigma * (double)cells < rows)
            continue;
        noisy++;
        finest = clique_cells(&w->clique[finest], grouped) < cells ? i : finest;
    }
    if (noisy > 0)
        fprintf(out,
                "  %zu of %zu marginals of the workload have an error of 1 or more from noise\n"
                "    alone; the finest, %s, has %" PRIu64 " cells for %.0f rows.\n"
                "    Pairs of columns of %" PRIu32 " bins each would have %.2g, and do better\n",
                noisy, w->cliques, clique_name(&w->clique[finest], s->domain).text,
                clique_cells(&w->clique[finest], grouped), rows, pair_values(rows, sigma),
                PAIR_NOISE);
}

void fine_print(FILE *out, const struct study *s, const struct domain *grouped, double rows,
                double sigma)
{
    fprintf(out, "bins, where rows are spread evenly and all owners have %s rows:\n",
            study_rows_key(s));
    for (size_t i = 0; i < s->domain->attributes; i++)
        print_column(out, &s->domain->attribute[i], rows, sigma);
    print_marginals(out, s, grouped, rows, sigma);
    fprintf(out,
            "  a column of numbers has room for %" PRIu32 " bins whose noise (2 sigma) is at most\n"
            "  half of their rows\n",
            fine_values_most(rows, sigma));
}
