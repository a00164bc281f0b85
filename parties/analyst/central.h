/*
 * parties/analyst/central.h - central AIM on tables in the clear, for `trefoil aim` and the demo.
 * Whoever runs it sees all rows.
 */
#pragma once

#include "aim/run/copula_run.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "aim/run/train_run.h"
#include "parties/study/study.h"

/*
 * Runs the same loop, with the same budget and bounds, as the servers. The noise is fresh if
 * `noise` is NULL. `progress` may be NULL. The result borrows the study.
 */
enum err central_run(struct aim_result **result, const struct study *study,
                     const struct table *table, const struct plaintext_noise *noise,
                     void (*progress)(void *self, const struct aim_round *round), void *self,
                     struct log *log) MUST_CHECK;

/* The same for a study with method: copula. */
enum err central_copula(struct copula_result **result, const struct study *study,
                        const struct table *table, const struct plaintext_noise *noise,
                        struct log *log) MUST_CHECK;

/* And with method: train; `progress` may be NULL. */
enum err central_train(struct train_result **result, const struct study *study,
                       const struct table *table, const struct plaintext_noise *noise,
                       void (*progress)(void *self, const struct train_result *r, unsigned step),
                       void *self, struct log *log) MUST_CHECK;

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

/* Appends all rows of `from` (of the same domain) to `to`. */
enum err central_append(struct table *to, const struct table *from) MUST_CHECK;
