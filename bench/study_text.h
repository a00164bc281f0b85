/* bench/study_text.h - the mathematics of a table as a study file says it. */
#ifndef TREFOIL_BENCH_STUDY_TEXT_H
#define TREFOIL_BENCH_STUDY_TEXT_H

#include "aim/workload.h"
#include "base/bytes.h"

/* `domain:` and its lines; every value is a code. Both end with a NUL. */
void study_text_domain(const struct domain *d, struct bytes *text);
/* What follows `workload:`, a list of the cliques as they were given. */
void study_text_workload(const struct workload *w, const struct domain *d, struct bytes *text);

#endif
