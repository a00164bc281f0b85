/* Rows from a copula: one normal vector at a time, cut into codes. */
#include "aim/copula/copula.h"
#include "aim/copula/copula_model.h"
#include "aim/copula/nominal.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* How a column's latent variables make a code. */
struct cutter {
    uint32_t size;
    size_t groups;
    double *bound;           /* of an ordered column's codes */
    double *utility, *basis; /* of a nominal column's groups */
    double *of_group;        /* each group's share */
    uint16_t *code;          /* codes group by group, `bound` their shares so far in it, */
    size_t *first;           /* and where each group begins */
};

struct copula_drawing {
    const struct copula *copula;
    size_t latents;
    double *root;   /* L */
    double *normal; /* independent, then L times that */
    struct cutter *cutter;
    struct random random;
};

static void drawing_clear(struct copula_drawing *w)
{
    for (size_t i = 0; w->cutter != NULL && i < w->copula->domain->attributes; i++) {
        struct cutter *k = &w->cutter[i];
        memory_free_all(&k->bound, &k->utility, &k->basis, &k->of_group, &k->code, &k->first);
    }
    memory_free_all(&w->cutter, &w->root, &w->normal);
}

static enum err cutter_start(struct cutter *k, const struct copula *c, size_t i)
{
    *k = (struct cutter){.size = c->domain->attribute[i].size, .groups = c->groups[i]};
    TRY(memory_new(&k->bound, (size_t)k->size + 1));
    if (k->groups == 1) {
        copula_bounds(c->share[i], k->size, k->bound);
        return ERR_OK;
    }
    TRY(memory_new(&k->utility, k->groups));
    TRY(memory_new(&k->basis, k->groups * k->groups));
    TRY(memory_new(&k->of_group, k->groups));
    TRY(memory_new(&k->code, k->size));
    TRY(memory_new(&k->first, k->groups + 1));
    for (size_t g = 0; g < k->groups; g++) {
        size_t at = k->first[g];
        for (uint32_t a = 0; a < k->size; a++)
            if (c->group[i][a] == g) {
                k->code[at] = (uint16_t)a;
                k->bound[at++] = k->of_group[g];
                k->of_group[g] += c->share[i][a];
            }
        k->first[g + 1] = at;
    }
    nominal_basis(k->groups, k->basis);
    return nominal_utilities(k->of_group, k->groups, k->utility, NULL);
}

static enum err drawing_start(struct copula_drawing *w, const struct copula *c, uint64_t seed)
{
    const size_t d = c->domain->attributes, n = c->first[d];
    *w = (struct copula_drawing){.copula = c, .latents = n};
    w->random = random_of(seed);
    TRY(memory_new(&w->root, n * n));
    TRY(memory_new(&w->normal, n));
    TRY(memory_new(&w->cutter, d));
    for (size_t i = 0; i < d; i++)
        TRY(cutter_start(&w->cutter[i], c, i));
    memcpy(w->root, c->correlation, n * n * sizeof *w->root);
    return copula_root(w->root, n);
}

/* The last code whose interval begins at or below x. A code without weight has no interval. */
static uint16_t code_of(const double *bound, uint32_t size, double x)
{
    uint32_t low = 0, high = size - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (bound[middle] <= x)
            low = middle;
        else
            high = middle - 1;
    }
    return (uint16_t)low;
}

/* The group with the largest utility. */
static size_t group_of(const struct cutter *k, const double *z)
{
    size_t best = 0;
    double most = -INFINITY;
    for (size_t g = 0; g < k->groups; g++) {
        double u = k->utility[g];
        for (size_t r = 0; r + 1 < k->groups; r++)
            u += k->basis[r * k->groups + g] * z[r];
        if (u > most) {
            most = u;
            best = g;
        }
    }
    return best;
}

/* Draws one of a group's codes by their shares; the last one if rounding leaves no other. */
static uint16_t code_of_group(const struct cutter *k, size_t group, struct random *random)
{
    const double x = random_double(random) * k->of_group[group];
    const size_t first = k->first[group], size = k->first[group + 1] - first;
    return size > 0 ? k->code[first + code_of(k->bound + first, (uint32_t)size, x)] : 0;
}

static void draw_row(struct copula_drawing *w, uint16_t *codes)
{
    const size_t n = w->latents;
    random_normals(&w->random, w->normal, n);
    for (size_t i = n; i-- > 0;) { /* each needs those before it, unchanged */
        double x = 0;
        for (size_t j = 0; j <= i; j++)
            x += w->root[i * n + j] * w->normal[j];
        w->normal[i] = x;
    }
    for (size_t i = 0; i < w->copula->domain->attributes; i++) {
        const struct cutter *k = &w->cutter[i];
        const double *z = w->normal + w->copula->first[i];
        codes[i] = k->groups == 1 ? code_of(k->bound, k->size, *z)
                                  : code_of_group(k, group_of(k, z), &w->random);
    }
}

static enum err draw_rows(struct table *t, struct copula_drawing *w, size_t rows)
{
    uint16_t *codes CLEAN(memory_release) = NULL;
    TRY(memory_new(&codes, t->domain->attributes));
    for (size_t r = 0; r < rows; r++) {
        draw_row(w, codes);
        TRY(table_append(t, codes));
    }
    return ERR_OK;
}

enum err copula_rows(struct table **out, const struct copula *c, size_t rows, uint64_t seed,
                     struct log *log)
{
    struct table *t CLEAN(table_free) = NULL;
    struct copula_drawing w CLEAN(drawing_clear) = {0};
    *out = NULL;
    if (drawing_start(&w, c, seed) != ERR_OK || table_new(&t, c->domain, rows) != ERR_OK ||
        draw_rows(t, &w, rows) != ERR_OK)
        return log_fail(log, ERR_NOMEM, "no memory to sample %zu rows; ask for fewer", rows);
    return memory_hand_over(out, &t);
}

#define SUMS_ROWS ((size_t)1 << 20)
#define SUMS_CODES ((size_t)1 << 24) /* of all columns: 32 MiB */
#define SUMS_STEPS 1e10              /* of products with L: a few seconds */

/* How many rows say all there is to say of a copula; fewer if it has many columns. */
static size_t rows_to_ask(const struct copula *c)
{
    const double n = (double)c->first[c->domain->attributes];
    const double rows = fmin(SUMS_CODES / (double)c->domain->attributes, 2 * SUMS_STEPS / (n * n));
    return rows < SUMS_ROWS ? (size_t)rows : SUMS_ROWS;
}

enum err copula_sums(struct model_sums **s, const struct copula *c, struct log *log)
{
    struct table *t CLEAN(table_free) = NULL;
    TRY(copula_rows(&t, c, rows_to_ask(c), 1, log));
    return model_sums_drawn(s, &t, c->total);
}
