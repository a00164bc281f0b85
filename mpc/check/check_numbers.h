/*
 * mpc/check/check_numbers.h - the log of relations between numbers, as components modulo 2^K.
 *
 * Relations of a ring are counted from 0. A record has products of words, and z of its relations or
 * none:
 *
 *   in a row     word i of its products and of z belongs to relation `relation` + i
 *   of one       all its words belong to that relation; no z
 *
 * Only components that are not zero are stored. Factors c are part of x where that has words; z has
 * its sign changed. Records follow one another in chunks. What one call notes is cut into records
 * at multiples of 64 words, so that tiles of 64 are the same at all servers. A flush overwrites
 * factors of 64 or 128 bits with elements, in the first words of a vector.
 */
#pragma once

#include "mpc/check/check_chunks.h"

#define NUMBERS_PRODUCTS 8             /* most in a record */
#define NUMBERS_MOST ((size_t)1 << 26) /* products of a flush, and relations of a ring */
#define NUMBERS_RINGS (RING_128 + 1)

struct check_numbers {
    struct check_chunk {
        uint8_t *bytes;
        size_t used;
    } * chunk;
    size_t chunks, room; /* in use; of the array */
    struct check_chunks *from;
    const struct kernel *kernel; /* which copies */
    size_t bytes; /* with weights, if no component were zero: the same at all servers */
    size_t relations[NUMBERS_RINGS], products;
};

/* Vectors of a record; NULL: zero. */
struct check_record {
    enum share_ring ring;
    bool one; /* of one relation */
    unsigned products;
    size_t relation, words;
    enum record_form form[NUMBERS_PRODUCTS];
    enum share_ring narrow[NUMBERS_PRODUCTS];              /* of y, where x are bits */
    word128 factor[NUMBERS_PRODUCTS];                      /* modulo 2^K, of bits */
    void *x[NUMBERS_PRODUCTS][2], *y[NUMBERS_PRODUCTS][2]; /* by component: a, b */
    void *minus_z[2];
    bool has_z;
};

/* A place in the log. */
struct check_place {
    size_t chunk, at;
};

void check_numbers_free(struct check_numbers *log);
void check_numbers_clear(struct check_numbers *log);
bool check_numbers_empty(const struct check_numbers *log);

/*
 * Copies the products of n relations, and makes room for z, which is filled in from `place` on when
 * it is complete.
 */
enum err check_numbers_add(struct check_numbers *log, enum share_ring ring,
                           const struct record_product *products, unsigned count,
                           const size_t *start, size_t n, struct check_place *place) MUST_CHECK;
void check_numbers_fill(struct check_numbers *log, struct check_place *place, struct move_operand z,
                        size_t n);

/* The record at a place, which then moves past it; false at the end. */
bool check_numbers_next(const struct check_numbers *log, struct check_place *place,
                        struct check_record *record);

/* Words [at, at + n) of a vector of a ring of up to 64 bits, in `room` or in place. */
#define NUMBERS_TILE 64
const uint64_t *check_numbers_words(enum share_ring ring, const void *v, size_t at, size_t n,
                                    uint64_t room[NUMBERS_TILE]);
