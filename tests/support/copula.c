#include "tests/support/copula.h"

#include "harness/cmocka.h"

void copula_stage_clear(struct copula_stage *s)
{
    table_free(&s->table);
    workload_free(&s->pairs);
    domain_free(&s->domain);
}

struct copula_options copula_stage_options(const struct copula_stage *s, double rho, unsigned bits)
{
    return (struct copula_options){
        .domain = s->domain,
        .pairs = s->pairs,
        .limits = {.rho = rho, .rows_per_person = 1, .epsilon_slack = 1e-3},
        .bounds = {.bits = bits},
        .clip = 2.5,
        .share = 0.5,
        .slack.marginal = 1e-6};
}

enum err copula_stage_run(struct copula_result **result, const struct copula_stage *s,
                          const struct copula_options *o, const struct plaintext_noise *noise)
{
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    OK(plaintext_new(&p, s->pairs, s->table, noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    return copula_run(result, o, &backend, NULL);
}

enum err support_no_noise(void *self, size_t n, int64_t *out)
{
    memset(out, 0, n * sizeof *out);
    return ERR_OK;
}
