/*
 * parties/setting/judge.h - what a study's runs may ask for, and no more: owners have read what its
 * method opens. An engine judges a request by these, whatever it computes the answer with, before
 * it prices it (aim/run/ask.h).
 */
#pragma once

#include "aim/run/ask.h"
#include "parties/study/study.h"

/* ERR_REFUSED, logged, for a request that no run of the study makes. */
enum err judge_kind(const struct study *study, const struct ask *ask, struct log *log) MUST_CHECK;
/* The same for a multiplier that servers do not permit where counts are below 2^bits. */
enum err judge_multipliers(const struct ask *ask, unsigned bits, struct log *log) MUST_CHECK;
/* The same for more candidates than a selection may have. */
enum err judge_candidates(const struct study *study, const struct ask *ask,
                          struct log *log) MUST_CHECK;
/*
 * The bounds of merged cells. ERR_REFUSED, logged, if the study's runs merge nothing, or merge less
 * than the request does.
 */
enum err judge_merges(const struct study *study, const struct score_bounds *counts,
                      const struct merges *merges, struct score_bounds *merged,
                      struct log *log) MUST_CHECK;
