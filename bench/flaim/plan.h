/* bench/flaim/plan.h - which trials the comparison with FLAIM consists of. */
#pragma once

#include "bench/flaim/trial.h"

/* A figure's panel: methods along one parameter, on one table. */
enum plan_vary { VARY_ROUNDS, VARY_EPSILON, VARY_PARTICIPATION, VARY_BETA, VARY_STEPS };

struct plan_panel {
    const char *part; /* of the plan */
    const char *name, *axis;
    const char *table, *split;
    enum plan_vary vary;
    size_t values;
    const double *value;
};

extern const struct plan_panel panels[];
extern const size_t panel_count;

/* The paper's five methods, in Table 1's order from best to worst, and all that Table 1 shows. */
extern const char *const plan_methods[5];
extern const char *const plan_table1[7];
extern const char *const plan_ablation[10];
extern const char *const plan_tables[5];

#define PLAN_ROUNDS 10 /* T, p, eps of Table 1 */
#define PLAN_SERVER_ROUNDS 3
extern const unsigned plan_server_rounds[PLAN_SERVER_ROUNDS]; /* T with which servers are run */
#define PLAN_BETA 3                                           /* SynthFS there */

/* Table 1's trial; "iid" or "file" (for synthfs it is its own). */
struct trial plan_trial(const char *table, const char *split, const char *method);
struct trial panel_trial(const struct plan_panel *p, size_t value, const char *method);

struct plan {
    size_t trials, room;
    struct trial *trial;
};

struct plan_options {
    bool quick;
    const char *only;  /* a part: table1, iid, rounds, figures, ablation, annealed; NULL: all */
    const char *table; /* NULL: all of the part */
    unsigned seeds;    /* 0: 10 for table1 and iid, 3 for the others */
};

enum err plan_new(struct plan *p, const struct plan_options *o) MUST_CHECK;
void plan_clear(struct plan *p);
/*
 * The trials for which servers are run: each table at T = 10, the first also at other T, the first
 * two also with counts instead of records.
 */
enum err plan_servers(struct plan *p, const struct plan_options *o) MUST_CHECK;
