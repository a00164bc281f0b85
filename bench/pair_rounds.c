#include "bench/pair_rounds.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/secret.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "mpc/pair/distance.h"
#include "mpc/pair/joint_noise.h"
#include "mpc/pair/own_noise.h"
#include "mpc/pair/pick.h"
#include "mpc/pair/squares.h"

#include <stdio.h>

#define MULTIPLIER 1000 /* of a measurement */
#define TILE ((size_t)256 << 10)
#define COLUMNS_MAX 16
#define PAIRS_MAX (COLUMNS_MAX * (COLUMNS_MAX + 1) / 2)

static const struct rounds_table {
    const char *name;
    unsigned bits, width; /* l and w of its selections */
    size_t columns, size[COLUMNS_MAX];
    double paper_s;
} tables[] = {
    {"cancer", 8, 31, 10, {6, 3, 11, 7, 3, 3, 2, 6, 2, 2}, 140},
    {"adult", 17, 40, 14, {32, 9, 32, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2}, 0},
};

struct pair_rounds {
    struct pair *end[2];
    size_t candidates, cells, count[PAIRS_MAX];
    uint64_t *share[2], *estimate, value[2][PAIRS_MAX];
    struct pair_candidate candidate[2][PAIRS_MAX];
    double cpu[2], since;
    size_t bytes, wrong; /* of distances and the index, those that the clear counts do not have */
    uint64_t ands;
};

static void rounds_free(struct pair_rounds *r)
{
    pair_free(&r->end[0]);
    pair_free(&r->end[1]);
    memory_free_all(&r->share[0], &r->share[1], &r->estimate);
}

/* Charges the time since the last lap to one end. */
static void lap(struct pair_rounds *r, enum pair_end end)
{
    const double now = cpu_s();
    r->cpu[end] += now - r->since;
    r->since = now;
}

static enum err introduce(struct pair_rounds *r)
{
    uint8_t id[PAIR_ID_SIZE], hello[PAIR_HELLO_SIZE], choices[PAIR_CHOICES_SIZE];
    secret_random(id, sizeof id);
    TRY(pair_new(&r->end[0], PAIR_PROVIDER, id));
    TRY(pair_new(&r->end[1], PAIR_KEEPER, id));
    TRY(pair_hello(r->end[1], hello));
    TRY(pair_choose(r->end[0], hello, choices));
    return pair_chosen(r->end[1], choices);
}

static void runs_free(struct pair_run *(*run)[2])
{
    pair_run_free(&(*run)[0]);
    pair_run_free(&(*run)[1]);
}

/* Both messages of a run, tile by tile. */
static enum err pass(struct pair_rounds *r, struct pair_run *run[2])
{
    const size_t matrix = pair_run_matrix(run[0]), rows = pair_run_tables(run[0]);
    uint8_t *tile CLEAN(memory_release) = NULL;
    TRY(memory_new(&tile, TILE));
    for (size_t at = 0, n; at < matrix; at += n) {
        n = matrix - at < TILE ? matrix - at : TILE;
        TRY(pair_send_matrix(run[1], at, tile, n));
        lap(r, PAIR_KEEPER);
        TRY(pair_take_matrix(run[0], at, tile, n));
        lap(r, PAIR_PROVIDER);
    }
    for (size_t at = 0, n; at < rows; at += n) {
        n = rows - at < TILE ? rows - at : TILE;
        TRY(pair_send_tables(run[0], at, tile, n));
        lap(r, PAIR_PROVIDER);
        TRY(pair_take_tables(run[1], at, tile, n));
        lap(r, PAIR_KEEPER);
    }
    r->bytes += matrix + rows;
    r->ands += pair_run_cost(run[0]).ands;
    return ERR_OK;
}

static enum err fill(struct pair_rounds *r, const struct rounds_table *t, size_t columns)
{
    struct random random = random_of(1);
    size_t cell = 0;
    for (size_t a = 0; a < columns; a++)
        for (size_t b = a; b < columns; b++)
            r->cells += r->count[r->candidates++] = t->size[a] * (b > a ? t->size[b] : 1);
    TRY(memory_new(&r->share[0], r->cells));
    TRY(memory_new(&r->share[1], r->cells));
    TRY(memory_new(&r->estimate, r->cells));
    for (size_t i = 0; i < r->cells; i++) {
        r->share[0][i] = random_u64(&random);
        r->share[1][i] = random_below(&random, 5) - r->share[0][i];
        r->estimate[i] = random_below(&random, 5 << 10);
    }
    for (size_t k = 0; k < r->candidates; cell += r->count[k++])
        for (unsigned i = 0; i < 2; i++)
            r->candidate[i][k] = (struct pair_candidate){r->count[k], r->share[i] + cell,
                                                         r->estimate + cell, 3ull << t->bits};
    return ERR_OK;
}

