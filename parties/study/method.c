#include "parties/study/method.h"

#include "base/memory.h"

#include <math.h>

struct aim_options method_aim(const struct study *s)
{
    return (struct aim_options){.domain = s->domain,
                                .workload = s->workload,
                                .zero = s->zero,
                                .zeros = s->zeros,
                                .apart = s->apart,
                                .apart_columns = s->apart_columns,
                                .grows = s->late_join,
                                .rounds = s->rounds,
                                .annealed = s->annealed,
                                .sweeps = s->sweeps,
                                .accounting = s->accounting,
                                .rows = study_rows(s, false),
                                .score = s->score,
                                .model_bytes = (uint64_t)s->max_mib << 20,
                                .fit_round = s->iterations,
                                .fit_final = s->final_iterations};
}

enum err method_advise(struct method_advice *m, const struct study *s, double rows, double rho)
{
    const struct aim_options o = method_aim(s);
    const double d = (double)s->domain->attributes, sigma = s->rows_per_person / sqrt(2 * rho);
    struct domain grouped;
    double before = 0; /* groups of the columns before */
    *m = (struct method_advice){.better = STUDY_AIM};
    TRY(aim_expect_groups(&grouped, &o, rows, sigma * sqrt(d)));
    for (size_t i = 0; i < grouped.attributes; i++) {
        const uint32_t groups = grouped.attribute[i].size;
        m->merged |= groups < s->domain->attribute[i].size;
        m->cells += before * groups;
        before += groups;
    }
    memory_free(&grouped.attribute);
    m->cells /= fmax(1, d * (d - 1) / 2);
    m->error = sqrt(2 / M_PI) * m->cells * sigma / fmax(1, rows);
    if (d >= 2 && (m->error > METHOD_PAIR_ERROR || d > METHOD_COLUMNS_MOST))
        m->better = STUDY_COPULA;
    return ERR_OK;
}

enum err method_print(FILE *out, const struct study *s, double rows, double rho)
{
    struct method_advice m;
    TRY(method_advise(&m, s, rows, rho));
    fprintf(out, "method: %s; expected to be better for this study: %s\n",
            study_method_words[s->method], study_method_words[m.better]);
    fprintf(out,
            "  a table of two attributes has %.0f cells on average%s;\n"
            "  with all of the budget one would have an error of %.2g from noise alone",
            m.cells, m.merged ? ", of merged values" : "", m.error);
    if (m.error > METHOD_PAIR_ERROR)
        fputs(":\n"
              "  more than there is to see, so that one number a pair (method: copula) tells\n"
              "  more. Coarser bins help AIM\n",
              out);
    else if (m.better == STUDY_COPULA)
        fprintf(out,
                ",\n"
                "  but of the pairs of %zu attributes a model of AIM can hold few; a copula has\n"
                "  a number of each\n",
                s->domain->attributes);
    else
        fputs(",\n"
              "  so that tables (method: aim) tell more than one number a pair\n",
              out);
    return ERR_OK;
}

/* --- what a run does -------------------------------------------------------------------------- */

static const char *score_kind(enum aim_score score)
{
    switch (score) {
    case AIM_L1:
        return "";
    case AIM_L2:
        return "squared ";
    }
    return "";
}

/* What a copula opens, and what it is not used for. */
static void describe_copula(FILE *out, const struct study *s)
{
    const size_t d = s->domain->attributes;
    fprintf(out,
            "\nMethod: a Gaussian copula. Each attribute is measured once, for %g of the budget;\n"
            "  then one number for each of %zu pairs of attributes, or of labels one for each\n"
            "  two groups of them, for the rest. Scores end at %g deviations or before. What\n"
            "  links more than two attributes is not measured. The workload (%zu marginals)\n"
            "  is what trefoil eval compares.\n",
            s->copula_share, d * (d - 1) / 2, s->copula_clip, s->asked->cliques);
}

struct words_text method_rounds(const struct study *s)
{
    struct words_text p = {"those that its sweeps choose"};
    if (s->sweeps == 0)
        snprintf(p.text, sizeof p.text, "%s%u", s->annealed ? "at most " : "", s->rounds);
    return p;
}

void method_describe(FILE *out, const struct study *s)
{
    const struct workload *w = s->workload;
    size_t maximal = 0;
    if (s->method == STUDY_COPULA) {
        describe_copula(out, s);
        return;
    }
    for (size_t i = 0; i < w->queries; i++)
        maximal += w->query[i].maximal;
    fprintf(out,
            "\nMarginals: %zu in all (%llu cells), including the smaller ones they contain;\n"
            "  %zu have one attribute. The %zu largest (%llu cells) are counted; the others\n"
            "  are sums of those. A run measures each attribute once. Then it ",
            w->queries, (unsigned long long)w->cells, w->one_ways, maximal,
            (unsigned long long)w->maximal_cells);
    if (s->sweeps > 0)
        fprintf(out,
                "opens, with noise,\n"
                "  how far its model is from each of them, and measures those that promise most:\n"
                "  %u %s.\n",
                s->sweeps, s->sweeps == 1 ? "time" : "times");
    else
        fprintf(out,
                "chooses and\n"
                "  measures %s more, each time the one with the largest sum of %serrors.\n",
                method_rounds(s).text, score_kind(s->score));
}
