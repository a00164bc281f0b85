#include "aim/model/model_weigh.h"

#include <string.h>

void model_weigh_rows(const struct model_sums *s, const struct clique *asked,
                      const struct model_weight *weight, size_t weights, double *counts)
{
    const struct table *t = model_sums_rows(s);
    const double each = model_sums_total(s) / (double)t->rows;
    memset(counts, 0, clique_cells(asked, t->domain) * sizeof *counts);
    for (size_t row = 0; row < t->rows; row++) {
        double rows = each;
        for (size_t i = 0; i < weights && rows > 0; i++)
            rows *= weight[i].of[t->column[weight[i].attribute][row]];
        if (rows > 0)
            counts[table_cell(t, asked->attribute, asked->n, row)] += rows;
    }
}
