/* tests/support/copula.h - a table from which copulas are made in the clear, noisy or exact. */
#pragma once

#include "aim/run/copula_run.h"
#include "aim/run/plaintext.h"

struct copula_stage {
    struct domain *domain;
    struct workload *pairs;
    struct table *table;
};
void copula_stage_clear(struct copula_stage *s);

/* For fewer than 2^bits rows, half of rho for the one-ways. */
struct copula_options copula_stage_options(const struct copula_stage *s, double rho, unsigned bits);
enum err copula_stage_run(struct copula_result **result, const struct copula_stage *s,
                          const struct copula_options *o, const struct plaintext_noise *noise);

/* For a noise_source: zeros. */
enum err support_no_noise(void *self, size_t n, int64_t *out);
