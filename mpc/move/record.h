/*
 * mpc/move/record.h - what moves tell whoever listens to them.
 *
 * A party may have a recorder, which has the servers prove to each other, before a value is opened,
 * that moves were made as the protocol says: mpc/check/check.h is one. Moves tell it what they
 * make, while operands are in place, and what is heard and opened. Notes (mpc/move/note.h,
 * mpc/circuits/carry.h) add what a move cannot know. Without a recorder the functions here do
 * nothing, unless they say otherwise.
 *
 * What is told are relations between components as they are stored, of bits and of numbers:
 *
 *   x_1 y_1 ^ .. ^ x_l y_l = z                              l <= RECORD_PRODUCTS
 *   sum of c_l x_l y_l = z   mod 2^K                        c_l public
 *
 * and sums of products of matrices (mpc/check/check_matrix.h).
 */
#pragma once

#include "mpc/move/move.h"

#define RECORD_PRODUCTS 104 /* most in a relation of bits */

/* What the factors of a product are. */
enum record_form {
    RECORD_WORDS,  /* words of the ring */
    RECORD_CHOICE, /* x: bits; y: words of a ring no wider */
    RECORD_BOTH    /* bits */
};

/*
 * c x y, of numbers; with bits c 2^shift x y. A component that is NULL is zero. Bits are packed in
 * words of 64, from bit 0 of the first on; they cost little to note and to prove.
 */
struct record_product {
    struct move_operand x, y;
    int64_t c;
    enum record_form form;
    unsigned shift;
    enum share_ring narrow; /* of the words that bits choose */
};

/*
 * n relations of numbers modulo 2^K: the sum over l of c_l x_l y_l is z. Relation q has word q of
 * each vector. With `start` it has words start[q] <= i < start[q+1] of each x_l and y_l, none of
 * them bits, and adds up all their products; z is word q. A value that one component alone carries
 * is {v, NULL} or {NULL, v} at those who hold it. A relation of sums needs no products: it says
 * that z is zero. All is copied. A full log is proved at once: so a move notes what it computed
 * when its outputs are complete. Or sums of matrix products, with z for their output: these are
 * proved at once with all that is noted, since they are not copied.
 */
struct check_matrices;
struct record_sums {
    const struct record_product *products;
    unsigned count;
    const size_t *start;
    const struct check_matrices *matrices; /* or NULL */
};

/* Products in GF(2^64) that are made with a proof: z = x y, which nothing checks. */
struct record_ride {
    struct share64 x, y, z;
};

/* What happened, in words of which all three servers must have the same: their scripts. */
enum record_step {
    RECORD_SUMS,
    RECORD_TERM,
    RECORD_INPUT,
    RECORD_BITS,
    RECORD_REVEAL,
    RECORD_OPEN,
    RECORD_RING,
    RECORD_FLUSH,
    RECORD_HEARD,
    RECORD_ALIKE
};

/* ERR_CHEAT: one of the others sent what does not fit; it is logged, and the session has ended. */
struct record_calls {
    /*
     * move_sums(): before anything is made; words of bits, as they are made from byte `at` of a
     * term on, and as they come, each in order; and when outputs are complete.
     */
    enum err (*begin)(struct party *p, const struct move_sums *sums) MUST_CHECK;
    void (*made)(struct party *p, const struct move_term *term, size_t at, const uint64_t *z,
                 size_t words);
    void (*came)(struct party *p, const struct move_term *term, const uint64_t *z, size_t words);
    enum err (*end)(struct party *p, const struct move_sums *sums) MUST_CHECK;
    enum err (*bits)(struct party *p, const struct move_term *terms, unsigned products) MUST_CHECK;
    enum err (*numbers)(struct party *p, enum share_ring ring, const struct record_sums *of,
                        struct move_operand z, size_t n) MUST_CHECK;
    enum err (*say)(const struct party *p, enum record_step step, uint64_t a, uint64_t b,
                    uint64_t c) MUST_CHECK;
    enum err (*opened)(const struct party *p, const void *words, size_t bytes) MUST_CHECK;
    /* Words that server `from` sends to both others, as this one makes or receives them; and the
     * end of their exchange. */
    enum err (*hear)(const struct party *p, unsigned from, const void *words,
                     size_t bytes) MUST_CHECK;
    enum err (*heard)(const struct party *p) MUST_CHECK;
    enum err (*alike)(struct party *p, const void *bytes, size_t n) MUST_CHECK;
    enum err (*agree)(struct party *p) MUST_CHECK;
    /* Something does not fit: ERR_CHEAT. */
    enum err (*failed)(struct party *p, const char *what) MUST_CHECK;
    /* A proof of what is noted, or, with a ride, even of nothing. ERR_MISUSE: something is left. */
    enum err (*prove)(struct party *p, struct record_ride *ride) MUST_CHECK;
    /*
     * What rode with a proof has been opened; `fits` says whether it is what it may be. That proof
     * ends here: nothing checks these products, so a server that learns them and hangs up, or
     * spoils them, has used a try. ERR_CHEAT.
     */
    enum err (*rode)(struct party *p, bool fits) MUST_CHECK;
    /*
     * Around jobs (crew_jobs()). What lanes heard before is compared. For a guard
     * (mpc/check/check.h) one check begins with the jobs, and ends when all lanes have proved what
     * they did in them.
     */
    enum err (*begin_jobs)(struct party *p) MUST_CHECK;
    enum err (*end_jobs)(struct party *p, enum err e) MUST_CHECK;
};

/* A call, or what holds without a recorder. */
#define RECORD(p, without, call) ((p)->recorder == NULL ? (without) : (p)->recorder->calls->call)

/*
 * What a move cannot know: the sum of at most `products` terms, as in move_sums(), all of whose
 * components the servers hold.
 */
MUST_CHECK static inline enum err record_bits(struct party *p, const struct move_term *terms,
                                              unsigned products)
{
    return RECORD(p, ERR_OK, bits(p, terms, products));
}

MUST_CHECK static inline enum err record_numbers(struct party *p, enum share_ring ring,
                                                 const struct record_sums *of,
                                                 struct move_operand z, size_t n)
{
    return RECORD(p, ERR_OK, numbers(p, ring, of, z, n));
}

/*
 * The most elements that a move should have if it notes so many bytes for each: three quarters of a
 * log, a multiple of 64; any number without a recorder.
 */
static inline size_t record_most(const struct party *p, size_t bytes)
{
    const size_t words = p->recorder == NULL ? SIZE_MAX / 64
                                             : p->recorder->log / 4 * 3 / bytes / 64;
    return 64 * (words > 0 ? words : 1);
}

/*
 * Bytes that must be the same at all three, such as a digest of what they compute on. The others'
 * are compared before anything leaves that depends on them unmasked.
 */
MUST_CHECK static inline enum err record_alike(struct party *p, const void *bytes, size_t n)
{
    return RECORD(p, ERR_OK, alike(p, bytes, n));
}

/*
 * Compares scripts, in one exchange, if a server could have told the two others different things
 * since the last comparison: before a component leaves whose holders might not have the same, or
 * another lane uses it.
 *   all -> all    script                                    32 bytes each way
 */
MUST_CHECK static inline enum err record_agree(struct party *p)
{
    return RECORD(p, ERR_OK, agree(p));
}

/* Proves what is noted; does nothing if that is nothing. */
MUST_CHECK static inline enum err record_prove(struct party *p)
{
    return RECORD(p, ERR_OK, prove(p, NULL));
}
