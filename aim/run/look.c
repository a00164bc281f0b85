#include "aim/run/look.h"

enum err look_plan(struct look *look, const struct ledger_limits *limits, double share,
                   struct log *log)
{
    const double k = limits->rows_per_person != 0 ? limits->rows_per_person : 1;
    return measure_multiplier(ledger_deviation(LOOK_TRIES * k * k, share * limits->rho),
                              &look->multiplier, log);
}

double look_leaves(const struct look *look, const struct ledger_limits *limits)
{
    const double k = limits->rows_per_person != 0 ? limits->rows_per_person : 1;
    return limits->rho / (k * k) - LOOK_TRIES * look_rho(look);
}

double look_rho(const struct look *look)
{
    const double m = (double)look->multiplier;
    return m * m / ledger_squared(1);
}

double look_sigma(const struct look *look)
{
    return measure_sigma(look->multiplier, NOISE_BY_ALL);
}

enum err look_debit(const struct look *look, struct ledger *ledger, const struct ask_slack *slack,
                    struct log *log)
{
    const struct ask ask = {.kind = ASK_LOOK, .multiplier = look->multiplier};
    struct ask_price price CLEAN(ask_price_clear);
    ask_price_new(&price);
    if (look->multiplier == 0)
        return ERR_OK;
    TRY(ask_price(&price, &ask, &(struct ask_terms){.slack = *slack}, log));
    return ask_debit(&price, LOOK_TRIES, ledger, log);
}
