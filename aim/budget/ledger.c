#include "aim/budget/ledger.h"

#include "aim/budget/grid.h"
#include "base/bytes.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 65536
#define SELECT_GRID 128 /* a selection's cost is a multiple of 2^-this */

enum ledger_sum { SUM_RHO, SUM_EPSILON, SUM_DELTA, SUMS };

struct ledger {
    unsigned rows_per_person;
    mpq_t limit[SUMS];
    mpq_t spent[SUMS];
};

static enum err ledger_empty(struct ledger **out, unsigned rows_per_person)
{
    struct ledger *l;
    TRY(memory_new(out, 1));
    l = *out;
    l->rows_per_person = rows_per_person;
    for (int i = 0; i < SUMS; i++) {
        mpq_init(l->limit[i]);
        mpq_init(l->spent[i]);
    }
    return ERR_OK;
}

enum err ledger_new(struct ledger **out, const struct ledger_limits *limits, struct log *log)
{
    unsigned k = limits->rows_per_person != 0 ? limits->rows_per_person : 1;
    *out = NULL;
    if (!ledger_amount(limits->rho) || !ledger_amount(limits->epsilon_slack) ||
        !ledger_amount(limits->delta_slack) || k > LEDGER_ROWS_PER_PERSON_MAX)
        return log_fail(log, ERR_STUDY,
                        "a budget needs finite limits that are not negative, and at most %d rows a "
                        "person",
                        LEDGER_ROWS_PER_PERSON_MAX);
    TRY(ledger_empty(out, k));
    mpq_set_d((*out)->limit[SUM_RHO], limits->rho);
    mpq_set_d((*out)->limit[SUM_EPSILON], limits->epsilon_slack);
    mpq_set_d((*out)->limit[SUM_DELTA], limits->delta_slack);
    return ERR_OK;
}

void ledger_free(struct ledger **l)
{
    if (*l == NULL)
        return;
    for (int i = 0; i < SUMS; i++) {
        mpq_clear((*l)->limit[i]);
        mpq_clear((*l)->spent[i]);
    }
    memory_free(l);
}

enum err ledger_copy(struct ledger **out, const struct ledger *from)
{
    TRY(ledger_empty(out, from->rows_per_person));
    for (int i = 0; i < SUMS; i++) {
        mpq_set((*out)->limit[i], from->limit[i]);
        mpq_set((*out)->spent[i], from->spent[i]);
    }
    return ERR_OK;
}

/* GMP takes unsigned long, which need not hold 64 bits. */
static void set_u64(mpz_ptr z, uint64_t v)
{
    mpz_import(z, 1, -1, sizeof v, 0, 0, &v);
}

void ledger_measure_cost(mpq_ptr cost, uint64_t multiplier, uint64_t marginals)
{
    mpz_t n;
    mpz_init(n);
    set_u64(n, multiplier);
    mpz_mul(n, n, n);
    set_u64(mpq_numref(cost), marginals);
    mpz_mul(mpq_numref(cost), mpq_numref(cost), n);
    mpz_set_ui(mpq_denref(cost), 1);
    mpq_div_2exp(cost, cost, 2 * AIM_GAUSS_BITS + 1);
    mpz_clear(n);
}

void ledger_forms_cost(mpq_ptr cost, mpz_srcptr squared)
{
    mpq_set_z(cost, squared);
    mpq_div_2exp(cost, cost, 2 * AIM_GAUSS_BITS + 1);
}

/* From zCDP: divides by the greater of 1 - cost / (m^2 / 2^41) and 226/355, and rounds up. */
static void in_gaussian_terms(mpq_ptr cost, uint64_t multiplier)
{
    mpq_t left, least;
    mpq_inits(left, least, (mpq_ptr)NULL);
    ledger_measure_cost(left, multiplier, 1);
    mpq_div(least, cost, left);
    mpq_set_ui(left, 1, 1);
    mpq_sub(left, left, least);
    mpq_set_ui(least, 226, 355);
    mpq_div(cost, cost, mpq_cmp(left, least) > 0 ? left : least);
    mpq_mul_2exp(cost, cost, SELECT_GRID);
    mpz_cdiv_q(mpq_numref(cost), mpq_numref(cost), mpq_denref(cost));
    mpz_set_ui(mpq_denref(cost), 1);
    mpq_div_2exp(cost, cost, SELECT_GRID);
    mpq_clears(left, least, (mpq_ptr)NULL);
}

