/* protocols/tape.c and range.c: noise is made in few batches, at the stated cost, and used once. */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/check/check.h"
#include "protocols/range.h"

static const uint8_t id[TAPE_ID_SIZE] = {7};

/* The steps of a party: it reserves this many, and takes this many of them. */
struct tape_step {
    size_t reserve, take;
    size_t made;      /* expected by then */
    uint64_t batches; /* that this reservation takes */
};

struct tape_script {
    enum noise_kind noise;
    enum noise_law kind;
    size_t planned, steps;
    struct tape_step step[6];
    double bytes[3]; /* a sample, by server */
};

static enum err play(struct party *p, void *shared)
{
    struct tape_script *s = shared;
    const struct tape_cost *cost = tape_cost(s->noise, s->kind);
    struct tape tape CLEAN(tape_free);
    enum err e = ERR_OK;
    tape_start(&tape, id, s->noise);
    tape_plan(&tape, s->kind, s->planned);
    for (size_t i = 0; e == ERR_OK && i < s->steps; i++) {
        const struct tape_step *step = &s->step[i];
        uint64_t before = net_exchanges(p->net), rounds;
        struct share64 taken CLEAN(share64_free) = {0};
        e = tape_reserve(p, &tape, s->kind, step->reserve);
        rounds = net_exchanges(p->net) - before;
        if (e == ERR_OK && (tape.reel[s->kind].made != step->made ||
                            (cost->first ? rounds < step->batches * cost->plain.exchanges ||
                                               rounds % cost->plain.exchanges != 0
                                         : rounds != step->batches * cost->plain.exchanges)))
            e = ERR_DATA;
        if (e == ERR_OK)
            e = share64_new(&taken, step->take);
        if (e == ERR_OK)
            e = tape_take(&tape, s->kind, taken);
    }
    s->bytes[p->index] = (double)net_total(p->net).payload_sent / (double)tape.reel[s->kind].made;
    return e;
}

TEST(a_plan_is_made_in_batches)
{
    struct tape_script small = {
        .noise = NOISE_BOX_MULLER,
        .kind = NOISE_GUMBEL,
        .planned = 1000,
        .steps = 5,
        .step = {{10, 10, 1024, 1},
                 {500, 500, 1024, 0},
                 {514, 512, 1024, 0}, /* to the end of the tape; two are left */
                 {3, 3, 1152, 1},     /* beyond the plan: what is missing, in words */
                 {300, 300, 1408, 1}}};
    struct tape_script none = {.noise = NOISE_BOX_MULLER,
                               .kind = NOISE_GAUSS,
                               .steps = 2,
                               .step = {{3, 3, 128, 1}, {100, 100, 128, 0}}};
    OK(three_run(1, play, &small, NULL));
    OK(three_run(2, play, &none, NULL));
}

/* Whole batches, and a plan's last part; what a server sends for each. */
TEST(a_batch_costs_what_is_stated)
{
    for (size_t k = 0; k <= NOISE_KINDS; k++) {
        const enum noise_kind noise = k < NOISE_KINDS ? (enum noise_kind)k : NOISE_BOX_MULLER;
        const enum noise_law kind = k < NOISE_KINDS ? NOISE_GAUSS : NOISE_GUMBEL;
        const struct tape_cost *cost = tape_cost(noise, kind);
        const size_t batch = cost->batch;
        struct tape_script s = {
            .noise = noise,
            .kind = kind,
            .planned = batch + 5000,
            .steps = 3,
            .step = {{1, 0, batch, 1}, {batch, batch, batch, 0}, {1, 1, batch + 5120, 1}}};
        assert_int_equal(batch % 128, 0);
        OK(three_run(k, play, &s, NULL));
        assert_true(fabs(fmax(s.bytes[0], fmax(s.bytes[1], s.bytes[2])) / cost->plain.bytes - 1) <
                    0.01);
    }
}

struct proved {
    enum noise_kind noise;
    enum noise_law kind;
    uint64_t rounds[3]; /* by server */
    double bytes[3];    /* a sample */
};

/* A batch made by servers that prove it. */
static enum err make_proved(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct proved *s = shared;
    const size_t batch = tape_cost(s->noise, s->kind)->batch;
    struct tape tape CLEAN(tape_free);
    tape_start(&tape, id, s->noise);
    tape_plan(&tape, s->kind, batch);
    TRY(check_new(p, &limits));
    net_enter(p->net, NET_NOISE);
    TRY(tape_reserve(p, &tape, s->kind, batch));
    TRY(record_prove(p));
    s->rounds[p->index] = net_exchanges(p->net);
    s->bytes[p->index] = (double)net_total(p->net).payload_sent / (double)batch;
    return ERR_OK;
}

