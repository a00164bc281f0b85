/*
 * aim/model/model_file.h - a model as bytes and as a file, to sample from later.
 *
 * Integers are little-endian, doubles are their IEEE bits. A file is
 *
 *   "trefoil-model-1\n"
 *   domain        as domain_write() has it: u32 attributes (plus 2^31 if columns follow from
 *                 others, below), for each
 *                   block name; u8 kind (0 categorical, 1 integer, 2 numeric, 3 date, only in
 *                   version 3; and 128 if there is more, below); u8 policy (0 error, 1 clip, 2
 *                   missing); u8 1 if it may be missing, then block missing text; u32 values; and
 *                   blocks of labels, or i64 min and max, or f64 edges (values + 1; a spike is
 *                   there twice), of dates behind u8 unit (0 day, 1 hour, 2 minute, 3 second), u8
 *                   formats and a block each; more: f64 step (0: none), u8 1 if whole numbers alone
 *                   fit, u8 tail (0 trend, 1 exponential, 2 typical), f64 typical, u32 and blocks
 *                   of other texts of a missing value
 *                 and what follows from what, as derived_write() has it (docs/formats.md)
 *   groups        only in version 2, "trefoil-model-2\n", where codes are merged: the merges, as in
 *                   aim/workload/merge.h, and f64 each code of each merged attribute: its share
 *                 Version 3, "trefoil-model-3\n", has dates or columns that follow from others,
 *                 and a u8 before this: 1 if there are groups
 *   model         f64 total
 *                 u32 cliques, for each u16 attributes, u16 each attribute's index
 *                 u32 structural zeros' cliques, for each the clique, u64 cells, u32 each cell
 *                 u64 parameters, f64 each: theta of the cliques in turn, row-major
 *   digest        32 bytes: BLAKE2b-256 of all before
 *
 * where a block is its length as u32, then its bytes. p(x) is exp(sum over cliques of theta at
 * x's cell) over the sum of these, and 0 at a structural zero; counts are total * p(x). A file
 * that is read back gives the same beliefs, to the last bit. Where codes are merged, theta is over
 * groups, and the count of a code is its share of the group's. Zeros' cells are always of codes.
 */
#pragma once

#include "aim/model/model.h"

#define MODEL_FILE_MAX (UINT64_C(4) << 30)
#define MODEL_FILE_CELLS (UINT64_C(1) << 31) /* of a model that is read from a file: 16 GiB */

enum err model_save(const char *path, const struct model *m, struct log *log) MUST_CHECK;
/* ERR_FORMAT, logged, for a file that is cut, altered or no model. The model borrows the domain. */
enum err model_load(struct model **m, struct domain **d, const char *path, uint64_t limit_cells,
                    struct log *log) MUST_CHECK;

/*
 * The section "model" alone, after "groups" if any codes are merged, for files that hold more. A
 * caller that reads it back must know whether any are.
 */
void model_write(const struct model *m, struct bytes *out);
enum err model_read(struct model **m, const struct domain *d, bool merged, struct reader *r,
                    uint64_t limit_cells, struct log *log) MUST_CHECK;