static uint64_t distance_of(const struct pair_candidate *p, const struct pair_candidate *k,
                            bool squared)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->cells; i++) {
        const uint64_t x = p->share[i] + k->share[i], e = p->estimate[i];
        const uint64_t c = (e + 512) >> 10, off = x << 10 > e ? (x << 10) - e : e - (x << 10);
        sum += squared ? (x - c) * (x - c) : off;
    }
    return !squared && sum > p->most << 10 ? p->most << 10 : sum;
}

/* What the shares say, against integers in the clear. */
static void compare(struct pair_rounds *r, const struct rounds_table *t, bool squared, size_t index)
{
    int64_t best = INT64_MIN;
    size_t largest = 0;
    for (size_t k = 0; k < r->candidates; k++) {
        const uint64_t d = distance_of(&r->candidate[0][k], &r->candidate[1][k], squared);
        const int64_t score = (int64_t)(d << (64 - t->width)) >> (64 - t->width);
        r->wrong += r->value[0][k] + r->value[1][k] != d;
        largest = score > best ? k : largest;
        best = score > best ? score : best;
    }
    r->wrong += index != largest;
}

/* The five messages; each end's share of a distance is its score. */
static enum err select_one(struct pair_rounds *r, const struct rounds_table *t, bool squared,
                           size_t *index)
{
    struct pair_run *run[2] CLEAN(runs_free) = {NULL}, *last[2] CLEAN(runs_free) = {NULL};
    struct pair_pick pick[2];
    uint8_t proof[16 * 16];
    r->since = cpu_s();
    for (unsigned i = 0; i < 2; i++) {
        const struct pair_distance d = {r->candidate[i], r->candidates, t->bits, 1 << 10,
                                        r->value[i]};
        TRY((squared ? pair_squares_new : pair_distance_new)(&run[i], r->end[i], &d));
        lap(r, i == 0 ? PAIR_PROVIDER : PAIR_KEEPER);
    }
    TRY(pass(r, run));
    for (unsigned i = 0; i < 2; i++) {
        pick[i] = (struct pair_pick){r->value[i], r->candidates, t->width, 0};
        TRY(pair_pick_new(&last[i], r->end[i], &pick[i]));
        lap(r, i == 0 ? PAIR_PROVIDER : PAIR_KEEPER);
    }
    TRY(pass(r, last));
    TRY(pair_pick_prove(last[1], proof));
    TRY(pair_pick_verify(last[0], proof));
    r->bytes += pair_pick_proof(r->candidates);
    *index = pick[1].index;
    compare(r, t, squared, *index);
    return pick[0].index == pick[1].index ? ERR_OK : ERR_MISMATCH;
}

/*
 * The measurement of what was selected: a message each way, to which both add their own. CPU
 * seconds of both, without those of the noise.
 */
static enum err open_values(struct pair_rounds *r, size_t index, double *cpu)
{
    const struct pair_candidate *c[2] = {&r->candidate[0][index], &r->candidate[1][index]};
    const size_t n = c[0]->cells;
    uint64_t *noise[2], *opened[2], *room;
    uint8_t *sent[2];
    struct random own;
    double begin;
    TRY(memory_new(&room, 6 * n));
    random_fresh(&own);
    for (unsigned i = 0; i < 2; i++) {
        noise[i] = room + 3 * i * n;
        opened[i] = noise[i] + n;
        sent[i] = (uint8_t *)(opened[i] + n);
        own_gauss(&own, &own_sigma_whole, noise[i], n);
    }
    random_wipe(&own);
    begin = cpu_s();
    for (unsigned i = 0; i < 2; i++)
        for (size_t k = 0; k < n; k++) {
            opened[i][k] = MULTIPLIER * c[i]->share[k] + noise[i][k];
            integer_put(sent[i] + 8 * k, opened[i][k], 8);
        }
    for (unsigned i = 0; i < 2; i++)
        for (size_t k = 0; k < n; k++)
            opened[i][k] += integer_get(sent[1 - i] + 8 * k, 8);
    *cpu = cpu_s() - begin;
    for (size_t k = 0; k < n; k++) {
        const uint64_t x = c[0]->share[k] + c[1]->share[k];
        r->wrong += opened[0][k] != MULTIPLIER * x + noise[0][k] + noise[1][k];
        r->wrong += opened[1][k] != opened[0][k];
    }
    memory_free(&room);
    return ERR_OK;
}

