#include "bench/flaim/flaim_gather.h"

#include "aim/workload/tabulate.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum err gathering_new(struct flaim_gathering *g, const struct flaim_crowd *crowd, size_t most)
{
    *g = (struct flaim_gathering){.crowd = crowd};
    g->query = memory_array(most, sizeof *g->query);
    g->member = memory_array(most * crowd->clients, sizeof *g->member);
    return g->query != NULL && g->member != NULL ? ERR_OK : ERR_NOMEM;
}

void gathering_clear(struct flaim_gathering *g)
{
    memory_free_all(&g->query, &g->member);
}

uint8_t *gathering_add(struct flaim_gathering *g, uint32_t query)
{
    g->query[g->queries] = query;
    return g->member + g->queries++ * g->crowd->clients;
}

size_t gathering_members(const struct flaim_gathering *g, size_t i)
{
    size_t n = 0;
    for (size_t k = 0; k < g->crowd->clients; k++)
        n += g->member[i * g->crowd->clients + k];
    return n;
}

/* m times the client's counts, and its part of the noise. */
static enum err contribute(const struct flaim_gathering_terms *t, const struct table *rows,
                           uint32_t query, size_t members, uint32_t *words)
{
    const struct workload_query *q = &t->options->workload->query[query];
    double scale = ldexp(1 / sqrt((double)members), (int)t->lattice - FLAIM_LATTICE_MOST);
    int64_t *counts = memory_array(q->cells, sizeof *counts);
    int64_t *noise = memory_array(q->cells, sizeof *noise);
    enum err e = counts != NULL && noise != NULL
                     ? t->options->noise.gauss(t->options->noise.self, q->cells, noise)
                     : ERR_NOMEM;
    if (e == ERR_OK) {
        tabulate_marginal(rows, &q->clique, counts);
        for (uint64_t i = 0; i < q->cells; i++)
            words[i] = (uint32_t)((int64_t)t->multiplier * counts[i] +
                                  llrint((double)noise[i] * scale));
    }
    memory_free_all(&counts, &noise);
    return e;
}

/* A gathering as a job of secure aggregation, and the places of its words. */
struct packed {
    struct secagg_segment *segment;
    uint32_t *word, **input; /* of each client of the crowd */
    uint32_t *sum, *plain;
    uint64_t *sent, *received;
    size_t words; /* of all segments */
};

static enum err pack_new(struct packed *p, const struct flaim_gathering_terms *t,
                         const struct flaim_gathering *g)
{
    size_t n = g->crowd->clients, all = 0, at = 0;
    *p = (struct packed){0};
    p->segment = memory_array(g->queries, sizeof *p->segment);
    if (p->segment == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < g->queries; i++) {
        p->segment[i].words = t->options->workload->query[g->query[i]].cells;
        p->segment[i].member = g->member + i * n;
        p->words += p->segment[i].words;
        all += p->segment[i].words * gathering_members(g, i);
    }
    p->word = memory_array(all, sizeof *p->word);
    p->input = memory_array(n, sizeof *p->input);
    p->sum = memory_array(p->words, sizeof *p->sum);
    p->plain = memory_array(p->words, sizeof *p->plain);
    p->sent = memory_array(n, sizeof *p->sent);
    p->received = memory_array(n, sizeof *p->received);
    if (p->word == NULL || p->input == NULL || p->sum == NULL || p->plain == NULL ||
        p->sent == NULL || p->received == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < n; k++) {
        p->input[k] = p->word + at;
        for (size_t i = 0; i < g->queries; i++)
            at += p->segment[i].member[k] != 0 ? p->segment[i].words : 0;
    }
    return ERR_OK;
}

static void pack_clear(struct packed *p)
{
    memory_free_all(&p->segment, &p->word, &p->input, &p->sum, &p->plain, &p->sent, &p->received);
}

/* Every client's words, segment by segment, and their plain sums. */
static enum err pack_fill(struct packed *p, const struct flaim_gathering_terms *t,
                          const struct flaim_gathering *g)
{
    size_t n = g->crowd->clients, first = 0;
    size_t *done = memory_array(n, sizeof *done); /* words of each client so far */
    enum err e = done != NULL ? ERR_OK : ERR_NOMEM;
    for (size_t i = 0; e == ERR_OK && i < g->queries; first += p->segment[i++].words)
        for (size_t k = 0; e == ERR_OK && k < n; k++) {
            uint32_t *words = p->input[k] + done[k];
            if (p->segment[i].member[k] == 0)
                continue;
            e = contribute(t, t->options->split->client[g->crowd->client[k]], g->query[i],
                           gathering_members(g, i), words);
            for (size_t j = 0; e == ERR_OK && j < p->segment[i].words; j++)
                p->plain[first + j] += words[j];
            done[k] += p->segment[i].words;
        }
    memory_free(&done);
    return e;
}

static enum err add_up(struct packed *p, const struct flaim_gathering_terms *t,
                       const struct flaim_gathering *g, struct log *log)
{
    const struct secagg_job job = {.clients = g->crowd->clients,
                                   .threshold = secagg_threshold(g->crowd->clients),
                                   .segments = g->queries,
                                   .segment = p->segment,
                                   .input = (const uint32_t *const *)p->input,
                                   .sum = p->sum,
                                   .sent = p->sent,
                                   .received = p->received};
    if (!t->options->real_messages) {
        secagg_count(&job);
        memcpy(p->sum, p->plain, p->words * sizeof *p->sum);
        return ERR_OK;
    }
    TRY(secagg_run(&job, log));
    if (memcmp(p->sum, p->plain, p->words * sizeof *p->sum) == 0)
        return ERR_OK;
    log_error(log, "secure aggregation gave another sum than addition");
    return ERR_CRYPTO;
}

static void count_bytes(const struct packed *p, const struct flaim_gathering_terms *t,
                        const struct flaim_gathering *g)
{
    for (size_t k = 0; k < g->crowd->clients; k++) {
        size_t client = g->crowd->client[k];
        t->wire[client].sent += p->sent[k];
        t->wire[client].received += p->received[k];
        for (size_t i = 0; i < g->queries; i++)
            if (p->segment[i].member[k] != 0)
                t->paper[client].sent += FLAIM_ELEMENT * p->segment[i].words;
    }
}

enum err gathering_sum(const struct flaim_gathering *g, const struct flaim_gathering_terms *t,
                       uint32_t **sum, struct log *log)
{
    struct packed p;
    enum err e = pack_new(&p, t, g);
    *sum = NULL;
    if (e == ERR_OK)
        e = pack_fill(&p, t, g);
    if (e == ERR_OK)
        e = add_up(&p, t, g, log);
    if (e == ERR_OK) {
        count_bytes(&p, t, g);
        *sum = p.sum;
        p.sum = NULL;
    }
    pack_clear(&p);
    return e;
}
