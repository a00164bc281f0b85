/*
 * aim/model/given.h - rows of which some columns are known.
 *
 *   given_new()    the model's tables in logarithms, made once
 *   given_rows()   draws what is not known, each row by itself, given what is
 *
 * A known column cuts each clique's table to its code. Up the tree, a clique tells its parent the
 * logarithm of what is known below it, for each cell of their separator; down again, each clique's
 * unknown columns are drawn together. Rows in which a clique is told the same share this work.
 * Logarithms, because a hundred known columns may be less likely than the smallest double.
 *
 * The same seed gives the same rows. Without any known column they are sample_independent()'s
 * distribution.
 */
#pragma once

#include "aim/model/model.h"
#include "aim/table/table.h"

#define GIVEN_ANY UINT32_MAX /* not known in this row */

/* What is known of a column; `size` is how many codes it has in the model's domain. */
struct given_column {
    uint16_t attribute;
    const uint32_t *code; /* of each row: its code; GIVEN_ANY; or size + k, the k-th weights */
    /*
     * weight[k * size + c], 0 or more: how much likelier code c is than the model has it. Only what
     * they are to each other matters to the row. May be NULL if no row has any.
     */
    const double *weight;
};

struct given;

/* It borrows the model, which must not change. */
enum err given_new(struct given **g, const struct model *m) MUST_CHECK;
void given_free(struct given **g);

/*
 * Draws `rows` rows; no attribute is in two of the columns. chance[row] becomes the logarithm of
 * the probability of what is known, weights counting as factors. It is -INFINITY where that cannot
 * occur: such a row's codes mean nothing. The table borrows the model's domain.
 */
enum err given_rows(struct table **t, const struct given *g, const struct given_column *known,
                    size_t columns, size_t rows, uint64_t seed, double *chance,
                    struct log *log) MUST_CHECK;
