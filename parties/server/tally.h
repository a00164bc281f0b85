/*
 * parties/server/tally.h - what a server has counted of a study so far: shared sums of uploads, in
 * the maximal marginals.
 *
 * New uploads add to it, and what is in it is never computed again. A batch is counted once the
 * uploads of all its owners are there, an owner of whole rows by itself; each of them once.
 */
#ifndef TREFOIL_PARTIES_SERVER_TALLY_H
#define TREFOIL_PARTIES_SERVER_TALLY_H

#include "mpc/party.h"
#include "parties/exchange/upload.h"
#include "parties/study/bounds.h"

struct tally {
    const struct study *study;   /* borrowed, */
    const struct bounds *bounds; /* as is this */
    struct share64 sums;         /* cells of the maximal marginals, in order of the closure */
    bool *counted;               /* by owner */
    size_t owners;               /* that are counted */
};

enum err tally_new(struct tally *t, const struct study *study,
                   const struct bounds *bounds) MUST_CHECK;
void tally_free(struct tally *t);

/*
 * Adds what is new among `uploads` as this server holds them; all three call it with the same.
 * After a failure the tally is of no more use.
 */
enum err tally_add(struct party *p, struct tally *t, const struct upload *uploads,
                   size_t count) MUST_CHECK;

#endif
