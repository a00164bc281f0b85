/*
 * protocols/records.h - marginals from shared records, as in CaPS: owners upload codes, servers
 * count.
 *
 * A record is the binary codes of its attributes and one validity bit; an owner pads to a public
 * number of records with invalid ones. Everything is XOR-shared, plane after plane (each plane
 * padded to whole bytes): components 0 and 1 are PRG seeds, component 2 a vector.
 *
 * A batch is records that several owners hold together, each some of the attributes, joined by
 * position; most often one owner holds them all. Each part has a validity bit of its own, and a
 * record of the batch is valid where all of them are.
 *
 *   0  the AND of the parts' validity bits                       parts - 1 bits a server and record
 *   1  one-hot planes of each attribute, by a tree of ANDs from the validity bit down: so an
 *      invalid or out-of-range code counts nowhere, and a record at most once in a marginal,
 *      whatever an owner sends
 *   2  as numbers in Z_2^16                                      2 bytes a server, plane and record
 *   3  a marginal of two attributes: the matrix product of their one-hot matrices; of three or
 *      four: products of pairs first, element by element (2 bytes a server and record each), a pair
 *      that several marginals use made once; of one: sums. Each server adds up its own parts of
 *      them, over all tiles
 *   4  the sums of at most 2^15 - 1 records are shared (2 bytes a server and cell), widened exactly
 *      to 64 bits and added to the result
 *
 * LEAKS: nothing but sizes.
 */
#ifndef TREFOIL_PROTOCOLS_RECORDS_H
#define TREFOIL_PROTOCOLS_RECORDS_H

#include "mpc/party.h"
#include "protocols/answers.h"
#include "protocols/records_pack.h"

/*
 * An owner's part of a batch as a server holds it, as struct answers_upload. What was packed had
 * the shape of these attributes alone: indices of the whole shape, ascending.
 */
struct records_part {
    size_t attributes;
    const uint16_t *attribute;
    const uint8_t *seed[2];
    const uint8_t *vector;
};

/* Each attribute stands in exactly one of the parts. */
struct records_batch {
    size_t records;
    size_t parts;
    const struct records_part *part;
};

/* What is counted: a marginal's attributes, ascending; its counts are added to `out`. */
struct records_query {
    size_t n;
    uint16_t attribute[RECORDS_ORDER_MAX];
    struct share64 out;
};

/* ERR_RANGE where a batch's parts do not hold each attribute once, or a query does not fit. */
enum err records_count(struct party *p, const struct records_shape *shape,
                       const struct records_batch *batches, size_t count,
                       struct records_query *queries, size_t query_count) MUST_CHECK;

#endif
