/*
 * bench/bench_fhaim.c - two servers: a provider that counts encrypted rows, and a keeper of the
 * keys (mpc/lattice/lattice.h); what they compute in a round (mpc/pair/). One owner, one core, no
 * link.
 *
 *   bench_fhaim [--json FILE] [--smoke]
 *
 * Keys: comp[], by table: rows, values, cells (of all pairs), upload_bytes, keeper_bytes; CPU
 * seconds of encrypt, multiply, rerandomise and decrypt; wrong, the cells that differ from a count
 * of the rows; paper_s, what FHAIM states for its two-way marginals on 16 cores, and ratio, that
 * over the servers' CPU seconds. Rows are invented, of the sizes of the paper's tables. round[],
 * noise, equal: see bench/pair_rounds.h; utility[]: bench/pair_utility.h.
 */
#include "base/memory.h"
#include "base/random.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "bench/pair_rounds.h"
#include "bench/pair_utility.h"
#include "mpc/lattice/lattice.h"

#include <stdio.h>
#include <string.h>

#define ATTRIBUTES_MAX 16
#define PAIRS_MAX (ATTRIBUTES_MAX * (ATTRIBUTES_MAX - 1) / 2)

static const struct fhaim_table {
    const char *name;
    size_t rows, attributes;
    uint32_t size[ATTRIBUTES_MAX];
    double paper_s;
} tables[] = {
    {"cancer", 228, 10, {6, 3, 11, 7, 3, 3, 2, 6, 2, 2}, 681},
    {"diabetes", 614, 9, {5, 5, 5, 5, 5, 5, 5, 5, 2}, 625},
    {"compas", 4120, 9, {2, 3, 4, 2, 3, 3, 4, 3, 2}, 292},
};

struct fhaim_play {
    struct lattice_ring *ring;
    struct lattice_plan *plan;
    struct lattice_products *products;
    struct lattice_key *key;
    struct prg *prg;
    uint16_t *codes;
    uint8_t *upload, *hidden;
    uint64_t *share, *sum, *right; /* of all cells, pair after pair */
    uint64_t *of_sum[PAIRS_MAX], *of_right[PAIRS_MAX], *part;
    uint32_t pair[PAIRS_MAX][2];
    size_t cells, values;
    double encrypt, multiply, rerandomise, decrypt;
};

static void play_free(struct fhaim_play *p)
{
    lattice_ring_free(&p->ring);
    lattice_plan_free(&p->plan);
    lattice_products_free(&p->products);
    lattice_key_free(&p->key);
    prg_free(&p->prg);
    memory_free_all(&p->codes, &p->upload, &p->hidden, &p->share, &p->sum, &p->right, &p->part);
}

static enum err make_rows(struct fhaim_play *p, const struct fhaim_table *t, size_t rows)
{
    struct random r = random_of(rows);
    TRY(memory_new(&p->codes, rows * t->attributes));
    for (size_t i = 0; i < rows * t->attributes; i++)
        p->codes[i] = (uint16_t)random_below(&r, t->size[i % t->attributes]);
    return ERR_OK;
}

/* Pairs, the vectors of their cells, and what the rows' own counts are. */
static enum err make_cells(struct fhaim_play *p, const struct fhaim_table *t, size_t rows)
{
    size_t pairs = 0, at = 0;
    for (uint32_t a = 0; a < t->attributes; a++) {
        p->values += t->size[a];
        for (uint32_t b = a + 1; b < t->attributes; b++, pairs++) {
            p->pair[pairs][0] = a;
            p->pair[pairs][1] = b;
            p->cells += (size_t)t->size[a] * t->size[b];
        }
    }
    TRY(memory_new(&p->sum, p->cells));
    TRY(memory_new(&p->right, p->cells));
    TRY(memory_new(&p->part, p->cells));
    for (size_t k = 0; k < pairs; k++) {
        const uint32_t a = p->pair[k][0], b = p->pair[k][1];
        p->of_sum[k] = p->part + at;
        p->of_right[k] = p->right + at;
        at += (size_t)t->size[a] * t->size[b];
        for (size_t i = 0; i < rows; i++) {
            const uint16_t *row = p->codes + i * t->attributes;
            p->of_right[k][row[a] * t->size[b] + row[b]]++;
        }
    }
    return ERR_OK;
}

static void add(struct fhaim_play *p, size_t result)
{
    memset(p->part, 0, p->cells * sizeof *p->part);
    lattice_plan_take(p->plan, result, p->share, p->of_sum);
    for (size_t c = 0; c < p->cells; c++)
        p->sum[c] += p->part[c];
}

static double lap(double *since)
{
    const double now = cpu_s(), took = now - *since;
    *since = now;
    return took;
}

