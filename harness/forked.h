/*
 * harness/forked.h - three parties as processes of their own, over sealed links on loopback
 * TCP. The measurements of bench/ run on them. They report in memory that the caller maps as
 * shared.
 */
#pragma once

#include "mpc/party/party.h"

typedef enum err (*forked_job)(struct party *p, void *shared);

/*
 * Runs the job at each and waits; false, with a message on stderr, if it fails anywhere. Peak
 * memory may be NULL.
 */
bool forked_run(const char *name, forked_job job, void *shared, double peak_rss_mib[3]);

/* Two rounds in a ring: nobody leaves before all have arrived. The value is server 0's. */
enum err forked_barrier(struct party *p, uint64_t *from_0) MUST_CHECK;
