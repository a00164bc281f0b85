#include "bench/flaim/plan.h"

#include "base/memory.h"

#include <string.h>

const char *const plan_methods[5] = {"aim", "distaim", "augflaim-private", "augflaim-nonprivate",
                                     "flaim-naive"};
const char *const plan_table1[7] = {"aim",           "distaim-ahead",    "distaim",
                                    "distaim-round", "augflaim-private", "augflaim-nonprivate",
                                    "flaim-naive"};
const char *const plan_ablation[10] = {"flaim-naive",
                                       "flaim-tau",
                                       "flaim-combine",
                                       "flaim-filter",
                                       "flaim-tau-combine",
                                       "flaim-tau-filter",
                                       "flaim-combine-filter",
                                       "augflaim-private",
                                       "augflaim-private-model-proxy",
                                       "augflaim-private-exact-totals"};
const char *const plan_tables[5] = {"adult", "adult_pgm", "mushroom", "nursery", "synthfs"};

const unsigned plan_server_rounds[PLAN_SERVER_ROUNDS] = {PLAN_ROUNDS, 32, 100};

static const double rounds[] = {2, 4, 8, 10, 16, 32, 64, 100};
static const double epsilons[] = {0.5, 1, 2, 3, 4, 5};
static const double shares[] = {0.05, 0.1, 0.2, 0.3, 0.5, 1};
static const double dirichlet[] = {0.02, 0.1, 0.3, 1, 3, 10};
static const double zipf[] = {1, 2, 3, 5};
static const double steps[] = {1, 2, 3, 4};
#define ALL(list) sizeof list / sizeof list[0], list

const struct plan_panel panels[] = {
    {"rounds", "T-adult", "rounds T", "adult", "file", VARY_ROUNDS, ALL(rounds)},
    {"rounds", "T-adult_pgm", "rounds T", "adult_pgm", "file", VARY_ROUNDS, ALL(rounds)},
    {"rounds", "T-nursery", "rounds T", "nursery", "file", VARY_ROUNDS, ALL(rounds)},
    {"rounds", "T-synthfs", "rounds T", "synthfs", "synthfs", VARY_ROUNDS, ALL(rounds)},
    {"rounds", "T-mushroom", "rounds T", "mushroom", "file", VARY_ROUNDS, ALL(rounds)},
    {"figures", "eps-adult", "epsilon", "adult", "file", VARY_EPSILON, ALL(epsilons)},
    {"figures", "p-adult", "participation p", "adult", "file", VARY_PARTICIPATION, ALL(shares)},
    {"figures", "beta-adult", "Dirichlet's beta", "adult", "label", VARY_BETA, ALL(dirichlet)},
    {"figures", "beta-synthfs", "Zipf's beta", "synthfs", "synthfs", VARY_BETA, ALL(zipf)},
    {"figures", "s-adult", "local steps s", "adult", "file", VARY_STEPS, ALL(steps)},
};
const size_t panel_count = sizeof panels / sizeof panels[0];

struct trial plan_trial(const char *table, const char *split, const char *method)
{
    bool synthfs = strcmp(table, "synthfs") == 0;
    return (struct trial){.table = table,
                          .split = synthfs ? "synthfs" : split,
                          .method = method,
                          .beta = synthfs ? PLAN_BETA : 0,
                          .epsilon = 1,
                          .participation = 0.1,
                          .rounds = PLAN_ROUNDS,
                          .steps = 1,
                          .seed = 1,
                          .auc = !synthfs};
}

struct trial panel_trial(const struct plan_panel *p, size_t value, const char *method)
{
    struct trial t = plan_trial(p->table, p->split, method);
    double v = p->value[value];
    if (p->vary == VARY_ROUNDS)
        t.rounds = (unsigned)v;
    else if (p->vary == VARY_EPSILON)
        t.epsilon = v;
    else if (p->vary == VARY_PARTICIPATION)
        t.participation = v;
    else if (p->vary == VARY_BETA)
        t.beta = v;
    else
        t.steps = (unsigned)v;
    t.auc = strcmp(p->table, "adult") == 0 && p->vary == VARY_ROUNDS;
    return t;
}

