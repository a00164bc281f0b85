/*
 * mpc/check_private.h - what the moves tell the check, and its parts. For mpc/check*.c and
 * mpc/move*.c.
 */
#ifndef TREFOIL_MPC_CHECK_PRIVATE_H
#define TREFOIL_MPC_CHECK_PRIVATE_H

#include "mpc/check.h"
#include "mpc/check_bit_log.h"
#include "mpc/check_numbers.h"
#include "mpc/move_private.h"

#include <openssl/evp.h>

#define CHECK_DIGEST 32

struct check {
    struct check_limits limits;
    enum err (*prove)(struct party *p); /* check_flush(), for notes, which stand below it */
    struct check_chunks chunks;
    struct check_bit_log bits;
    struct check_numbers numbers;
    bool owed;          /* products that matrices will prove */
    EVP_MD_CTX *script; /* what has been called, with which sizes, and what was opened */
    uint64_t flushes;
    struct check_failure failure;
    EVP_MD_CTX *heard[3]; /* what each server has sent to both others in this round */
    bool apart;           /* the others may have heard different things: scripts tell */
    bool rode;            /* products with a flush, which are not opened yet */
    bool in_jobs;         /* lane 0: it was already asked what it is asked before a flush */
};

/* --- script ----------------------------------------------------------------------------------- */

enum check_step {
    CHECK_SUMS,
    CHECK_TERM,
    CHECK_INPUT,
    CHECK_BITS,
    CHECK_REVEAL,
    CHECK_OPEN,
    CHECK_RING,
    CHECK_FLUSH,
    CHECK_HEARD,
    CHECK_ALIKE
};

/* Adds a step to the script, where there is a check. */
enum err check_say(const struct party *p, enum check_step step, uint64_t a, uint64_t b,
                   uint64_t c) MUST_CHECK;
enum err check_say_opened(const struct party *p, const void *words, size_t bytes) MUST_CHECK;
enum err check_digest(const void *p, size_t bytes, uint8_t digest[CHECK_DIGEST]) MUST_CHECK;

/* The digest of the script so far. */
enum err check_script(const struct check *c, uint8_t digest[CHECK_DIGEST]) MUST_CHECK;

/*
 * Words that server `from` sends to both others, as this one makes or receives them; and the end of
 * their round, when they go into the script. Without a check nothing happens.
 */
enum err check_hear(const struct party *p, unsigned from, const void *words,
                    size_t bytes) MUST_CHECK;
enum err check_heard(const struct party *p) MUST_CHECK;

/* check_agree() of one lane. */
enum err check_agree_lane(struct party *p) MUST_CHECK;

/* Asks or tells the guard, through one of its functions; ERR_OK where it has none. */
static inline enum err check_guard(const struct check_guard *guard, enum err (*call)(void *self))
{
    return call != NULL ? call(guard->self) : ERR_OK;
}

/* Something does not fit: logs it, ends the session and gives ERR_CHEAT. */
enum err check_fail(struct party *p, const char *what) MUST_CHECK;

/* --- coin ------------------------------------------------------------------------------------- */

/*
 * A stream of public weights that nobody could know before all that the three have sent so far had
 * arrived.
 */
enum err check_coin(struct party *p, struct prg **weights) MUST_CHECK;

/* --- flush ------------------------------------------------------------------------------------ */

/* Products in GF(2^64) that travel with a flush: z = x y, which nothing checks. */
struct check_ride {
    struct share64 x, y, z;
};

/* Proves what is noted if that is more than the limit: at the end of a move. */
enum err check_if_full(struct party *p) MUST_CHECK;

/* A flush that proves matrices, and the sides that are made, beside what is noted. */
enum err check_matrices(struct party *p, const struct check_matrices *m) MUST_CHECK;

/* A flush even of an empty log, since the ride needs it. */
enum err check_flush_with(struct party *p, struct check_ride *ride) MUST_CHECK;

/* The flush of one lane; what rides, and matrices, may be NULL. */
enum err check_flush_lane(struct party *p, const struct check_ride *ride,
                          const struct check_matrices *matrices) MUST_CHECK;

/* The check of one lane; whether it has noted anything that is to be proved. */
enum err check_new_lane(struct party *p, const struct check_limits *limits) MUST_CHECK;
bool check_notes(const struct check *c);

#endif
