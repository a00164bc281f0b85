#include "bench/count.h"

#include "base/memory.h"
#include "bench/cpu.h"
#include "harness/forked.h"
#include "mpc/check/check.h"
#include "protocols/mask.h"
#include "protocols/records.h"

#include <string.h>
#include <sys/mman.h>

/* In memory that the processes share. */
struct count_board {
    const struct bench_data *data;
    size_t owners, records;
    bool proved;
    double cpu_s[3], bytes, rounds;
};

/* What a server holds: seeds, or a vector that is as good as random, the same for every owner. */
struct count_held {
    struct records_shape shape;
    uint32_t *size;
    uint16_t *attribute;
    uint8_t *vector;
    struct records_part part;
    struct records_batch *batch;
    struct records_query *query;
    size_t queries;
};

static void held_free(struct count_held *h)
{
    for (size_t k = 0; k < h->queries; k++)
        share64_free(&h->query[k].out);
    memory_free_all(&h->size, &h->attribute, &h->vector, &h->batch, &h->query);
}

static enum err ask(struct count_held *h, const struct workload *load)
{
    for (size_t k = 0; k < load->queries; k++) {
        const struct workload_query *from = &load->query[k];
        struct records_query *q = &h->query[h->queries];
        if (!from->maximal)
            continue;
        q->n = from->clique.n;
        memcpy(q->attribute, from->clique.attribute, q->n * sizeof *q->attribute);
        TRY(share64_new(&q->out, from->cells));
        h->queries++;
    }
    return ERR_OK;
}

static enum err hold(struct count_held *h, const struct party *p, const struct count_board *b)
{
    static const uint8_t seeds[2][MASK_SEED_SIZE] = {{1}, {2}};
    const struct domain *d = b->data->domain;
    size_t bytes;
    h->size = memory_array(d->attributes, sizeof *h->size);
    h->attribute = memory_array(d->attributes, sizeof *h->attribute);
    h->batch = memory_array(b->owners, sizeof *h->batch);
    h->query = memory_array(b->data->workload->queries, sizeof *h->query);
    if (h->size == NULL || h->attribute == NULL || h->batch == NULL || h->query == NULL)
        return ERR_NOMEM;
    for (size_t a = 0; a < d->attributes; a++) {
        h->size[a] = d->attribute[a].size;
        h->attribute[a] = (uint16_t)a;
    }
    h->shape = (struct records_shape){d->attributes, h->size};
    bytes = records_bytes(&h->shape, b->records);
    h->vector = memory_array(bytes, 1);
    if (h->vector == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < bytes; i++)
        h->vector[i] = (uint8_t)(i * 40503 >> 8);
    h->part = (struct records_part){
        .attributes = d->attributes, .attribute = h->attribute, .vector = h->vector};
    for (unsigned slot = 0; slot < 2; slot++)
        if ((p->index + slot) % 3 < 2)
            h->part.seed[slot] = seeds[(p->index + slot) % 3];
    for (size_t i = 0; i < b->owners; i++)
        h->batch[i] = (struct records_batch){.records = b->records, .parts = 1, .part = &h->part};
    return ask(h, b->data->workload);
}

static enum err count(struct party *p, struct count_board *b, const struct count_held *h)
{
    uint64_t zero = 0;
    TRY(forked_barrier(p, &zero));
    const struct net_counters before = net_total(p->net);
    const double cpu = cpu_s();
    net_enter(p->net, NET_COMPUTE);
    TRY(records_count(p, &h->shape, h->batch, b->owners, h->query, h->queries));
    TRY(record_prove(p));
    const struct net_counters after = net_total(p->net);
    b->cpu_s[p->index] = cpu_s() - cpu;
    if (p->index == 0) {
        b->bytes = (double)(after.payload_sent - before.payload_sent);
        b->rounds = (double)(after.exchanges - before.exchanges);
    }
    return forked_barrier(p, &zero);
}

static enum err count_at(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct count_board *b = shared;
    struct count_held h = {.queries = 0};
    enum err e = b->proved ? check_new(p, &limits) : ERR_OK;
    if (e == ERR_OK)
        e = hold(&h, p, b);
    if (e == ERR_OK)
        e = count(p, b, &h);
    held_free(&h);
    return e;
}

bool count_table(const struct bench_data *data, size_t owners, size_t records, bool proved,
                 struct count_result *result)
{
    struct count_board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double peak[3];
    bool right;
    if (b == MAP_FAILED)
        return false;
    *b = (struct count_board){.data = data, .owners = owners, .records = records, .proved = proved};
    right = forked_run("count_table", count_at, b, peak);
    if (right)
        *result = (struct count_result){b->cpu_s[0] + b->cpu_s[1] + b->cpu_s[2], b->bytes,
                                        b->rounds, peak[0]};
    munmap(b, sizeof *b);
    return right;
}
