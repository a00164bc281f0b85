#include "aim/copula/nominal.h"

#include "aim/copula/copula.h"
#include "aim/model/normal.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define REACH 9.0 /* integrals go from -REACH to REACH: their terms are analytic, so these steps */
#define STEP 0.25 /* are exact to the last digits */
#define ROUNDS 200
#define LONGEST 1.0 /* step of a utility */

/* What U_g = u adds to the share of group g, and to its slopes. */
static void add_point(const double *a, size_t k, size_t g, double u, double *share, double *slope)
{
    double all = STEP * normal_density(u);
    for (size_t h = 0; h < k; h++)
        all *= h == g ? 1 : normal_below(u + a[g] - a[h]);
    *share += all;
    for (size_t h = 0; h < k; h++) {
        const double x = u + a[g] - a[h];
        if (h == g)
            continue;
        slope[g * k + h] -= all * normal_density(x) / normal_below(x);
        slope[g * k + g] += all * normal_density(x) / normal_below(x);
    }
}

static void shares_of(const double *a, size_t k, double *share, double *slope)
{
    memset(share, 0, k * sizeof *share);
    memset(slope, 0, k * k * sizeof *slope);
    for (size_t g = 0; g < k; g++)
        for (double u = -REACH; u <= REACH; u += STEP)
            add_point(a, k, g, u, &share[g], slope);
}

/* x = (G + 1 1' / k)^-1 x: for a vector that adds up to 0, the one that G maps to it. */
static enum err solve(const double *slope, double *root, size_t k, double *x)
{
    for (size_t i = 0; i < k * k; i++)
        root[i] = slope[i] + 1.0 / (double)k;
    TRY(copula_root(root, k));
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < i; j++)
            x[i] -= root[i * k + j] * x[j];
        x[i] /= root[i * k + i];
    }
    for (size_t i = k; i-- > 0;) {
        for (size_t j = i + 1; j < k; j++)
            x[i] -= root[j * k + i] * x[j];
        x[i] /= root[i * k + i];
    }
    return ERR_OK;
}

struct newton {
    size_t k;
    double *target, *share, *slope, *root, *step;
};

/* Newton's method with bounded steps: the shares are the slope of a convex function. */
static enum err approach(const struct newton *n, double *a)
{
    for (int round = 0; round < ROUNDS; round++) {
        double longest = 0;
        shares_of(a, n->k, n->share, n->slope);
        for (size_t g = 0; g < n->k; g++)
            n->step[g] = n->target[g] - n->share[g];
        TRY(solve(n->slope, n->root, n->k, n->step));
        for (size_t g = 0; g < n->k; g++)
            longest = fmax(longest, fabs(n->step[g]));
        for (size_t g = 0; g < n->k; g++)
            a[g] += n->step[g] * fmin(1, LONGEST / fmax(longest, 1e-300));
        if (longest < 1e-10)
            break;
    }
    shares_of(a, n->k, n->share, n->slope);
    return ERR_OK;
}

enum err nominal_utilities(const double *share, size_t k, double *utility, double *slope)
{
    double *room CLEAN(memory_release) = NULL, sum = 0;
    struct newton n = {.k = k};
    TRY(memory_new(&room, 3 * k + 2 * k * k));
    n.target = room;
    n.share = n.target + k;
    n.step = n.share + k;
    n.slope = n.step + k;
    n.root = n.slope + k * k;
    for (size_t g = 0; g < k; g++)
        sum += n.target[g] = fmax(share[g], NOMINAL_SHARE_LEAST);
    for (size_t g = 0; g < k; g++) {
        n.target[g] /= sum;
        utility[g] = 0;
    }
    TRY(approach(&n, utility));
    if (slope != NULL)
        memcpy(slope, n.slope, k * k * sizeof *slope);
    return ERR_OK;
}

void nominal_basis(size_t groups, double *basis)
{
    for (size_t r = 0; r + 1 < groups; r++) {
        const double n = (double)(r + 1), length = sqrt(n * (n + 1));
        for (size_t g = 0; g < groups; g++)
            basis[r * groups + g] = (g <= r ? 1 : g == r + 1 ? -n : 0) / length;
    }
}

#define TOGETHER UINT16_MAX

/* The code with the largest share of those together; the first of equal ones. */
static uint32_t largest_of(const double *share, const uint16_t *group, uint32_t size)
{
    uint32_t largest = size;
    for (uint32_t a = 0; a < size; a++)
        if (group[a] == TOGETHER && (largest == size || share[a] > share[largest]))
            largest = a;
    return largest;
}

enum err nominal_groups(const double *share, uint32_t size, double least, size_t most,
                        uint16_t *group, size_t *groups)
{
    uint16_t alone = 0;
    uint32_t rest = size;
    if (size == 0 || most < 2)
        return ERR_MISUSE;
    for (uint32_t a = 0; a < size; a++)
        group[a] = TOGETHER;
    for (; rest > 0; rest--) {
        const uint32_t a = largest_of(share, group, size);
        const bool room = alone + (rest > 1 ? 2U : 1U) <= most;
        if (rest < size && !(room && normal_density(normal_quantile(fmin(share[a], 1))) >= least))
            break;
        group[a] = 0;
        alone++;
    }
    alone = 0;
    for (uint32_t a = 0; a < size; a++)
        if (group[a] != TOGETHER)
            group[a] = alone++;
    for (uint32_t a = 0; a < size; a++)
        if (group[a] == TOGETHER)
            group[a] = alone;
    *groups = (size_t)alone + (rest > 0);
    return ERR_OK;
}