static enum err measure(const struct rounds_table *t, bool squared, json_t *out, bool smoke,
                        size_t *wrong)
{
    size_t index;
    double begin, wall, opening;
    struct pair_rounds r CLEAN(rounds_free) = {0};
    const size_t columns = smoke ? 3 : t->columns;
    TRY(introduce(&r));
    TRY(fill(&r, t, columns));
    begin = clock_now_s();
    TRY(select_one(&r, t, squared, &index));
    wall = clock_now_s() - begin;
    TRY(open_values(&r, index, &opening));
    printf("%-9s selection by %s: %zu candidates, %zu cells, %llu ANDs, %.2f MB; CPU s: provider "
           "%.4f, keeper %.4f, measurement %.6f\n",
           t->name, squared ? "L2" : "L1", r.candidates, r.cells, (unsigned long long)r.ands,
           (double)r.bytes / 1e6, r.cpu[0], r.cpu[1], opening);
    *wrong += r.wrong;
    json_object_set_new(out, "name", json_string(t->name));
    json_object_set_new(out, "score", json_string(squared ? "l2" : "l1"));
    figures_put(out, (double)r.candidates, "candidates");
    figures_put(out, (double)r.cells, "cells");
    figures_put(out, (double)r.ands, "ands");
    figures_put(out, (double)r.bytes, "bytes");
    figures_put(out, r.cpu[0], "provider_cpu_s");
    figures_put(out, r.cpu[1], "keeper_cpu_s");
    figures_put(out, opening, "measure_cpu_s");
    figures_put(out, wall, "wall_s");
    if (t->paper_s > 0)
        figures_put(out, t->paper_s, "paper_s");
    return ERR_OK;
}

static enum err measure_noise(json_t *out, bool smoke)
{
    struct pair_rounds r CLEAN(rounds_free) = {0};
    struct pair_run *run[2] CLEAN(runs_free) = {NULL};
    const size_t n = smoke ? 10 : 4096;
    struct random own;
    double begin = cpu_s(), base, alone;
    TRY(introduce(&r));
    base = cpu_s() - begin;
    TRY(memory_new(&r.share[0], n));
    TRY(memory_new(&r.share[1], n));
    random_fresh(&own);
    begin = cpu_s();
    for (unsigned i = 0; i < 2; i++)
        own_gauss(&own, &own_sigma_whole, r.share[i], n);
    alone = cpu_s() - begin;
    r.since = cpu_s();
    for (unsigned i = 0; i < 2; i++) {
        own_gauss(&own, &own_sigma_fifth, r.share[i], n);
        TRY(pair_joint_new(&run[i], r.end[i], &(struct pair_joint){n, r.share[i]}));
    }
    random_wipe(&own);
    lap(&r, PAIR_PROVIDER);
    TRY(pass(&r, run));
    figures_put(out, base, "base_cpu_s");
    figures_put(out, 1e6 * alone / (double)n, "own_us");
    figures_put(out, 1e6 * (r.cpu[0] + r.cpu[1]) / (double)n, "joint_us");
    figures_put(out, (double)r.bytes / (double)n, "joint_bytes");
    printf("noise: base transfers %.3f CPU s; a Gaussian of both's own %.2f us, joint %.1f us and "
           "%.0f bytes\n",
           base, 1e6 * alone / (double)n, 1e6 * (r.cpu[0] + r.cpu[1]) / (double)n,
           (double)r.bytes / (double)n);
    return ERR_OK;
}

enum err pair_rounds_measure(json_t *out, bool smoke)
{
    size_t wrong = 0;
    TRY(secret_start());
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (unsigned squared = 0; squared < 2; squared++)
            TRY(measure(&tables[k], squared == 1, figures_item(figures_list(out, "round")), smoke,
                        &wrong));
    figures_put(out, wrong == 0, "equal");
    TRY(measure_noise(figures_object(out, "noise"), smoke));
    return wrong == 0 ? ERR_OK : ERR_MISMATCH;
}
