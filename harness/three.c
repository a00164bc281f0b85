#include "harness/three.h"
#include "harness/patience.h"

#include "base/processor.h"
#include "harness/cmocka.h"
#include "harness/session.h"
#include "harness/transport.h"
#include "mpc/move/crew.h"

#include <pthread.h>

struct three_seat {
    unsigned index;
    uint64_t seed;
    size_t lanes, near;
    struct transport *transport[SESSION_LANES_MAX];
    three_job job;
    void *shared;
    struct three_costs *costs;
    enum err result;
};

/*
 * Makes all later parties use this kernel table, through the environment; false if this processor
 * cannot run it.
 */
static bool three_kernel(enum processor set)
{
    if (!processor_runs(set))
        return false;
    setenv("TREFOIL_KERNEL", processor_name(set), 1);
    printf("# kernel %s\n", processor_name(set));
    return true;
}

int three_each_kernel(void)
{
    int failed = 0;
    for (enum processor set = PROCESSOR_PORTABLE; set < PROCESSOR_SETS; set++)
        if (three_kernel(set))
            failed += support_run_tests(NULL, NULL);
    return failed;
}

void three_unslice128(const uint64_t *planes, size_t stride, size_t n, unsigned width,
                      word128 *values)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = 0;
        for (unsigned k = 0; k < width; k++)
            values[i] |= (word128)(planes[k * stride + i / 64] >> i % 64 & 1) << k;
    }
}

uint64_t three_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t three_field_product(uint64_t x, uint64_t y)
{
    uint64_t z = 0;
    for (; y != 0; y >>= 1, x = x << 1 ^ (x >> 63 != 0 ? 0x1b : 0))
        z ^= (y & 1) != 0 ? x : 0;
    return z;
}

static uint64_t inputs[THREE_VALUES];

static void draw_values(void)
{
    uint64_t seed = 4;
    for (size_t i = 0; i < THREE_VALUES; i++)
        inputs[i] = three_random(&seed);
}

const uint64_t *three_values(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, draw_values);
    return inputs;
}

/* Scratch memory is not zeroed: here it never is. */
static enum err soil(struct scratch *scratch)
{
    const size_t bytes = (size_t)1 << 20;
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(scratch);
    uint8_t *p;
    TRY(scratch_array(scratch, &p, bytes));
    memset(p, 0xa5, bytes);
    return ERR_OK;
}

static enum err open_nets(const struct three_seat *s, const struct session *session,
                          atomic_bool *ended, struct log *log, struct net *nets[SESSION_LANES_MAX])
{
    for (size_t k = 0; k < s->lanes; k++) {
        const struct net_options options = {.transport = s->transport[k],
                                            .session = session,
                                            .lane = (uint32_t)k,
                                            .ended = ended,
                                            .deadline_ms = support_patience_ms(10),
                                            .log = log};
        TRY(net_new(&nets[k], &options));
    }
    return ERR_OK;
}

static void *sit(void *arg)
{
    struct three_seat *s = arg;
    struct session *session = NULL;
    struct net *nets[SESSION_LANES_MAX] = {NULL};
    struct party *party = NULL;
    struct crew *crew = NULL;
    struct log log = {.file = stderr, .level = LOG_ERROR, .prefix = "# "};
    atomic_bool ended = false;
    enum err e = session_for_test(&session, s->index, s->seed);
    if (e == ERR_OK)
        e = open_nets(s, session, &ended, &log, nets);
    if (e == ERR_OK)
        e = party_new(&party, nets[0], session, 0, &log);
    if (e == ERR_OK && s->lanes > 1)
        e = crew_new(&crew, party, nets, s->lanes, session);
    if (e == ERR_OK && s->near > 0)
        crew_extend(crew, s->near, s->lanes, s->lanes, NULL);
    if (e == ERR_OK)
        e = soil(party->scratch);
    if (e == ERR_OK)
        e = s->job(party, s->shared);
    if (e == ERR_OK && s->costs != NULL) {
        struct net_counters total = net_total(nets[0]);
        s->costs->sent[s->index] = total.payload_sent;
        if (s->index == 0) {
            s->costs->rounds = total.exchanges;
            for (unsigned r = 0; r < OPEN_REASONS; r++) {
                s->costs->opened_calls[r] = party->opened[r].calls;
                s->costs->opened_values[r] = party->opened[r].values;
            }
        }
    }
    crew_free(&crew);
    party_free(&party);
    for (size_t k = 0; k < s->lanes; k++)
        net_free(&nets[k]);
    session_free(&session);
    s->result = e;
    return NULL;
}

