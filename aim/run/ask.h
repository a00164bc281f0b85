/*
 * aim/run/ask.h - one request of a run: what the public mathematics asks of the data, what it
 * costs, and what comes back.
 *
 * All of it is integer arithmetic on a stated grid, so that every backend (aim/run/backend.h),
 * given the same noise, returns the same integers, bit for bit:
 *
 *   measure  sigma asks for m = measure_multiplier(sigma) = floor(2^20 / sigma). The backend opens
 *            value_j = m x_j + z_j, z_j unit Gaussians on the lattice 2^-20, each given as its
 *            integer multiple of 2^-20. The noisy count is value_j / m. A marginal costs m^2 / 2^41
 *            (of rho: aim/budget/ledger.h). m < 2^8 is refused.
 *   select   Estimates c_j are integers on the grid 2^-10. The score of q is an integer:
 *            s_q = sum_j |2^10 x_j - c_j| - penalty_q or, where the study asks for squares,
 *            sum_j (x_j - round(2^-10 c_j))^2 - penalty_q (select_score()). The backend opens the
 *            lowest argmax of m_q s_q + 2^(f-24) g_q, with g_q a Gumbel sample on the grid 2^-24
 *            and f, m_q and penalty_q from score_plan(). ledger_select_cost() says what it costs;
 *            its slack covers the error of the backend's Gumbel circuit. The same request measures
 *            what was selected: one exchange with the servers a round.
 *   forms    The public integers u_i(a) are factors, one for each code of each column. For every
 *            two columns i < j, and every group of codes of each, the backend opens the sum of
 *            u_i u_j over the rows in both groups, plus z as above (aim/budget/forms.h). All
 *            together cost Delta^2 / 2^41, where Delta^2 is the sum over i < j of
 *            max u_i^2 max u_j^2: the most by which one row can move them, squared.
 *   look     The backend opens m n + z, n the number of rows that were linked (aim/run/look.h). It
 *            costs as much as a marginal.
 *   scores   Estimates c_j are integers on the grid 1 / m. For every candidate the backend opens
 *            sum_j |m x_j - c_j| + z: m times its L1 norm, and one z. A row moves each norm by at
 *            most 1, so a candidate costs as much as a marginal. m < 2^5 is refused, and an m above
 *            scores_most(), with which a sum might wrap.
 *
 *   gradient The public integers w are weights of a linear classifier. The backend opens m G + z, G
 *            the gradient of its loss over all rows: C F numbers, which one row moves by at most
 *            R Q (aim/train/features.h). All together cost m^2 R^2 Q^2 / 2^41.
 *   test     The same weights. The backend opens m times the tables of the rows that are kept back,
 *            plus z: C of them, which cost as much as C marginals.
 *
 * A measurement may have a multiplier for each marginal: its weights then are these, and its
 * `multiplier` is 0. It costs the sum of what the marginals cost.
 *
 * Marginals are named by their index in the closure of the workload (aim/workload/workload.h).
 * Where a request has merges (aim/workload/merge.h), its cells are merged ones.
 */
#pragma once

#include "aim/budget/forms.h"
#include "aim/budget/ledger.h"
#include "aim/budget/score.h"
#include "aim/train/features.h"
#include "aim/workload/merge.h"

/* The numbers are those of the wire (parties/exchange/request.h), which has more. */
enum ask_kind {
    ASK_MEASURE = 2,
    ASK_SELECT = 3,
    ASK_FORMS = 5,
    ASK_LOOK = 6,
    ASK_SCORES = 7,
    ASK_GRADIENT = 8,
    ASK_TEST = 9
};

struct ask {
    enum ask_kind kind;
    unsigned round;        /* of the loop, 0: the one-ways; not part of the bytes */
    struct merges *merges; /* measure, select, scores; NULL: every code by itself */
    uint32_t queries;
    uint32_t *query; /* measure: what to measure; select, scores: the candidates */
    /* m: of a measurement, a look, what is selected, scores, a gradient, a test */
    uint64_t multiplier;
    double epsilon, sigma; /* select: eps_t, and the sigma that penalties follow from */
    size_t estimates;
    uint64_t *estimate; /* select, scores: the candidates' c_j, one candidate after the other */
    size_t weights;
    /* forms: the factor of each code, column after column; then its group. measure: none, or m of
     * each marginal. gradient, test: w, one output after the other */
    int64_t *weight;
    const struct ask_price *price; /* borrowed: the asker's own; not part of the bytes */
};

