/*
 * base/secret.h - memory for keys: locked against swapping, left out of core dumps, between guard
 * pages, wiped when freed. Small objects only; each costs at least three pages.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

/* Starts libsodium: call it before anything else here. Threads may repeat it. */
enum err secret_start(void) MUST_CHECK;

/* For programs that hold shares: no core dumps, no ptrace by other processes of the user. */
enum err secret_harden_process(struct log *log) MUST_CHECK;

/*
 * For servers: locks all memory of the process against swapping, as it comes into use, since
 * libraries copy keys to memory of their own. It uses no more memory than before, but all of it is
 * RAM. Where the limit of locked memory is too low for that, or would stop later allocations, logs
 * a warning instead.
 */
void secret_lock_process(struct log *log);

/* Zeroed, or NULL. If the lock limit (ulimit -l) is too low, only the lock is skipped. */
void *secret_new(size_t bytes) __attribute__((warn_unused_result));
#define secret_free(address_of_pointer) secret_release((void *)(address_of_pointer))
void secret_release(void *address_of_pointer);

/* Overwrites; the compiler cannot leave it out. */
void secret_wipe(void *p, size_t bytes);

/* Fresh bytes from the operating system's generator. */
void secret_random(void *p, size_t bytes);
