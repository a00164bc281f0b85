/*
 * parties/command/evaluating.h - compares synthetic rows with real ones and prints how far apart
 * they are: for `trefoil eval`, and for `trefoil plan --simulate`, whose real rows are invented.
 */
#pragma once

#include "aim/answer/released.h"
#include "aim/sql/database.h"
#include "aim/table/csv.h"
#include "parties/display/evaluation.h"
#include "parties/display/progress.h"

struct evaluating {
    const struct study *study;
    /* files; the result's folder may stand for `synthetic`; NULL: no model, no questions */
    const char *real, *synthetic, *model, *queries;
    struct database_source sql;   /* connection NULL: none */
    struct table_csv_options csv; /* of the real rows */
    bool json;
    int64_t worst; /* how many marginals and correlations are printed; 0: all */

    struct released released; /* all NULL if there is none */
    struct evaluation shown;
    struct progress progress;
    struct log *log;
};

/* Reads, compares and prints. The caller clears it, whatever this returns. */
enum err evaluating_run(struct evaluating *e) MUST_CHECK;
void evaluating_clear(struct evaluating *e);
