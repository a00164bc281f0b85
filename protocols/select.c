#include "protocols/select.h"

#include "mpc/circuits/ring.h"
#include "protocols/gumbel.h"

enum err select_index(struct party *p, const struct counts *counts, struct tape *tape,
                      const struct select_request *request, size_t *index)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct share64 value, g;
    if (request->shift < GUMBEL_BITS || request->shift > 40)
        return ERR_REFUSED;
    TRY(party_share64(p, &value, request->candidates));
    TRY(party_share64(p, &g, request->candidates));
    TRY(tape_take(tape, NOISE_GUMBEL, g));
    if (request->squared)
        TRY(score_l2(p, value, counts, request->candidate));
    else
        TRY(score_l1(p, value, counts, request->candidate, SCORE_UNIT));
    for (size_t k = 0; k < request->candidates; k++) {
        struct share64 v = share64_view(value, k, 1);
        ring64_add_public(p, v, 0 - request->penalty[k]);
        ring64_scale(v, v, request->multiplier[k]);
        ring64_add_scaled(v, share64_view(g, k, 1), (uint64_t)1 << (request->shift - GUMBEL_BITS));
    }
    return argmax_open(p, value, request->width, request->seed, index);
}
