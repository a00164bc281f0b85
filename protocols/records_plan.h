/*
 * protocols/records_plan.h - which products of sides make which marginal; public. records_place.c
 * has records_place().
 */
#pragma once

#include "protocols/records.h"

/* An attribute's values, or one of the two digits of value = high * base + low. */
enum records_digit { RECORDS_WHOLE, RECORDS_HIGH, RECORDS_LOW };
struct records_factor {
    uint16_t attribute;
    enum records_digit digit;
    uint32_t base; /* 0 where whole */
};
size_t records_factor_rows(const struct records_shape *shape, const struct records_factor *f);

/* A matrix, a column for each record: rows of no factor (one row of ones), of one, or all pairs. */
struct records_side {
    unsigned factors;
    struct records_factor factor[2];
    size_t rows;
    size_t made;      /* rows that are products of shares; the others follow from them */
    size_t number[2]; /* of two factors: which of the plans' these are */
};

/* A marginal is the product of two sides, whose cells may be more than the marginal's. */
struct records_plan {
    struct records_query *query;
    size_t left, right; /* sides */
    size_t parts;       /* where its cells begin among those of all plans */
    size_t cells;       /* where its marginal begins among all */
};

struct records_plans {
    struct records_side *side;
    struct records_plan *plan;
    struct records_factor *factor; /* of sides of two, each once */
    size_t sides, plans, factors;
    size_t rows, made;   /* of all sides */
    size_t parts, cells; /* of all plans */
};

/*
 * From the party's scratch. The same for the same shape and queries, in whatever order. ERR_RANGE
 * as for records_count().
 */
enum err records_plans_new(struct party *p, struct records_plans *plans,
                           const struct records_shape *shape, struct records_query *queries,
                           size_t count) MUST_CHECK;

/* Puts the cells of a plan's product into its marginal's, in the query's order. */
enum err records_place(struct party *p, const struct records_shape *shape,
                       const struct records_plans *plans, const struct records_plan *plan,
                       const uint16_t *parts, uint16_t *cells) MUST_CHECK;