/* What a backend answers. */
struct ask_told {
    size_t selected;     /* select: index of the candidate */
    uint64_t population; /* the number of the set of rows, if it grows */
    unsigned lost;       /* how often the request was paid for in vain before */
    size_t values;
    /* the cells of one query after the other, row-major; forms; scores; a look; G; or tables */
    int64_t *value;
};
void told_clear(struct ask_told *t);

/* --- bytes ------------------------------------------------------------------------------------ */

/* Appends all that follows the kind; of a request that asks for nothing too, with a kind of 0. */
enum err ask_write(const struct ask *a, struct bytes *out) MUST_CHECK;
/*
 * Reads the same, all that is left, into an `a` with nothing but its kind. ERR_FORMAT for anything
 * malformed; query indices and sizes are checked against the workload. ERR_REFUSED for merges that
 * are not possible in this domain. What was read has to be cleared after an error, too.
 */
enum err ask_read(struct ask *a, const struct domain *d, const struct workload *w,
                  struct reader *in) MUST_CHECK;
/* No valid request is longer: estimates of all cells, two numbers a code, or weights. */
size_t ask_longest(const struct workload *w);
/* Frees what ask_read() made. */
void ask_clear(struct ask *a);
/* Whether both ask for the same; estimates are not compared, as their last bit may differ. */
bool ask_alike(const struct ask *a, const struct ask *b);
/* m of the k-th marginal that is measured. */
uint64_t ask_multiplier(const struct ask *a, uint32_t k);
/* Whether it has estimates of candidates, and the grid that they are on: multiples of 1 / this. */
bool ask_estimates(const struct ask *a);
uint64_t ask_grid(const struct ask *a);
/* Whether it is of a classifier: weights of its own, which no later request has. */
bool ask_trains(const struct ask *a);
/* How many values the answer has; `selected` is read only if the request selects, `f` by a test. */
uint64_t ask_cells(const struct ask *a, const struct workload *w, const struct features *f,
                   size_t selected);
/* What a request for forms sums; borrows its weights. */
struct forms ask_forms(const struct ask *a, const struct workload *w);

/* --- the price -------------------------------------------------------------------------------- */

/* What noise as it is computed costs beyond the noise of the theorem. */
struct ask_slack {
    double marginal, select; /* epsilons: of a measured marginal, and added to a selection's */
    struct ask_term {
        double factor, tau;
    } measured, candidate; /* deltas: of a measured marginal, and of a candidate in a selection */
};
/* The delta for n marginals or candidates. */
double ask_delta(struct ask_term t, double n);

/* What a study says of all its requests. */
struct ask_terms {
    const struct domain *domain;
    const struct workload *workload;
    struct score_bounds bounds; /* of the cells that the request names, merged ones if it merges */
    enum aim_score score;
    struct ask_slack slack;
    enum ledger_accounting accounting;
    const struct features *features; /* NULL: no gradients, no test */
};

struct ask_price {
    mpq_t cost, measuring; /* of all; of what is measured: marginals, forms, a gradient */
    double epsilon_slack, delta_slack; /* for ledger_slack() */
    size_t cells, candidates;          /* the most Gaussians and the Gumbels that it takes */
    enum aim_score score;
    struct score_plan plan;    /* of a selection, and for each candidate: */
    uint64_t *scale, *penalty; /* m_q and penalty_q */
};

/*
 * The only accounting of a request: by servers with their own study and by whoever asks. Servers
 * log the cost, and audits (parties/audit) compare what they logged. ERR_REFUSED or ERR_RANGE,
 * logged, for what cannot be asked under these terms. A selection whose candidates are not known
 * yet (queries is 0) has a cost, and no plan. After ask_price_new(), for any number of prices;
 * ask_price_clear() frees what they hold.
 */
void ask_price_new(struct ask_price *p);
enum err ask_price(struct ask_price *p, const struct ask *a, const struct ask_terms *t,
                   struct log *log) MUST_CHECK;
void ask_price_clear(struct ask_price *p);

/* Debits a price, so many times. */
enum err ask_debit(const struct ask_price *p, unsigned times, struct ledger *ledger,
                   struct log *log) MUST_CHECK;
/* ERR_REFUSED, logged with the query's name, unless all estimates are within the bounds. */
enum err ask_check_estimates(const struct ask *a, const struct ask_terms *t,
                             struct log *log) MUST_CHECK;
