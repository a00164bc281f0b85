/*
 * tests/support/marks.h - tells valgrind's memcheck what is secret.
 *
 * Shares, PRG keys and everything that comes in are marked undefined; what a party opens is defined
 * again, and so is a sealed frame, which the network sees. Every jump or address that depends on an
 * undefined value is then an error that valgrind reports through its exit code. Without valgrind
 * nothing is marked, and the tests show none of this.
 */
#ifndef TREFOIL_TESTS_SUPPORT_MARKS_H
#define TREFOIL_TESTS_SUPPORT_MARKS_H

#include "harness/three.h"

bool marks_possible(void); /* built with valgrind's header */
bool marks_on(void);       /* and running under it */

void marks_secret(void *p, size_t n);
void marks_public(void *p, size_t n);
/* Whether any of the first bytes is marked. */
bool marks_reach(const void *p, size_t n);

/*
 * In a three_job, before anything else: the party's streams get secret keys, and what it opens is
 * public.
 */
enum err marks_begin(struct party *p) MUST_CHECK;

/* For three_run_wrapped(): a transport whose messages are public. */
struct transport marks_wrap(struct transport *inner);

/*
 * From now on, or no longer: keys, errors and masks of mpc/lattice/ are secret once they are drawn,
 * and whether a key opens a result is not. For tests that wrap its samplers (Makefile).
 */
void marks_lattice(bool on);

#endif
