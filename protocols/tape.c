#include "protocols/tape.h"

#include "base/secret.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "protocols/discrete.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"

#include <math.h>
#include <string.h>

/*
 * Coins take most of the memory: some 2.2 KiB for each exponential variable, of which a Gaussian
 * takes half of one, and 2.7 KiB for each candidate of a discrete Gaussian, of which it takes 4/3.
 */
struct maker {
    enum err (*make)(struct party *p, struct share64 out);
    struct tape_cost cost;
};
static const struct maker gumbel = {gumbel_sample,
                                    {65536, {GUMBEL_EXCHANGES, 838}, {129, 879}, false}};
static const struct maker gauss[] = {
    [NOISE_BOX_MULLER] = {gauss_sample, {131072, {GAUSS_EXCHANGES, 640}, {181, 710}, false}},
    [NOISE_DISCRETE] = {discrete_sample, {36864, {DISCRETE_EXCHANGES, 983}, {98, 994}, true}},
};
_Static_assert(sizeof gauss / sizeof *gauss == NOISE_KINDS, "each kind of noise is made somewhere");

static const struct maker *maker_of(enum noise_kind noise, enum noise_law kind)
{
    return kind == NOISE_GUMBEL ? &gumbel : &gauss[noise];
}

const struct tape_cost *tape_cost(enum noise_kind noise, enum noise_law kind)
{
    return &maker_of(noise, kind)->cost;
}

void tape_start(struct tape *tape, const uint8_t id[TAPE_ID_SIZE], enum noise_kind noise)
{
    *tape = (struct tape){.noise = noise};
    memcpy(tape->id, id, TAPE_ID_SIZE);
}

void tape_free(struct tape *tape)
{
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        share64_free(&tape->reel[k].samples);
    *tape = (struct tape){0};
}

/* The samples of positions from `from` on. */
static struct share64 view(const struct tape *tape, enum noise_law kind, size_t from, size_t n)
{
    return share64_view(tape->reel[kind].samples, from - tape->reel[kind].base, n);
}

/* Makes room for n more at the end, and drops what has been taken. */
static enum err grow(struct tape *tape, enum noise_law kind, size_t n)
{
    const size_t from = tape_position(tape, kind), made = tape->reel[kind].made;
    const size_t base = from < made ? from : made;
    struct share64 longer;
    TRY(share64_new(&longer, made - base + n));
    if (made > base)
        ring64_copy(share64_view(longer, 0, made - base), view(tape, kind, base, made - base));
    share64_free(&tape->reel[kind].samples);
    tape->reel[kind].samples = longer;
    tape->reel[kind].base = base;
    return ERR_OK;
}

void tape_plan(struct tape *tape, enum noise_law kind, size_t samples)
{
    tape->reel[kind].planned = samples;
}

double tape_rounded_up(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);
    return ldexp(ceil(ldexp(mantissa, 24)), exponent - 24);
}

static struct tape_slack box_muller_slack(void)
{
    return (struct tape_slack){.epsilon = tape_rounded_up(gauss_epsilon()),
                               .tau = tape_rounded_up(exponential_tau())};
}

static struct tape_ratio box_muller_ratio(void)
{
    const double variables = 2 * exponential_ratio(EXPONENTIAL_TOP) * (1 + 0x1p-10);
    return (struct tape_ratio){tape_rounded_up(gauss_epsilon() + variables),
                               tape_rounded_up(exponential_tail())};
}

/*
 * Coins alone: nothing is evaluated. In Gaussian terms this noise has to be compared with rounded
 * Gaussians: of a sample, the two laws differ by a factor of at most e^(2^-32.5) either way.
 */
static struct tape_slack discrete_slack(void)
{
    return (struct tape_slack){.tau = tape_rounded_up(discrete_tau()), .gaussian = 0x1p-30};
}

static struct tape_ratio discrete_ratios(void)
{
    return (struct tape_ratio){tape_rounded_up(2 * discrete_ratio() * (1 + 0x1p-10)),
                               tape_rounded_up(discrete_tail())};
}

