/*
 * aim/run/loop.h - AIM (McKenna et al. 2022) over any backend.
 *
 *   round 0      measure all one-ways, and by their counts merge codes that few rows have
 *                (aim/workload/merge.h)
 *   round 1 ...  estimate every candidate from the model, select the one that the model fits worst,
 *                measure it, fit the model again; all over merged cells
 *
 * or, in sweeps of two rounds,
 *
 *   round 1, 3   open how far the model is from every candidate, with noise
 *   round 2, 4   measure the set of them that promises most, each with its own sigma, and fit the
 *                model again
 *
 * At the end it may open how far its model is from every pair of columns, those that were not
 * measured as well (aim/run/assess.h).
 *
 * aim/budget/schedule.h says how many rounds there are and gives each its sigma and epsilon; the
 * slack of the backend's selection comes off epsilon. The loop keeps a ledger of its own. Like the
 * servers, it debits a request before making it.
 *
 * A candidate is any query of the workload's closure (one-ways included) that lies in the model's
 * tree, or with which the tree would take at most (rho used / rho) of `model_bytes`. Queries whose
 * estimate needs a larger table than that are left out. So are those of which the round's noise can
 * tell nothing: where noise alone is expected to move half of the rows; and those that were
 * measured as precisely before, unless three rounds in a row moved their marginals by no more than
 * noise. If none remains, the one-ways are the candidates.
 *
 * Requests follow from public values and what the backend opened: the same opened values give the
 * same requests. So a run can stop after any round and go on later from `state_file`. That is
 * written at the end of a round or, with a backend that keeps requests, during the next request. It
 * holds public values only:
 *
 *   "trefoil-loop-2\n"; 32 bytes, BLAKE2b-256 of the options that matter; block ledger_text();
 *   the schedule: u32 done, u8 last, u8 finished, f64 sigma, f64 epsilon; the merges; u32
 *   measurements, for each u32 query, u64 population, f64 sigma, of a run in sweeps u32 sweep, f64
 *   each noisy count; for each sweep f64 sigma, u32 candidates, for each u32 query, f64 score; u32
 *   rounds, for each all of struct aim_round but asked, name, why and marginals; the model
 *   (aim/model/model_file.h); with a reserve to assess it, u8 whether that was done, and if so
 *   assess_write(); 32 bytes, BLAKE2b-256 of all before.
 *
 * Where people join between rounds, the backend numbers the populations that it measured. Each has
 * its own noisy total, pooled over its measurements by inverse variance. Measurements of earlier
 * populations are scaled to the latest (aim/model/model.h).
 *
 * Where rows are events of persons (aim/table/series.h), requests, bounds, the ledger and the state
 * are in units. Rounds as they are shown, and the result, are in persons.
 */
#pragma once

#include "aim/budget/schedule.h"
#include "aim/budget/score.h"
#include "aim/model/model.h"
#include "aim/run/assess.h"
#include "aim/run/backend.h"
#include "aim/run/look.h"

#define AIM_MODEL_BYTES (UINT64_C(80) << 20)
#define AIM_FIT_ROUND 100
#define AIM_FIT_FINAL 1000
#define AIM_SERIES_FIT 1000 /* where rows are events: much of the model cannot occur */
#define AIM_SERIES_FIT_FINAL 3000
#define AIM_NO_QUERY UINT32_MAX
#define AIM_SWEEPS 2       /* unless a study says how many */
#define AIM_SWEEPS_MIB 8   /* of a model, unless options say how large; more takes more time */
#define AIM_SWEEPS_FIT 300 /* iterations after each sweep, and at the end */
#define AIM_SWEEPS_FIT_FINAL 3000

struct aim_round {
    unsigned round;
    enum ask_kind asked; /* select; of sweeps scores or, as in round 0, measure */
    uint32_t query;      /* selected and measured; AIM_NO_QUERY if the round selects none */
    /* Of the query, or what was asked; of sweeps also which marginals the model was farthest from.
     * Valid during the callback. */
    const char *name, *why;
    double sigma, epsilon; /* epsilon is 0 unless it selects. The least sigma of a set */
    size_t candidates;     /* of a selection, or scores */
    size_t marginals;      /* that were measured: 0 of scores */
    double moved;          /* L1 change of the query's marginal by this round, in rows */
    double loss;           /* after the fit */
    /* Sums over the measured cells, in rows: how far the model is from what was measured, before
     * and after the fit, and what noise alone is expected to add, sqrt(2/pi) sigma a cell. */
    double before, after, noise; /* before is 0 in round 0 */
    double cost;                 /* of this round, k^2 included */
    double spent;                /* of rho, after this round */
    double total;                /* estimated rows */
    uint64_t model_cells;        /* after the fit */
    bool last;                   /* no round follows */
};

/* What somebody asks of this run alone, as options of `trefoil run`. */
struct aim_wish {
    int64_t rounds; /* stop after so many selections in all; 0: never */
};

