#include "aim/copula/copula_noise.h"

#include "aim/budget/ledger.h"
#include "aim/copula/nominal.h"
#include "base/memory.h"

#include <math.h>

/* --- clip ------------------------------------------------------------------------------------- */

#define CLIPS 9 /* the study's, then each with half the square of the one before */
#define WEIGHTLESS 1e-12

/* A column's contribution to a pair: max |t|^2, 1 / h^2 and v / h^2; 0s if it has one code. */
struct weight {
    double most, noise, rows;
};

static struct weight weight_of(const struct copula_column *c)
{
    struct weight w = {0};
    double square = 0;
    const double h = c->hermite[0];
    for (uint32_t a = 0; a < c->size; a++) {
        w.most = fmax(w.most, c->score[a] * c->score[a]);
        square += c->share[a] * c->score[a] * c->score[a];
    }
    if (h > WEIGHTLESS) {
        w.noise = 1 / (h * h);
        w.rows = square * w.noise;
    }
    return w;
}

/* The expected errors of d columns' correlations. */
static double errors_of(const struct weight *w, size_t d, double rho, double total)
{
    double squares = 0, sum = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            squares += w[i].most * w[j].most;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) {
            const double e = squares / (2 * rho * total * total) * w[i].noise * w[j].noise +
                             w[i].rows * w[j].rows / total;
            sum += e / (1 + e);
        }
    return sum;
}

static enum err set_clip(struct copula_column *column, size_t d, double clip)
{
    for (size_t i = 0; i < d; i++) {
        TRY(copula_set_scores(&column[i], clip));
        TRY(copula_set_hermite(&column[i]));
    }
    return ERR_OK;
}

enum err copula_noise_clip(struct copula_column *column, size_t d, double rho, double total,
                           double most, double *clip)
{
    struct weight *w CLEAN(memory_release) = NULL;
    double least = INFINITY;
    TRY(memory_new(&w, d));
    *clip = most;
    for (int k = 0; k < CLIPS; k++) {
        const double tried = most * pow(2, -k / 2.0);
        double errors;
        TRY(set_clip(column, d, tried));
        for (size_t i = 0; i < d; i++)
            w[i] = weight_of(&column[i]);
        errors = errors_of(w, d, rho, total);
        if (errors < least) {
            least = errors;
            *clip = tried;
        }
    }
    return set_clip(column, d, *clip);
}

/* --- labels ----------------------------------------------------------------------------------- */

enum err copula_noise_groups(struct copula_column *column, size_t d, double rho, double total,
                             size_t most)
{
    double squares = 0, before = 0, sigma;
    for (size_t i = 0; i < d; i++) {
        const double square = weight_of(&column[i]).most;
        squares += square * before;
        before += square;
    }
    sigma = ledger_deviation(squares, rho);
    for (size_t i = 0; i < d; i++) {
        struct copula_column *c = &column[i];
        if (c->nominal)
            TRY(nominal_groups(c->share, c->size,
                               sigma / (total * c->score[0] * COPULA_LABEL_ERROR), most, c->group,
                               &c->groups));
    }
    return ERR_OK;
}
