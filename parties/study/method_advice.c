#include "parties/study/method_advice.h"

#include "base/memory.h"
#include "parties/study/method.h"

#include <math.h>

enum err method_advise(struct method_advice *m, const struct study *s, double rows, double rho)
{
    const struct aim_options o = method_aim(s);
    const double d = (double)s->domain->attributes,
                 sigma = measure_spread(s->noise_by) * s->rows_per_person / sqrt(2 * rho);
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
    fprintf(out, "method: %s; for tables of columns expected to be better: %s\n",
            method_of(s)->word, method_row(m.better)->word);
    fprintf(out,
            "  a table of two attributes has %.0f cells on average%s;\n"
            "  with all of the budget one would have an error of %.2g from noise alone",
            m.cells, m.merged ? ", of merged values" : "", m.error);
    if (m.error > METHOD_PAIR_ERROR)
        fputs(":\n"
              "  more than there is to see, so that one number a pair (method: copula) tells\n"
              "  more. Coarser bins help AIM\n",
              out);
    else if (s->domain->attributes > METHOD_COLUMNS_MOST)
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
