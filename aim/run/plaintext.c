#include "aim/run/plaintext.h"

#include "aim/budget/score.h"
#include "aim/workload/merge.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"

#include <string.h>

struct plaintext {
    const struct workload *workload;
    struct log *log;
    int64_t *counts;
    struct slope *rows; /* NULL: none that gradients are of */
    struct plaintext_noise noise;
};

_Static_assert(AIM_GAUSS_BITS == RANDOM_GAUSS_BITS && AIM_GUMBEL_BITS == RANDOM_GUMBEL_BITS,
               "random.h draws on the lattices of requests");

static enum err draw_gauss(void *self, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = random_gauss(self);
    return ERR_OK;
}

static enum err draw_gumbel(void *self, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = random_gumbel(self);
    return ERR_OK;
}

struct plaintext_noise noise_from_random(struct random *r)
{
    return (struct plaintext_noise){.self = r, .gauss = draw_gauss, .gumbel = draw_gumbel};
}

static enum err empty(struct plaintext **out, const struct workload *w,
                      const struct plaintext_noise *noise, struct log *log)
{
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    *out = NULL;
    TRY(memory_new(&p, 1));
    p->workload = w;
    p->log = log;
    p->noise = *noise;
    TRY(memory_new(&p->counts, w->cells));
    return memory_hand_over(out, &p);
}

enum err plaintext_new(struct plaintext **p, const struct workload *w, const struct table *t,
                       const struct plaintext_noise *noise, struct log *log)
{
    enum err e;
    TRY(empty(p, w, noise, log));
    e = tabulate_closure(t, w, (*p)->counts);
    if (e != ERR_OK)
        plaintext_free(p);
    return e;
}

enum err plaintext_new_counts(struct plaintext **p, const struct workload *w, const int64_t *counts,
                              const struct plaintext_noise *noise, struct log *log)
{
    TRY(empty(p, w, noise, log));
    memcpy((*p)->counts, counts, w->cells * sizeof *counts);
    return ERR_OK;
}

void plaintext_free(struct plaintext **p)
{
    if (*p == NULL)
        return;
    memory_free(&(*p)->counts);
    memory_free(p);
}

void plaintext_train(struct plaintext *p, struct slope *rows)
{
    p->rows = rows;
}

static enum err check_query(const struct plaintext *p, uint32_t query)
{
    if (query < p->workload->queries)
        return ERR_OK;
    return log_fail(p->log, ERR_REFUSED, "query %u is not a marginal of the workload's closure",
                    query);
}

/* The counts that a request is about. The caller frees `own`, which may hold them. */
static enum err counts_of(const struct plaintext *p, uint32_t query, const struct merges *merges,
                          const int64_t **counts, int64_t **own)
{
    const struct workload_query *q;
    uint32_t *index CLEAN(memory_release) = NULL;
    TRY(check_query(p, query));
    q = &p->workload->query[query];
    *counts = p->counts + q->offset;
    if (merges == NULL || !merges_touch(merges, &q->clique))
        return ERR_OK;
    TRY(memory_new(own, merges_query_cells(merges, q)));
    TRY(memory_new(&index, q->cells));
    merges_index(merges, &q->clique, index);
    for (uint64_t i = 0; i < q->cells; i++)
        (*own)[index[i]] += (*counts)[i];
    *counts = *own;
    return ERR_OK;
}

/* values = noise + m * counts; *cells is the number of them. */
static enum err measure_one(struct plaintext *p, const struct ask *a, uint32_t query, uint64_t m,
                            int64_t *values, uint64_t *cells)
{
    int64_t *own CLEAN(memory_release) = NULL;
    const int64_t *counts;
    TRY(counts_of(p, query, a->merges, &counts, &own));
    *cells = merges_query_cells(a->merges, &p->workload->query[query]);
    TRY(p->noise.gauss(p->noise.self, *cells, values));
    for (uint64_t i = 0; i < *cells; i++)
        values[i] += (int64_t)m * counts[i];
    return ERR_OK;
}

static enum err measure(struct plaintext *p, const struct ask *a, struct ask_told *t)
{
    int64_t *value = t->value;
    uint64_t cells;
    for (uint32_t k = 0; k < a->queries; k++, value += cells)
        TRY(measure_one(p, a, a->query[k], ask_multiplier(a, k), value, &cells));
    return ERR_OK;
}

/* How badly the model fits candidate k, less the penalty for noise alone. */
static enum err score_of(const struct plaintext *p, const struct ask *a, uint32_t k,
                         const uint64_t *estimate, uint64_t *cells, int64_t *score)
{
    int64_t *own CLEAN(memory_release) = NULL;
    const int64_t *counts;
    TRY(counts_of(p, a->query[k], a->merges, &counts, &own));
    *cells = merges_query_cells(a->merges, &p->workload->query[a->query[k]]);
    *score = (int64_t)select_score(a->price->score, *cells, counts, estimate) -
             (int64_t)a->price->penalty[k];
    return ERR_OK;
}

