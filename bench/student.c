#include "bench/student.h"

#include "base/memory.h"

#include <math.h>

#define STEPS 300
#define MOMENTUM 0.9

struct student {
    const struct features *f;
    const struct distill_rows *rows;
    bool clamp;
    double unit;           /* R */
    double *w, *v, *slope; /* for each class, a weight for each feature and the bias */
};

static double value_of(const struct student *s, size_t row, uint32_t i)
{
    return (i < s->rows->count ? s->rows->value[row * s->rows->count + i] : 1) / s->unit;
}

static void softmax(double *p, uint32_t classes)
{
    double most = p[0], all = 0;
    for (uint32_t k = 1; k < classes; k++)
        most = fmax(most, p[k]);
    for (uint32_t k = 0; k < classes; k++)
        all += p[k] = exp(p[k] - most);
    for (uint32_t k = 0; k < classes; k++)
        p[k] /= all;
}

/* The residuals of a row. */
static void residuals(const struct student *s, size_t row, double *p)
{
    const struct features *f = s->f;
    for (uint32_t k = 0; k < f->classes; k++) {
        p[k] = s->clamp ? features_start(f) / 1024.0 : 0;
        for (uint32_t i = 0; i < f->count; i++)
            p[k] += s->w[k * f->count + i] * value_of(s, row, i);
    }
    if (!s->clamp)
        softmax(p, f->classes);
    for (uint32_t k = 0; k < f->classes; k++) {
        const bool own = s->rows->label[row] == k;
        const double hi = (own ? FEATURES_TOP : (1 << f->j) - 1) / 32.0;
        p[k] = s->clamp ? fmax(0, fmin(hi, p[k])) - (own ? hi : 0) : p[k] - own;
    }
}

static void step(struct student *s)
{
    const struct features *f = s->f;
    const double rate = s->clamp ? 12.5 : 2; /* 400 / 32: a run's, in these units */
    double p[FEATURES_CLASSES_MAX];
    for (uint32_t i = 0; i < f->classes * f->count; i++)
        s->slope[i] = 0;
    for (size_t row = 0; row < s->rows->rows; row++) {
        residuals(s, row, p);
        for (uint32_t k = 0; k < f->classes; k++)
            for (uint32_t i = 0; i < f->count; i++)
                s->slope[k * f->count + i] += p[k] * value_of(s, row, i);
    }
    for (uint32_t i = 0; i < f->classes * f->count; i++) {
        s->v[i] = MOMENTUM * s->v[i] - rate * s->slope[i] / (double)s->rows->rows;
        s->w[i] += s->v[i];
    }
}

static bool is_right(const struct student *s, const struct table *t, size_t row)
{
    const struct features *f = s->f;
    double best = -INFINITY;
    uint32_t choice = 0;
    for (uint32_t k = 0; k < f->classes; k++) {
        double z = s->w[(k + 1) * f->count - 1];
        for (size_t i = 0; i < f->domain->attributes; i++)
            if (f->column[i].kind == FEATURES_NUMBER)
                z += s->w[k * f->count + f->column[i].first] * t->column[i][row];
        choice = z > best ? k : choice;
        best = fmax(best, z);
    }
    return choice == t->column[f->target][row];
}

enum err student_measure(const struct features *f, const struct distill_rows *rows, bool clamp,
                         const struct table *test, double *accuracy)
{
    struct student s = {.f = f, .rows = rows, .clamp = clamp, .unit = sqrt((double)f->r2)};
    double *w CLEAN(memory_release) = NULL, *v CLEAN(memory_release) = NULL,
              *slope CLEAN(memory_release) = NULL;
    size_t right = 0;
    TRY(memory_new(&w, f->classes * f->count));
    TRY(memory_new(&v, f->classes * f->count));
    TRY(memory_new(&slope, f->classes * f->count));
    s.w = w;
    s.v = v;
    s.slope = slope;
    for (unsigned i = 0; i < STEPS; i++)
        step(&s);
    for (size_t row = 0; row < test->rows; row++)
        right += is_right(&s, test, row);
    *accuracy = (double)right / (double)test->rows;
    return ERR_OK;
}