/* The first error of any server; each server's own in `results`, if requested. */
static enum err sit_all(struct three_seat seats[3], enum err *results)
{
    pthread_t threads[3];
    enum err e = ERR_OK;
    for (unsigned i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, sit, &seats[i]) != 0)
            return ERR_SYSTEM;
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        e = e == ERR_OK ? seats[i].result : e;
        if (results != NULL)
            results[i] = seats[i].result;
    }
    return e;
}

enum err three_run(uint64_t seed, three_job job, void *shared, struct three_costs *costs)
{
    return three_run_lanes(seed, 1, 64, job, shared, costs, NULL);
}

enum err three_run_wrapped(uint64_t seed, three_job job, void *shared, struct three_costs *costs,
                           struct transport (*wrap)(struct transport *inner))
{
    struct transport wrapped[3];
    struct transport *transports[3] = {NULL, NULL, NULL};
    struct three_seat seats[3];
    enum err e = secret_start();
    if (e == ERR_OK)
        e = transport_memory_new(transports, 64);
    if (e != ERR_OK)
        return e;
    for (unsigned i = 0; i < 3; i++) {
        wrapped[i] = wrap(transports[i]);
        seats[i] = (struct three_seat){.index = i,
                                       .seed = seed,
                                       .lanes = 1,
                                       .transport = {&wrapped[i]},
                                       .job = job,
                                       .shared = shared,
                                       .costs = costs};
    }
    e = sit_all(seats, NULL);
    for (unsigned i = 0; i < 3; i++)
        transport_free(&transports[i]);
    return e;
}

static enum err run_lanes(uint64_t seed, size_t lanes, size_t near, size_t depth, three_job job,
                          void *shared, struct three_costs *costs, enum err results[3])
{
    struct transport *transports[SESSION_LANES_MAX][3] = {{NULL}};
    struct three_seat seats[3];
    enum err e = secret_start();
    for (size_t k = 0; k < lanes && e == ERR_OK; k++)
        e = transport_memory_new(transports[k], depth);
    if (e != ERR_OK)
        return e;
    for (unsigned i = 0; i < 3; i++) {
        seats[i] = (struct three_seat){
            .index = i, .seed = seed, .lanes = lanes, .job = job, .shared = shared, .costs = costs};
        seats[i].near = near;
        for (size_t k = 0; k < lanes; k++)
            seats[i].transport[k] = transports[k][i];
    }
    e = sit_all(seats, results);
    for (size_t k = 0; k < lanes; k++)
        for (unsigned i = 0; i < 3; i++)
            transport_free(&transports[k][i]);
    return e;
}

enum err three_run_lanes(uint64_t seed, size_t lanes, size_t depth, three_job job, void *shared,
                         struct three_costs *costs, enum err results[3])
{
    return run_lanes(seed, lanes, 0, depth, job, shared, costs, results);
}

enum err three_run_dealt(uint64_t seed, size_t lanes, size_t near, three_job job, void *shared,
                         struct three_costs *costs, enum err results[3])
{
    return run_lanes(seed, lanes, near, 8, job, shared, costs, results);
}

/* component c of lane i, c < 2, known to all; component 2 makes the sum right */
static uint64_t component(uint64_t seed, size_t i, unsigned c)
{
    uint64_t state = seed * 3 + c + 0x100000001 * i;
    return three_random(&state);
}

