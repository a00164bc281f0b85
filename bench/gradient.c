#include "bench/gradient.h"

#include "base/memory.h"
#include "bench/cpu.h"
#include "harness/forked.h"
#include "mpc/check/check.h"
#include "protocols/mask.h"
#include "protocols/measure.h"
#include "protocols/train_gradient.h"

#include <sys/mman.h>

#define COLUMNS_MAX 253

/* In memory that the processes share. */
struct gradient_board {
    const struct train_shape *shape;
    size_t records;
    unsigned steps;
    bool proved;
    double session_s[3], step_s[3][GRADIENT_STEPS_MAX], bytes, rounds;
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
    memory_free_all(&h->vector, &h->weight, &h->values);
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

/* As large as a table: its columns, the class last. */
struct gradient_table {
    uint32_t size[COLUMNS_MAX];
    uint16_t column[COLUMNS_MAX];
    struct train_shape shape;
};

static void shape_of(struct gradient_table *t, enum gradient_rows rows)
{
    static const uint32_t adult[] = {32, 8, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 2};
    const bool images = rows == GRADIENT_IMAGES;
    const uint16_t attributes = images ? COLUMNS_MAX : sizeof adult / sizeof *adult;
    for (uint16_t a = 0; a < attributes; a++) {
        t->column[a] = a;
        t->size[a] = !images ? adult[a] : a == COLUMNS_MAX - 1 ? 10 : 16;
    }
    t->shape = (struct train_shape){.records = {attributes, t->size},
                                    .target = (uint16_t)(attributes - 1),
                                    .classes = t->size[attributes - 1],
                                    .column = t->column,
                                    .columns = attributes - 1u,
                                    .norm2 = images ? 240 * 240 : 0,
                                    .bits = images ? 3 : 5};
}

double gradient_row_bytes(enum gradient_rows rows)
{
    struct gradient_table t;
    shape_of(&t, rows);
    return (double)records_bytes(&t.shape.records, GRADIENT_SMOKE) / GRADIENT_SMOKE;
}

static bool measure(struct gradient_board *b, struct gradient_figures *f)
{
    double peak[3], each[GRADIENT_STEPS_MAX];
    if (!forked_run("gradient", serve, b, peak))
        return false;
    for (unsigned k = 0; k < b->steps; k++)
        each[k] = (b->step_s[0][k] + b->step_s[1][k] + b->step_s[2][k]) / 3;
    *f = (struct gradient_figures){
        .server_cpu_s = cpu_median(each, b->steps),
        .session_cpu_s = (b->session_s[0] + b->session_s[1] + b->session_s[2]) / 3,
        .bytes = b->bytes,
        .rounds = b->rounds,
        .peak_mib = peak[0]};
    return true;
}

bool gradient_measure(struct gradient_figures *f, enum gradient_rows rows, bool proved, bool smoke,
                      unsigned steps)
{
    static const size_t records[] = {[GRADIENT_ADULT] = 39074, [GRADIENT_IMAGES] = 60000};
    struct gradient_table t;
    struct gradient_board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool right;
    if (b == MAP_FAILED)
        return false;
    shape_of(&t, rows);
    *b = (struct gradient_board){.shape = &t.shape,
                                 .records = smoke ? GRADIENT_SMOKE : records[rows],
                                 .steps = smoke                        ? 1
                                          : steps < GRADIENT_STEPS_MAX ? steps
                                                                       : GRADIENT_STEPS_MAX,
                                 .proved = proved};
    right = measure(b, f);
    munmap(b, sizeof *b);
    return right;
}
