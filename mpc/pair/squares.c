#include "mpc/pair/squares.h"

#include "base/memory.h"
#include "mpc/pair/program.h"

#define PORTION ((size_t)4096) /* cells: 6 MB of both messages */

/* Cells of all candidates, one after the other. */
struct squares {
    struct pair_distance d;
    size_t cells;
};

static size_t cells_of(const struct squares *s, size_t portion)
{
    const size_t left = s->cells - portion * PORTION;
    return left < PORTION ? left : PORTION;
}

static struct program_size size(const void *self, size_t portion)
{
    return (struct program_size){{0, GATES_CHOSEN * cells_of(self, portion)}, 0};
}

static uint64_t ands_of(const void *self, size_t portion)
{
    return GATES_CHOSEN / 4 * cells_of(self, portion);
}

/* Candidates whose cells begin before the end of a portion, from the first that is in it. */
struct squares_walk {
    size_t k, cell;
};

static void next(const struct squares *s, struct squares_walk *w)
{
    w->cell++;
    while (w->k < s->d.candidates && w->cell == s->d.candidate[w->k].cells)
        *w = (struct squares_walk){w->k + 1, 0};
}

static struct squares_walk start_of(const struct squares *s, size_t portion)
{
    struct squares_walk w = {0, portion * PORTION};
    while (w.cell >= s->d.candidate[w.k].cells)
        w.cell -= s->d.candidate[w.k++].cells;
    return w;
}

static enum err enter(void *self, size_t portion, enum pair_end end, uint64_t *bits)
{
    const struct squares *s = self;
    struct squares_walk w = start_of(s, portion);
    for (size_t i = 0; i < cells_of(s, portion) && end == PAIR_KEEPER; i++, next(s, &w))
        bits[i] = s->d.candidate[w.k].share[w.cell];
    return ERR_OK;
}

static enum err compute(const void *self, size_t portion, struct pair_gates *g,
                        const struct pair_wire *const in[2], struct pair_wire *out)
{
    const struct squares *s = self;
    const bool provider = pair_gates_garbles(g);
    struct squares_walk w = start_of(s, portion);
    (void)out;
    for (size_t i = 0; i < cells_of(s, portion); i++, next(s, &w)) {
        const struct pair_candidate *c = &s->d.candidate[w.k];
        uint64_t own = c->share[w.cell], word[GATES_CHOSEN] = {0};
        if (provider)
            own -= (c->estimate[w.cell] + s->d.unit / 2) / s->d.unit;
        for (unsigned b = 0; b + 1 < GATES_CHOSEN && provider; b++)
            word[b] = own << (b + 1);
        s->d.out[w.k] += own * own;
        TRY(pair_gates_choose(g, &s->d.out[w.k], in[PAIR_KEEPER] + i * GATES_CHOSEN, own, word));
    }
    return ERR_OK;
}

static void squares_free(void *self)
{
    memory_release(&self);
}

static const struct pair_program squares_program = {
    .size = size, .ands = ands_of, .enter = enter, .compute = compute, .free = squares_free};

enum err pair_squares_new(struct pair_run **run, struct pair *pair, const struct pair_distance *d)
{
    struct squares *s;
    size_t cells = 0;
    for (size_t k = 0; k < d->candidates; k++) {
        if (d->candidate[k].cells == 0)
            return ERR_RANGE;
        cells += d->candidate[k].cells;
        d->out[k] = 0;
    }
    if (cells == 0 || d->unit == 0)
        return ERR_RANGE;
    TRY(memory_new(&s, 1));
    *s = (struct squares){*d, cells};
    return program_run(run, pair, &squares_program, s, (cells + PORTION - 1) / PORTION);
}
