#include "parties/command/plan.h"

#include "aim/budget/forms.h"
#include "aim/run/copula_run.h"
#include "base/words.h"
#include "parties/exchange/price.h"
#include "parties/study/method_advice.h"
#include "parties/study/study_uploads.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define ROUND_EXCHANGES 3
#define BLOCK_EXCHANGES 15 /* trees of codes, numbers, tiles, sums: of a block of records */

static uint64_t codes_of(const struct study *s)
{
    uint64_t codes = 0;
    for (size_t i = 0; i < s->domain->attributes; i++)
        codes += s->domain->attribute[i].size;
    return codes;
}

/* Latent variables, if all values are frequent. */
static uint64_t latents_of(const struct study *s)
{
    const size_t most = copula_groups_most(s->domain);
    uint64_t latents = 0;
    for (size_t i = 0; i < s->domain->attributes; i++) {
        const struct domain_attribute *a = &s->domain->attribute[i];
        const bool labels = !domain_has_order(a) && a->size > 2 && most > 1;
        latents += !labels ? 1 : (a->size < most ? a->size : most) - 1;
    }
    return latents;
}

/* Prints what is opened and kept if all owners together have this many rows. */
static void print_size(const struct study *s, uint64_t rows)
{
    const uint64_t d = s->domain->attributes, codes = codes_of(s), latents = latents_of(s);
    const uint64_t model = 8 * (codes + latents * (latents - 1) / 2);
    /* itself and its libraries; the matrix, with LAPACK's copies; the rows that it draws */
    const double program = 15e6 + 40.0 * (double)(latents * latents) +
                           (double)rows * (sizeof(uint16_t) * ((double)d + 1) + sizeof(uint32_t));
    printf("rounds: the one-ways (%" PRIu64 " cells), then a number for each of %" PRIu64
           " pairs of\n  attributes; each about %u exchanges between the servers%s\n",
           codes, forms_pairs(d), s->servers == 2 ? PLAN_TWO_MEASURE : ROUND_EXCHANGES,
           s->servers == 2 ? "" : ", and 6 more with\n  security: abort");
    if (copula_forms_most(s->domain) > forms_pairs(d))
        printf("  of attributes whose values have no order there is one for each two frequent\n"
               "  values: at most %" PRIu64 " numbers in all\n",
               copula_forms_most(s->domain));
    if (!study_counts_pairs(s))
        printf("  for the second they read the records again, in some %u exchanges for each\n"
               "  16,383 rows\n",
               BLOCK_EXCHANGES);
    printf("model: %s; the analyst's program about %s\n", words_bytes(model).text,
           words_bytes((uint64_t)program).text);
}

static enum err print_line(const struct plan_even *e, const struct study *s, double epsilon,
                           double rows)
{
    const double d = (double)e->d, k = s->rows_per_person;
    struct study other = *s;
    struct ledger_limits limits;
    const double spread = measure_spread(s->noise_by);
    double rho, sigma, sum, correlation;
    other.epsilon = epsilon;
    if (price_check_noise(&other, NULL) != ERR_OK ||
        price_limits(&other, &limits, NULL) != ERR_OK) {
        printf("  %7.3g  does not fit this study\n", epsilon);
        return ERR_OK;
    }
    rho = limits.rho / (k * k);
    sigma = spread * ledger_deviation((double)e->d, s->copula_share * rho);
    rho = (1 - s->copula_share) * rho / (spread * spread);
    TRY(plan_even_noise(e, s, rho, rows, false, &sum, &correlation));
    printf("  %7.3g  %10.4g  %8.4g  %14.4f  %10.4g  %13.3f\n", epsilon, limits.rho, sigma,
           fmin(2, sqrt(2 / M_PI) * sigma * (double)codes_of(s) / d / rows), sum, correlation);
    return ERR_OK;
}

/* Prints a line for each of several epsilons: noise, and the error to expect from it. */
static enum err print_errors(const struct study *s, uint64_t rows)
{
    static const double epsilon[] = {0.5, 1, 2, 4};
    const double n = fmax(1, (double)rows);
    struct plan_even e CLEAN(plan_even_clear) = {0};
    bool own = false;
    TRY(plan_even_new(&e, s->domain));
    printf("noise by epsilon (delta %g): sigma of a count, the L1 error to expect of an\n"
           "attribute, sigma of a pair's sum and of its correlation, where all owners have\n"
           "%s rows (fewer: more, in proportion), spread evenly over the values:\n"
           "  epsilon         rho     sigma  one-ways, mean  of a pair  a correlation\n",
           s->delta, study_rows_key(s));
    for (size_t i = 0; i < sizeof epsilon / sizeof *epsilon; i++) {
        own |= fabs(epsilon[i] - s->epsilon) < 1e-9;
        TRY(print_line(&e, s, epsilon[i], n));
    }
    if (!own) {
        TRY(print_line(&e, s, s->epsilon, n));
        printf("  (the last line is the study's own)\n");
    }
    printf("Dependence that a normal distribution cannot express is lost as well.\n");
    return ERR_OK;
}

enum err plan_copula(struct plan_asked *p, double rho)
{
    TRY(plan_verdict(p, rho));
    plan_study(p);
    print_size(p->study, p->rows);
    TRY(method_print(stdout, p->study, (double)p->rows, rho));
    plan_uploads(p);
    TRY(plan_servers(p));
    return print_errors(p->study, p->rows);
}
