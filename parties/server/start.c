#include "parties/server/start.h"

#include "parties/exchange/price.h"
#include "parties/study/roster.h"

#include <sodium.h>

/* Whether nobody on the roster has paid for another run; a look counts only if `looks`. */
static enum err is_free(struct start *start, struct store *store, const struct study *study,
                        const uint8_t run[REQUEST_RUN_SIZE], bool looks)
{
    struct bytes keys CLEAN(bytes_clear) = {0};
    TRY(store_other_analysts(store, run, looks, &keys));
    for (size_t at = 0; at < keys.size && start->may; at += 32) {
        start->owner = roster_analyst(study, keys.data + at);
        start->may = start->owner == NULL && !sodium_is_zero(keys.data + at, 32);
    }
    return ERR_OK;
}

enum err start_of(struct start *start, struct store *store, const struct study *study,
                  const uint8_t run[REQUEST_RUN_SIZE])
{
    const bool takes_looks = study->link.min_linked > 0;
    struct store_start paid;
    bool looks_left;
    *start = (struct start){.may = true};
    TRY(store_start(store, run, &paid));
    start->looks = takes_looks ? (uint32_t)(paid.looks - paid.own_looks) : 0;
    start->looked = takes_looks && paid.own_looks > 0;
    start->begun = paid.begun;
    looks_left = takes_looks && start->looks < LOOK_TRIES;
    if (paid.debits > 0 && !(looks_left && paid.looks == paid.debits)) {
        start->left = paid.left;
        start->may = start->begun || paid.left > 0;
    }
    return start->begun ? ERR_OK : is_free(start, store, study, run, !looks_left);
}

/* Whether it measures what a run measures first: all one-ways, or a classifier's target. */
static bool is_first(const struct ask *a, const struct study *study)
{
    const struct features *f = study->features;
    bool all = a->kind == ASK_MEASURE && a->merges == NULL &&
               a->queries == (f != NULL ? 1 : study->workload->one_ways);
    for (uint32_t k = 0; k < a->queries && all; k++)
        all = a->query[k] == (f != NULL ? f->target : k);
    return all;
}

static enum err refuse(const struct start *start, struct log *log)
{
    const char *name = start->owner;
    if (!(start->left > 0))
        return log_fail(log, ERR_BUDGET, "the study's budget is spent");
    return log_fail(log, ERR_REFUSED,
                    "the budget belongs to a run of %s%s. Another run may begin with what is left "
                    "once the roster no longer lists that analyst, or lists its key as revoked",
                    name != NULL ? "analyst " : "an unknown analyst", name != NULL ? name : "");
}

enum err start_allows(struct store *store, const struct study *study, const struct request *r,
                      struct log *log)
{
    struct study as_planned = *study;
    struct price_first first;
    struct store_found found;
    struct start start;
    TRY(store_find_round(store, r->run, r->sequence, &found));
    TRY(start_of(&start, store, study, r->run));
    if (start.begun || found.standing > STANDING_STAGED)
        return ERR_OK;
    if (!start.may)
        return refuse(&start, log);
    as_planned.left = start.left;
    if (price_first(&as_planned, &first) != ERR_OK)
        return log_fail(log, ERR_BUDGET, "what is left of the budget is too little for a run");
    if (first.look > 0 && r->ask.kind == ASK_LOOK && r->ask.multiplier == first.look)
        return ERR_OK;
    if ((first.look == 0 || start.looked) && is_first(&r->ask, study) &&
        r->ask.multiplier == first.one_ways)
        return ERR_OK;
    return log_fail(
        log, ERR_REFUSED,
        "a run of this study begins with %s, at a multiplier of %llu, and pays for "
        "nothing else before; compare the versions of trefoil",
        first.look > 0 && !start.looked ? "a look"
        : study->features != NULL       ? "the target's counts"
                                        : "all one-ways",
        (unsigned long long)(first.look > 0 && !start.looked ? first.look : first.one_ways));
}
