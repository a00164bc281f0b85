#include "base/memory.h"
#include "parties/command/command.h"
#include "parties/command/methods.h"
#include "parties/command/plan.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"
#include "parties/study/study_ports.h"
#include "parties/study/study_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: trefoil plan STUDY [--left RHO]\n"
    "       trefoil plan STUDY --simulate [--like PUBLIC.csv] [--seed N] [--worst N]\n"
    "\n"
    "Begins with a verdict in three lines: what will be useful at this budget, the\n"
    "one change that helps most, and by which measure it is better (with method:\n"
    "train there is none, but what noise costs of accuracy). Then says what a study\n"
    "will take, before anybody sends anything: cells, memory, uploads, rounds,\n"
    "noise, disk; what error to expect at several epsilons and numbers of rounds, and\n"
    "in the answers to the questions that the study is made for; which columns have\n"
    "more bins than the noise lets one see; and whether AIM's tables of columns or a\n"
    "copula are expected to tell more.\n"
    "Reads only the study file, in which keys may be absent. Takes owners to bring as\n"
    "many rows as their expected_rows say, or else max_rows. Refuses a study that\n"
    "cannot work, and says what to change.\n"
    "\n"
    "  --left RHO         plan a run that begins with what earlier runs left of the\n"
    "                     budget; trefoil run and servers' status say how much\n"
    "  --simulate         play the study in this program alone, without keys or\n"
    "                     servers, on as many invented rows as owners are taken to\n"
    "                     bring, and print how far its synthetic rows are from them,\n"
    "                     as trefoil eval does. Shows what to expect of the budget,\n"
    "                     before it is spent\n"
    "  --like PUBLIC.csv  do so on these rows, which have the study's columns. They\n"
    "                     have to be public: what is printed has no protection\n"
    "  --seed N           for the invented rows and the noise; default 1\n"
    "  --worst N          so many marginals and correlations of these figures, the\n"
    "                     worst first; default 10, 0 for all\n"
    "\n"
    "example:\n"
    "  trefoil plan study.yaml\n"
    "  trefoil plan study.yaml --simulate\n";

static void count(struct plan_asked *p)
{
    const struct workload *w = p->study->workload;
    p->rows = study_rows(p->study, true);
    for (uint32_t q = 0; q < w->queries; q++) {
        if (q < w->one_ways)
            p->one_way_cells += w->query[q].cells;
        if (w->query[q].cells > p->largest) {
            p->largest = w->query[q].cells;
            p->largest_query = q;
        }
    }
}

static void clear(struct plan_asked *p)
{
    memory_free(&p->grouped.attribute);
    bounds_free(&p->bounds);
    study_free(&p->study);
}

/* Reads --left. */
static enum err take_left(struct plan_asked *p)
{
    struct ledger_limits limits;
    char *end;
    if (p->left == NULL)
        return ERR_OK;
    TRY(price_limits(p->study, &limits, p->log));
    p->study->left = strtod(p->left, &end);
    if (*end != '\0' || !(p->study->left > 0 && p->study->left <= limits.rho))
        return log_fail(p->log, ERR_USAGE,
                        "--left needs a rho above 0 and at most the study's, %.4g", limits.rho);
    printf("for a run to which earlier ones left a rho of %.4g of the study's %.4g\n",
           p->study->left, limits.rho);
    return ERR_OK;
}

/* What share a warrant has to have; counts are measured first, whatever follows. */
static void print_approvers(const struct study *s, const struct ledger_limits *limits)
{
    const double k = limits->rows_per_person > 0 ? limits->rows_per_person : 1;
    struct price_first first;
    double m, look, rho;
    if (s->approvers.at_least == 0 || price_first(s, &first) != ERR_OK)
        return;
    m = k * (double)first.one_ways;
    look = k * (double)first.look;
    rho = ((s->features != NULL ? 1 : (double)s->workload->one_ways) * m * m + look * look) /
          0x1p41;
    printf("Servers open nothing without a warrant of %u of %zu approvers (trefoil approve).\n"
           "The whole run takes a share of 100 %%; with less it ends early, and with less than\n"
           "%.4f %%, which the first counts take, before it has anything.\n",
           s->approvers.at_least, s->approvers.count, ceil(1e6 * rho / limits->rho) / 1e4);
}

static enum err plan(struct plan_asked *p, const char *path)
{
    struct ledger_limits limits;
    TRY(study_load_draft(&p->study, path, p->log));
    if (p->study->keyless > 0)
        printf("%s\n", study_not_yet(p->study).text);
    TRY(take_left(p));
    TRY(method_works(p->study, p->log));
    TRY(bounds_new(&p->bounds, p->study, p->log));
    TRY(price_check_noise(p->study, p->log));
    TRY(price_limits(p->study, &limits, p->log));
    count(p);
    if (p->simulate)
        return plan_simulate(p, limits.rho);
    TRY(methods_of(p->study)->plan(p, limits.rho));
    if (p->study->accounting == ACCOUNTING_GAUSSIAN)
        printf("The study's own rho, %.4g, is as private as one count with Gaussian noise of\n"
               "standard deviation %.3g: all that is opened together, and nothing else.\n",
               limits.rho, ledger_deviation(1, limits.rho));
    print_approvers(p->study, &limits);
    return ERR_OK;
}

static enum err run_plan(int argc, char **argv, struct log *log)
{
    const char *file = NULL;
    struct plan_asked p CLEAN(clear) = {.seed = -1, .worst = -1, .log = log};
    const struct command_option options[] = {
        {.name = "left", .value = &p.left},
        {.name = "simulate", .flag = &p.simulate},
        {.name = "like", .value = &p.like},
        {.name = "seed", .number = &p.seed, .most = INT64_MAX},
        {.name = "worst", .number = &p.worst, .most = INT32_MAX},
    };
    TRY(command_options(argc, argv, COUNTED(options), &file, 1, 1, NULL, log));
    if (!p.simulate && (p.like != NULL || p.seed >= 0 || p.worst >= 0))
        return log_fail(log, ERR_USAGE,
                        "--like, --seed and --worst are about --simulate; give that, too");
    p.seed = p.seed < 0 ? 1 : p.seed;
    p.worst = p.worst < 0 ? 10 : p.worst;
    return plan(&p, file);
}

DEFINE_COMMAND(plan, help, "say what a study will take and what error to expect");