enum err ledger_select_cost(mpq_ptr cost, enum ledger_accounting accounting, double epsilon,
                            double slack, uint64_t multiplier)
{
    mpq_t s;
    if (!ledger_amount(epsilon) || !ledger_amount(slack) || multiplier == 0)
        return ERR_RANGE;
    mpq_init(s);
    mpq_set_d(cost, epsilon);
    mpq_set_d(s, slack);
    mpq_add(cost, cost, s);
    mpq_mul(cost, cost, cost);
    mpq_div_2exp(cost, cost, 3);
    mpq_clear(s);
    if (accounting == ACCOUNTING_GAUSSIAN)
        in_gaussian_terms(cost, multiplier);
    return ERR_OK;
}

/* sum = spent + factor * cost; whether it stays within the limit. */
static bool fits(const struct ledger *l, enum ledger_sum which, mpq_srcptr cost,
                 unsigned long factor, mpq_ptr sum)
{
    if (mpq_sgn(cost) < 0)
        return false;
    mpq_set_ui(sum, factor, 1);
    mpq_mul(sum, sum, cost);
    mpq_add(sum, sum, l->spent[which]);
    return mpq_cmp(sum, l->limit[which]) <= 0;
}

static unsigned long squared(unsigned k)
{
    return (unsigned long)k * k; /* k < 2^16: within 32 bits */
}

enum err ledger_debit(struct ledger *l, mpq_srcptr cost, struct log *log)
{
    mpq_t sum;
    enum err e = ERR_OK;
    mpq_init(sum);
    if (fits(l, SUM_RHO, cost, squared(l->rows_per_person), sum)) {
        mpq_swap(l->spent[SUM_RHO], sum);
    } else {
        e = log_fail(
            log, ERR_BUDGET,
            "privacy budget: a cost of rho %.9g (times %lu for rows per person) is more than "
            "the %.9g that remain; use more noise or fewer rounds",
            mpq_get_d(cost), squared(l->rows_per_person), ledger_remaining(l));
    }
    mpq_clear(sum);
    return e;
}

enum err ledger_slack(struct ledger *l, double epsilon, double delta, struct log *log)
{
    mpq_t cost, sum[2];
    enum err e = ERR_OK;
    if (!ledger_amount(epsilon) || !ledger_amount(delta))
        return ERR_RANGE;
    mpq_inits(cost, sum[0], sum[1], (mpq_ptr)NULL);
    mpq_set_d(cost, epsilon);
    if (!fits(l, SUM_EPSILON, cost, l->rows_per_person, sum[0]))
        e = ERR_BUDGET;
    mpq_set_d(cost, delta);
    if (!fits(l, SUM_DELTA, cost, l->rows_per_person, sum[1]))
        e = ERR_BUDGET;
    if (e == ERR_OK) {
        mpq_swap(l->spent[SUM_EPSILON], sum[0]);
        mpq_swap(l->spent[SUM_DELTA], sum[1]);
    } else {
        log_error(log,
                  "privacy budget: slack of epsilon %.3g and delta %.3g does not fit what was set "
                  "aside; the study measures more marginals than it was planned for",
                  epsilon, delta);
    }
    mpq_clears(cost, sum[0], sum[1], (mpq_ptr)NULL);
    return e;
}

bool ledger_follows(const struct ledger *before, const struct ledger *after)
{
    if (before->rows_per_person != after->rows_per_person)
        return false;
    for (int k = 0; k < SUMS; k++)
        if (!mpq_equal(before->limit[k], after->limit[k]) ||
            mpq_cmp(after->spent[k], before->spent[k]) < 0 ||
            mpq_cmp(after->spent[k], after->limit[k]) > 0)
            return false;
    return true;
}

