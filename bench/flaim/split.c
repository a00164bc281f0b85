#include "bench/flaim/split.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEST_SHARE 10 /* one row in ten */
#define FEATURES 10
#define BINS 32
#define ZIPF_MOST 40
#define LOWEST (-3.0)
#define HIGHEST 44.0

static double draw_normal(struct random *r)
{
    return (double)random_gauss(r) * 0x1p-20;
}

double draw_gamma(struct random *r, double shape)
{
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d), x, v;
    if (shape < 1)
        return draw_gamma(r, shape + 1) * pow(1 - random_double(r), 1 / shape);
    do {
        x = draw_normal(r);
        v = 1 + c * x;
        v = v * v * v;
    } while (v <= 0 || log(1 - random_double(r)) > x * x / 2 + d * (1 - v + log(v)));
    return d * v;
}

/* --- splitting ------------------------------------------------------------------------------- */

static enum err shuffled(uint32_t **order, size_t n, struct random *r)
{
    *order = memory_array(n, sizeof **order);
    if (*order == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        size_t k = random_below(r, i + 1);
        (*order)[i] = (*order)[k];
        (*order)[k] = (uint32_t)i;
    }
    return ERR_OK;
}

static enum err deal(struct flaim_split *s, const struct table *all, const uint32_t *assignment,
                     const uint32_t *order)
{
    uint16_t codes[DOMAIN_ATTRIBUTES_MAX];
    TRY(table_new(&s->train, all->domain, all->rows));
    TRY(table_new(&s->test, all->domain, all->rows / TEST_SHARE));
    for (size_t k = 0; k < s->clients; k++)
        TRY(table_new(&s->client[k], all->domain, 0));
    for (size_t i = 0; i < all->rows; i++) {
        bool test = i < all->rows / TEST_SHARE;
        for (size_t a = 0; a < all->domain->attributes; a++)
            codes[a] = all->column[a][order[i]];
        TRY(table_append(test ? s->test : s->train, codes));
        if (!test)
            TRY(table_append(s->client[assignment[order[i]]], codes));
    }
    return ERR_OK;
}

enum err split_new(struct flaim_split *s, const struct table *all, const uint32_t *assignment,
                   size_t clients, uint64_t seed)
{
    struct random r;
    uint32_t *order = NULL;
    enum err e;
    *s = (struct flaim_split){.clients = clients};
    r = random_of(seed);
    s->client = memory_array(clients, sizeof *s->client);
    e = s->client != NULL ? shuffled(&order, all->rows, &r) : ERR_NOMEM;
    if (e == ERR_OK)
        e = deal(s, all, assignment, order);
    memory_free(&order);
    if (e != ERR_OK)
        split_free(s);
    return e;
}

void split_free(struct flaim_split *s)
{
    for (size_t k = 0; s->client != NULL && k < s->clients; k++)
        table_free(&s->client[k]);
    memory_free(&s->client);
    table_free(&s->train);
    table_free(&s->test);
}

void split_draw(const struct flaim_split *s, double p, struct random *coins, bool *drawn)
{
    bool anybody = false;
    while (!anybody)
        for (size_t k = 0; k < s->clients; k++)
            if (random_double(coins) < p && s->client[k]->rows > 0)
                drawn[k] = anybody = true;
}

/* --- assignments ----------------------------------------------------------------------------- */

enum err assign_file(uint32_t *to, size_t rows, const char *name, size_t *clients, struct log *log)
{
    char path[4096], *at, *next;
    struct bytes text = {0};
    size_t row = 0;
    enum err e;
    snprintf(path, sizeof path, "%s/%s.clients100.csv", data_folder(), name);
    TRY(file_read(path, (size_t)1 << 28, &text, log));
    bytes_put_u8(&text, 0);
    e = bytes_ok(&text);
    at = e == ERR_OK ? strchr((char *)text.data, '\n') : NULL; /* behind the header */
    for (*clients = 0; at != NULL && row < rows; row++, at = next) {
        to[row] = (uint32_t)strtoul(at, &next, 10);
        if (next == at)
            break;
        *clients = to[row] + 1 > *clients ? to[row] + 1 : *clients;
    }
    bytes_clear(&text);
    if (e == ERR_OK && row != rows) {
        log_error(log, "%s names a client for %zu rows; the table has %zu", path, row, rows);
        e = ERR_FORMAT;
    }
    return e;
}

