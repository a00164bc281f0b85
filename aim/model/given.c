#include "aim/model/given_private.h"

#include "aim/model/factor.h"
#include "aim/model/sweep.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BATCH ((size_t)1 << 16)    /* rows at a time, */
#define MESSAGES ((size_t)1 << 24) /* or fewer, so that these many numbers are enough */

/* --- a model's tables ------------------------------------------------------------------------- */

static enum err make_cells(const struct given *g, size_t i)
{
    const struct domain *d = model_grouped(g->model);
    const struct junction_clique *c = &model_junction(g->model)->clique[i];
    struct factor f CLEAN(factor_clear) = {0};
    TRY(factor_new(&f, &c->scope, d));
    memcpy(f.value, model_belief(g->model, i), f.cells * sizeof *f.value);
    TRY(factor_condition(&f, &c->separator, d));
    g->cell[i] = f.value;
    f.value = NULL;
    for (uint64_t k = 0; k < f.cells; k++)
        g->cell[i][k] = g->cell[i][k] >= DBL_MIN ? log(g->cell[i][k]) : -INFINITY;
    return ERR_OK;
}

enum err given_new(struct given **out, const struct model *m)
{
    struct given *g CLEAN(given_free) = NULL;
    *out = NULL;
    TRY(memory_new(&g, 1));
    g->model = m;
    TRY(memory_new(&g->cell, model_junction(m)->cliques));
    for (size_t i = 0; i < model_junction(m)->cliques; i++)
        TRY(make_cells(g, i));
    return memory_hand_over(out, &g);
}

void given_free(struct given **g)
{
    if (*g == NULL)
        return;
    memory_free_each(&(*g)->cell, model_junction((*g)->model)->cliques);
    memory_free(g);
}

/* --- what is known ---------------------------------------------------------------------------- */

static uint32_t group_of(const struct given_drawing *w, uint16_t attribute, uint32_t code)
{
    const uint32_t *group = model_merges(w->g->model)->group[attribute];
    return group != NULL ? group[code] : code;
}

/* Codes become groups, and weights those of groups: of their codes, by shares. */
static enum err take(struct given_drawing *w, const struct given_column *k, size_t rows)
{
    const uint16_t a = k->attribute;
    const uint32_t size = model_domain(w->g->model)->attribute[a].size;
    const uint32_t groups = w->domain->attribute[a].size;
    const double *share = model_share(w->g->model, a);
    size_t sets = 0;
    double *of;
    w->known[a] = k;
    TRY(memory_new(&w->state[a], rows));
    for (size_t row = 0; row < rows; row++) {
        const uint32_t code = k->code[row];
        w->state[a][row] = code == GIVEN_ANY ? code
                           : code < size     ? group_of(w, a, code)
                                             : code - size + groups;
        if (code >= size + sets && code != GIVEN_ANY)
            sets = code - size + 1;
    }
    w->sets[a] = sets;
    TRY(memory_new(&w->weight[a], sets * groups));
    of = w->weight[a];
    for (size_t i = 0; i < sets * size; i++)
        of[i / size * groups + group_of(w, a, (uint32_t)(i % size))] +=
            k->weight[i] * (share != NULL ? share[i % size] : 1);
    for (size_t i = 0; i < sets * groups; i++)
        of[i] = of[i] > 0 ? log(of[i]) : -INFINITY;
    return ERR_OK;
}

/* --- which rows are alike --------------------------------------------------------------------- */