/* How far Gaussians of each kind are from those of the theorem. */
static const struct {
    struct tape_slack (*slack)(void);
    struct tape_ratio (*ratio)(void);
} distance[] = {
    [NOISE_BOX_MULLER] = {box_muller_slack, box_muller_ratio},
    [NOISE_DISCRETE] = {discrete_slack, discrete_ratios},
};
_Static_assert(sizeof distance / sizeof *distance == NOISE_KINDS, "each kind of noise has a price");

struct tape_slack tape_slack(enum noise_kind noise, enum noise_law kind)
{
    if (kind == NOISE_GUMBEL)
        return (struct tape_slack){.epsilon = tape_rounded_up(gumbel_epsilon()),
                                   .tau = tape_rounded_up(gumbel_tau())};
    return distance[noise].slack();
}

struct tape_ratio tape_ratio(enum noise_kind noise)
{
    return distance[noise].ratio();
}

struct tape_ratio tape_select_ratio(double candidates, double epsilon)
{
    return (struct tape_ratio){tape_rounded_up(gumbel_epsilon() + 4 * gumbel_ratio(candidates)),
                               tape_rounded_up(gumbel_missed(candidates, epsilon))};
}

/*
 * How many samples to make to reach `end`: whole batches while the plan lasts, whole words of pairs
 * at its end.
 */
static size_t missing(const struct tape *tape, enum noise_law kind, size_t end)
{
    const size_t made = tape->reel[kind].made, planned = tape->reel[kind].planned;
    const size_t batch = tape_cost(tape->noise, kind)->batch, most = planned > end ? planned : end;
    size_t n = (end - made + batch - 1) / batch * batch;
    if (n > most - made)
        n = most - made;
    return (n + 127) / 128 * 128;
}

/* A batch, made in parts of whole words of pairs side by side where there are lanes. */
struct batch {
    enum err (*make)(struct party *p, struct share64 out);
    struct share64 out;
    size_t part;
};

static enum err make_part(void *self, struct party *lane, size_t part)
{
    const struct batch *b = self;
    const size_t from = part * b->part, left = b->out.n - from;
    return b->make(lane, share64_view(b->out, from, left < b->part ? left : b->part));
}

/* --- by lanes of other processes -------------------------------------------------------------- */

#define SHARE_MOST ((uint64_t)1 << 28) /* samples */

/* A lane's parts of a batch: its own, and every `all`-th after that. */
struct tape_dealt {
    struct batch batch;
    uint8_t noise, kind;
    size_t all;
};

static size_t part_at(const struct batch *b, size_t from)
{
    return b->out.n - from < b->part ? b->out.n - from : b->part;
}

static enum err put_share(void *self, size_t lane, struct bytes *arguments)
{
    const struct tape_dealt *d = self;
    bytes_put_u8(arguments, d->noise);
    bytes_put_u8(arguments, d->kind);
    for (size_t from = lane * d->batch.part; from < d->batch.out.n; from += d->all * d->batch.part)
        bytes_put_u64(arguments, part_at(&d->batch, from));
    return bytes_ok(arguments);
}

enum err tape_make_share(struct party *lane, struct reader *r, struct bytes *result)
{
    const unsigned noise = reader_u8(r), kind = reader_u8(r);
    const struct maker *maker;
    if (noise >= NOISE_KINDS || kind >= NOISE_LAWS)
        return ERR_FORMAT;
    maker = maker_of((enum noise_kind)noise, (enum noise_law)kind);
    while (r->left > 0) {
        const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(lane->scratch);
        const uint64_t n = reader_u64(r);
        struct share64 part;
        if (r->failed || n > SHARE_MOST || maker->cost.first)
            return ERR_FORMAT;
        TRY(party_share64(lane, &part, n));
        TRY(maker->make(lane, part));
        bytes_put(result, part.a, n * sizeof *part.a);
        bytes_put(result, part.b, n * sizeof *part.b);
    }
    return bytes_ok(result);
}

static enum err make_share(void *self, struct party *lane, struct reader *arguments,
                           struct bytes *result)
{
    (void)self;
    return tape_make_share(lane, arguments, result);
}

