/*
 * parties/audit.h - a server's log of every value that it ever helped to open.
 *
 * One line a opening, on disk before anything of it is sent:
 *   TIME round R reason REASON values N request DIGEST spent RHO
 * "spent" is the ledger's total at that moment: after the round's debit, but for REJECT_BIT, which is
 * opened while noise is made before it.
 */
#ifndef TREFOIL_PARTIES_AUDIT_H
#define TREFOIL_PARTIES_AUDIT_H

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>

struct audit;

enum err audit_open(struct audit **audit, const char *folder, struct log *log) MUST_CHECK;
void audit_close(struct audit **audit);

/* Appends one line and syncs. */
enum err audit_write(struct audit *audit, uint32_t round, const char *reason, size_t values,
                     const uint8_t request[32], double spent) MUST_CHECK;

#endif
