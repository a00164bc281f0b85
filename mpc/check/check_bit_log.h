/*
 * mpc/check/check_bit_log.h - the log of relations between bits, as components.
 *
 * Relations of l products have a list of their own, word after word, in chunks. Above 8, l is
 * filled up to a multiple of 8 with products of zeros. 512 words are a group, 64 rows of 8 columns
 * (mpc/kernel/kernel.h). A chunk has first the products of all its groups, 4 vectors each, then z
 * of all of them, 2 vectors each. A flush overwrites products with elements.
 */
#pragma once

#include "mpc/check/check_chunks.h"

struct move_term;

struct check_list {
    uint64_t **chunk;
    size_t chunks, room; /* in use; of the array */
    size_t words;
};

struct check_bit_log {
    struct check_list list[RECORD_PRODUCTS + 1]; /* of l products; none of 0 */
    struct check_chunks *from;
};

/* Where the next words of each list go. */
struct check_cursor {
    size_t at[RECORD_PRODUCTS + 1];
};

void check_bit_log_free(struct check_bit_log *log);
void check_bit_log_clear(struct check_bit_log *log);
bool check_bit_log_empty(const struct check_bit_log *log);
size_t check_bit_log_bytes(const struct check_bit_log *log);
struct check_cursor check_bit_log_end(const struct check_bit_log *log);

/* How many products a sum of at most `most` terms has. */
unsigned check_products(const struct move_term *terms, unsigned most);

/*
 * Make room for `words` relations of so many products, which then come in the same order: from byte
 * `at` of the terms on, their products and z ^ c, which x y must be. Component a of z is put in
 * when it is sent, and component b when it has come, which may be earlier.
 */
enum err check_bit_log_room(struct check_bit_log *log, const struct move_term *terms,
                            unsigned products, size_t words) MUST_CHECK;
void check_bit_log_put(struct check_bit_log *log, struct check_cursor *cursor,
                       const struct kernel *kernel, const struct move_term *terms,
                       unsigned products, size_t at, const uint64_t *z, size_t words);
void check_bit_log_take(struct check_bit_log *log, struct check_cursor *cursor,
                        const struct kernel *kernel, const struct move_term *terms,
                        unsigned products, const uint64_t *z, size_t words);

/* Groups of a list, the last one filled up with zeros; its chunks, and what is in them. */
size_t check_bit_log_groups(struct check_bit_log *log, unsigned products);
struct check_part {
    uint64_t *products, *z;
    size_t groups;
};
struct check_part check_bit_log_part(const struct check_bit_log *log, unsigned products,
                                     size_t chunk);
