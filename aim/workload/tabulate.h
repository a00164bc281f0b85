/* aim/workload/tabulate.h - the rows of a table, counted in the cells of marginals. */
#pragma once

#include "aim/table/table.h"
#include "aim/workload/workload.h"

/* Counts the rows in each cell of a marginal; `cells` has clique_cells() entries. */
void tabulate_marginal(const struct table *t, const struct clique *c, int64_t *cells);
enum err tabulate_counts(const struct table *t, const struct clique *c, double *counts) MUST_CHECK;
/* The same for the whole closure: `counts` has w->cells entries, each query's at its offset. */
enum err tabulate_closure(const struct table *t, const struct workload *w,
                          int64_t *counts) MUST_CHECK;
