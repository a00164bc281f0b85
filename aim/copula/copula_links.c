#include "aim/copula/copula_links.h"

#include "aim/copula/eigen.h"
#include "aim/copula/nominal.h"
#include "base/memory.h"

#include <math.h>

#define GAIN_LEAST 1e-7

void copula_side_clear(struct copula_side *s)
{
    memory_free_all(&s->mean, &s->gain, &s->vector, &s->turn);
}

/* turn = vectors times the basis of the latent variables */
static enum err make_turn(struct copula_side *s)
{
    double *basis CLEAN(memory_release) = NULL;
    TRY(memory_new(&basis, s->latents * s->groups));
    nominal_basis(s->groups, basis);
    for (size_t a = 0; a < s->latents; a++)
        for (size_t z = 0; z < s->latents; z++)
            for (size_t g = 0; g < s->groups; g++)
                s->turn[a * s->latents + z] += s->vector[a * s->groups + g] *
                                               basis[z * s->groups + g];
    return ERR_OK;
}

/* The eigenvalues ascend; the first is 0 and belongs to the vector (1 .. 1). */
static enum err make_directions(struct copula_side *s, const struct copula_column *c,
                                struct log *log)
{
    const size_t k = s->groups;
    double *room CLEAN(memory_release) = NULL, *utility, *slope, *value;
    TRY(memory_new(&room, 2 * k + k * k));
    utility = room;
    value = utility + k;
    slope = value + k;
    for (uint32_t a = 0; a < c->size; a++)
        s->mean[c->group[a]] += c->share[a];
    TRY(nominal_utilities(s->mean, k, utility, slope));
    TRY(eigen_symmetric(slope, value, k, log));
    for (size_t a = 0; a < s->latents; a++) {
        s->gain[a] = value[a + 1] > GAIN_LEAST ? value[a + 1] * c->score[0] : 0;
        for (size_t g = 0; g < k; g++)
            s->vector[a * k + g] = slope[(a + 1) * k + g];
    }
    for (size_t g = 0; g < k; g++)
        s->mean[g] *= c->score[0];
    return make_turn(s);
}

enum err copula_side_new(struct copula_side *s, const struct copula_column *c, struct log *log)
{
    *s = (struct copula_side){.groups = c->groups, .latents = c->nominal ? c->groups - 1 : 1};
    TRY(memory_new(&s->mean, s->groups));
    TRY(memory_new(&s->gain, s->latents));
    TRY(memory_new(&s->vector, s->latents * s->groups));
    TRY(memory_new(&s->turn, s->latents * s->latents));
    if (c->nominal)
        return make_directions(s, c, log);
    s->mean[0] = c->mean;
    s->gain[0] = c->hermite[0] > GAIN_LEAST ? c->hermite[0] : 0;
    s->vector[0] = s->turn[0] = 1;
    return ERR_OK;
}

/* --- two columns ------------------------------------------------------------------------------ */

/* X of two directions. */
static double along(const struct copula_side *a, const struct copula_side *b, const double *sums,
                    size_t i, size_t j)
{
    const double gain = a->gain[i] * b->gain[j];
    double x = 0;
    for (size_t g = 0; g < a->groups; g++)
        for (size_t h = 0; h < b->groups; h++)
            x += a->vector[i * a->groups + g] * b->vector[j * b->groups + h] *
                 (sums[g * b->groups + h] - a->mean[g] * b->mean[h]);
    return gain > 0 ? x / gain : 0;
}

/* T: the variance of the X less that of noise, weighted by the noise. */
static double variance_of(const struct copula_side *a, const struct copula_side *b, const double *x,
                          double noise)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < a->latents; i++)
        for (size_t j = 0; j < b->latents; j++) {
            const double gain = a->gain[i] * b->gain[j], weight = gain * gain * gain * gain;
            const double deviation = gain > 0 ? noise / gain : 0;
            const double y = x[i * b->latents + j];
            sum += weight * (y * y - deviation * deviation);
            weights += weight;
        }
    return weights > 0 ? fmax(0, sum / weights) : 0;
}

static void shrink(const struct copula_side *a, const struct copula_side *b, double *x,
                   double noise)
{
    const double variance = variance_of(a, b, x, noise);
    for (size_t i = 0; i < a->latents; i++)
        for (size_t j = 0; j < b->latents; j++) {
            const double gain = a->gain[i] * b->gain[j];
            const double deviation = gain > 0 ? noise / gain : 0;
            if (variance > 0)
                x[i * b->latents + j] *= variance / (variance + deviation * deviation);
            else
                x[i * b->latents + j] = 0;
        }
}

static void turn(const struct copula_side *a, const struct copula_side *b, const double *x,
                 double *half, double *correlation, size_t stride)
{
    for (size_t z = 0; z < a->latents; z++)
        for (size_t j = 0; j < b->latents; j++) {
            half[z * b->latents + j] = 0;
            for (size_t i = 0; i < a->latents; i++)
                half[z * b->latents + j] += a->turn[i * a->latents + z] * x[i * b->latents + j];
        }
    for (size_t z = 0; z < a->latents; z++)
        for (size_t y = 0; y < b->latents; y++) {
            double r = 0;
            for (size_t j = 0; j < b->latents; j++)
                r += half[z * b->latents + j] * b->turn[j * b->latents + y];
            correlation[z * stride + y] = fmax(-COPULA_CORRELATION_MOST,
                                               fmin(r, COPULA_CORRELATION_MOST));
        }
}

enum err copula_link(const struct copula_side *a, const struct copula_side *b, const double *sums,
                     double noise, double *correlation, size_t stride)
{
    const size_t n = a->latents * b->latents;
    double *room CLEAN(memory_release) = NULL;
    TRY(memory_new(&room, 2 * n));
    for (size_t i = 0; i < a->latents; i++)
        for (size_t j = 0; j < b->latents; j++)
            room[i * b->latents + j] = along(a, b, sums, i, j);
    shrink(a, b, room, noise);
    turn(a, b, room, room + n, correlation, stride);
    return ERR_OK;
}
