/*
 * bench/bench_gradient.c - a gradient of `method: train`, three processes over sealed links on
 * loopback.
 *
 *   bench_gradient [--json FILE] [--smoke] [--steps N]
 *
 * Rows of any codes: as many as Adult has, 39,074, 14 columns of 32 codes at most, two classes; and
 * as many as Fashion-MNIST, 60,000 with 252 numbers of 4 bits, ten classes. --smoke: 3,000. For
 * each, without a check and with one, a median of N steps (5):
 *   adult.server_cpu_s, adult.abort.server_cpu_s    CPU seconds of a server, of a step
 *   adult.bytes, adult.abort.bytes                  that server 0 sends in a step
 *   adult.rounds, adult.abort.rounds                exchanges of a step; two more are statements
 *   adult.session_cpu_s, adult.abort.session_cpu_s  of a server, to make the rows once
 *   adult.peak_mib, adult.abort.peak_mib            memory of server 0
 * and images.*
 */
#include "base/memory.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "harness/forked.h"
#include "mpc/check/check.h"
#include "protocols/mask.h"
#include "protocols/measure.h"
#include "protocols/train_gradient.h"

#include <stdio.h>
#include <sys/mman.h>

#define STEPS_MAX 99
#define COLUMNS_MAX 253

/* In memory that the processes share. */
struct gradient_board {
    const struct train_shape *shape;
    size_t records;
    unsigned steps;
    bool proved;
    double session_s[3], step_s[3][STEPS_MAX], bytes, rounds;
};

/* What a server holds: seeds, or a vector that is as good as random. */
struct gradient_held {
    uint16_t attribute[COLUMNS_MAX];
    uint8_t *vector;
    int64_t *weight, *values;
    struct records_part part;
    struct tape tape;
    struct train_rows rows;
};

static void held_free(struct gradient_held *h)
{
    memory_free(&h->vector);
    memory_free(&h->weight);
    memory_free(&h->values);
    tape_free(&h->tape);
    train_rows_free(&h->rows);
}

static enum err hold(struct gradient_held *h, const struct party *p, const struct gradient_board *b)
{
    static const uint8_t seeds[2][MASK_SEED_SIZE] = {{1}, {2}}, id[TAPE_ID_SIZE];
    const size_t weights = train_outputs(b->shape) * train_features(b->shape),
                 bytes = records_bytes(&b->shape->records, b->records);
    tape_start(&h->tape, id, NOISE_BOX_MULLER);
    train_rows_start(&h->rows, b->shape);
    TRY(memory_new(&h->vector, bytes));
    TRY(memory_new(&h->weight, weights));
    TRY(memory_new(&h->values, weights));
    for (size_t i = 0; i < bytes; i++)
        h->vector[i] = (uint8_t)(i * 40503 >> 8);
    for (size_t i = 0; i < weights; i++)
        h->weight[i] = (int64_t)(i * 7919 % 201) - 100;
    for (uint16_t a = 0; a < b->shape->records.attributes; a++)
        h->attribute[a] = a;
    h->part = (struct records_part){
        .attributes = b->shape->records.attributes, .attribute = h->attribute, .vector = h->vector};
    for (unsigned slot = 0; slot < 2; slot++)
        if ((p->index + slot) % 3 < 2)
            h->part.seed[slot] = seeds[(p->index + slot) % 3];
    return ERR_OK;
}

/* A step; its noise is there before. */
static enum err step(struct party *p, struct gradient_board *b, struct gradient_held *h, unsigned k)
{
    const size_t weights = h->rows.labels.n;
    struct share64 sums CLEAN(share64_free) = {0};
    uint64_t zero = 0;
    TRY(share64_new(&sums, weights));
    TRY(tape_reserve(p, &h->tape, NOISE_GAUSS, weights));
    TRY(record_prove(p));
    TRY(forked_barrier(p, &zero));
    const struct net_counters before = net_total(p->net);
    const double cpu = cpu_s();
    TRY(train_gradient(p, &h->rows, h->weight, sums));
    TRY(measure_open_sums(p, OPEN_NOISY_GRADIENT, sums, &h->tape, 1000, h->values));
    const struct net_counters after = net_total(p->net);
    b->step_s[p->index][k] = cpu_s() - cpu;
    if (p->index == 0) {
        b->bytes = (double)(after.payload_sent - before.payload_sent);
        b->rounds = (double)(after.exchanges - before.exchanges);
    }
    return forked_barrier(p, &zero);
}