double ledger_left(const struct ledger *l)
{
    return ledger_remaining(l) / (double)squared(l->rows_per_person);
}

double ledger_remaining(const struct ledger *l)
{
    mpq_t left;
    double v;
    mpq_init(left);
    mpq_sub(left, l->limit[SUM_RHO], l->spent[SUM_RHO]);
    v = mpq_get_d(left); /* towards zero, and it is never negative */
    mpq_clear(left);
    return v;
}

double ledger_spent(const struct ledger *l)
{
    return mpq_get_d(l->spent[SUM_RHO]);
}

unsigned ledger_rows_per_person(const struct ledger *l)
{
    return l->rows_per_person;
}

/* --- as text ---------------------------------------------------------------------------------- */

static void put_fraction(struct bytes *out, mpq_srcptr q)
{
    /* digits of each, a sign, a slash, the end */
    size_t n = mpz_sizeinbase(mpq_numref(q), 10) + mpz_sizeinbase(mpq_denref(q), 10) + 3;
    char *text CLEAN(memory_release) = memory_array(n + 2, 1);
    out->failed |= text == NULL;
    if (text != NULL) {
        gmp_snprintf(text, n + 2, " %Zd/%Zd", mpq_numref(q), mpq_denref(q));
        bytes_put_text(out, text);
    }
}

enum err ledger_text(const struct ledger *l, char **text)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    char k[16];
    snprintf(k, sizeof k, "%u", l->rows_per_person);
    bytes_put_text(&out, k);
    for (int i = 0; i < SUMS; i++) {
        put_fraction(&out, l->limit[i]);
        put_fraction(&out, l->spent[i]);
    }
    bytes_put_u8(&out, 0);
    *text = bytes_ok(&out) == ERR_OK ? memory_string((const char *)out.data) : NULL;
    return *text != NULL ? ERR_OK : ERR_NOMEM;
}

/* Accepts more than ledger_text() writes, so the caller writes the result again and compares. */
static bool parse_all(struct ledger *l, char *copy)
{
    char *rest = NULL, *word = strtok_r(copy, " ", &rest);
    unsigned long k = word != NULL ? strtoul(word, NULL, 10) : 0;
    if (k == 0 || k > LEDGER_ROWS_PER_PERSON_MAX)
        return false;
    l->rows_per_person = (unsigned)k;
    for (int i = 0; i < 2 * SUMS; i++) {
        mpq_ptr q = i % 2 == 0 ? l->limit[i / 2] : l->spent[i / 2];
        word = strtok_r(NULL, " ", &rest);
        if (word == NULL || mpq_set_str(q, word, 10) != 0 || mpz_sgn(mpq_denref(q)) == 0)
            return false;
        mpq_canonicalize(q);
        if (mpq_sgn(q) < 0 || (i % 2 == 1 && mpq_cmp(q, l->limit[i / 2]) > 0))
            return false;
    }
    return true;
}

static enum err parse(struct ledger *l, const char *text, struct log *log)
{
    char *copy CLEAN(memory_release) = memory_string(text), *again CLEAN(memory_release) = NULL;
    if (copy == NULL)
        return ERR_NOMEM;
    if (parse_all(l, copy))
        TRY(ledger_text(l, &again));
    if (again != NULL && strcmp(text, again) == 0)
        return ERR_OK;
    return log_fail(log, ERR_FORMAT,
                    "a stored privacy ledger is damaged; restore it from a neighbour");
}

enum err ledger_parse(struct ledger **out, const char *text, struct log *log)
{
    struct ledger *l CLEAN(ledger_free) = NULL;
    *out = NULL;
    if (strnlen(text, TEXT_MAX) == TEXT_MAX)
        return ERR_FORMAT;
    TRY(ledger_empty(&l, 1));
    TRY(parse(l, text, log));
    return memory_hand_over(out, &l);
}
