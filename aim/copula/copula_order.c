#include "aim/copula/copula_order.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* h_gk of each code g: its score is 1 and all others are 0. */
static enum err code_by_code(struct copula_order *o)
{
    struct copula_column *c = &o->twin;
    double *score CLEAN(memory_release) = NULL;
    TRY(memory_new(&score, c->size));
    memcpy(score, c->score, c->size * sizeof *score);
    for (uint32_t g = 0; g < c->size; g++) {
        memset(c->score, 0, c->size * sizeof *c->score);
        c->score[g] = 1;
        TRY(copula_set_hermite(c));
        memcpy(o->hermite + (size_t)g * COPULA_TERMS, c->hermite, sizeof c->hermite);
    }
    memcpy(c->score, score, c->size * sizeof *score);
    return copula_set_hermite(c);
}

enum err copula_order_new(struct copula_order *o, const struct copula_column *c, double clip)
{
    const struct domain_attribute ordered = {.kind = &column_whole, .size = c->size};
    double squares = 0;
    *o = (struct copula_order){.score = c->score[0]};
    TRY(copula_column_new(&o->twin, &ordered, 1));
    TRY(memory_new(&o->hermite, (size_t)c->size * COPULA_TERMS));
    memcpy(o->twin.share, c->share, c->size * sizeof *c->share);
    TRY(copula_set_scores(&o->twin, clip));
    for (uint32_t a = 0; a < c->size; a++)
        squares += o->twin.score[a] * o->twin.score[a];
    for (uint32_t a = 0; squares > 0 && a < c->size; a++)
        o->twin.score[a] *= o->score / sqrt(squares);
    return code_by_code(o);
}

void copula_order_clear(struct copula_order *o)
{
    copula_column_clear(&o->twin);
    memory_free(&o->hermite);
}

double copula_order_part(const struct copula_order *o, uint32_t code)
{
    return o->twin.score[code] / o->score;
}

/* The twin's E[1_g t_j], less its value for independent columns. */
static double expected(const struct copula_order *o, const struct copula_column *other, double r,
                       uint32_t code)
{
    double sum = 0;
    for (int k = COPULA_TERMS - 1; k >= 0; k--)
        sum = (sum + o->hermite[(size_t)code * COPULA_TERMS + (size_t)k] * other->hermite[k]) * r;
    return sum;
}

static double variance_of(const struct copula_column *c)
{
    double sum = 0;
    for (uint32_t a = 0; a < c->size; a++)
        sum += c->share[a] * (c->score[a] - c->mean) * (c->score[a] - c->mean);
    return sum;
}

enum err copula_order_add(struct copula_order *o, const struct copula_column *other,
                          const double *sums, double noise, double rows)
{
    const uint32_t n = o->twin.size;
    const double drawn = o->score * o->score * variance_of(other) / rows;
    double *y CLEAN(memory_release) = NULL, mean = 0, along = 0, chance = 0, r;
    TRY(memory_new(&y, n));
    for (uint32_t g = 0; g < n; g++) {
        y[g] = sums[g] - o->score * o->twin.share[g] * other->mean;
        mean += y[g] / n;
    }
    for (uint32_t g = 0; g < n; g++)
        along += copula_order_part(o, g) * (y[g] -= mean); /* they add up to 0, except for noise */
    r = copula_correlation(&o->twin, other, along);
    for (uint32_t g = 0; g < n; g++) {
        const double rest = y[g] - o->score * expected(o, other, r, g);
        const double own = noise * noise + drawn * o->twin.share[g];
        o->found += y[g] * y[g];
        o->left += rest * rest;
        o->variance += 2 * own * own;
        chance += own / n;
    }
    o->found -= (n - 1) * chance;
    o->left -= (n - 2) * chance;
    return ERR_OK;
}

bool copula_order_fits(const struct copula_order *o)
{
    return o->found > COPULA_SEEN * sqrt(o->variance) && o->left <= COPULA_UNEXPLAINED * o->found;
}
