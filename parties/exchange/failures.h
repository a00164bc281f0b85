/* parties/exchange/failures.h - what went wrong at three servers at once, told in few words. */
#ifndef TREFOIL_PARTIES_EXCHANGE_FAILURES_H
#define TREFOIL_PARTIES_EXCHANGE_FAILURES_H

#include "parties/exchange/request.h"
#include "parties/study/study.h"

/*
 * Of several failures the one that says most: a check that fails, whatever ended the others; while
 * a lost peer is often the consequence of another's.
 */
bool failures_say_more(enum err e, enum err than);

/*
 * Tells who refused or broke off, with what it says in its reply, and else who is silent, as the
 * bits of `missing`. Consequences of a worse failure are not told. Returns `worst`, which says most
 * of the failures, or ERR_TIMEOUT if some are silent alone.
 */
enum err failures_tell(const struct study *study, unsigned missing,
                       const enum err failed[STUDY_SERVERS],
                       const struct reply reply[STUDY_SERVERS], enum err worst,
                       struct log *log) MUST_CHECK;

#endif
