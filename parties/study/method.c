#include "parties/study/method.h"

#include "aim/merge.h"

#include <math.h>

struct method_advice method_advise(const struct study *s, double rows, double rho)
{
    const double d = (double)s->domain->attributes, sigma = s->rows_per_person / sqrt(2 * rho);
    struct method_advice m = {.better = STUDY_AIM};
    double before = 0; /* groups of the columns before */
    for (size_t i = 0; i < s->domain->attributes; i++) {
        const double groups = merges_expect(&s->domain->attribute[i], rows, sigma * sqrt(d));
        m.cells += before * groups;
        before += groups;
    }
    m.cells /= fmax(1, d * (d - 1) / 2);
    m.error = sqrt(2 / M_PI) * m.cells * sigma / fmax(1, rows);
    if (d >= 2 && (m.error > METHOD_PAIR_ERROR || d > METHOD_COLUMNS_MOST))
        m.better = STUDY_COPULA;
    return m;
}

void method_print(FILE *out, const struct study *s, double rows, double rho)
{
    const struct method_advice m = method_advise(s, rows, rho);
    fprintf(out, "method: %s; expected to be better for this study: %s\n",
            study_method_word(s->method), study_method_word(m.better));
    fprintf(out,
            "  a table of two attributes has %.0f cells on average; with all of the budget\n"
            "  one of them would have an error of %.2g of noise alone",
            m.cells, m.error);
    if (m.error > METHOD_PAIR_ERROR)
        fputs(": more than there is\n"
              "  to see, so that one number a pair (method: copula) tells more. Coarser\n"
              "  bins help AIM\n",
              out);
    else if (m.better == STUDY_COPULA)
        fprintf(out,
                ", but of the\n"
                "  pairs of %zu attributes a model of AIM can hold few; a copula has a number\n"
                "  of each\n",
                s->domain->attributes);
    else
        fputs(", so that tables\n"
              "  (method: aim) tell more than one number a pair\n",
              out);
}
