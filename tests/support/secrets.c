/*
 * tests/support/secrets.c - keys of test programs are in plain memory: tests open tens of thousands
 * of sessions, and pages that are mapped, guarded and locked for each key took a third of their
 * time. Sanitizers see each of these too. The servers that tests start have libsodium's.
 */
#include <sodium.h>
#include <stdlib.h>

void *sodium_malloc(size_t n)
{
    return malloc(n);
}

void sodium_free(void *p)
{
    free(p);
}
