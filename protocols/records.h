/*
 * protocols/records.h - marginals from shared records, as in CaPS: owners upload codes, servers
 * count.
 *
 * A record is the binary codes of its attributes and one validity bit; an owner pads to a public
 * number of records with invalid ones. Everything is XOR-shared, plane after plane (each plane
 * padded to whole bytes): components 0 and 1 are PRG seeds, component 2 a vector.
 *
 * A batch is records that several owners hold together, each some of the attributes, joined by
 * position; usually one owner holds them all. Each part has a validity bit of its own, and a record
 * of the batch is valid where all of them are.
 *
 *   0  the AND of the parts' validity bits                       parts - 1 bits a server and record
 *   1  one-hot planes of each attribute, all values but the last, by a tree of ANDs from the
 *      validity bit down                                          a bit a server, node and record
 *   2  these and validity as numbers in Z_2^16. The last value's plane is validity minus the
 *      others: so a valid record has one value of each attribute, the last one where its code is
 *      out of range, and counts once in each marginal, whatever an owner sends; an invalid one
 *      counts nowhere
 *   3  a marginal is the matrix product of two sides. A side's rows are an attribute's values, or
 *      all pairs of values of two; one of the two may be a digit of value = high * base + low, and
 *      then the other side has the other digit. All pairs except those with a last value are
 *      multiplied (2 bytes a server, row and record), the others follow. Each server adds up its
 *      own parts of matrix products, over all tiles
 *   4  the sums of at most 2^14 - 1 records are shared, twice their value (2 bytes a server and
 *      cell), widened exactly to 32 bits and added up; at the end widened to 64 and halved
 *
 * Which sides make which marginals is public, and chosen for few products in all; marginals share
 * sides. docs/protocols.md has costs and a lower bound.
 *
 * LEAKS: nothing but sizes.
 */
#pragma once

#include "mpc/party/party.h"
#include "protocols/records_pack.h"

/*
 * An owner's part of a batch as a server holds it, like struct counts_upload. What was packed had
 * the shape of only these attributes: indices of the whole shape, ascending. Or planes that servers
 * have made (protocols/link.h): validity, then codes from their highest bits down, of these
 * attributes in any order; `records` of the batch is a multiple of 64.
 */
struct records_part {
    size_t attributes;
    const uint16_t *attribute;
    const uint8_t *seed[2];
    const uint8_t *vector;
    const struct planes *made; /* or NULL */
};

/* How many planes a part has: validity, and the bits of its attributes' codes. */
unsigned records_part_bits(const struct records_shape *shape, const struct records_part *part);

/*
 * Each attribute is in exactly one of the parts. Of a batch of `of` records it may have only those
 * from `first` on, a multiple of 64: vectors hold only these.
 */
struct records_batch {
    size_t records;
    size_t parts;
    const struct records_part *part;
    size_t first, of; /* 0: it is whole */
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

/*
 * Sums of u_i u_j, for all pairs of attributes i < j, where u_i = score[i][code]: for each group of
 * i and each of j over the records in both. group[i][code] is a code's group, from 0 on and below
 * the attribute's size; NULL: all in one. They are added to out, pair (0, 1) first, then (0, 2), ..
 * and in a pair row-major. No marginal of two attributes is made:
 *
 *   0, 1  as above
 *   2  a score is a sum of weights of planes: of the bits of two's complement, each the XOR of
 *      values' planes, which is local; or of its values' planes, if these are no more; or of
 *      planes of groups. Planes as numbers in Z_2^16
 *   3  all planes of all attributes are one matrix; its product with itself counts the records
 *      that have both of two planes. Each server adds up its own parts
 *   4  as above; then sums of counts times weights, local
 *
 * Exact modulo 2^64, since the counts are; so the caller must know that |sum| < 2^63. A code out of
 * range has the last value's score. ERR_RANGE as above, or where a score is larger.
 */
#define RECORDS_SCORE_MAX ((int64_t)1 << 30)
enum err records_moments(struct party *p, const struct records_shape *shape,
                         const struct records_batch *batches, size_t count,
                         const int64_t *const *score, const int64_t *const *group,
                         struct share64 out) MUST_CHECK;
