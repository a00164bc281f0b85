#include "aim/copula_model.h"

#include "aim/copula.h"
#include "aim/digest.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>

static const char magic[] = "trefoil-copula-1\n";

#define FILE_MAX ((size_t)4 << 30)

enum err copula_new(struct copula **out, const struct domain *d)
{
    struct copula *c CLEAN(copula_free) = NULL;
    *out = NULL;
    TRY(memory_new(&c, 1));
    c->domain = d;
    TRY(memory_new(&c->share, d->attributes));
    TRY(memory_new(&c->correlation, d->attributes * d->attributes));
    for (size_t i = 0; i < d->attributes; i++)
        TRY(memory_new(&c->share[i], d->attribute[i].size));
    return memory_hand_over(out, &c);
}

void copula_free(struct copula **copula)
{
    struct copula *c = *copula;
    if (c == NULL)
        return;
    for (size_t i = 0; c->share != NULL && i < c->domain->attributes; i++)
        memory_free(&c->share[i]);
    memory_free(&c->share);
    memory_free(&c->correlation);
    memory_free(copula);
}

/* --- files ------------------------------------------------------------------------------------ */

enum err copula_save(const char *path, const struct copula *c, struct log *log)
{
    const size_t d = c->domain->attributes;
    struct bytes out CLEAN(bytes_clear) = {0};
    bytes_put_text(&out, magic);
    domain_write(c->domain, &out);
    bytes_put_double(&out, c->total);
    for (size_t i = 0; i < d; i++)
        for (uint32_t a = 0; a < c->domain->attribute[i].size; a++)
            bytes_put_double(&out, c->share[i][a]);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            bytes_put_double(&out, c->correlation[i * d + j]);
    return digest_write(path, 0644, &out, log);
}

/* Not negative, and 1 together. */
static enum err read_shares(double *share, uint32_t size, struct reader *r)
{
    double sum = 0;
    for (uint32_t a = 0; a < size; a++) {
        share[a] = reader_double(r);
        if (r->failed || !(share[a] >= 0 && share[a] <= 1))
            return ERR_FORMAT;
        sum += share[a];
    }
    return fabs(sum - 1) < 1e-6 ? ERR_OK : ERR_FORMAT;
}

static enum err read_correlations(struct copula *c, struct reader *r)
{
    const size_t d = c->domain->attributes;
    double *root CLEAN(memory_release) = NULL;
    for (size_t i = 0; i < d; i++) {
        c->correlation[i * d + i] = 1;
        for (size_t j = 0; j < i; j++) {
            const double x = reader_double(r);
            if (r->failed || !(fabs(x) <= 1))
                return ERR_FORMAT;
            c->correlation[i * d + j] = c->correlation[j * d + i] = x;
        }
    }
    TRY(memory_new(&root, d * d));
    memcpy(root, c->correlation, d * d * sizeof *root);
    return copula_root(root, d) == ERR_OK ? ERR_OK : ERR_FORMAT;
}

static enum err load(struct copula **c, struct domain **d, const struct bytes *text,
                     struct log *log)
{
    struct reader r = reader_of(text->data, text->size);
    TRY(digest_check(&r, magic));
    TRY(domain_read(d, &r, log));
    TRY(copula_new(c, *d));
    (*c)->total = reader_double(&r);
    if (r.failed || !((*c)->total > 0 && (*c)->total <= (double)TABLE_ROWS_MAX))
        return ERR_FORMAT;
    for (size_t i = 0; i < (*d)->attributes; i++)
        TRY(read_shares((*c)->share[i], (*d)->attribute[i].size, &r));
    TRY(read_correlations(*c, &r));
    return reader_done(&r);
}

enum err copula_load(struct copula **c, struct domain **d, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    *c = NULL;
    *d = NULL;
    TRY(file_read(path, FILE_MAX, &text, log));
    e = load(c, d, &text, log);
    if (e == ERR_FORMAT || e == ERR_STUDY)
        e = log_fail(log, ERR_FORMAT,
                     "%s is no copula of this version of trefoil, or it is cut or altered; write "
                     "it again with trefoil aim",
                     path);
    if (e != ERR_OK) {
        copula_free(c);
        domain_free(d);
    }
    return e;
}

