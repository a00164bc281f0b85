/* parties/exchange/failures.h - reports in few words what went wrong at several servers at once. */
#pragma once

#include "parties/exchange/message.h"

/*
 * Whether `e` tells more than another failure. A failed check tells most; a lost peer tells least,
 * as it is often a consequence. ERR_MISUSE tells of a session that ended: less than what ended it.
 */
bool failures_say_more(enum err e, enum err than);

/*
 * Logs who failed, in the words of its reply, or who is silent (the bits of `missing`), but no
 * consequences of worse failures. Returns `worst`, or ERR_TIMEOUT if some are only silent.
 */
enum err failures_tell(const struct study *study, unsigned missing, const enum err failed[],
                       const struct reply reply[], enum err worst, struct log *log) MUST_CHECK;
