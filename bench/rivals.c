#include "bench/rivals.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OWNERS 5
#define ALONE 5 /* steps between two averages */
#define MOMENTUM 0.9

static int by_score(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each pair of rows of different classes, by binary search among those of the first. */
double rival_area(const double *score, const bool *second, size_t rows)
{
    double *first CLEAN(memory_release) = NULL, wins = 0;
    size_t n = 0;
    if (memory_new(&first, rows) != ERR_OK)
        return NAN;
    for (size_t i = 0; i < rows; i++)
        if (!second[i])
            first[n++] = score[i];
    qsort(first, n, sizeof *first, by_score);
    for (size_t i = 0; i < rows; i++) {
        size_t below = 0, above = n;
        for (size_t high = n; second[i] && below < high;) {
            const size_t middle = (below + high) / 2;
            if (first[middle] < score[i])
                below = middle + 1;
            else
                high = middle;
        }
        for (size_t low = below; second[i] && low < above;) {
            const size_t middle = (low + above) / 2;
            if (first[middle] <= score[i])
                low = middle + 1;
            else
                above = middle;
        }
        wins += second[i] ? ((double)below + (double)above) / 2 : 0;
    }
    return wins / ((double)n * (double)(rows - n));
}

/* --- softmax ---------------------------------------------------------------------------------- */

struct rival_state {
    const struct rival_run *run;
    uint32_t classes, count; /* of weights: one output for each class */
    float scale;
    float *w, *v, *sum, *mean;
    struct random random;
};

/* The features of a row that are not 0, a number's value scaled so that rows have length 1. */
static uint32_t row_of(const struct rival_state *s, const struct table *t, size_t row,
                       uint32_t *place, float *value)
{
    const struct features *f = s->run->features;
    uint32_t n = 0;
    for (size_t i = 0; i < f->domain->attributes; i++) {
        const struct features_column *c = &f->column[i];
        const uint16_t code = c->kind == FEATURES_NONE ? 0 : t->column[i][row];
        if (c->kind == FEATURES_ONE_HOT || (c->kind == FEATURES_NUMBER && code > 0)) {
            place[n] = c->first + (c->kind == FEATURES_ONE_HOT ? code : 0);
            value[n++] = s->scale * (c->kind == FEATURES_ONE_HOT ? 1 : (float)code);
        }
    }
    place[n] = f->count - 1;
    value[n++] = 1;
    return n;
}

static void softmax_of(const struct rival_state *s, const float *w, uint32_t n,
                       const uint32_t *place, const float *value, float *p)
{
    float most = -INFINITY, all = 0;
    for (uint32_t k = 0; k < s->classes; k++) {
        p[k] = 0;
        for (uint32_t i = 0; i < n; i++)
            p[k] += w[(size_t)k * s->run->features->count + place[i]] * value[i];
        most = p[k] > most ? p[k] : most;
    }
    for (uint32_t k = 0; k < s->classes; k++)
        all += p[k] = expf(p[k] - most);
    for (uint32_t k = 0; k < s->classes; k++)
        p[k] /= all;
}

static bool has_row(const struct rival_state *s, size_t owner, size_t row)
{
    const uint32_t y = s->run->train->column[s->run->features->target][row];
    return owner == OWNERS || (s->classes > 2 ? y / 2 == owner : row % OWNERS == owner);
}

/* The sum of cut gradients over an owner's rows, or all; returns how many rows. */
static size_t gradient_of(struct rival_state *s, const float *w, size_t owner)
{
    const struct rival_run *run = s->run;
    uint32_t place[DOMAIN_ATTRIBUTES_MAX];
    float value[DOMAIN_ATTRIBUTES_MAX], p[FEATURES_CLASSES_MAX];
    size_t rows = 0;
    memset(s->sum, 0, s->count * sizeof *s->sum);
    for (size_t row = 0; row < run->train->rows; row++) {
        const uint32_t y = run->train->column[run->features->target][row];
        float squares = 0, of_p = 0, cut;
        uint32_t n;
        if (y >= s->classes || !has_row(s, owner, row))
            continue;
        n = row_of(s, run->train, row, place, value);
        softmax_of(s, w, n, place, value, p);
        p[y] -= 1;
        for (uint32_t i = 0; i < n; i++)
            squares += value[i] * value[i];
        for (uint32_t k = 0; k < s->classes; k++)
            of_p += p[k] * p[k];
        cut = fminf(1, 1 / sqrtf(squares * of_p + 1e-12f));
        for (uint32_t k = 0; k < s->classes; k++)
            for (uint32_t i = 0; i < n; i++)
                s->sum[(size_t)k * run->features->count + place[i]] += cut * p[k] * value[i];
        rows++;
    }
    return rows;
}

static void add_noise(struct rival_state *s, double sigma)
{
    for (uint32_t i = 0; i < s->count; i++)
        s->sum[i] += (float)(sigma * (double)random_gauss(&s->random) / (1 << RANDOM_GAUSS_BITS));
}

static void move(struct rival_state *s, float *w, float *v, size_t rows)
{
    const float rate = (float)(s->run->rate / (double)(rows > 0 ? rows : 1));
    for (uint32_t i = 0; i < s->count; i++) {
        v[i] = (float)MOMENTUM * v[i] - rate * s->sum[i];
        w[i] += v[i];
    }
}

/* All owners' gradients, with the noise of each, or of one curator. */
static void step_together(struct rival_state *s, double sigma)
{
    const size_t rows = gradient_of(s, s->w, OWNERS);
    add_noise(s, sigma * (s->run->kind == RIVAL_SGD ? sqrt(OWNERS) : 1));
    move(s, s->w, s->v, rows);
}

/* Steps of each owner alone, from the same weights; then the mean. */
static enum err step_apart(struct rival_state *s, double sigma)
{
    float *w CLEAN(memory_release) = NULL, *v CLEAN(memory_release) = NULL,
             *all CLEAN(memory_release) = NULL;
    TRY(memory_new(&all, s->count));
    TRY(memory_new(&w, s->count));
    TRY(memory_new(&v, s->count));
    for (size_t owner = 0; owner < OWNERS; owner++) {
        memcpy(w, s->w, s->count * sizeof *w);
        memset(v, 0, s->count * sizeof *v);
        for (unsigned i = 0; i < ALONE; i++) {
            const size_t rows = gradient_of(s, w, owner);
            add_noise(s, sigma);
            move(s, w, v, rows);
        }
        for (uint32_t i = 0; i < s->count; i++)
            all[i] += w[i] / OWNERS;
    }
    memcpy(s->w, all, s->count * sizeof *all);
    return ERR_OK;
}

static enum err test(const struct rival_state *s, double *accuracy, double *auc)
{
    const struct rival_run *run = s->run;
    uint32_t place[DOMAIN_ATTRIBUTES_MAX];
    float value[DOMAIN_ATTRIBUTES_MAX], p[FEATURES_CLASSES_MAX];
    double *score CLEAN(memory_release) = NULL;
    bool *second CLEAN(memory_release) = NULL;
    size_t right = 0;
    TRY(memory_new(&score, run->test->rows));
    TRY(memory_new(&second, run->test->rows));
    for (size_t row = 0; row < run->test->rows; row++) {
        const uint32_t y = run->test->column[run->features->target][row];
        const uint32_t n = row_of(s, run->test, row, place, value);
        uint32_t best = 0;
        softmax_of(s, s->mean, n, place, value, p);
        for (uint32_t k = 1; k < s->classes; k++)
            best = p[k] > p[best] ? k : best;
        right += best == y;
        score[row] = p[1];
        second[row] = y == 1;
    }
    *accuracy = (double)right / (double)run->test->rows;
    *auc = s->classes == 2 ? rival_area(score, second, run->test->rows) : NAN;
    return ERR_OK;
}

static enum err learn(struct rival_state *s)
{
    const struct rival_run *run = s->run;
    const double sigma = sqrt(run->steps / (2 * run->rho));
    const unsigned each = run->kind == RIVAL_AVG ? ALONE : 1, times = run->steps / each;
    const unsigned kept = times / 4 > 0 ? times / 4 : 1;
    TRY(memory_new(&s->w, s->count));
    TRY(memory_new(&s->v, s->count));
    TRY(memory_new(&s->sum, s->count));
    TRY(memory_new(&s->mean, s->count));
    for (unsigned t = 0; t < times; t++) {
        if (run->kind == RIVAL_AVG)
            TRY(step_apart(s, sigma));
        else
            step_together(s, sigma);
        for (uint32_t i = 0; t + kept >= times && i < s->count; i++)
            s->mean[i] += s->w[i] / (float)kept;
    }
    return ERR_OK;
}

enum err rival_measure(const struct rival_run *run, double *accuracy, double *auc)
{
    const struct features *f = run->features;
    struct rival_state s = {.run = run,
                            .classes = f->classes,
                            .count = f->classes * f->count,
                            .scale = (float)(1 / sqrt(f->norm2 > 0 ? f->norm2 : (double)f->r2 - 1)),
                            .random = random_of(run->seed)};
    enum err e = learn(&s);
    if (e == ERR_OK)
        e = test(&s, accuracy, auc);
    memory_free_all(&s.w, &s.v, &s.sum, &s.mean);
    return e;
}

/* --- naive Bayes ------------------------------------------------------------------------------ */

/* A noisy table of a column and the target, as a difference of logarithms for each code. */
static enum err pair_of(const struct features *f, const struct table *t, size_t column,
                        double sigma, struct random *r, double *odds)
{
    const uint32_t size = f->domain->attribute[column].size;
    double *count CLEAN(memory_release) = NULL, total[2] = {0};
    TRY(memory_new(&count, 2 * (size_t)size));
    for (size_t row = 0; row < t->rows; row++)
        if (t->column[f->target][row] < 2)
            count[2 * t->column[column][row] + t->column[f->target][row]]++;
    for (uint32_t i = 0; i < 2 * size; i++) {
        count[i] += sigma * (double)random_gauss(r) / (1 << RANDOM_GAUSS_BITS);
        count[i] = fmax(count[i], sigma + 1); /* what noise alone may be */
        total[i % 2] += count[i];
    }
    for (uint32_t i = 0; i < size; i++)
        odds[i] = log(count[2 * i + 1] / total[1]) - log(count[2 * i] / total[0]);
    return ERR_OK;
}

enum err rival_pairs(const struct features *f, const struct table *train, const struct table *test,
                     double rho, uint64_t seed, double *auc)
{
    const double sigma = sqrt((double)(f->domain->attributes - 1) / (2 * rho));
    struct random r = random_of(seed);
    double *score CLEAN(memory_release) = NULL;
    bool *second CLEAN(memory_release) = NULL;
    TRY(memory_new(&score, test->rows));
    TRY(memory_new(&second, test->rows));
    for (size_t i = 0; i < f->domain->attributes; i++) {
        double *odds CLEAN(memory_release) = NULL;
        if (i == f->target)
            continue;
        TRY(memory_new(&odds, f->domain->attribute[i].size));
        TRY(pair_of(f, train, i, sigma, &r, odds));
        for (size_t row = 0; row < test->rows; row++)
            score[row] += odds[test->column[i][row]];
    }
    for (size_t row = 0; row < test->rows; row++)
        second[row] = test->column[f->target][row] == 1;
    *auc = rival_area(score, second, test->rows);
    return ERR_OK;
}