static enum err play(struct fhaim_play *p)
{
    static const struct lattice_seeds seeds = {{1}, {2}, {3}};
    static const uint8_t fresh[LATTICE_SEED] = {4};
    double since = cpu_s();
    TRY(lattice_encrypt(p->ring, p->plan, p->codes, &seeds, p->upload));
    p->encrypt = lap(&since);
    TRY(lattice_upload_check(p->ring, p->upload, lattice_upload_size(p->plan)));
    TRY(lattice_multiply(&p->products, p->ring, p->plan, p->upload));
    p->multiply = lap(&since);
    TRY(lattice_key_new(&p->key, p->ring, seeds.key));
    TRY(prg_new(&p->prg, fresh));
    for (size_t k = 0; k < p->plan->results; k++) {
        since = cpu_s();
        TRY(lattice_hide(p->products, k, p->prg, p->hidden, p->share));
        add(p, k);
        p->rerandomise += lap(&since);
        TRY(lattice_open(p->key, p->hidden, p->share));
        add(p, k);
        p->decrypt += lap(&since);
    }
    return ERR_OK;
}

static enum err prepare(struct fhaim_play *p, const struct fhaim_table *t, size_t rows)
{
    TRY(make_rows(p, t, rows));
    TRY(make_cells(p, t, rows));
    const struct lattice_shape shape = {.rows = rows,
                                        .attributes = t->attributes,
                                        .pairs = t->attributes * (t->attributes - 1) / 2,
                                        .size = t->size,
                                        .pair = (const uint32_t(*)[2])p->pair};
    TRY(lattice_ring_new(&p->ring));
    TRY(lattice_plan_new(&p->plan, &shape));
    TRY(memory_new(&p->upload, lattice_upload_size(p->plan)));
    TRY(memory_new(&p->hidden, LATTICE_RESULT_SIZE));
    return memory_new(&p->share, LATTICE_N);
}

static size_t report(const struct fhaim_play *p, const struct fhaim_table *t, size_t rows,
                     json_t *out)
{
    const double servers = p->multiply + p->rerandomise + p->decrypt;
    size_t wrong = 0;
    for (size_t c = 0; c < p->cells; c++)
        wrong += p->sum[c] != p->right[c];
    printf("%-9s %5zu rows, %2zu values: upload %.1f MB, keeper %.1f MB; CPU s: encrypt %.3f, "
           "multiply "
           "%.3f, rerandomise %.3f, decrypt %.3f; the paper's %.0f s are %.0f times as much; %zu "
           "wrong\n",
           t->name, rows, p->values, (double)lattice_upload_size(p->plan) / 1e6,
           (double)(p->plan->results * LATTICE_RESULT_SIZE) / 1e6, p->encrypt, p->multiply,
           p->rerandomise, p->decrypt, t->paper_s, t->paper_s / servers, wrong);
    json_object_set_new(out, "name", json_string(t->name));
    figures_put(out, (double)rows, "rows");
    figures_put(out, (double)p->values, "values");
    figures_put(out, (double)p->cells, "cells");
    figures_put(out, (double)lattice_upload_size(p->plan), "upload_bytes");
    figures_put(out, (double)(p->plan->results * LATTICE_RESULT_SIZE), "keeper_bytes");
    figures_put(out, p->encrypt, "encrypt_cpu_s");
    figures_put(out, p->multiply, "multiply_cpu_s");
    figures_put(out, p->rerandomise, "rerandomise_cpu_s");
    figures_put(out, p->decrypt, "decrypt_cpu_s");
    figures_put(out, (double)wrong, "wrong");
    figures_put(out, t->paper_s, "paper_s");
    figures_put(out, t->paper_s / servers, "ratio");
    return wrong;
}

int main(int argc, char **argv)
{
    struct figures f;
    bool failed = false;
    figures_begin(&f, argc, argv, NULL, 0);
    for (size_t k = 0; k < sizeof tables / sizeof *tables && !failed; k++) {
        struct fhaim_play p CLEAN(play_free) = {0};
        const size_t rows = f.smoke ? 20 : tables[k].rows;
        enum err e = prepare(&p, &tables[k], rows);
        if (e == ERR_OK)
            e = play(&p);
        if (e != ERR_OK)
            fprintf(stderr, "bench_fhaim: %s\n", error_text(e));
        failed = e != ERR_OK ||
                 report(&p, &tables[k], rows, figures_item(figures_list(f.out, "comp"))) != 0;
    }
    if (!failed && pair_rounds_measure(f.out, f.smoke) != ERR_OK) {
        fprintf(stderr, "bench_fhaim: rounds of two servers failed\n");
        failed = true;
    }
    if (!failed && pair_utility_measure(f.out, f.smoke) != ERR_OK) {
        fprintf(stderr, "bench_fhaim: runs on a table of the paper failed\n");
        failed = true;
    }
    return figures_end(&f, failed);
}