struct aim_options {
    const struct domain *domain;
    const struct workload *workload;
    struct ledger_limits limits; /* from budget_plan() */
    enum ledger_accounting accounting;
    bool annealed;   /* aim/budget/schedule.h */
    unsigned rounds; /* T; if annealed T0, 0 for 16 d */
    unsigned sweeps; /* in place of these; 0: none */
    uint64_t rows;   /* the most that there can be; 0: few */
    struct score_bounds bounds;
    enum aim_score score;
    struct ask_slack slack; /* of the backend's noise, */
    enum noise_by noise_by; /* and how far that deviates: measure_sigma() */
    struct look look;       /* taken before round 0 */
    double assess; /* rho besides the limits', to assess the model at the end; 0: it is not */
    uint64_t model_bytes; /* 0: AIM_MODEL_BYTES, or of sweeps AIM_SWEEPS_MIB */
    unsigned fit_round;   /* iterations after each round; 0: as many as suit the study */
    unsigned fit_final;   /* iterations at the end; 0: as many as suit the study */
    const struct workload_zeros *zero; /* what cannot occur: public knowledge */
    size_t zeros;
    const uint16_t *apart; /* attributes that are never merged */
    size_t apart_columns;
    bool grows;   /* rows not yet known may come during the run: nothing is merged */
    bool earlier; /* a run that trefoil 0.2 began: candidates are those of then */
    const struct measurement *known; /* of aim_refit(): counts that the model is to have exactly */
    size_t knowns;
    const char *state_file; /* NULL: nothing is kept. Written after each round */
    bool resume;            /* go on from state_file if it is there */
    struct aim_wish wish;
    bool stop_when_spent; /* when the budget runs out, end with what was measured */
    void (*progress)(void *self, const struct aim_round *round); /* may be NULL */
    void *self;
};

/* What a sweep opened: of each candidate how far the model was from it, in rows, with noise. */
struct aim_scores {
    double sigma;
    size_t candidates;
    uint32_t *query; /* closure indices */
    double *value;
};

struct aim_result {
    struct merges *merges; /* chosen after the one-ways; NULL: none. Owned */
    size_t measurements;   /* the d one-ways, then one a round */
    struct measurement *measurement;
    uint32_t *query;      /* closure index of each measurement */
    uint64_t *population; /* and its population */
    unsigned *sweep;      /* and the sweep whose set it is of, from 1; else 0 */
    size_t rounds;        /* records: round 0, and those that followed */
    struct aim_round *round;
    size_t sweeps; /* whose scores were opened */
    struct aim_scores *scores;
    char *kept_scores; /* in their place, of aim_refit(): as aim/run/output.h has them; or NULL */
    double loss;       /* after the final fit */
    struct assess *assess;           /* NULL: there was none */
    const struct measurement *known; /* what aim_refit() was given, borrowed */
    size_t knowns;
    double off; /* by how many rows the worst of these is missed */
    struct model *model;
};

/* What a round is called: its query, or how many marginals it measured or has scores of. */
struct clique_name aim_round_name(const struct aim_round *r, const struct workload *w,
                                  const struct domain *d);

/* What a run with these options begins with: sigma of the one-ways. */
double aim_sigma(const struct aim_options *o);
/* The deviation of what follows: of the first round, or about that of a sweep's set. */
double aim_sigma_later(const struct aim_options *o);
double aim_epsilon(const struct aim_options *o); /* slack already taken off; 0 if T is 0 */

/*
 * The domain over groups instead of codes, if `rows` rows, spread evenly, are measured with this
 * sigma (merges_expect()). Of the options, only domain, zeros, apart and grows matter. It borrows
 * the rest, as merges_domain() does.
 */
enum err aim_expect_groups(struct domain *grouped, const struct aim_options *o, double rows,
                           double sigma) MUST_CHECK;

/*
 * Before anything is paid for. ERR_RANGE, logged: what cannot occur leaves no row, or the model is
 * larger than the options allow, however many values are merged.
 */
enum err aim_check_model(const struct aim_options *o, struct log *log) MUST_CHECK;

/*
 * The result borrows options->domain and options->workload. ERR_MISMATCH, logged, if state_file
 * was written with other options, ERR_FORMAT if it is cut or altered.
 */
enum err aim_run(struct aim_result **result, const struct aim_options *options,
                 const struct aim_backend *backend, struct log *log) MUST_CHECK;

/*
 * Makes the model again, as a run fits it: to the first measurements, of every attribute alone,
 * then after each further one, or each set of a sweep, and at the end. The result has no model yet;
 * its measurements, populations and sweeps are those of a run. With the run's own options the model
 * is the run's, to the last bit. Of the options, only domain, zeros, known counts, model_bytes and
 * iterations matter. The fits treat known counts as measurements with a tenth of the least noise;
 * the last model meets them (model_meet()).
 */
struct aim_refit_progress {
    void (*fitted)(void *self, size_t fits, size_t of); /* may be NULL */
    void *self;
};
enum err aim_refit(struct aim_result *result, const struct aim_options *options,
                   const struct aim_refit_progress *progress, struct log *log) MUST_CHECK;

/*
 * What was measured, then what is known, with a tenth of the least noise: as fits take them. Where
 * rows are events of persons, how many events these have stands for the stages, too.
 */
struct aim_counts {
    size_t count;
    struct measurement *all;
    double **own; /* what of them the result does not hold */
    size_t owns;
};
enum err aim_counts(const struct aim_result *r, const struct domain *d,
                    struct aim_counts *counts) MUST_CHECK;
void aim_counts_clear(struct aim_counts *counts);

void aim_result_free(struct aim_result **result);