/* Gives each client without a row one from the client that has most. */
static enum err none_empty(uint32_t *to, size_t rows, size_t clients)
{
    size_t *count = memory_array(clients, sizeof *count);
    if (count == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < rows; i++)
        count[to[i]]++;
    for (uint32_t k = 0; k < clients; k++) {
        size_t richest = 0, row = 0;
        if (count[k] != 0)
            continue;
        for (size_t c = 0; c < clients; c++)
            richest = count[c] > count[richest] ? c : richest;
        while (row < rows && to[row] != richest)
            row++;
        if (row == rows)
            break;
        to[row] = k;
        count[richest]--;
        count[k]++;
    }
    memory_free(&count);
    return ERR_OK;
}

void assign_evenly(uint32_t *to, size_t rows, size_t clients, struct random *r)
{
    for (size_t i = 0; i < rows; i++) {
        size_t k = random_below(r, i + 1);
        to[i] = to[k];
        to[k] = (uint32_t)(i % clients);
    }
}

/* Cumulative proportions of Dirichlet(beta). */
static void proportions(double *sum, size_t clients, double beta, struct random *r)
{
    double all = 0;
    for (size_t k = 0; k < clients; k++) {
        all += draw_gamma(r, beta);
        sum[k] = all;
    }
    for (size_t k = 0; k < clients; k++)
        sum[k] = all > 0 ? sum[k] / all : (double)(k + 1) / (double)clients;
}

static uint32_t place_of(const double *sum, size_t n, double u)
{
    uint32_t k = 0;
    while (k + 1 < n && u >= sum[k])
        k++;
    return k;
}

enum err assign_by_label(uint32_t *to, const struct table *t, size_t attribute, size_t clients,
                         double beta, struct random *r)
{
    double *sum = memory_array(clients, sizeof *sum);
    if (sum == NULL)
        return ERR_NOMEM;
    for (uint16_t label = 0; label < t->domain->attribute[attribute].size; label++) {
        proportions(sum, clients, beta, r);
        for (size_t i = 0; i < t->rows; i++)
            if (t->column[attribute][i] == label)
                to[i] = place_of(sum, clients, random_double(r));
    }
    memory_free(&sum);
    return none_empty(to, t->rows, clients);
}

/* --- SynthFS --------------------------------------------------------------------------------- */

static void zipf(double sum[ZIPF_MOST], double beta)
{
    double all = 0;
    for (int k = 0; k < ZIPF_MOST; k++)
        sum[k] = all += pow(k + 1, -beta);
    for (int k = 0; k < ZIPF_MOST; k++)
        sum[k] /= all;
}

static uint16_t bin_of(double x)
{
    double bin = floor((x - LOWEST) * BINS / (HIGHEST - LOWEST));
    return (uint16_t)fmax(0, fmin(bin, BINS - 1));
}

static enum err synthfs_rows(struct table *t, uint32_t *assignment, double beta)
{
    double sum[ZIPF_MOST], mean[FEATURES];
    struct random r = random_of(40 + (uint64_t)(1000 * beta));
    zipf(sum, beta);
    for (size_t i = 0; i < SYNTHFS_ROWS; i++) {
        uint16_t codes[FEATURES];
        if (i % (SYNTHFS_ROWS / SYNTHFS_CLIENTS) == 0)
            for (int a = 0; a < FEATURES; a++)
                mean[a] = 1 + place_of(sum, ZIPF_MOST, random_double(&r));
        for (int a = 0; a < FEATURES; a++)
            codes[a] = bin_of(mean[a] + draw_normal(&r));
        assignment[i] = (uint32_t)(i / (SYNTHFS_ROWS / SYNTHFS_CLIENTS));
        TRY(table_append(t, codes));
    }
    return ERR_OK;
}

enum err synthfs_new(struct bench_data *data, uint32_t **assignment, double beta, struct log *log)
{
    enum err e;
    *data = (struct bench_data){0};
    *assignment = memory_array(SYNTHFS_ROWS, sizeof **assignment);
    e = *assignment != NULL ? domain_new(&data->domain) : ERR_NOMEM;
    for (int a = 0; e == ERR_OK && a < FEATURES; a++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", a);
        e = domain_add_integer(data->domain, name, 0, BINS - 1, NULL, DOMAIN_REJECT, log);
    }
    if (e == ERR_OK)
        e = workload_random(&data->workload, data->domain, 3, 64, 123, log);
    if (e == ERR_OK)
        e = table_new(&data->table, data->domain, SYNTHFS_ROWS);
    if (e == ERR_OK)
        e = synthfs_rows(data->table, *assignment, beta);
    if (e != ERR_OK) {
        bench_data_clear(data);
        memory_free(assignment);
    }
    return e;
}
