/* mpc/check/check_private.h - a check and its parts. For mpc/check/ alone. */
#pragma once

#include "mpc/check/check.h"
#include "mpc/check/check_bit_log.h"
#include "mpc/check/check_numbers.h"
#include "mpc/move/move_private.h"

#include <openssl/evp.h>

struct check {
    struct party_recorder recorder; /* first: the party points to it */
    struct check_limits limits;
    struct check_chunks chunks;
    struct check_bit_log bits;
    struct check_numbers numbers;
    struct {
        struct check_cursor made, came; /* how far noting has got, for each component of z */
        struct check_place numbers;     /* where z will be put */
        unsigned products;
    } sums;             /* of the move that is being made */
    bool owed;          /* products that matrices will prove */
    EVP_MD_CTX *script; /* what has been called, with which sizes, and what was opened */
    uint64_t flushes;
    struct check_failure failure;
    EVP_MD_CTX *heard[3]; /* what each server has sent to both others in this exchange */
    bool apart;           /* the others may have heard different things: scripts tell */
    bool rode;            /* products with a flush, which are not opened yet */
    bool in_jobs;         /* lane 0: it was already asked what it is asked before a flush */
};

static inline struct check *check_of(const struct party *p)
{
    return (struct check *)p->recorder;
}

/* --- script ----------------------------------------------------------------------------------- */

/* Adds to the script. */
enum err check_say(const struct party *p, enum record_step step, uint64_t a, uint64_t b,
                   uint64_t c) MUST_CHECK;
enum err check_say_opened(const struct party *p, const void *words, size_t bytes) MUST_CHECK;

/* The digest of the script so far. */
enum err check_script(const struct check *c, uint8_t digest[MOVE_DIGEST]) MUST_CHECK;

/* What record_agree() does for one lane, and for all. */
enum err check_agree_lane(void *self, struct party *p, size_t k) MUST_CHECK;
enum err check_agree(struct party *p) MUST_CHECK;

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

/* A flush that proves matrices, and the sides that are made, beside what is noted. */
enum err check_matrices(struct party *p, const struct check_matrices *m) MUST_CHECK;

/* Proves what all lanes have noted, if that is anything; or, with a ride, even nothing. */
enum err check_flush(struct party *p, struct record_ride *ride) MUST_CHECK;

/* The flush of one lane; what rides, and matrices, may be NULL. */
enum err check_flush_lane(struct party *p, const struct record_ride *ride,
                          const struct check_matrices *matrices) MUST_CHECK;

/* The bytes that a lane's log may have in the phase that it is in. */
size_t check_log_now(const struct party *p);

/* Whether one lane has noted anything that is to be proved. */
bool check_notes(const struct check *c);

enum err check_begin_jobs(struct party *p) MUST_CHECK;
enum err check_end_jobs(struct party *p, enum err e) MUST_CHECK;
