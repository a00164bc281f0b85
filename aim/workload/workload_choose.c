/* Workloads by a rule: all k-way marginals, or some of them drawn at random. */
#include "aim/workload/workload.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>

/* The next k-subset of 0 .. n-1 in lexicographic order. */
static bool next_clique(struct clique *c, size_t n)
{
    unsigned i = c->n;
    while (i > 0 && c->attribute[i - 1] == n - c->n + i - 1)
        i--;
    if (i == 0)
        return false;
    c->attribute[i - 1]++;
    for (; i < c->n; i++)
        c->attribute[i] = (uint16_t)(c->attribute[i - 1] + 1);
    return true;
}

uint64_t workload_choices(uint64_t n, unsigned k)
{
    uint64_t count = 1;
    for (unsigned j = 0; j < k; j++) { /* exact: a product of j+1 consecutive numbers over (j+1)! */
        count = count * (n - j) / (j + 1);
        if (count >> 50 != 0)
            return UINT64_MAX;
    }
    return count;
}

static enum err check_order(const struct domain *d, unsigned k, const char *what, struct log *log)
{
    if (k > 0 && k <= CLIQUE_MAX && k <= d->attributes)
        return ERR_OK;
    return log_fail(log, ERR_STUDY, "%s %u-way marginals: 1 to %zu are possible here", what, k,
                    d->attributes < CLIQUE_MAX ? d->attributes : (size_t)CLIQUE_MAX);
}

enum err workload_all(struct workload **w, const struct domain *d, unsigned k, struct log *log)
{
    struct clique c = {.n = (uint16_t)k};
    struct clique *all CLEAN(memory_release) = NULL;
    uint64_t count;
    size_t i = 0;
    *w = NULL;
    TRY(check_order(d, k, "all", log));
    count = workload_choices(d->attributes, k);
    if (count > WORKLOAD_CLIQUES_MAX)
        return log_fail(log, ERR_STUDY,
                        "all %u-way marginals of %zu attributes are more than the %llu allowed", k,
                        d->attributes, (unsigned long long)WORKLOAD_CLIQUES_MAX);
    TRY(memory_new(&all, (size_t)count));
    for (unsigned j = 0; j < k; j++)
        c.attribute[j] = (uint16_t)j;
    do
        all[i++] = c;
    while (next_clique(&c, d->attributes));
    return workload_new(w, d, all, NULL, i, log);
}

/* A k-subset, each equally likely (Floyd). */
static struct clique draw_clique(struct random *r, size_t n, unsigned k)
{
    bool in[DOMAIN_ATTRIBUTES_MAX] = {false};
    struct clique c = {0};
    for (size_t j = n - k; j < n; j++) {
        size_t v = (size_t)random_below(r, j + 1);
        in[in[v] ? j : v] = true;
    }
    for (size_t a = 0; a < n; a++)
        if (in[a])
            c.attribute[c.n++] = (uint16_t)a;
    return c;
}

/* Draws different cliques, sorted; false if they leave an attribute out. */
static bool draw_cliques(struct random *r, const struct domain *d, unsigned k, struct clique *c,
                         size_t count)
{
    bool in[DOMAIN_ATTRIBUTES_MAX] = {false};
    size_t have = 0, covered = 0;
    while (have < count) { /* the repeats are drawn again */
        size_t kept = 0;
        while (have < count)
            c[have++] = draw_clique(r, d->attributes, k);
        qsort(c, have, sizeof *c, clique_compare);
        for (size_t i = 0; i < have; i++)
            if (i == 0 || !clique_equal(&c[i], &c[kept - 1]))
                c[kept++] = c[i];
        have = kept;
    }
    for (size_t i = 0; i < count; i++)
        for (unsigned j = 0; j < k; j++) {
            covered += !in[c[i].attribute[j]];
            in[c[i].attribute[j]] = true;
        }
    return covered == d->attributes;
}

enum err workload_random(struct workload **w, const struct domain *d, unsigned k, size_t count,
                         uint64_t seed, struct log *log)
{
    struct clique *c CLEAN(memory_release) = NULL;
    struct random r;
    uint64_t all;
    *w = NULL;
    TRY(check_order(d, k, "random", log));
    all = workload_choices(d->attributes, k);
    if (count == 0 || count > WORKLOAD_CLIQUES_MAX || count > all)
        return log_fail(
            log, ERR_STUDY, "%zu random %u-way marginals of %zu attributes: 1 to %llu are possible",
            count, k, d->attributes,
            (unsigned long long)(all < WORKLOAD_CLIQUES_MAX ? all : WORKLOAD_CLIQUES_MAX));
    if (count == all)
        return workload_all(w, d, k, log);
    TRY(memory_new(&c, count));
    r = random_of(seed);
    for (int draws = 0; draws < 1000; draws++)
        if (draw_cliques(&r, d, k, c, count))
            return workload_new(w, d, c, NULL, count, log);
    return log_fail(log, ERR_STUDY,
                    "%zu random %u-way marginals leave attributes out; ask for more of them", count,
                    k);
}
