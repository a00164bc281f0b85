/* bench/study_text.h - a table's domain and workload as lines of a study file. */
#pragma once

#include "aim/workload/workload.h"
#include "base/bytes.h"

#include <jansson.h>

/*
 * `domain:` and its lines; every value is a code, or a label if the table's codes.json says so
 * (NULL: none). Both end with a NUL.
 */
void study_text_domain(const struct domain *d, const json_t *codes, struct bytes *text);
/*
 * `domain:` from a table's codes.json: labels, integers, bins; with `steps` these have a step of 1
 * (0.1 for TEMP).
 */
void study_text_codes(const json_t *codes, bool steps, struct bytes *text);
/* What follows `workload:`, a list of the cliques as they were given. */
void study_text_workload(const struct workload *w, const struct domain *d, struct bytes *text);
