/*
 * protocols/portion.h - a count cut into portions, one for each lane of a session (crew_jobs()).
 *
 * Counts are cut by cells, or by uploads where cells are few; records by rows, those of all batches
 * one after another. A portion is bytes: seeds, and what it needs of vectors. It yields shares that
 * add up to those of the whole: counts are exact, however they are cut. Rows that servers have made
 * are not cut (struct records_part).
 *
 * LEAKS: as counts_sum() and records_count(); how a count is cut is public.
 */
#pragma once

#include "base/bytes.h"
#include "protocols/counts_sum.h"
#include "protocols/records.h"

#include <pthread.h>

/* What is counted. Queries' `out` follow one another in sums of `cells` cells. */
struct portion_whole {
    const struct counts_upload *upload; /* of counts */
    size_t uploads;
    unsigned bits; /* of their sums */
    const struct records_batch *batch;
    size_t batches;
    struct records_shape shape;
    const struct records_query *query;
    size_t queries;
    size_t cells;
};

/* Portion k of so many; the same at all three servers except for what they hold. */
enum err portion_put(const struct portion_whole *whole, size_t k, size_t portions,
                     struct bytes *out) MUST_CHECK;

/* Where lanes of a process add up what they count. Made by the first portion. */
struct portion_sums {
    struct share64 sums;
    pthread_mutex_t lock;
};
void portion_sums_new(struct portion_sums *s);
void portion_sums_free(struct portion_sums *s);

/* Counts a portion, and adds it to the sums. ERR_FORMAT: it is none, or one of other sums. */
enum err portion_count(struct party *lane, struct reader *portion,
                       struct portion_sums *sums) MUST_CHECK;
