#include "aim/look.h"

#include "aim/score.h"

enum err look_plan(struct look *look, const struct ledger_limits *limits, double share,
                   struct log *log)
{
    const double k = limits->rows_per_person != 0 ? limits->rows_per_person : 1;
    return measure_multiplier(sqrt(LOOK_TRIES * k * k / (2 * share * limits->rho)),
                              &look->multiplier, log);
}

double look_leaves(const struct look *look, const struct ledger_limits *limits)
{
    const double k = limits->rows_per_person != 0 ? limits->rows_per_person : 1;
    return limits->rho / (k * k) - LOOK_TRIES * look_rho(look);
}

double look_rho(const struct look *look)
{
    const double m = (double)look->multiplier * 0x1p-20;
    return m * m / 2;
}

double look_sigma(const struct look *look)
{
    return measure_sigma(look->multiplier);
}

enum err look_debit(const struct look *look, struct ledger *ledger, double slack, struct log *log)
{
    mpq_t cost;
    enum err e = ERR_OK;
    mpq_init(cost);
    ledger_measure_cost(cost, look->multiplier, LOOK_TRIES);
    if (look->multiplier > 0)
        e = ledger_debit(ledger, cost, log);
    if (e == ERR_OK && look->multiplier > 0)
        e = ledger_slack(ledger, LOOK_TRIES * slack, 0, log);
    mpq_clear(cost);
    return e;
}
