#include "aim/train/features.h"

#include "base/memory.h"

/* The largest j with (K - 1)(2^j - 1)^2 <= 31^2, so that a row's other classes weigh no more. */
static unsigned bits_of_others(uint32_t classes)
{
    unsigned j = FEATURES_SHIFT;
    while ((classes - 1) * ((UINT32_C(1) << j) - 1) * ((UINT32_C(1) << j) - 1) >
           FEATURES_TOP * FEATURES_TOP)
        j--;
    return j;
}

static enum err check_target(const struct domain_attribute *a, struct log *log)
{
    if (domain_has_bins(a))
        return log_fail(log, ERR_STUDY,
                        "target %s is a number in bins; a classifier needs classes: give it labels",
                        a->name);
    if (a->values < 2 || a->values > FEATURES_CLASSES_MAX)
        return log_fail(log, ERR_STUDY, "target %s has %u values; a classifier has 2 to %d classes",
                        a->name, a->values, FEATURES_CLASSES_MAX);
    return ERR_OK;
}

static enum err check_number(const struct domain_attribute *a, struct log *log)
{
    if (!domain_has_numbers(a) || domain_has_bins(a))
        return log_fail(log, ERR_STUDY,
                        "%s is not of kind integer, as every column but the target is with "
                        "numbers: all; take that out, and each value has a weight of its own",
                        a->name);
    if (a->values > FEATURES_NUMBER_CODES || a->missing != NULL)
        return log_fail(log, ERR_STUDY,
                        "%s %s; with numbers: all a column has at most %d values, and none missing",
                        a->name, a->missing != NULL ? "may be missing" : "has more values",
                        FEATURES_NUMBER_CODES);
    return ERR_OK;
}

static enum err add_columns(struct features *f, const struct features_terms *t, struct log *log)
{
    size_t columns = 0;
    for (size_t i = 0; i < f->domain->attributes; i++) {
        const struct domain_attribute *a = &f->domain->attribute[i];
        struct features_column *c = &f->column[i];
        for (c->first = f->count; (UINT32_C(1) << c->bits) < a->size;)
            c->bits++;
        if (i == f->target || (f->tests && i == f->test))
            continue;
        if (t->numbers)
            TRY(check_number(a, log));
        c->kind = t->numbers ? FEATURES_NUMBER : FEATURES_ONE_HOT;
        c->count = t->numbers ? 1 : a->size;
        f->count += c->count;
        columns++;
    }
    f->count++; /* the bias */
    f->r2 = (t->numbers ? f->norm2 : columns) + 1;
    if (columns > 0 && features_weights(f) <= FEATURES_WEIGHTS_MAX)
        return ERR_OK;
    return log_fail(log, ERR_STUDY,
                    "the columns beside the target make %u weights; a classifier has at most %u, "
                    "and one column at least",
                    columns > 0 ? features_weights(f) : 0, FEATURES_WEIGHTS_MAX);
}

static enum err fill(struct features *f, const struct features_terms *t, struct log *log)
{
    const uint64_t others = (UINT64_C(1) << f->j) - 1;
    TRY(memory_new(&f->column, f->domain->attributes));
    f->q2 = FEATURES_TOP * FEATURES_TOP +
            (f->classes == 2 ? 0 : (f->classes - 1) * others * others);
    f->norm2 = t->norm * t->norm;
    return add_columns(f, t, log);
}

enum err features_new(struct features **out, const struct domain *domain,
                      const struct features_terms *t, struct log *log)
{
    struct features *f CLEAN(features_free) = NULL;
    const struct domain_attribute *target = &domain->attribute[t->target];
    *out = NULL;
    TRY(check_target(target, log));
    if (t->numbers != (t->norm > 0) || t->norm > FEATURES_NORM_MAX)
        return log_fail(log, ERR_STUDY, "numbers: all goes with a norm of 1 to %d, and only that",
                        FEATURES_NORM_MAX);
    TRY(memory_new(&f, 1));
    *f = (struct features){.domain = domain,
                           .target = t->target,
                           .classes = target->values,
                           .outputs = target->values == 2 ? 1 : target->values,
                           .j = bits_of_others(target->values),
                           .tests = t->tests,
                           .test = t->test,
                           .test_code = t->test_code};
    TRY(fill(f, t, log));
    return memory_hand_over(out, &f);
}

void features_free(struct features **f)
{
    if (*f == NULL)
        return;
    memory_free(&(*f)->column);
    memory_free(f);
}

const char *features_test_value(const struct features *f, char room[COLUMN_TEXT])
{
    const struct domain_attribute *a = &f->domain->attribute[f->test];
    return f->test_code < a->values ? domain_text(a, f->test_code, 0, room) : a->missing;
}

void features_moves(mpz_ptr squared, const struct features *f, uint64_t multiplier)
{
    mpz_set_ui(squared, multiplier);
    mpz_mul_ui(squared, squared, multiplier);
    mpz_mul_ui(squared, squared, f->r2);
    mpz_mul_ui(squared, squared, f->q2);
}

enum err features_check(const struct features *f, uint64_t multiplier, const int64_t *weight,
                        size_t weights, uint64_t rows, struct log *log)
{
    const uint64_t most = (UINT64_C(1) << 62) - (UINT64_C(1) << 26);
    uint64_t all;
    if (weights != features_weights(f))
        return log_fail(log, ERR_REFUSED, "a gradient takes %u weights, not %zu",
                        features_weights(f), weights);
    for (size_t i = 0; i < weights; i++)
        if (weight[i] < -FEATURES_WEIGHT_MAX || weight[i] > FEATURES_WEIGHT_MAX)
            return log_fail(log, ERR_REFUSED, "weight %zu is %lld; a weight is below 2^15 in size",
                            i, (long long)weight[i]);
    if (multiplier < 1 || multiplier > FEATURES_MULTIPLIER_MAX ||
        __builtin_mul_overflow(multiplier * FEATURES_TOP * FEATURES_NUMBER_MAX, rows, &all) ||
        all >= most)
        return log_fail(log, ERR_REFUSED,
                        "a gradient of %llu rows at most cannot have a multiplier of %llu",
                        (unsigned long long)rows, (unsigned long long)multiplier);
    return ERR_OK;
}
