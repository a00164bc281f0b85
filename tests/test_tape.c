/* protocols/tape.c: noise is made in few batches, at the stated cost, and is there when it is asked for. */
#include "tests/support_cmocka.h"

#include "base/memory.h"
#include "protocols/tape.h"
#include "tests/support_three.h"

#include <math.h>
#include <string.h>

static const uint8_t id[TAPE_ID_SIZE] = {7};

/* What a party does in turn: reserve so many, of which it takes so many. */
struct step {
    size_t reserve, take;
    size_t made;      /* expected then */
    uint64_t batches; /* that this reservation takes */
};

struct script {
    enum tape_noise noise;
    enum tape_kind kind;
    size_t planned, steps;
    struct step step[6];
    double bytes[3]; /* a sample, by server */
};

static enum err play(struct party *p, void *shared)
{
    struct script *s = shared;
    const struct tape_cost *cost = tape_cost(s->noise, s->kind);
    struct tape tape;
    enum err e = ERR_OK;
    tape_start(&tape, id, s->noise);
    tape_plan(&tape, s->kind, s->planned);
    for (size_t i = 0; e == ERR_OK && i < s->steps; i++) {
        const struct step *step = &s->step[i];
        uint64_t before = net_rounds(p->net), rounds;
        struct share64 taken = {0};
        e = tape_reserve(p, &tape, s->kind, step->reserve);
        rounds = net_rounds(p->net) - before;
        if (e == ERR_OK && (tape.reel[s->kind].made != step->made ||
                            (s->noise == TAPE_DISCRETE ? rounds < step->batches * cost->rounds ||
                                                             rounds % cost->rounds != 0
                                                       : rounds != step->batches * cost->rounds)))
            e = ERR_DATA;
        if (e == ERR_OK)
            e = share64_new(&taken, step->take);
        if (e == ERR_OK)
            e = tape_take(&tape, s->kind, taken);
        share64_free(&taken);
    }
    s->bytes[p->index] = (double)net_total(p->net).payload_sent / (double)tape.reel[s->kind].made;
    tape_free(&tape);
    return e;
}

static void a_plan_is_made_in_batches(void **state)
{
    struct script small = {
        .noise = TAPE_BOX_MULLER,
        .kind = TAPE_GUMBEL,
        .planned = 1000,
        .steps = 5,
        .step = {{10, 10, 1024, 1},
                 {500, 500, 1024, 0},
                 {514, 512, 1024, 0}, /* to the end of the tape, two are left */
                 {3, 3, 1152, 1},     /* beyond the plan: what is missing, in words */
                 {300, 300, 1408, 1}}};
    struct script none = {.noise = TAPE_BOX_MULLER,
                          .kind = TAPE_GAUSS,
                          .steps = 2,
                          .step = {{3, 3, 128, 1}, {100, 100, 128, 0}}};
    (void)state;
    assert_int_equal(three_run(1, play, &small, NULL), ERR_OK);
    assert_int_equal(three_run(2, play, &none, NULL), ERR_OK);
}

/* Whole batches, and a plan's last part; what a server sends for each. */
static void a_batch_costs_what_is_stated(void **state)
{
    static const struct {
        enum tape_noise noise;
        enum tape_kind kind;
    } kinds[] = {
        {TAPE_BOX_MULLER, TAPE_GAUSS}, {TAPE_BOX_MULLER, TAPE_GUMBEL}, {TAPE_DISCRETE, TAPE_GAUSS}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const struct tape_cost *cost = tape_cost(kinds[k].noise, kinds[k].kind);
        const size_t batch = cost->batch;
        struct script s = {
            .noise = kinds[k].noise,
            .kind = kinds[k].kind,
            .planned = batch + 5000,
            .steps = 3,
            .step = {{1, 0, batch, 1}, {batch, batch, batch, 0}, {1, 1, batch + 5120, 1}}};
        assert_int_equal(batch % 128, 0);
        assert_int_equal(three_run(k, play, &s, NULL), ERR_OK);
        assert_true(fabs(fmax(s.bytes[0], fmax(s.bytes[1], s.bytes[2])) / cost->bytes - 1) < 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_made_in_batches),
        cmocka_unit_test(a_batch_costs_what_is_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
