/*
 * parties/settings/two/sums.h - a server's shares of the counts so far: a word for each cell of the
 * closure. What the provider and the keeper have adds up to the counts, mod 2^64. All but
 * what rows.h does is local: sums, smaller marginals and merged cells of shares are shares of
 * those.
 */
#ifndef TREFOIL_PARTIES_SETTINGS_TWO_SUMS_H
#define TREFOIL_PARTIES_SETTINGS_TWO_SUMS_H

#include "aim/workload/merge.h"
#include "parties/settings/two/rows.h"
#include "parties/settings/two/split.h"

struct sums {
    const struct study *study; /* borrowed */
    enum pair_end end;         /* whose shares they are */
    uint64_t *word;            /* of the whole closure, a query from its offset on */
    bool *counted;             /* by owner: its upload is in */
    bool *left_out;            /* by owner: its key does not open it, and it is not */
    size_t owners;             /* how many are */
    bool spread;               /* smaller marginals have been summed from their parents */
};

enum err sums_new(struct sums *s, const struct study *study, enum pair_end end) MUST_CHECK;
void sums_free(struct sums *s);

/* Adds those that are new. LEAKS: as rows.h says. */
enum err sums_add(struct sums *s, struct two_rows *rows, const struct upload *uploads,
                  size_t count) MUST_CHECK;
/* Sums the marginals that are not uploaded from their parents. */
enum err sums_spread(struct sums *s) MUST_CHECK;

/*
 * A query's cells, merged if `merges` touches it; `own` then has them, and is the caller's to free.
 */
enum err sums_query(const struct sums *s, uint32_t query, const struct merges *merges,
                    const uint64_t **word, uint64_t **own) MUST_CHECK;

#endif
