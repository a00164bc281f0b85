/* protocols/records_checked.h - the sums of a block under a check. */
#pragma once

#include "mpc/check/check_matrix.h"
#include "protocols/records_block.h"
#include "protocols/records_plan.h"

struct records_checked {
    const struct records_plans *plans;
    const struct check_plans *checks;
    size_t tile;
};

/* The plans as a check sees them, in the party's scratch. */
enum err records_checks_new(struct party *p, struct check_plans *checks,
                            const struct records_plans *plans,
                            const struct records_shape *shape) MUST_CHECK;
/* cells = twice the counts, which are proved. */
enum err records_block_checked(struct party *p, const struct records_checked *c,
                               const struct records_block *b, struct share16 cells) MUST_CHECK;
