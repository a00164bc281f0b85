/* aim/budget/budget.h - which limits of a ledger keep a promise of (eps, delta). */
#pragma once

#include "aim/budget/ledger.h"

/*
 * The largest rho that gives (eps, delta), rounded down to a multiple of 2^-40; 0 if there is none
 * or the arguments make no sense. In Gaussian terms (ledger.h) it follows from the exact curve of
 * one Gaussian (Balle and Wang 2018), with u = sqrt(2 rho):
 *   delta = Phi(u/2 - eps/u) - exp(eps) Phi(-u/2 - eps/u)
 * and in zCDP from the optimal conversion of Canonne, Kamath and Steinke (2020):
 *   delta = min over alpha > 1 of exp((alpha-1)(alpha rho - eps)) (1-1/alpha)^alpha / (alpha-1).
 */
double budget_rho(enum ledger_accounting accounting, double epsilon, double delta);
/* An epsilon, rounded up, that rho-zCDP gives with delta; INFINITY if none exists. */
double budget_epsilon(double rho, double delta);

/* How much of a promise slack may take. */
#define BUDGET_SLACK_OF_DELTA 0.01
#define BUDGET_SLACK_OF_EPSILON 0.1

struct budget_terms {
    enum ledger_accounting accounting;
    double epsilon, delta;         /* what the study promises */
    unsigned rows_per_person;      /* k; 0 counts as 1 */
    uint64_t marginals;            /* measured in the whole study at most */
    double marginal_epsilon_slack; /* of one measured marginal and one row */
    double delta_slack;            /* of the whole study */
};

struct budget_plan {
    struct ledger_limits limits;
    double epsilon, delta; /* the promise less the slack, from which rho is converted */
};

/*
 * By the noise tape's theorem (docs/proofs.md), an ideal (eps - E, (delta - delta_slack)
 * e^(-E/2)) becomes (eps, delta), where E = k * marginals * marginal_epsilon_slack. ERR_STUDY,
 * logged, if the slack exceeds 1 % of delta or 10 % of eps, or the promise makes no sense.
 */
enum err budget_plan(const struct budget_terms *terms, struct budget_plan *plan,
                     struct log *log) MUST_CHECK;
