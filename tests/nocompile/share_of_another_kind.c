/*
 * expect: struct bits
 *
 * An arithmetic share cannot be passed where a Boolean one is meant.
 */
#include "mpc/kernel/share.h"

size_t words_of(struct bits b);
size_t mistake(struct share64 arithmetic, struct bits boolean);

size_t mistake(struct share64 arithmetic, struct bits boolean)
{
#ifdef FINE
    return words_of(boolean) + arithmetic.n;
#else
    return words_of(arithmetic) + boolean.n;
#endif
}