enum err three_share64(const struct party *p, struct share64 *x, const uint64_t *values, size_t n,
                       uint64_t seed)
{
    TRY(share64_new(x, n));
    for (size_t i = 0; i < n; i++) {
        uint64_t c[3] = {component(seed, i, 0), component(seed, i, 1), 0};
        c[2] = values[i] - c[0] - c[1];
        x->a[i] = c[p->index];
        x->b[i] = c[(p->index + 1) % 3];
    }
    return ERR_OK;
}

enum err three_share128(const struct party *p, struct share128 *x, const word128 *values, size_t n,
                        uint64_t seed)
{
    TRY(share128_new(x, n));
    for (size_t i = 0; i < n; i++) {
        word128 c[3];
        for (unsigned k = 0; k < 2; k++)
            c[k] = (word128)component(seed, i, k) << 64 | component(seed + 77, i, k);
        c[2] = values[i] - c[0] - c[1];
        x->a[i] = c[p->index];
        x->b[i] = c[(p->index + 1) % 3];
    }
    return ERR_OK;
}

enum err three_share_planes(const struct party *p, struct planes *x, const uint64_t *values,
                            size_t n, unsigned width, uint64_t seed)
{
    uint64_t *c[3] = {NULL, NULL, NULL};
    enum err e = planes_new(x, width, n);
    for (unsigned k = 0; k < 3; k++) {
        c[k] = memory_array(n, sizeof *c[k]);
        if (c[k] == NULL)
            e = ERR_NOMEM;
    }
    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        c[0][i] = component(seed, i, 0);
        c[1][i] = component(seed, i, 1);
        c[2][i] = values[i] ^ c[0][i] ^ c[1][i];
    }
    if (e == ERR_OK) {
        kernel_slice64(&kernel_portable, c[p->index], n, width, x->a, bits_words(n));
        kernel_slice64(&kernel_portable, c[(p->index + 1) % 3], n, width, x->b, bits_words(n));
    }
    for (unsigned k = 0; k < 3; k++)
        memory_free(&c[k]);
    return e;
}

enum err three_result_new(struct three_result *r, size_t n)
{
    r->n = n;
    for (unsigned i = 0; i < 3; i++)
        if ((r->component[i] = memory_words(n, sizeof(word128))) == NULL ||
            (r->copy[i] = memory_words(n, sizeof(word128))) == NULL)
            return ERR_NOMEM;
    return ERR_OK;
}

void three_result_free(struct three_result *r)
{
    for (unsigned i = 0; i < 3; i++)
        memory_free_all(&r->component[i], &r->copy[i]);
}

bool three_replicated(const struct three_result *r, unsigned width)
{
    word128 mask = width < 128 ? ((word128)1 << width) - 1 : ~(word128)0;
    for (unsigned s = 0; s < 3; s++)
        for (size_t i = 0; i < r->n; i++)
            if ((r->copy[s][i] & mask) != (r->component[(s + 1) % 3][i] & mask))
                return false;
    return true;
}

void three_put64(struct three_result *r, const struct party *p, struct share64 x)
{
    for (size_t i = 0; i < x.n; i++) {
        r->component[p->index][i] = x.a[i];
        r->copy[p->index][i] = x.b[i];
    }
}

void three_put128(struct three_result *r, const struct party *p, struct share128 x)
{
    for (size_t i = 0; i < x.n; i++) {
        r->component[p->index][i] = x.a[i];
        r->copy[p->index][i] = x.b[i];
    }
}

void three_put_planes(struct three_result *r, const struct party *p, const struct planes *x)
{
    three_unslice128(x->a, bits_words(x->n), x->n, x->width, r->component[p->index]);
    three_unslice128(x->b, bits_words(x->n), x->n, x->width, r->copy[p->index]);
}

uint64_t three_sum64(const struct three_result *r, size_t i)
{
    return (uint64_t)three_sum128(r, i);
}

word128 three_sum128(const struct three_result *r, size_t i)
{
    return r->component[0][i] + r->component[1][i] + r->component[2][i];
}

word128 three_xor(const struct three_result *r, size_t i)
{
    return r->component[0][i] ^ r->component[1][i] ^ r->component[2][i];
}

unsigned log2_ceil(unsigned n)
{
    unsigned k = 0;
    while ((1u << k) < n)
        k++;
    return k;
}