static enum err select_worst(struct plaintext *p, const struct ask *a, struct ask_told *t)
{
    int64_t *noise CLEAN(memory_release) = NULL;
    const uint64_t *estimate = a->estimate;
    const unsigned finer = a->price->plan.shift - AIM_GUMBEL_BITS;
    int64_t best = 0;
    uint64_t cells;
    TRY(memory_new(&noise, a->queries));
    TRY(p->noise.gumbel(p->noise.self, a->queries, noise));
    for (uint32_t k = 0; k < a->queries; k++, estimate += cells) {
        int64_t score;
        TRY(score_of(p, a, k, estimate, &cells, &score));
        score = (int64_t)a->price->scale[k] * score + noise[k] * (INT64_C(1) << finer);
        if (k == 0 || score > best) {
            best = score;
            t->selected = k;
        }
    }
    return ERR_OK;
}

static enum err open_forms(struct plaintext *p, const struct ask *a, struct ask_told *t)
{
    const struct forms products = ask_forms(a, p->workload);
    size_t *start CLEAN(memory_release) = NULL;
    TRY(memory_new(&start, p->workload->queries));
    for (size_t q = 0; q < p->workload->queries; q++)
        start[q] = (size_t)p->workload->query[q].offset;
    TRY(p->noise.gauss(p->noise.self, t->values, t->value));
    return forms_add(&products, (const uint64_t *)p->counts, start, (uint64_t *)t->value);
}

static enum err open_scores(struct plaintext *p, const struct ask *a, struct ask_told *t)
{
    const uint64_t *estimate = a->estimate;
    TRY(p->noise.gauss(p->noise.self, t->values, t->value));
    for (uint32_t k = 0; k < a->queries; k++) {
        const uint64_t cells = merges_query_cells(a->merges, &p->workload->query[a->query[k]]);
        int64_t *own CLEAN(memory_release) = NULL;
        const int64_t *counts;
        TRY(counts_of(p, a->query[k], a->merges, &counts, &own));
        t->value[k] += (int64_t)score_distance(a->multiplier, cells, counts, estimate);
        estimate += cells;
    }
    return ERR_OK;
}

static enum err open_sums(struct plaintext *p, const struct ask *a, struct ask_told *t,
                          void (*add)(struct slope *rows, const int64_t *weight, int64_t *sums))
{
    int64_t *sums CLEAN(memory_release) = NULL;
    TRY(memory_new(&sums, t->values));
    add(p->rows, a->weight, sums);
    TRY(p->noise.gauss(p->noise.self, t->values, t->value));
    for (size_t i = 0; i < t->values; i++)
        t->value[i] += (int64_t)a->multiplier * sums[i];
    return ERR_OK;
}

static enum err answer(void *self, const struct ask *a, struct ask_told *t)
{
    struct plaintext *p = self;
    uint64_t cells;
    for (uint32_t k = 0; k < a->queries; k++)
        TRY(check_query(p, a->query[k]));
    if (a->kind == ASK_SELECT)
        TRY(select_worst(p, a, t));
    if (ask_trains(a) && p->rows == NULL)
        return ERR_MISUSE;
    t->values = (size_t)ask_cells(a, p->workload, p->rows != NULL ? slope_features(p->rows) : NULL,
                                  t->selected);
    TRY(memory_new(&t->value, t->values));
    switch (a->kind) {
    case ASK_MEASURE:
        return measure(p, a, t);
    case ASK_SELECT:
        return measure_one(p, a, a->query[t->selected], a->multiplier, t->value, &cells);
    case ASK_FORMS:
        return open_forms(p, a, t);
    case ASK_SCORES:
        return open_scores(p, a, t);
    case ASK_GRADIENT:
        return open_sums(p, a, t, slope_sum);
    case ASK_TEST:
        return open_sums(p, a, t, slope_test);
    case ASK_LOOK:
        break; /* it has counts, and no rows to link */
    }
    return ERR_MISUSE;
}

enum err plaintext_look(const struct plaintext_noise *noise, uint64_t number, uint64_t multiplier,
                        int64_t *value)
{
    TRY(noise->gauss(noise->self, 1, value));
    *value += (int64_t)(multiplier * number);
    return ERR_OK;
}

struct aim_backend plaintext_backend(struct plaintext *p)
{
    return (struct aim_backend){.self = p, .ask = answer};
}
