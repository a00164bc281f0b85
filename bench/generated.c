#include "bench/generated.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MOST 100
#define DENSE_COLUMNS 16
#define DENSE_CODES 8
#define DENSE_LOAD 0.9
#define PARITY_COLUMNS 12 /* besides the target, which comes last */
#define PARITY_CODES 4
#define TWIN_COLUMNS 10
#define TWIN_CODES 4
#define WIDE_COLUMNS 100
#define WIDE_CODES_LEAST 2
#define WIDE_CODES_MOST 12

static void dense_row(struct random *r, uint16_t *code)
{
    double z[DENSE_COLUMNS + 1];
    random_normals(r, z, DENSE_COLUMNS + 1);
    for (size_t a = 0; a < DENSE_COLUMNS; a++) {
        const double x = DENSE_LOAD * z[DENSE_COLUMNS] + sqrt(1 - DENSE_LOAD * DENSE_LOAD) * z[a];
        code[a] = (uint16_t)fmin(DENSE_CODES * 0.5 * erfc(-x / M_SQRT2), DENSE_CODES - 1);
    }
}

static void parity_row(struct random *r, uint16_t *code)
{
    for (size_t a = 0; a < PARITY_COLUMNS; a++) {
        code[a] = (uint16_t)random_below(r, PARITY_CODES);
        if (a > 0 && random_below(r, 2) == 0)
            code[a] = code[a - 1];
    }
    code[PARITY_COLUMNS] = (uint16_t)((code[2] + code[5] + code[9]) % PARITY_CODES);
    if (random_below(r, 20) == 0)
        code[PARITY_COLUMNS] = (uint16_t)random_below(r, PARITY_CODES);
}

static void chain_row(struct random *r, uint16_t *code)
{
    for (size_t a = 0; a < TWIN_COLUMNS; a++) {
        const bool follows = a > 0 && random_below(r, 5) < 3;
        code[a] = follows ? code[a - 1] : (uint16_t)random_below(r, TWIN_CODES);
    }
}

static void star_row(struct random *r, uint16_t *code)
{
    unsigned sum = 0;
    for (size_t a = 0; a + 1 < TWIN_COLUMNS; a++) {
        code[a] = (uint16_t)random_below(r, TWIN_CODES);
        sum += a < 4 ? code[a] * (unsigned)(a + 1) : 0;
    }
    code[TWIN_COLUMNS - 1] = (uint16_t)(random_below(r, 5) == 0 ? random_below(r, TWIN_CODES)
                                                                : sum * TWIN_CODES / 31);
}

/* From `least` to `most`, in an order without a trend. */
static uint32_t size_of(size_t a, uint32_t least, uint32_t most)
{
    return least + (uint32_t)a * 7 % (most - least + 1);
}

static void wide_row(struct random *r, uint16_t *code)
{
    for (size_t a = 0; a < WIDE_COLUMNS; a++) {
        const uint32_t size = size_of(a, WIDE_CODES_LEAST, WIDE_CODES_MOST);
        const bool follows = a > 0 && random_below(r, 4) > 0;
        code[a] = (uint16_t)(follows ? code[a - 1] % size : random_below(r, size));
    }
}

/* The target is the last column, and so the last of each marginal. */
static enum err parity_workload(struct bench_data *c, struct log *log)
{
    struct clique *q CLEAN(memory_release) = NULL;
    size_t n = 0;
    TRY(memory_new(&q, workload_choices(PARITY_COLUMNS, 3)));
    for (uint16_t i = 0; i < PARITY_COLUMNS; i++)
        for (uint16_t j = i + 1; j < PARITY_COLUMNS; j++)
            for (uint16_t k = j + 1; k < PARITY_COLUMNS; k++)
                q[n++] = (struct clique){4, {i, j, k, PARITY_COLUMNS}};
    return workload_new(&c->workload, c->domain, q, NULL, n, log);
}

static enum err dense_workload(struct bench_data *c, struct log *log)
{
    return workload_random(&c->workload, c->domain, 3, 64, 1, log);
}

static enum err twin_workload(struct bench_data *c, struct log *log)
{
    return workload_all(&c->workload, c->domain, 3, log);
}

static enum err wide_workload(struct bench_data *c, struct log *log)
{
    return workload_all(&c->workload, c->domain, 2, log);
}

static const struct generated_kind {
    const char *name;
    size_t columns;
    uint32_t least, most; /* codes of a column */
    void (*row)(struct random *r, uint16_t *code);
    enum err (*workload)(struct bench_data *c, struct log *log);
} kinds[] = {
    {"dense", DENSE_COLUMNS, DENSE_CODES, DENSE_CODES, dense_row, dense_workload},
    {"parity", PARITY_COLUMNS + 1, PARITY_CODES, PARITY_CODES, parity_row, parity_workload},
    {"chain", TWIN_COLUMNS, TWIN_CODES, TWIN_CODES, chain_row, twin_workload},
    {"star", TWIN_COLUMNS, TWIN_CODES, TWIN_CODES, star_row, twin_workload},
    {"wide", WIDE_COLUMNS, WIDE_CODES_LEAST, WIDE_CODES_MOST, wide_row, wide_workload},
};

static const struct generated_kind *find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

bool generated_is(const char *name)
{
    return find(name) != NULL;
}

static enum err make(struct bench_data *c, const struct generated_kind *kind, size_t rows,
                     struct log *log)
{
    uint16_t code[COLUMNS_MOST];
    struct random r;
    TRY(domain_new(&c->domain));
    for (size_t a = 0; a < kind->columns; a++) {
        char name[24];
        snprintf(name, sizeof name, "a%zu", a);
        TRY(domain_add_integer(c->domain, name, 0, size_of(a, kind->least, kind->most) - 1, NULL,
                               DOMAIN_REJECT, log));
    }
    TRY(kind->workload(c, log));
    TRY(table_new(&c->table, c->domain, rows));
    r = random_of(1);
    for (size_t i = 0; i < rows; i++) {
        kind->row(&r, code);
        TRY(table_append(c->table, code));
    }
    return ERR_OK;
}

enum err generated_make(struct bench_data *c, const char *name, size_t rows, struct log *log)
{
    const struct generated_kind *kind = find(name);
    enum err e;
    *c = (struct bench_data){0};
    if (kind == NULL)
        return log_fail(log, ERR_RANGE, "%s is no table that benchmarks make", name);
    e = make(c, kind, rows, log);
    if (e != ERR_OK)
        bench_data_clear(c);
    return e;
}
