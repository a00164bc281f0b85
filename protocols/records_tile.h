/* protocols/records_tile.h - the sides of a tile of a block. */
#pragma once

#include "protocols/records_block.h"
#include "protocols/records_plan.h"

/*
 * What each side contributes to the parts of matrix products (move_part_side()), row after row; and
 * the sides themselves and their factors where they are kept, to be checked.
 */
struct records_tile {
    size_t from, n; /* records of the block */
    uint16_t **side;
    struct share16 *kept, *factor; /* or NULL: of each side, and of each factor of two */
};

/* Records of a tile: as many as there is memory for. */
size_t records_tile_length(const struct records_plans *plans);
/* Room for the sides of a tile, which records_tile_sides() then keeps. */
enum err records_tile_keep(struct party *p, struct records_tile *t,
                           const struct records_plans *plans,
                           const struct records_shape *shape) MUST_CHECK;
/* In the party's scratch; one exchange. */
enum err records_tile_sides(struct party *p, struct records_tile *t,
                            const struct records_plans *plans,
                            const struct records_block *b) MUST_CHECK;
/* Adds this server's parts of the sums of all plans. */
void records_tile_add(struct party *p, const struct records_tile *t,
                      const struct records_plans *plans, uint16_t *parts);
