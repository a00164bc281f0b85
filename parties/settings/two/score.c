#include "parties/settings/two/score.h"

#include "base/memory.h"
#include "mpc/pair/distance.h"
#include "mpc/pair/joint_noise.h"
#include "mpc/pair/pick.h"
#include "mpc/pair/squares.h"

static bool is_provider(const struct net *net)
{
    return net_index(net) == PAIR_PROVIDER;
}

/* --- messages --------------------------------------------------------------------------------- */

/* One message, from the keeper to the provider or back. */
static enum err send_one(struct net *net, bool by_provider, void *message, size_t size)
{
    struct net_exchange r = {0};
    if (is_provider(net) == by_provider) {
        r.send[NET_PREV] = message;
        r.send_size[NET_PREV] = size;
    } else {
        r.receive[NET_PREV] = message;
        r.receive_size[NET_PREV] = size;
    }
    return net_exchange(net, &r);
}

/* The keeper's matrix, then the provider's tables. */
static enum err send_run(struct net *net, struct pair_run *run)
{
    const bool provider = is_provider(net);
    const struct net_flow matrix = {.to = NET_PREV,
                                    .from = NET_PREV,
                                    .send_size = provider ? 0 : pair_run_matrix(run),
                                    .receive_size = provider ? pair_run_matrix(run) : 0,
                                    .produce = pair_send_matrix,
                                    .consume = pair_take_matrix,
                                    .self = run};
    const struct net_flow tables = {.to = NET_PREV,
                                    .from = NET_PREV,
                                    .send_size = provider ? pair_run_tables(run) : 0,
                                    .receive_size = provider ? 0 : pair_run_tables(run),
                                    .produce = pair_send_tables,
                                    .consume = pair_take_tables,
                                    .self = run};
    TRY(net_stream(net, &matrix, 1));
    return net_stream(net, &tables, 1);
}

/* --- a session -------------------------------------------------------------------------------- */

enum err score_meet(struct pair **pair, struct net *net, const uint8_t id[PAIR_ID_SIZE])
{
    const bool provider = is_provider(net);
    uint8_t hello[PAIR_HELLO_SIZE], choices[PAIR_CHOICES_SIZE];
    struct pair *p CLEAN(pair_free) = NULL;
    TRY(pair_new(&p, provider ? PAIR_PROVIDER : PAIR_KEEPER, id));
    if (!provider)
        TRY(pair_hello(p, hello));
    TRY(send_one(net, false, hello, sizeof hello));
    if (provider)
        TRY(pair_choose(p, hello, choices));
    TRY(send_one(net, true, choices, sizeof choices));
    if (!provider)
        TRY(pair_chosen(p, choices));
    return memory_hand_over(pair, &p);
}

static enum err joint_noise(struct pair *pair, struct net *net, const struct pair_joint *joint)
{
    struct pair_run *run CLEAN(pair_run_free) = NULL;
    TRY(pair_joint_new(&run, pair, joint));
    return send_run(net, run);
}

enum err score_joint_noise(struct pair *pair, struct net *net, uint64_t *word, size_t n)
{
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < JOINT_BATCH ? n - at : JOINT_BATCH;
        TRY(joint_noise(pair, net, &(struct pair_joint){.n = k, .out = word + at}));
    }
    return ERR_OK;
}

/* --- distances -------------------------------------------------------------------------------- */

struct score_candidates {
    struct pair_candidate *candidate;
    uint64_t **own; /* shares of merged cells */
    size_t n;
};

static void candidates_free(struct score_candidates *c)
{
    for (size_t k = 0; c->own != NULL && k < c->n; k++)
        if (c->own[k] != NULL)
            memory_wipe_free(&c->own[k], c->candidate[k].cells * sizeof *c->own[k]);
    memory_free_all(&c->own, &c->candidate);
}

static enum err take(struct score_candidates *c, const struct sums *sums, const struct ask *a,
                     const struct score_bounds *bounds)
{
    const uint64_t *estimate = a->estimate;
    c->n = a->queries;
    TRY(memory_new(&c->candidate, c->n));
    TRY(memory_new(&c->own, c->n));
    for (size_t k = 0; k < c->n; k++) {
        struct pair_candidate *to = &c->candidate[k];
        const struct workload_query *q = &sums->study->workload->query[a->query[k]];
        to->cells = merges_query_cells(a->merges, q);
        to->estimate = estimate;
        to->most = score_total(bounds, a->query[k]) + (UINT64_C(2) << bounds->bits);
        TRY(sums_query(sums, a->query[k], a->merges, &to->share, &c->own[k]));
        estimate += to->cells;
    }
    return ERR_OK;
}

enum err score_distances(struct pair *pair, struct net *net, const struct sums *sums,
                         const struct ask *ask, const struct score_bounds *bounds, uint64_t unit,
                         uint64_t *out)
{
    struct score_candidates c CLEAN(candidates_free) = {0};
    struct pair_run *run CLEAN(pair_run_free) = NULL;
    struct pair_distance d = {.bits = bounds->bits, .unit = unit, .out = out};
    TRY(take(&c, sums, ask, bounds));
    d.candidate = c.candidate;
    d.candidates = c.n;
    TRY((sums->study->score == AIM_L2 ? pair_squares_new : pair_distance_new)(&run, pair, &d));
    return send_run(net, run);
}

/* --- the largest ------------------------------------------------------------------------------ */

static enum err prove(struct net *net, struct pair_run *run, size_t n)
{
    const size_t size = pair_pick_proof(n);
    uint8_t *proof CLEAN(memory_release) = NULL;
    TRY(memory_new(&proof, size));
    if (!is_provider(net))
        TRY(pair_pick_prove(run, proof));
    TRY(send_one(net, false, proof, size));
    return is_provider(net) ? pair_pick_verify(run, proof) : ERR_OK;
}

enum err score_largest(struct pair *pair, struct net *net, const uint64_t *score, size_t n,
                       unsigned width, size_t *index)
{
    struct pair_pick pick = {.value = score, .candidates = n, .width = width};
    struct pair_run *run CLEAN(pair_run_free) = NULL;
    TRY(pair_pick_new(&run, pair, &pick));
    TRY(send_run(net, run));
    TRY(prove(net, run, n));
    *index = pick.index;
    return ERR_OK;
}
