/*
 * expect: struct share64
 *
 * A share cannot be logged: it is a struct, and formats are checked. With FINE defined the file
 * compiles, which shows that nothing else is wrong with it.
 */
#include "base/log.h"
#include "mpc/kernel/share.h"

void leak(struct log *log, struct share64 secret);

void leak(struct log *log, struct share64 secret)
{
#ifdef FINE
    log_error(log, "a share of %zu words", secret.n);
#else
    log_error(log, "the share is %llx", secret);
#endif
}