/* Rows keep the same id where they had the same and have the same value; returns how many ids. */
static uint32_t refine(struct given_drawing *w, uint32_t *id, const uint32_t *value)
{
    uint32_t n = 0;
    memset(w->slot, 0, w->slots * sizeof *w->slot);
    for (size_t row = 0; row < w->rows; row++) {
        const uint64_t pair = ((uint64_t)id[row] << 32 | value[row]) + 1;
        size_t at = (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (w->slots - 1);
        while (w->slot[at] != 0 && w->slot[at] != pair)
            at = (at + 1) & (w->slots - 1);
        if (w->slot[at] == 0) {
            w->slot[at] = pair;
            w->id[at] = n++;
        }
        id[row] = w->id[at];
    }
    return n;
}

/* Weights count in the one clique that has their column and not in its separator. */
static void read_own(struct given_drawing *w, uint16_t attribute, bool weights)
{
    for (size_t row = 0; row < w->rows; row++) {
        const uint32_t state = w->state[attribute][w->first + row];
        w->own[row] = weights || state < w->domain->attribute[attribute].size ? state : GIVEN_ANY;
    }
}

static enum err find_kinds(struct given_drawing *w, size_t i)
{
    const struct junction *j = model_junction(w->g->model);
    const struct junction_clique *c = &j->clique[i];
    struct given_kinds *k = &w->kinds[i];
    for (unsigned a = 0; a < c->scope.n; a++) {
        const uint16_t attribute = c->scope.attribute[a];
        if (w->state[attribute] == NULL)
            continue;
        if (k->of == NULL)
            TRY(memory_new(&k->of, w->rows));
        read_own(w, attribute, !scope_has(&c->separator, attribute));
        k->n = refine(w, k->of, w->own);
    }
    for (size_t child = i + 1; child < j->cliques; child++) {
        if (j->clique[child].parent != i || w->kinds[child].of == NULL)
            continue;
        if (k->of == NULL)
            TRY(memory_new(&k->of, w->rows));
        k->n = refine(w, k->of, w->kinds[child].of);
    }
    if (k->of == NULL)
        return ERR_OK;
    TRY(memory_new(&k->row, k->n));
    k->cells = scope_cells(&c->separator, w->domain);
    TRY(memory_new(&k->message, k->n * k->cells));
    for (size_t row = w->rows; row-- > 0;)
        k->row[k->of[row]] = (uint32_t)row;
    return ERR_OK;
}

/* Cells become exp(cell - the largest), which is returned: -INFINITY if all are. */
static double exponentiate(double *cell, uint64_t n)
{
    double most = -INFINITY;
    for (uint64_t i = 0; i < n; i++)
        most = fmax(most, cell[i]);
    for (uint64_t i = 0; i < n; i++)
        cell[i] = most > -INFINITY ? fmax(cell[i] - most, -1e3) : -1e3;
    sweep_best()->exp(cell, n);
    return most;
}

/* --- up and down ------------------------------------------------------------------------------ */

static enum err send_up(struct given_drawing *w, size_t i)
{
    struct given_kinds *k = &w->kinds[i];
    struct given_slice s;
    TRY(find_kinds(w, i));
    for (uint32_t kind = 0; kind < k->n; kind++) {
        given_slice_make(&s, w, i, k->row[kind]);
        given_slice_fill(&s, 0, 0, w->room);
        for (uint64_t sep = 0; sep < s.seps_cells; sep++) {
            double *cell = w->room + sep * s.cells, most = exponentiate(cell, s.cells), sum = 0;
            for (uint64_t c = 0; c < s.cells; c++)
                sum += cell[c];
            k->message[kind * k->cells + sep] = most + log(sum);
        }
    }
    return ERR_OK;
}

/* A place drawn by sums so far. */
static uint64_t pick(struct given_drawing *w, const double *sum, uint64_t n)
{
    const double place = random_double(&w->random) * sum[n - 1];
    uint64_t low = 0, high = n - 1;
    while (low < high) { /* the first whose sum is above `place` */
        const uint64_t middle = low + (high - low) / 2;
        if (sum[middle] > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Draws the rest of a clique for rows that are alike in its separator too. */
static void draw_rest(struct given_drawing *w, size_t clique, const uint32_t *row, size_t rows)
{
    struct given_slice s;
    uint64_t at = 0;
    given_slice_make(&s, w, clique, row[0]);
    for (unsigned i = 0; i < s.seps; i++)
        if (s.size[i] > 1)
            at = at * s.size[i] + w->table->column[s.attribute[i]][w->first + row[0]];
    given_slice_fill(&s, s.seps, at, w->room);
    exponentiate(w->room, s.cells);
    for (uint64_t c = 1; c < s.cells; c++)
        w->room[c] += w->room[c - 1];
    for (size_t r = 0; r < rows; r++) {
        uint64_t cell = pick(w, w->room, s.cells);
        for (unsigned i = s.n; i-- > s.seps; cell /= s.size[i])
            w->table->column[s.attribute[i]][w->first + row[r]] =
                (uint16_t)(s.state[i] < s.full[i] ? s.state[i] : cell % s.size[i]);
    }
}

static enum err send_down(struct given_drawing *w, size_t clique)
{
    const struct scope *separator = &model_junction(w->g->model)->clique[clique].separator;
    const struct given_kinds *k = &w->kinds[clique];
    uint32_t *id CLEAN(memory_release) = NULL, n = k->of != NULL ? k->n : 1;
    size_t *start CLEAN(memory_release) = NULL;
    TRY(memory_new(&id, w->rows));
    if (k->of != NULL)
        memcpy(id, k->of, w->rows * sizeof *id);
    for (unsigned i = 0; i < separator->n; i++) {
        for (size_t row = 0; row < w->rows; row++)
            w->own[row] = w->table->column[separator->attribute[i]][w->first + row];
        n = refine(w, id, w->own);
    }
    TRY(memory_new(&start, (size_t)n + 2));
    for (size_t row = 0; row < w->rows; row++)
        start[id[row] + 2]++;
    for (size_t i = 2; i < (size_t)n + 2; i++)
        start[i] += start[i - 1];
    for (uint32_t row = 0; row < w->rows; row++)
        w->order[start[id[row] + 1]++] = row;
    for (uint32_t i = 0; i < n; i++)
        draw_rest(w, clique, w->order + start[i], start[i + 1] - start[i]);
    return ERR_OK;
}

/*
 * Groups become codes, by shares and weights; the share of a known one in its group counts. Sums of
 * shares so far in each group come first: without weights, then with each set of them.
 */
static enum err draw_codes(struct given_drawing *w, uint16_t attribute, double *chance)
{
    const struct merges *m = model_merges(w->g->model);
    const struct given_column *k = w->known[attribute];
    const double *share = model_share(w->g->model, attribute);
    const uint32_t *code = m->code[attribute], size = m->codes[attribute];
    uint16_t *column = w->table->column[attribute];
    uint32_t *first CLEAN(memory_release) = NULL; /* of each group, in `code` */
    double *sum CLEAN(memory_release) = NULL;
    if (share == NULL)
        return ERR_OK;
    TRY(memory_new(&first, (size_t)m->groups[attribute] + 1));
    TRY(memory_new(&sum, (w->sets[attribute] + 1) * size));
    for (uint32_t i = 0; i < size; i++)
        first[m->group[attribute][code[i]] + 1] = i + 1;
    for (size_t i = 0; i < (w->sets[attribute] + 1) * size; i++) {
        const uint32_t at = (uint32_t)(i % size), c = code[at];
        sum[i] = share[c] * (i < size ? 1 : k->weight[i - size - at + c]);
        if (at > first[m->group[attribute][c]])
            sum[i] += sum[i - 1];
    }
    for (size_t row = w->first; row < w->first + w->rows; row++) {
        const uint32_t known = k != NULL ? k->code[row] : GIVEN_ANY;
        const uint32_t from = first[column[row]], n = first[column[row] + 1] - from;
        const size_t set = known == GIVEN_ANY ? 0 : (size_t)known - size + 1;
        if (known < size) {
            column[row] = (uint16_t)known;
            chance[row] += share[known] > 0 ? log(share[known]) : -INFINITY;
        } else {
            column[row] = (uint16_t)code[from + pick(w, sum + set * size + from, n)];
        }
    }
    return ERR_OK;
}

static void clear_kinds(struct given_drawing *w)
{
    for (size_t i = 0; w->kinds != NULL && i < model_junction(w->g->model)->cliques; i++) {
        memory_free_all(&w->kinds[i].of, &w->kinds[i].row, &w->kinds[i].message);
        w->kinds[i].n = 0;
    }
}

static enum err draw_batch(struct given_drawing *w, double *chance)
{
    const size_t cliques = model_junction(w->g->model)->cliques;
    const struct given_kinds *root = &w->kinds[0];
    clear_kinds(w);
    for (size_t i = cliques; i-- > 0;)
        TRY(send_up(w, i));
    for (size_t row = 0; row < w->rows; row++)
        chance[w->first + row] = root->of != NULL ? root->message[root->of[row]] : 0;
    for (size_t i = 0; i < cliques; i++)
        TRY(send_down(w, i));
    for (uint16_t a = 0; a < w->domain->attributes; a++)
        TRY(draw_codes(w, a, chance));
    return ERR_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

static void drawing_clear(struct given_drawing *w)
{
    clear_kinds(w);
    memory_free(&w->kinds);
    for (size_t a = 0; a < DOMAIN_ATTRIBUTES_MAX; a++) {
        memory_free_all(&w->state[a], &w->weight[a]);
    }
    table_free(&w->table);
    memory_free_all(&w->slot, &w->id, &w->own, &w->order, &w->room);
}

/* Makes room for a batch of as many rows as messages may take; *batch is how many. */
static enum err start(struct given_drawing *w, size_t rows, bool messages, size_t *batch)
{
    const struct junction *j = model_junction(w->g->model);
    uint64_t most = 1, cells = 0;
    for (size_t i = 0; i < j->cliques; i++) {
        const uint64_t own = scope_cells(&j->clique[i].scope, w->domain);
        most = own > most ? own : most;
        cells += scope_cells(&j->clique[i].separator, w->domain);
    }
    *batch = !messages ? rows : cells > MESSAGES / BATCH ? MESSAGES / cells + 1 : BATCH;
    *batch = rows < *batch ? rows : *batch;
    for (w->slots = 16; w->slots < 2 * *batch; w->slots *= 2) {
    }
    TRY(table_new(&w->table, w->domain, rows));
    w->table->rows = rows;
    TRY(memory_new(&w->kinds, j->cliques));
    TRY(memory_new(&w->slot, w->slots));
    TRY(memory_new(&w->id, w->slots));
    TRY(memory_new(&w->own, *batch));
    TRY(memory_new(&w->order, *batch));
    return memory_new(&w->room, most);
}

static enum err draw_all(struct given_drawing *w, const struct given_column *known, size_t columns,
                         size_t rows, double *chance)
{
    size_t batch;
    TRY(start(w, rows, columns > 0, &batch));
    for (size_t i = 0; i < columns; i++)
        TRY(take(w, &known[i], rows));
    for (; w->first < rows; w->first += w->rows) {
        w->rows = rows - w->first < batch ? rows - w->first : batch;
        TRY(draw_batch(w, chance));
    }
    w->table->domain = model_domain(w->g->model);
    return ERR_OK;
}

enum err given_rows(struct table **t, const struct given *g, const struct given_column *known,
                    size_t columns, size_t rows, uint64_t seed, double *chance, struct log *log)
{
    struct given_drawing w CLEAN(drawing_clear) = {
        .g = g, .domain = model_grouped(g->model), .random = random_of(seed)};
    *t = NULL;
    if (rows >= UINT32_MAX || draw_all(&w, known, columns, rows, chance) != ERR_OK)
        return log_fail(log, ERR_NOMEM, "no memory to draw %zu rows; ask for fewer", rows);
    return memory_hand_over(t, &w.table);
}
