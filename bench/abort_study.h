/*
 * bench/abort_study.h - a whole study with security: abort beside the same without: Adult, whose
 * five owners send counts or records, T = 10.
 *
 *   adult_answers_ratio          CPU time of the three servers during the run, over that without
 *   adult_answers_seconds_ratio  the same of what the analyst waited for the servers
 *   bytes_ratio                  of what all servers sent to each other
 *   selection_rounds_extra, measure_rounds_extra   exchanges more of each
 *
 *   adult_records_ratio, adult_records_seconds_ratio, records_bytes_ratio   the same of records
 *   records_count_ratio          CPU time of counting as many records by itself (bench/count.h)
 *
 * Ratios are medians over pairs that run in turn.
 */
#ifndef TREFOIL_BENCH_ABORT_STUDY_H
#define TREFOIL_BENCH_ABORT_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define ABORT_STUDY_PAIRS_MAX 64

/*
 * Write the keys of counts, or of records, to `json` (may be NULL), each followed by a comma; say
 * so where the table is absent. In a smoke run T = 2.
 */
bool abort_study_answers(FILE *json, size_t pairs, bool smoke);
bool abort_study_records(FILE *json, size_t pairs, bool smoke);

#endif
