#include "aim/train/distill.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define RATE 0.01
#define FIRST 0.01 /* deviation of the rows that it begins with */

static double unit_of(const struct features *f)
{
    return sqrt((double)f->r2);
}

/* Scratch memory of a slope: n C numbers each, and a transposed G. */
struct slope_room {
    double *e, *inside, *h;
};

static void clear_room(struct slope_room *r)
{
    memory_free_all(&r->e, &r->inside, &r->h);
}

/* E, and where P is between its ends. */
static void residuals(const struct distill_terms *t, size_t step, const double *s,
                      const uint32_t *label, size_t rows, struct slope_room *r)
{
    const struct features *f = t->features;
    const double unit = unit_of(f) / 1024;
    for (size_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < f->outputs; k++) {
            const double *w = t->weight[step] + (size_t)k * f->count;
            const bool own = label[i] == features_class(f, k);
            const double hi = (own || f->classes == 2 ? FEATURES_TOP : (1 << f->j) - 1) / 32.0;
            double p = 0;
            for (uint32_t a = 0; a < f->count; a++)
                p += s[i * f->count + a] * w[a];
            p = p * unit + features_start(f) / 1024.0;
            r->inside[i * f->outputs + k] = p > 0 && p < hi;
            r->e[i * f->outputs + k] = fmax(0, fmin(hi, p)) - (own ? FEATURES_TOP / 32.0 : 0);
        }
}

/* H, and the loss. */
static double mismatch(const struct distill_terms *t, size_t step, const double *s, size_t rows,
                       struct slope_room *r)
{
    const struct features *f = t->features;
    const uint32_t weights = features_weights(f);
    const double unit = 32 * unit_of(f);
    double squares = 0, off = 0;
    memset(r->h, 0, weights * sizeof *r->h);
    for (size_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < f->outputs; k++) {
            const double e = r->e[i * f->outputs + k] / (double)rows;
            double *h = r->h + (size_t)k * f->count;
            for (uint32_t a = 0; a < f->count; a++)
                h[a] += e * s[i * f->count + a];
        }
    for (uint32_t a = 0; a < weights; a++) {
        const double g = t->gradient[step][a] / unit;
        squares += g * g;
        r->h[a] -= g;
        off += r->h[a] * r->h[a];
    }
    squares = fmax(squares, 1e-300);
    for (uint32_t a = 0; a < weights; a++)
        r->h[a] /= squares;
    return off / squares;
}

enum err distill_slope(const struct distill_terms *t, size_t step, const double *s,
                       const uint32_t *label, size_t rows, double *ds, double *loss)
{
    const struct features *f = t->features;
    const double unit = unit_of(f) / 1024, each = 2 / (double)rows;
    struct slope_room r CLEAN(clear_room) = {0};
    TRY(memory_new(&r.e, rows * f->outputs));
    TRY(memory_new(&r.inside, rows * f->outputs));
    TRY(memory_new(&r.h, features_weights(f)));
    residuals(t, step, s, label, rows, &r);
    *loss += mismatch(t, step, s, rows, &r);
    for (size_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < f->outputs; k++) {
            const double *w = t->weight[step] + (size_t)k * f->count;
            const double *h = r.h + (size_t)k * f->count;
            const double e = each * r.e[i * f->outputs + k];
            double through = 0;
            for (uint32_t a = 0; a < f->count; a++)
                through += s[i * f->count + a] * h[a];
            through *= each * unit * r.inside[i * f->outputs + k];
            for (uint32_t a = 0; a < f->count; a++)
                ds[i * f->count + a] += e * h[a] + through * w[a];
        }
    return ERR_OK;
}

/* --- Adam ------------------------------------------------------------------------------------- */

struct distilling {
    const struct distill_terms *t;
    size_t rows, numbers; /* rows F */
    double *s, *ds, *mean, *square;
    uint32_t *label;
    struct random random;
};

static void clear_distilling(struct distilling *d)
{
    memory_free_all(&d->s, &d->ds, &d->mean, &d->square, &d->label);
}

static enum err begin(struct distilling *d)
{
    const struct features *f = d->t->features;
    d->rows = (size_t)d->t->per_class * f->classes;
    d->numbers = d->rows * f->count;
    d->random = random_of(d->t->seed);
    TRY(memory_new(&d->s, d->numbers));
    TRY(memory_new(&d->ds, d->numbers));
    TRY(memory_new(&d->mean, d->numbers));
    TRY(memory_new(&d->square, d->numbers));
    TRY(memory_new(&d->label, d->rows));
    random_normals(&d->random, d->s, d->numbers);
    for (size_t i = 0; i < d->numbers; i++)
        d->s[i] *= FIRST;
    for (size_t i = 0; i < d->rows; i++) {
        d->label[i] = (uint32_t)(i / d->t->per_class);
        d->s[(i + 1) * f->count - 1] = 1 / unit_of(f);
    }
    return ERR_OK;
}

static void move(struct distilling *d, unsigned iteration)
{
    const uint32_t count = d->t->features->count;
    const double rate = RATE * (1 - (double)iteration / d->t->iterations);
    const double of_mean = 1 - pow(0.9, iteration + 1), of_square = 1 - pow(0.999, iteration + 1);
    for (size_t i = 0; i < d->numbers; i++) {
        d->mean[i] = 0.9 * d->mean[i] + 0.1 * d->ds[i];
        d->square[i] = 0.999 * d->square[i] + 0.001 * d->ds[i] * d->ds[i];
        if ((i + 1) % count != 0) /* the bias stays */
            d->s[i] -= rate * d->mean[i] / of_mean / (sqrt(d->square[i] / of_square) + 1e-12);
    }
}

static enum err take(struct distill_rows *out, struct distilling *d)
{
    const struct features *f = d->t->features;
    out->rows = d->rows;
    out->count = f->count - 1;
    TRY(memory_new(&out->value, d->rows * out->count));
    for (size_t i = 0; i < d->rows; i++)
        for (uint32_t a = 0; a < out->count; a++)
            out->value[i * out->count + a] = unit_of(f) * d->s[i * f->count + a];
    out->label = d->label;
    d->label = NULL;
    return ERR_OK;
}

enum err distill(struct distill_rows *out, const struct distill_terms *t)
{
    struct distilling d CLEAN(clear_distilling) = {.t = t};
    double loss = 0;
    *out = (struct distill_rows){0};
    TRY(begin(&d));
    for (unsigned iteration = 0; iteration < t->iterations; iteration++) {
        memset(d.ds, 0, d.numbers * sizeof *d.ds);
        for (unsigned k = 0; k < DISTILL_AT; k++)
            TRY(distill_slope(t, random_below(&d.random, t->steps), d.s, d.label, d.rows, d.ds,
                              &loss));
        move(&d, iteration);
    }
    for (size_t step = 0; step < t->steps; step++)
        TRY(distill_slope(t, step, d.s, d.label, d.rows, d.ds, &out->loss));
    out->loss /= (double)t->steps;
    return take(out, &d);
}

void distill_clear(struct distill_rows *d)
{
    memory_free_all(&d->value, &d->label);
}
