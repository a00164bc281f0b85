/* harness/session.h - a session with given secrets, without a handshake. */
#pragma once

#include "netio/session.h"

/* As server `index`; `seed` is common to the three. */
enum err session_for_test(struct session **session, unsigned index, uint64_t seed) MUST_CHECK;
/* The same of two servers. */
enum err session_of_two_for_test(struct session **session, unsigned index,
                                 uint64_t seed) MUST_CHECK;
