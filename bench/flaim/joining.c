#include "bench/flaim/joining.h"

#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "parties/analyst/central.h"

struct joining {
    struct joining_terms terms;
    int64_t *counts, *newcomers; /* of the closure */
    bool *here;
    size_t clients;
    uint64_t population;
    struct plaintext *now; /* of the current population; NULL: nobody yet */
    struct log *log;
};

enum err joining_new(struct joining **out, const struct joining_terms *terms, struct log *log)
{
    struct joining *j = memory_array(1, sizeof *j);
    *out = j;
    if (j == NULL)
        return ERR_NOMEM;
    j->terms = *terms;
    j->log = log;
    j->counts = memory_array(terms->workload->cells, sizeof *j->counts);
    j->newcomers = memory_array(terms->workload->cells, sizeof *j->newcomers);
    j->here = memory_array(terms->split->clients, sizeof *j->here);
    if (j->counts == NULL || j->newcomers == NULL || j->here == NULL) {
        joining_free(out);
        return ERR_NOMEM;
    }
    return ERR_OK;
}

void joining_free(struct joining **j)
{
    if (*j == NULL)
        return;
    plaintext_free(&(*j)->now);
    memory_free_all(&(*j)->counts, &(*j)->newcomers, &(*j)->here);
    memory_free(j);
}

size_t joining_clients(const struct joining *j)
{
    return j->clients;
}

/* The rows that come in with this round. */
static enum err draw(struct joining *j, struct table *rows)
{
    const struct flaim_split *s = j->terms.split;
    bool *drawn = memory_array(s->clients, sizeof *drawn);
    enum err e = drawn != NULL ? ERR_OK : ERR_NOMEM;
    if (e == ERR_OK)
        split_draw(s, j->terms.participation, j->terms.coins, drawn);
    for (size_t k = 0; e == ERR_OK && k < s->clients; k++) {
        if (!drawn[k])
            continue;
        if (j->terms.kind == JOINING_ROUND || !j->here[k])
            e = central_append(rows, s->client[k]);
        j->clients += !j->here[k];
        j->here[k] = true;
    }
    memory_free(&drawn);
    return e;
}

static enum err admit(struct joining *j, const struct table *rows)
{
    const struct workload *w = j->terms.workload;
    if (rows->rows == 0)
        return ERR_OK;
    TRY(tabulate_closure(rows, w, j->newcomers));
    for (uint64_t i = 0; i < w->cells; i++)
        j->counts[i] = (j->terms.kind == JOINING_ROUND ? 0 : j->counts[i]) + j->newcomers[i];
    plaintext_free(&j->now);
    j->population++;
    return plaintext_new_counts(&j->now, w, j->counts, &j->terms.noise, j->log);
}

static enum err next_population(struct joining *j)
{
    bool ahead = j->terms.kind == JOINING_AHEAD;
    struct table *rows = NULL;
    enum err e;
    if (ahead && j->now != NULL)
        return ERR_OK;
    e = table_new(&rows, j->terms.split->train->domain, 0);
    for (unsigned round = 0; e == ERR_OK && round <= (ahead ? j->terms.rounds : 0); round++)
        e = draw(j, rows);
    if (e == ERR_OK)
        e = admit(j, rows);
    table_free(&rows);
    return e;
}

static enum err ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct joining *j = self;
    struct aim_backend now;
    TRY(next_population(j));
    now = plaintext_backend(j->now);
    told->population = j->population;
    return now.ask(now.self, a, told);
}

struct aim_backend joining_backend(struct joining *j)
{
    return (struct aim_backend){.self = j, .ask = ask};
}