TEST(a_batch_that_is_proved_costs_what_is_stated)
{
    for (size_t k = 0; k <= NOISE_KINDS; k++) {
        struct proved s = {.noise = k < NOISE_KINDS ? (enum noise_kind)k : NOISE_BOX_MULLER,
                           .kind = k < NOISE_KINDS ? NOISE_GAUSS : NOISE_GUMBEL};
        const struct tape_messages *stated = &tape_cost(s.noise, s.kind)->proved;
        OK(three_run(k, make_proved, &s, NULL));
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(s.rounds[i], stated->exchanges);
        assert_true(fabs(fmax(s.bytes[0], fmax(s.bytes[1], s.bytes[2])) / stated->bytes - 1) <
                    0.01);
    }
}

/* --- what a range did not use ----------------------------------------------------------------- */

#define CUTS 40

struct cuts {
    struct three_result all;  /* the tape as it was made */
    struct three_result used; /* the used part of it, in order */
    size_t made, batches[3], held[3];
};

/* Ranges of 100 Gaussians, of which 1 to 40 are used; the rest goes back. */
static enum err cut_and_return(struct party *p, void *shared)
{
    struct cuts *c = shared;
    const size_t count[NOISE_LAWS] = {[NOISE_GAUSS] = 100};
    struct three_result *to = &c->used;
    size_t used = 0;
    struct tape tape CLEAN(tape_free) = {0};
    tape_start(&tape, id, NOISE_BOX_MULLER);
    tape_plan(&tape, NOISE_GAUSS, c->made);
    TRY(tape_reserve(p, &tape, NOISE_GAUSS, 100));
    three_put64(&c->all, p, share64_view(tape.reel[NOISE_GAUSS].samples, 0, c->made));
    for (size_t i = 0; i < CUTS; i++) {
        const size_t n = 1 + i, from = tape_position(&tape, NOISE_GAUSS);
        struct tape range CLEAN(tape_free) = {0};
        struct share64 out CLEAN(share64_free) = {0};
        TRY(tape_reserve(p, &tape, NOISE_GAUSS, 100));
        TRY(range_cut(&tape, count, &range));
        TRY(share64_new(&out, n));
        TRY(tape_take(&range, NOISE_GAUSS, out));
        for (size_t k = 0; k < n; k++) {
            to->component[p->index][used + k] = out.a[k];
            to->copy[p->index][used + k] = out.b[k];
        }
        used += n;
        TRY(range_return(&tape, &range));
        if (tape_position(&tape, NOISE_GAUSS) < from + 100) /* a position names one sample */
            return ERR_DATA;
    }
    struct share64 odd CLEAN(share64_free) = {0};
    TRY(share64_new(&odd, 1));
    TRY(tape_take(&tape, NOISE_GAUSS, odd));
    if (tape_position(&tape, NOISE_GAUSS) % 2 != 0) /* whose partner no other range may have */
        return ERR_DATA;
    c->held[p->index] = tape.reel[NOISE_GAUSS].samples.n;
    c->batches[p->index] = net_exchanges(p->net) /
                           tape_cost(NOISE_BOX_MULLER, NOISE_GAUSS)->plain.exchanges;
    return ERR_OK;
}

static int compare_words(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* Sums as sorted words. */
static uint64_t *sums(const struct three_result *r, size_t n)
{
    uint64_t *words = memory_array(n, sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = three_sum64(r, i);
    qsort(words, n, sizeof *words, compare_words);
    return words;
}

TEST(what_a_range_did_not_use_is_used_once_later)
{
    const size_t used = CUTS * (CUTS + 1) / 2;
    struct cuts c = {.made = 1024};
    size_t at = 0;
    OK(three_result_new(&c.all, c.made));
    OK(three_result_new(&c.used, used));
    OK(three_run(4, cut_and_return, &c, NULL));
    assert_true(three_replicated(&c.used, 64));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(c.batches[i], 1); /* 4000 Gaussians were bound, fewer than 1024 used */
        assert_true(c.held[i] <= c.made + 100);
    }
    uint64_t *all = sums(&c.all, c.made);
    uint64_t *some = sums(&c.used, used);
    for (size_t i = 0; i < used; i++, at++) { /* each a sample of the tape, none twice */
        while (at < c.made && all[at] < some[i])
            at++;
        assert_true(at < c.made && all[at] == some[i]);
    }
    memory_free_all(&all, &some);
    three_result_free(&c.all);
    three_result_free(&c.used);
}