bool copula_is_file(const char *path)
{
    char start[sizeof magic - 1];
    FILE *f = fopen(path, "rb");
    bool is = f != NULL && fread(start, 1, sizeof start, f) == sizeof start &&
              memcmp(start, magic, sizeof start) == 0;
    if (f != NULL)
        (void)fclose(f);
    return is;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Where rows come from: one normal vector at a time. */
struct drawing {
    size_t d;
    double *root;   /* L */
    double *normal; /* independent, then L times that */
    double **bound; /* of each attribute's codes */
    struct random random;
};

static void drawing_clear(struct drawing *w)
{
    for (size_t i = 0; w->bound != NULL && i < w->d; i++)
        memory_free(&w->bound[i]);
    memory_free(&w->bound);
    memory_free(&w->root);
    memory_free(&w->normal);
}

static enum err drawing_start(struct drawing *w, const struct copula *c, uint64_t seed)
{
    const size_t d = w->d = c->domain->attributes;
    random_seed_u64(&w->random, seed);
    TRY(memory_new(&w->root, d * d));
    TRY(memory_new(&w->normal, d));
    TRY(memory_new(&w->bound, d));
    for (size_t i = 0; i < d; i++) {
        const uint32_t size = c->domain->attribute[i].size;
        TRY(memory_new(&w->bound[i], (size_t)size + 1));
        copula_bounds(c->share[i], size, w->bound[i]);
    }
    memcpy(w->root, c->correlation, d * d * sizeof *w->root);
    return copula_root(w->root, d);
}

/* The last code whose interval begins at or below x. One without weight has no interval. */
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

static void draw_row(struct drawing *w, const struct domain *domain, uint16_t *codes)
{
    for (size_t i = 0; i < w->d; i++)
        w->normal[i] = ldexp((double)random_gauss(&w->random), -RANDOM_GAUSS_BITS);
    for (size_t i = w->d; i-- > 0;) { /* each needs those before it, unchanged */
        double x = 0;
        for (size_t j = 0; j <= i; j++)
            x += w->root[i * w->d + j] * w->normal[j];
        w->normal[i] = x;
        codes[i] = code_of(w->bound[i], domain->attribute[i].size, x);
    }
}

static enum err draw_rows(struct table *t, struct drawing *w, size_t rows)
{
    uint16_t *codes CLEAN(memory_release) = NULL;
    TRY(memory_new(&codes, w->d));
    for (size_t r = 0; r < rows; r++) {
        draw_row(w, t->domain, codes);
        TRY(table_append(t, codes));
    }
    return ERR_OK;
}

enum err copula_rows(struct table **out, const struct copula *c, size_t rows, uint64_t seed,
                     struct log *log)
{
    struct table *t CLEAN(table_free) = NULL;
    struct drawing w CLEAN(drawing_clear) = {0};
    *out = NULL;
    if (drawing_start(&w, c, seed) != ERR_OK || table_new(&t, c->domain, rows) != ERR_OK ||
        draw_rows(t, &w, rows) != ERR_OK)
        return log_fail(log, ERR_NOMEM, "no memory to sample %zu rows; ask for fewer", rows);
    return memory_hand_over(out, &t);
}

#define SUMS_ROWS ((size_t)1 << 20)
#define SUMS_CODES ((size_t)1 << 24) /* of all columns: 32 MiB */

enum err copula_sums(struct model_sums **s, const struct copula *c, struct log *log)
{
    struct table *t CLEAN(table_free) = NULL;
    size_t rows = SUMS_CODES / c->domain->attributes;
    TRY(copula_rows(&t, c, rows < SUMS_ROWS ? rows : SUMS_ROWS, 1, log));
    return model_sums_drawn(s, &t, c->total);
}

enum err copula_densities(struct densities *out, const struct copula *c)
{
    const struct domain *d = c->domain;
    struct densities all CLEAN(densities_clear) = {.attributes = d->attributes};
    TRY(memory_new(&all.of, d->attributes));
    for (size_t i = 0; i < d->attributes; i++) {
        const struct domain_attribute *a = &d->attribute[i];
        double *counts CLEAN(memory_release) = NULL;
        if (a->kind == DOMAIN_CATEGORICAL)
            continue;
        TRY(memory_new(&counts, a->size));
        for (uint32_t k = 0; k < a->size; k++)
            counts[k] = c->total * c->share[i][k];
        TRY(density_new(&all.of[i], a, counts));
    }
    *out = all;
    all = (struct densities){0};
    return ERR_OK;
}
