/* Whether what a log opens was permitted (parties/audit/audit_compare.h). */
#include "parties/audit/audit_compare.h"

#include "base/date.h"

#include <inttypes.h>
#include <string.h>

/* The last line before line `k` with a warrant for its run, or NULL. */
static const struct audit_entry *warrant_before(const struct audit_file *f, size_t k)
{
    const uint8_t *run = f->entry[k].opening.run;
    while (k-- > 0)
        if (f->entry[k].kind == AUDIT_WARRANT && memcmp(f->entry[k].run, run, AUDIT_RUN_SIZE) == 0)
            return &f->entry[k];
    return NULL;
}

/*
 * What is wrong with an opening in line `k`, or NULL: its warrant was not good then (what the
 * roster revokes now, it may not have revoked), or what was debited is not within that. A debit
 * may come just before midnight, and its opening after. Bits of noise, which may be made for no
 * run, need no warrant.
 */
static const char *objection(const struct audit_file *f, size_t k, const struct study *study,
                             double rho)
{
    const struct audit_opening *o = &f->entry[k].opening;
    const struct audit_entry *by = warrant_before(f, k);
    struct study then = *study;
    struct warrant w;
    int64_t time;
    enum err e;
    then.revoked_count = then.approvers.revoked_count = 0;
    if (strcmp(o->reason, "REJECT_BIT") == 0)
        return NULL;
    e = by == NULL ? ERR_REFUSED : audit_warrant(by, &w);
    if (e == ERR_MISMATCH)
        return "by a warrant of a later trefoil; audit with the one that the servers run";
    if (e != ERR_OK || warrant_check(&w, &then, NULL, NULL) != ERR_OK)
        return "without a warrant that the study's approvers have signed";
    if (o->cost <= 0)
        return NULL;
    if (!date_parse(f->entry[k].time, &time) || time / 86400 > (int64_t)w.last_day + 1)
        return "after the last day of its warrant";
    e = warrant_allows(&w, o->spent / (1 + 1e-9), rho, w.last_day, NULL); /* as it is written */
    return e == ERR_OK ? NULL : "beyond its warrant's share of the budget";
}

enum err audit_is_of(const struct audit_file *f, const struct study *study, double rho,
                     struct log *log)
{
    if (!audit_file_of(f, study))
        return log_fail(log, ERR_MISMATCH,
                        "the log of server %u is not of this study's terms and servers", f->server);
    if (study->approvers.at_least == 0)
        return ERR_OK;
    for (size_t k = 0; k < f->entries; k++) {
        const char *why = f->entry[k].kind == AUDIT_OPEN ? objection(f, k, study, rho) : NULL;
        if (why != NULL)
            return log_fail(log, ERR_DATA,
                            "server %u opened something in round %" PRIu32
                            " (line %zu of its log) %s",
                            f->server, f->entry[k].opening.round, k + 1, why);
    }
    return ERR_OK;
}