static enum err steps(struct party *p, struct gradient_board *b, struct gradient_held *h)
{
    const struct records_batch batch = {.records = b->records, .parts = 1, .part = &h->part};
    const double cpu = cpu_s();
    TRY(train_rows_add(p, &h->rows, &batch, 1));
    TRY(train_rows_end(p, &h->rows));
    TRY(record_prove(p));
    b->session_s[p->index] = cpu_s() - cpu;
    for (unsigned k = 0; k < b->steps; k++)
        TRY(step(p, b, h, k));
    return ERR_OK;
}

static enum err serve(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct gradient_board *b = shared;
    struct gradient_held h CLEAN(held_free) = {.vector = NULL};
    enum err e = hold(&h, p, b);
    if (e == ERR_OK && b->proved)
        e = check_new(p, &limits);
    return e == ERR_OK ? steps(p, b, &h) : e;
}

static void put(json_t *out, const char *name, bool proved, const char *key, double value)
{
    json_t *of = figures_object(out, name);
    printf("%s%s.%s %.4g\n", name, proved ? ".abort" : "", key, value);
    figures_put(proved ? figures_object(of, "abort") : of, value, "%s", key);
}

static bool measure(struct gradient_board *b, const char *name, bool proved, json_t *out)
{
    double peak[3], each[STEPS_MAX];
    b->proved = proved;
    if (!forked_run(name, serve, b, peak))
        return false;
    for (unsigned k = 0; k < b->steps; k++)
        each[k] = (b->step_s[0][k] + b->step_s[1][k] + b->step_s[2][k]) / 3;
    put(out, name, proved, "server_cpu_s", cpu_median(each, b->steps));
    put(out, name, proved, "bytes", b->bytes);
    put(out, name, proved, "rounds", b->rounds);
    put(out, name, proved, "session_cpu_s",
        (b->session_s[0] + b->session_s[1] + b->session_s[2]) / 3);
    put(out, name, proved, "peak_mib", peak[0]);
    return true;
}

static bool measure_both(const char *name, const struct train_shape *shape, size_t records,
                         unsigned steps_of, json_t *out)
{
    struct gradient_board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool right;
    if (b == MAP_FAILED)
        return false;
    *b = (struct gradient_board){.shape = shape, .records = records, .steps = steps_of};
    right = measure(b, name, false, out) && measure(b, name, true, out);
    munmap(b, sizeof *b);
    return right;
}

int main(int argc, char **argv)
{
    static const uint32_t adult_size[] = {32, 8, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 2};
    static uint32_t image_size[COLUMNS_MAX];
    static uint16_t column[COLUMNS_MAX];
    const struct train_shape adult = {.records = {14, adult_size},
                                      .target = 13,
                                      .classes = 2,
                                      .column = column,
                                      .columns = 13,
                                      .bits = 5};
    const struct train_shape images = {.records = {COLUMNS_MAX, image_size},
                                       .target = COLUMNS_MAX - 1,
                                       .classes = 10,
                                       .column = column,
                                       .columns = COLUMNS_MAX - 1,
                                       .norm2 = 240 * 240,
                                       .bits = 3};
    unsigned steps_of = 5;
    struct figures f;
    const struct figures_option options[] = {{.name = "steps", .count = &steps_of}};
    figures_begin(&f, argc, argv, options, 1);
    for (uint16_t a = 0; a < COLUMNS_MAX; a++) {
        column[a] = a;
        image_size[a] = a == COLUMNS_MAX - 1 ? 10 : 16;
    }
    steps_of = f.smoke ? 1 : steps_of < STEPS_MAX ? steps_of : STEPS_MAX;
    return figures_end(
        &f, !measure_both("adult", &adult, f.smoke ? 3000 : 39074, steps_of, f.out) ||
                !measure_both("images", &images, f.smoke ? 3000 : 60000, steps_of, f.out));
}
