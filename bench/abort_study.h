/*
 * bench/abort_study.h - a whole study with security: abort, compared with the same without: Adult,
 * whose five owners send counts or records, T = 10.
 *
 *   adult_counts_ratio          CPU time of the three servers during the run, over that without
 *   adult_counts_seconds_ratio  the same for the time that the analyst waited for the servers
 *   bytes_ratio                  the same for what all servers sent to each other
 *   selection_rounds_extra, measure_rounds_extra   additional exchanges of each
 *
 *   adult_records_ratio, adult_records_seconds_ratio, records_bytes_ratio   the same for records
 *   records_count_ratio          CPU time of counting as many records by itself (bench/count.h)
 *
 * Ratios are medians over pairs that run in turn.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ABORT_STUDY_PAIRS_MAX 64

/* Add the keys for counts, or for records; say so if the table is absent. T = 2 in a smoke run. */
bool abort_study_counts(json_t *out, size_t pairs, bool smoke);
bool abort_study_records(json_t *out, size_t pairs, bool smoke);
