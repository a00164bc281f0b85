/*
 * parties/analyst/central.h - all owners' rows in one table, as servers would count them, for
 * `trefoil aim` and the demo. Whoever runs it sees all rows.
 */
#pragma once

#include "aim/run/plaintext.h"
#include "aim/table/table.h"
#include "parties/study/study.h"

/*
 * Makes the rows that the servers would make from these tables in a study with `link`. There is one
 * table for each owner, with its columns (pack_domain()); a table keeps keys if the owner's upload
 * does. *linked: how many rows all owners of their batch had; *surplus: rows of a person beyond the
 * first.
 */
enum err central_link(struct table *all, const struct study *study, struct table *const *table,
                      size_t *linked, size_t *surplus) MUST_CHECK;

/* Drops from a table that keeps keys the rows that servers would not count; logs how many. */
enum err central_bound(struct table *all, const struct study *study, struct log *log) MUST_CHECK;

/* ERR_DATA, logged: there are more rows than the study's owners may bring, as its prices assume. */
enum err central_check(const struct table *all, const struct study *study,
                       struct log *log) MUST_CHECK;

/*
 * Noise from `r`, which must outlive it and be random_fresh(): what one of two servers makes alone
 * (mpc/pair/own_noise.h). It is exact, and costs no more than what a study's servers make.
 */
struct plaintext_noise central_noise(struct random *r);

/* Appends all rows of `from` (of the same domain) to `to`. */
enum err central_append(struct table *to, const struct table *from) MUST_CHECK;
