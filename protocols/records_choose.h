/*
 * protocols/records_choose.h - which two sides make which marginal, of all that could; public.
 *
 * A marginal of three or four attributes is the product of two sides, and usually has several such
 * pairs to choose from: its options. A side costs the products that make it, once, however many
 * marginals use it. So options are chosen as sets are in a covering: first greedily, then by moves
 * of one query, then by moves of all queries that can use a side. Everything is in integers, ties
 * go to the lower, and steps are counted, so that the three servers choose alike.
 */
#pragma once

#include "protocols/records_plan.h"

struct records_option {
    uint32_t left, right; /* sides */
    uint64_t cells;       /* of their product */
};

struct records_choices {
    size_t queries, sides;
    size_t *first; /* of each query: its first option, and the end */
    struct records_option *option;
    struct records_side *side; /* each once */
    size_t *kept;              /* room for a choice to go back to */
    /* made by records_choose(): */
    size_t *choice; /* of each query: an option */
    uint32_t *uses; /* of each side, which begin as zeros */
    size_t steps;
};

void records_choose(struct records_choices *c);