static bool wanted(const struct plan_options *o, const char *part, const char *table)
{
    static const char *const quick[] = {"nursery", "mushroom"};
    bool is_quick = strcmp(table, quick[0]) == 0 || strcmp(table, quick[1]) == 0;
    return (o->only == NULL || strcmp(o->only, part) == 0) &&
           (o->table == NULL || strcmp(o->table, table) == 0) &&
           (!o->quick || o->table != NULL || is_quick);
}

/* Seeds 1, 2 .. of a trial, in turn. */
static enum err add(struct plan *p, const struct trial *t, unsigned seeds)
{
    for (unsigned seed = 1; seed <= seeds; seed++) {
        TRY(memory_room(&p->trial, &p->room, p->trials + 1));
        p->trial[p->trials] = *t;
        p->trial[p->trials++].seed = seed;
    }
    return ERR_OK;
}

static unsigned seeds_of(const struct plan_options *o, unsigned usual)
{
    return o->seeds != 0 ? o->seeds : o->quick ? 2 : usual;
}

static enum err add_table1(struct plan *p, const struct plan_options *o, const char *part,
                           const char *split)
{
    for (size_t k = 0; k < 5; k++) {
        if (!wanted(o, part, plan_tables[k]) ||
            (strcmp(split, "iid") == 0 && strcmp(plan_tables[k], "synthfs") == 0))
            continue;
        for (size_t m = 0; m < 7; m++) {
            struct trial t = plan_trial(plan_tables[k], split, plan_table1[m]);
            size_t first = p->trials;
            t.auc = t.auc && strcmp(split, "file") == 0;
            TRY(add(p, &t, seeds_of(o, 10)));
            p->trial[first].real = strcmp(split, "file") == 0; /* one seed a table */
        }
    }
    return ERR_OK;
}

static enum err add_panels(struct plan *p, const struct plan_options *o)
{
    for (size_t k = 0; k < panel_count; k++)
        for (size_t v = 0; wanted(o, panels[k].part, panels[k].table) && v < panels[k].values; v++)
            for (size_t m = 0; m < 5; m++) {
                struct trial t = panel_trial(&panels[k], v, plan_methods[m]);
                bool local = panels[k].vary == VARY_STEPS && t.steps > 1;
                if ((local && m < 2) || (o->quick && (t.rounds > 32 || t.rounds % 8 != 2)))
                    continue; /* AIM has no local steps */
                TRY(add(p, &t, seeds_of(o, 3)));
            }
    return ERR_OK;
}

static enum err add_ablation(struct plan *p, const struct plan_options *o)
{
    const char *table = o->table != NULL ? o->table : o->quick ? "nursery" : "adult";
    for (size_t m = 0; wanted(o, "ablation", table) && m < 10; m++) {
        struct trial t = plan_trial(table, "file", plan_ablation[m]);
        t.auc = false;
        TRY(add(p, &t, seeds_of(o, 3)));
    }
    for (size_t m = 0; wanted(o, "annealed", table) && m < 5; m++) {
        struct trial t = plan_trial(table, "file", plan_methods[m]);
        t.rounds = 0;
        t.auc = false;
        TRY(add(p, &t, seeds_of(o, 3)));
    }
    return ERR_OK;
}

enum err plan_new(struct plan *p, const struct plan_options *o)
{
    *p = (struct plan){0};
    TRY(add_table1(p, o, "table1", "file"));
    TRY(add_ablation(p, o));
    TRY(add_panels(p, o));
    return add_table1(p, o, "iid", "iid");
}

enum err plan_servers(struct plan *p, const struct plan_options *o)
{
    *p = (struct plan){0};
    for (size_t r = 0; r < PLAN_SERVER_ROUNDS; r++)
        for (size_t k = 0; k < 5; k++) {
            struct trial t = plan_trial(plan_tables[k], "file", "distaim");
            t.rounds = plan_server_rounds[r];
            if (wanted(o, "servers", plan_tables[k]) && (r == 0 || (k == 0 && !o->quick)))
                TRY(add(p, &t, 1));
        }
    for (size_t k = 0; k < 2; k++) {
        struct trial t = plan_trial(plan_tables[k], "file", "distaim");
        t.counts = true;
        if (wanted(o, "servers", plan_tables[k]))
            TRY(add(p, &t, 1));
    }
    return ERR_OK;
}

void plan_clear(struct plan *p)
{
    memory_free(&p->trial);
    *p = (struct plan){0};
}
