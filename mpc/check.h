/*
 * mpc/check.h - what the servers prove to each other before anything is opened.
 *
 * A party with a check notes every relation that must hold between components as they are stored,
 * and proves all of them at once, in a flush, before it opens a value. So if one server alters
 * anything that it sends, the two others open what they would have opened otherwise, or nothing at
 * all; docs/protocols.md has the theorem. A party without a check (p->check is NULL) sends not a
 * byte more. Relations are noted, of bits and of numbers:
 *
 *   x_1 y_1 ^ .. ^ x_l y_l = z                              l <= CHECK_PRODUCTS
 *   sum of c_l x_l y_l = z   mod 2^K                        c_l public
 *
 * and sums of products of matrices, which are not copied (mpc/check_matrix.h).
 *
 *   coin     i -> i+1   u_i, SHA-256(v_i), script           80 bytes each way, 1 round
 *            i -> i-1   v_(i+1), SHA-256(u_(i+1)), script
 *   flush    6 rounds for the whole log; 2 more for every factor of 64 above 2^19 elements, where
 *            64 products of bits make one: 12.7 kB, and 16 bytes for 64 elements; or for every
 *            factor of 16 above 2^19 products of numbers, which take 64 bytes for 64 more, and 0.8
 *            kB, and for each ring used 1 kB and 64 claims (mpc/check_claims.h)
 *
 * LEAKS: nothing; what a relation is off by is opened, and the server that lied knows it.
 */
#ifndef TREFOIL_MPC_CHECK_H
#define TREFOIL_MPC_CHECK_H

#include "mpc/move.h"

#include <stdbool.h>

#define CHECK_PRODUCTS 104 /* most in a relation */

/*
 * A server that knows a coin may hang up, and try again in another session. So whoever makes the
 * check counts the tries, in a place that lasts. Each function is called by the thread of the lane
 * that it concerns.
 */
struct check_guard {
    enum err (*begin)(void *self); /* a flush: before a coin of it leaves; an error holds it back */
    enum err (*end)(void *self);   /* that flush was accepted, and what rode with it opened */
    void (*failed)(void *self);    /* something does not fit, in a flush or outside of one */
    void *self;
    /* Lane 0, before its flush and those beside it; an error, the same at all three, holds them
     * back. May play a round. NULL: nobody is asked. */
    enum err (*ready)(void *self);
};

/* Zeros stand for the values given here; other values are for tests. */
struct check_limits {
    size_t log;               /* bytes: a move that passes them is followed by a flush; 192 MiB */
    size_t groups;            /* of 512 elements: more are folded before the last fold; 1024 */
    struct check_guard guard; /* nobody counts */
};

/* Makes p->check, which is freed with the party. */
enum err check_new(struct party *p, const struct check_limits *limits) MUST_CHECK;
void check_free(struct check **check);
/* The bytes of each lane's log in a process with so many lanes, where limits->log is 0. */
size_t check_log_share(size_t lanes);

/*
 * Proves what is noted; does nothing if that is nothing. ERR_CHEAT: one of the two others sent
 * something that does not fit, which is logged, and the session has ended.
 */
enum err check_flush(struct party *p) MUST_CHECK;

/*
 * Compares scripts, in one round, if a server could have told the two others different things since
 * the last comparison: before a component leaves whose holders might not have the same, or another
 * lane uses it. ERR_CHEAT as above.
 *   all -> all    script                                    32 bytes each way
 */
enum err check_agree(struct party *p) MUST_CHECK;

/*
 * Notes, where there is a check, what a move cannot know: the sum of at most `products` terms, as
 * in move_sums(), all of whose components the servers hold.
 */
enum err check_bits(struct party *p, const struct move_term *terms, unsigned products) MUST_CHECK;

/* What the factors of a product are. */
enum check_form {
    CHECK_WORDS,  /* words of the ring */
    CHECK_CHOICE, /* x: bits; y: words of a ring no wider */
    CHECK_BOTH    /* bits */
};

/*
 * c x y, of numbers; with bits c 2^shift x y. A component that is NULL is zero. Bits are packed in
 * words of 64, from bit 0 of the first on; they cost little to note and to prove.
 */
struct check_product {
    struct operand x, y;
    int64_t c;
    enum check_form form;
    unsigned shift;
    enum ring narrow; /* of the words that bits choose */
};

/*
 * Notes n relations of numbers modulo 2^K, where there is a check: the sum over l of c_l x_l y_l is
 * z. Relation q has word q of each vector. With `start` it has words start[q] <= i < start[q+1] of
 * each x_l and y_l, none of them bits, and adds up all their products; z is word q. A value that
 * one component alone carries is {v, NULL} or {NULL, v} at those who hold it. A relation of sums
 * needs no products: it says that z is zero. All is copied. A full log is proved at once: so a move
 * notes what it computed when its outputs are complete.
 */
enum err check_ring(struct party *p, enum ring ring, const struct check_product *products,
                    unsigned count, const size_t *start, struct operand z, size_t n) MUST_CHECK;

/*
 * What move_settle() settled: the same, or sums of matrix products, with z for its output
 * (mpc/check_matrix.h). The latter are proved at once with all that is noted, since they are not
 * copied.
 */
struct check_matrices;
struct check_sums {
    const struct check_product *products;
    unsigned count;
    const size_t *start;
    const struct check_matrices *matrices; /* or NULL */
};

/*
 * Bytes that must be the same at all three, such as a digest of what they compute on. The others'
 * are compared before anything leaves that depends on them unmasked. Does nothing without a check.
 */
enum err check_alike(struct party *p, const void *bytes, size_t n) MUST_CHECK;

/*
 * Products that rode with a flush (open_products()) have been opened; `fits` says whether they are
 * what they may be. That flush ends here: nothing checks these products, so a server that learns
 * them and hangs up, or spoils them, has used a try. ERR_CHEAT as above.
 */
enum err check_opened(struct party *p, bool fits) MUST_CHECK;

/* Where the first failure was: in which phase, and within or after which flush of the session. */
struct check_failure {
    bool failed;
    enum net_phase phase;
    uint64_t check;
};
struct check_failure check_failure(const struct party *p);

/*
 * The most elements that a move should have if it notes so many bytes for each: three quarters of a
 * log, a multiple of 64; any number where there is no check.
 */
size_t check_most(const struct party *p, size_t bytes);

/*
 * Around jobs (crew_jobs()); they do nothing without a check. What lanes heard before is compared.
 * For the guard one check begins with the jobs, and ends when all lanes have proved what they did
 * in them.
 */
enum err check_begin_jobs(struct party *p) MUST_CHECK;
enum err check_end_jobs(struct party *p, enum err e) MUST_CHECK;

/* Whether nothing waits to be proved. */
bool check_clean(const struct party *p);

#endif