static enum err take_share(void *self, size_t lane, struct reader *result)
{
    const struct tape_dealt *d = self;
    for (size_t from = lane * d->batch.part; from < d->batch.out.n;
         from += d->all * d->batch.part) {
        const struct share64 to = share64_view(d->batch.out, from, part_at(&d->batch, from));
        reader_copy(result, to.a, to.n * sizeof *to.a);
        reader_copy(result, to.b, to.n * sizeof *to.b);
    }
    return ERR_OK;
}

static enum err deal_batch(struct party *p, const struct batch *b, enum noise_kind noise,
                           enum noise_law kind)
{
    struct tape_dealt d = {*b, (uint8_t)noise, (uint8_t)kind, crew_all(p)};
    return crew_jobs(p, &(const struct crew_job){.number = CREW_NOISE,
                                                 .put = put_share,
                                                 .work = make_share,
                                                 .take = take_share,
                                                 .self = &d});
}

static enum err make_batch(struct party *p, enum noise_kind noise, enum noise_law kind,
                           struct share64 out)
{
    const struct maker *maker = maker_of(noise, kind);
    struct batch b = {maker->make, out, crew_tile(p, out.n, maker->cost.batch, 128)};
    if (maker->cost.first)
        return maker->make(p, out);
    if (crew_deals(p)) {
        b.part = crew_deal_tile(p, out.n, maker->cost.batch, 128);
        return deal_batch(p, &b, noise, kind);
    }
    return crew_run(p, (out.n + b.part - 1) / b.part, make_part, &b);
}

enum err tape_reserve(struct party *p, struct tape *tape, enum noise_law kind, size_t count)
{
    const struct maker *maker = maker_of(tape->noise, kind);
    /* a check notes what is computed: half as many at a time keep its moves below 96 MiB */
    const size_t most = maker->cost.batch / (party_proves(p) ? 2 : 1) *
                        (maker->cost.first ? 1 : crew_processes(p));
    size_t position = tape_position(tape, kind), *made = &tape->reel[kind].made, n;
    if (count > SIZE_MAX / 64)
        return ERR_RANGE;
    if (position + count <= *made)
        return ERR_OK;
    n = missing(tape, kind, position + count);
    TRY(grow(tape, kind, n));
    for (size_t k; n > 0; n -= k) {
        k = n < most ? n : most;
        TRY(make_batch(p, tape->noise, kind, view(tape, kind, *made, k)));
        *made += k;
    }
    return ERR_OK;
}

size_t tape_position(const struct tape *tape, enum noise_law kind)
{
    size_t next = tape->reel[kind].next;
    return kind == NOISE_GAUSS ? next + next % 2 : next;
}

enum err tape_take(struct tape *tape, enum noise_law kind, struct share64 out)
{
    size_t position = tape_position(tape, kind), next = tape->reel[kind].next,
           end = position + out.n;
    struct share64 used;
    if (position > tape->reel[kind].made || out.n > tape->reel[kind].made - position)
        return ERR_MISUSE;
    if (out.n == 0)
        return ERR_OK;
    ring64_copy(out, view(tape, kind, position, out.n));
    /* including the partner that an odd end leaves behind and never uses */
    if (next < tape->reel[kind].base)
        next = tape->reel[kind].base;
    used = view(tape, kind, next, end - next);
    secret_wipe(used.a, used.n * sizeof *used.a);
    secret_wipe(used.b, used.n * sizeof *used.b);
    tape->reel[kind].next = end;
    return ERR_OK;
}

enum err tape_fill(struct tape *tape, enum noise_law kind, struct share64 samples)
{
    const size_t made = tape->reel[kind].made;
    if (kind == NOISE_GAUSS && (samples.n % 2 != 0 || made % 2 != 0))
        return ERR_MISUSE;
    TRY(grow(tape, kind, samples.n));
    ring64_copy(view(tape, kind, made, samples.n), samples);
    tape->reel[kind].made += samples.n;
    return ERR_OK;
}

enum err tape_append(struct tape *tape, enum noise_law kind, struct share64 samples)
{
    TRY(tape_fill(tape, kind, samples));
    tape->reel[kind].planned += samples.n;
    return ERR_OK;
}
