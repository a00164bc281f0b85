#include "aim/train/slope.h"

#include "base/memory.h"

#include <string.h>

#define BLOCK 512 /* rows at a time: their z and r stay in the first cache */

struct slope {
    const struct features *features;
    size_t rows;
    uint64_t wrapped;
    uint16_t **column; /* of features: the codes of the rows, and zeros up to a whole block */
    uint16_t *y;
    struct slope *test; /* rows that are kept back, or NULL */
};

/* A code outside its column is the last one, unless it is a number. */
static uint16_t code_of(const struct features *f, const struct table *t, size_t column, size_t row)
{
    const uint32_t size = f->domain->attribute[column].size, code = t->column[column][row];
    return (uint16_t)(code < size || f->column[column].kind == FEATURES_NUMBER ? code : size - 1);
}

static bool takes_part(const struct features *f, const struct table *t, size_t row)
{
    uint64_t n2 = 0;
    if (code_of(f, t, f->target, row) >= f->classes)
        return false;
    for (size_t i = 0; f->norm2 > 0 && i < f->domain->attributes; i++) {
        const uint64_t u = f->column[i].kind == FEATURES_NUMBER ? t->column[i][row] : 0;
        n2 += u * u;
    }
    return n2 <= f->norm2;
}

/* Copies rows that are kept back, or those that are not. */
static enum err copy_rows(struct slope *g, const struct table *t, bool kept)
{
    const struct features *f = g->features;
    const size_t room = (t->rows + BLOCK - 1) / BLOCK * BLOCK;
    TRY(memory_new(&g->column, f->domain->attributes));
    TRY(memory_new(&g->y, room));
    for (size_t i = 0; i < f->domain->attributes; i++)
        if (f->column[i].kind != FEATURES_NONE)
            TRY(memory_new(&g->column[i], room));
    for (size_t row = 0; row < t->rows; row++) {
        const bool test = f->tests && code_of(f, t, f->test, row) == f->test_code;
        if (test != kept || !takes_part(f, t, row))
            continue;
        for (size_t i = 0; i < f->domain->attributes; i++)
            if (g->column[i] != NULL)
                g->column[i][g->rows] = code_of(f, t, i, row);
        g->y[g->rows++] = code_of(f, t, f->target, row);
    }
    return ERR_OK;
}

enum err slope_new(struct slope **out, const struct features *f, const struct table *t)
{
    struct slope *g CLEAN(slope_free) = NULL;
    *out = NULL;
    TRY(memory_new(&g, 1));
    g->features = f;
    TRY(copy_rows(g, t, false));
    if (f->tests) {
        TRY(memory_new(&g->test, 1));
        g->test->features = f;
        TRY(copy_rows(g->test, t, true));
    }
    return memory_hand_over(out, &g);
}

void slope_free(struct slope **g)
{
    if (*g == NULL)
        return;
    slope_free(&(*g)->test);
    memory_free_each(&(*g)->column, (*g)->features->domain->attributes);
    memory_free(&(*g)->y);
    memory_free(g);
}

const struct features *slope_features(const struct slope *g)
{
    return g->features;
}

uint64_t slope_wrapped(const struct slope *g)
{
    return g->wrapped;
}

/* --- a block of rows -------------------------------------------------------------------------- */

struct block {
    size_t from, rows;
    int32_t z[BLOCK], r[BLOCK];
};

/* z of an output, before it is taken modulo 2^16. */
static void forward(const struct slope *g, struct block *b, const int64_t *weight)
{
    const struct features *f = g->features;
    const int32_t start = (int32_t)features_start(f) + (int32_t)weight[f->count - 1];
    for (size_t n = 0; n < BLOCK; n++)
        b->z[n] = start;
    for (size_t i = 0; i < f->domain->attributes; i++) {
        const struct features_column *c = &f->column[i];
        if (c->kind == FEATURES_NONE)
            continue;
        const uint16_t *u = g->column[i] + b->from;
        const int32_t w = (int32_t)weight[c->first];
        if (c->kind == FEATURES_NUMBER)
            for (size_t n = 0; n < BLOCK; n++)
                b->z[n] += w * u[n];
        else
            for (size_t n = 0; n < BLOCK; n++)
                b->z[n] += (int32_t)weight[c->first + u[n]];
    }
}

static int32_t clamped(int32_t z, int32_t top)
{
    const int32_t p = z < 0 ? 0 : z >> FEATURES_SHIFT;
    return p < top ? p : top;
}

/* r, which is 0 past the last row. */
static void residuals(struct slope *g, struct block *b, uint32_t output)
{
    const struct features *f = g->features;
    const uint32_t class = features_class(f, output);
    const uint16_t *y = g->y + b->from;
    for (size_t n = 0; n < b->rows; n++) {
        const int32_t z = (int16_t)(uint16_t)b->z[n];
        const int32_t own = y[n] == class ? FEATURES_TOP : 0;
        const int32_t top = own > 0 || f->classes == 2 ? FEATURES_TOP : (1 << f->j) - 1;
        g->wrapped += z != b->z[n];
        b->r[n] = clamped(z, top) - own;
    }
    memset(b->r + b->rows, 0, (BLOCK - b->rows) * sizeof *b->r);
}

static int32_t dot(const int32_t *r, const uint16_t *u)
{
    int32_t sum = 0;
    for (size_t n = 0; n < BLOCK; n++)
        sum += r[n] * u[n];
    return sum;
}

static void backward(const struct slope *g, const struct block *b, int64_t *sums)
{
    const struct features *f = g->features;
    for (size_t i = 0; i < f->domain->attributes; i++) {
        const struct features_column *c = &f->column[i];
        if (c->kind == FEATURES_NONE)
            continue;
        const uint16_t *u = g->column[i] + b->from;
        if (c->kind == FEATURES_NUMBER)
            sums[c->first] += dot(b->r, u);
        else
            for (size_t n = 0; n < b->rows; n++)
                sums[c->first + u[n]] += b->r[n];
    }
    for (size_t n = 0; n < b->rows; n++)
        sums[f->count - 1] += b->r[n];
}

void slope_sum(struct slope *g, const int64_t *weight, int64_t *sums)
{
    const struct features *f = g->features;
    struct block b;
    memset(sums, 0, features_weights(f) * sizeof *sums);
    for (b.from = 0; b.from < g->rows; b.from += BLOCK) {
        b.rows = g->rows - b.from < BLOCK ? g->rows - b.from : BLOCK;
        for (uint32_t k = 0; k < f->outputs; k++) {
            forward(g, &b, weight + (size_t)k * f->count);
            residuals(g, &b, k);
            backward(g, &b, sums + (size_t)k * f->count);
        }
    }
}

void slope_test(struct slope *g, const int64_t *weight, int64_t *cells)
{
    const struct features *f = g->features;
    struct block b;
    memset(cells, 0, features_cells(f) * sizeof *cells);
    for (b.from = 0; b.from < g->test->rows; b.from += BLOCK) {
        b.rows = g->test->rows - b.from < BLOCK ? g->test->rows - b.from : BLOCK;
        for (uint32_t k = 0; k < f->outputs; k++) {
            forward(g->test, &b, weight + (size_t)k * f->count);
            for (size_t n = 0; n < b.rows; n++) {
                const int32_t z = (int16_t)(uint16_t)b.z[n];
                const int32_t bin = clamped(z, FEATURES_TOP) * FEATURES_BINS / (FEATURES_TOP + 1);
                const bool own = g->test->y[b.from + n] == features_class(f, k);
                cells[k * FEATURES_CELLS + 2 * (uint32_t)bin + own]++;
            }
        }
    }
}
