#include "protocols/select.h"

#include "mpc/ring.h"
#include "protocols/gumbel.h"

enum err select_index(struct party *p, const struct counts *counts, struct tape *tape,
                      const struct select_request *request, size_t *index)
{
    size_t m = request->candidates;
    struct share64 value = {0}, g = {0};
    enum err e = request->shift < GUMBEL_BITS || request->shift > 40 ? ERR_REFUSED : ERR_OK;
    if (e == ERR_OK)
        e = share64_new(&value, m);
    if (e == ERR_OK)
        e = share64_new(&g, m);
    if (e == ERR_OK)
        e = tape_take(tape, TAPE_GUMBEL, g);
    if (e == ERR_OK)
        e = request->squared ? score_l2(p, value, counts, request->candidate)
                             : score_l1(p, value, counts, request->candidate);
    for (size_t k = 0; e == ERR_OK && k < m; k++) {
        struct share64 v = share64_view(value, k, 1);
        ring64_add_public(p, v, 0 - request->penalty[k]);
        ring64_scale(v, v, request->multiplier[k]);
        ring64_add_scaled(v, share64_view(g, k, 1), (uint64_t)1 << (request->shift - GUMBEL_BITS));
    }
    if (e == ERR_OK)
        e = argmax_open(p, value, request->width, request->seed, index);
    share64_free(&value);
    share64_free(&g);
    return e;
}
