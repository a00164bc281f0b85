/*
 * parties/settings/three/tally.h - what a server has counted for a study so far: shared sums of
 * uploads, in the maximal marginals. For a copula's and a classifier's records these are
 * sums of single attributes only: what else is summed is made from the records (tally_again()).
 *
 * New uploads add to it, and what is in it is never computed again. A batch is counted, once, when
 * the uploads of all its owners are there; an owner of whole rows is a batch by itself. Where rows
 * have keys of persons, uploads are only loaded, and tally_finish() counts the rows that servers
 * make from all of them together (parties/settings/three/keyed.h): nothing can be added later.
 */
#pragma once

#include "parties/exchange/bounds.h"
#include "parties/settings/three/keyed.h"
#include "protocols/portion.h"

struct tally {
    const struct study *study;   /* borrowed */
    const struct bounds *bounds; /* borrowed */
    struct share64 sums;         /* cells of what is counted, in the closure's order */
    bool *counted;               /* by owner: its upload is in */
    size_t owners;               /* how many are counted */
    struct keyed keyed;
    struct share64 linked; /* rows that all owners of their batch have, if the study looks */
    /* If lanes of other processes count, too (crew_jobs()): sums that are still to be added. */
    struct portion_sums dealt;
    bool deals;
};

enum err tally_new(struct tally *t, const struct study *study,
                   const struct bounds *bounds) MUST_CHECK;
void tally_free(struct tally *t);

/* Whether a marginal of the closure is counted from uploads; others may follow from it. */
bool tally_counts(const struct study *study, size_t query);

/*
 * Adds what is new among `uploads` as this server holds them; all three servers call it with the
 * same uploads. After a failure the tally is useless.
 */
enum err tally_add(struct party *p, struct tally *t, const struct upload *uploads,
                   size_t count) MUST_CHECK;

/* Adds what all lanes have counted to the sums, without messages to the other servers. */
enum err tally_gather(struct party *p, struct tally *t) MUST_CHECK;

/*
 * Counts what could not be counted before all uploads were in; does nothing if there is no such
 * upload. Owners whose uploads are left out are no longer among the `owners`.
 */
enum err tally_finish(struct party *p, struct tally *t) MUST_CHECK;

/*
 * What reads records again does with them: `shape` is that of the study's columns. A protocol, as
 * records_count().
 */
typedef enum err tally_take(struct party *p, const struct records_shape *shape,
                            const struct records_batch *batches, size_t count, void *self);

/* Gives it uploads in the tally, all of them records, except those with keys. */
enum err tally_again(struct party *p, const struct tally *t, const struct upload *uploads,
                     size_t count, tally_take *take, void *self) MUST_CHECK;
/* The same for the rows that were made from uploads with keys, if any. */
enum err tally_made_again(struct party *p, const struct tally *t, tally_take *take,
                          void *self) MUST_CHECK;
