#include "parties/server/site.h"

#include <string.h>

/* The ledger's head after this many debits: zeros if this is 0, or there are fewer. */
static enum err head_after(struct store *store, uint64_t debits, struct head_at *at)
{
    struct bytes ignored CLEAN(bytes_clear) = {0};
    enum err e = debits == 0 ? ERR_RANGE : store_entry(store, debits, &ignored, at->hash);
    at->length = debits;
    return e == ERR_RANGE ? ERR_OK : e;
}

#define SPENT 0.99 /* of the budget */

bool site_is_spent(const struct site *site)
{
    const struct status *s = &site->status;
    return atomic_load(&s->rho_spent) >= SPENT * atomic_load(&s->rho_limit);
}

enum err site_head(const struct site *site, uint64_t seen, struct head *head)
{
    struct audit_head log;
    uint64_t debits = 0;
    *head = (struct head){0};
    TRY(store_debits(site->store, &debits));
    TRY(head_after(site->store, debits, &head->ledger));
    TRY(head_after(site->store, seen, &head->past));
    audit_lasting(site->audit, &log);
    head->log.length = log.entries;
    memcpy(head->log.hash, log.hash, sizeof log.hash);
    return head_sign(site->study, site->me, site->index, head);
}
