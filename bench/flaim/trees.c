#include "bench/flaim/trees.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libxgboost.so.0"
#define TREES 60

/* The part of XGBoost's C interface used here; each returns 0, or -1 and sets an error text. */
typedef uint64_t xgb_count;
struct xgboost {
    void *library;
    const char *(*error)(void);
    int (*matrix_new)(const float *data, xgb_count rows, xgb_count columns, float missing,
                      void **matrix);
    int (*matrix_free)(void *matrix);
    int (*matrix_set)(void *matrix, const char *field, const float *values, xgb_count n);
    int (*booster_new)(void *const matrices[], xgb_count n, void **booster);
    int (*booster_free)(void *booster);
    int (*booster_set)(void *booster, const char *name, const char *value);
    int (*booster_update)(void *booster, int iteration, void *matrix);
    int (*booster_predict)(void *booster, void *matrix, int mask, unsigned trees, int training,
                           xgb_count *n, const float **result);
};

static bool find(struct xgboost *x, const char *name, void *slot)
{
    void *symbol = dlsym(x->library, name);
    memcpy(slot, &symbol, sizeof symbol); /* an object pointer as a function's, as POSIX has it */
    return symbol != NULL;
}

static bool load(struct xgboost *x)
{
    *x = (struct xgboost){.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    return x->library != NULL && find(x, "XGBGetLastError", &x->error) &&
           find(x, "XGDMatrixCreateFromMat", &x->matrix_new) &&
           find(x, "XGDMatrixFree", &x->matrix_free) &&
           find(x, "XGDMatrixSetFloatInfo", &x->matrix_set) &&
           find(x, "XGBoosterCreate", &x->booster_new) &&
           find(x, "XGBoosterFree", &x->booster_free) &&
           find(x, "XGBoosterSetParam", &x->booster_set) &&
           find(x, "XGBoosterUpdateOneIter", &x->booster_update) &&
           find(x, "XGBoosterPredict", &x->booster_predict);
}

bool trees_present(const char **reason)
{
    struct xgboost x;
    *reason = LIBRARY " cannot be loaded; install Debian's libxgboost0";
    return load(&x); /* stays loaded: it does not like to be unloaded */
}

/* --- the area under the curve ---------------------------------------------------------------- */

struct scored {
    float score;
    bool positive;
};

static int by_score(const void *a, const void *b)
{
    float x = ((const struct scored *)a)->score, y = ((const struct scored *)b)->score;
    return (x > y) - (x < y);
}

/* The chance that a positive scores above a negative, ties half. */
static double area(struct scored *s, size_t n)
{
    double positives = 0, negatives = 0, pairs = 0;
    qsort(s, n, sizeof *s, by_score);
    for (size_t i = 0; i < n;) {
        double p = 0, q = 0;
        size_t end = i;
        for (; end < n && s[end].score <= s[i].score; end++)
            *(s[end].positive ? &p : &q) += 1;
        pairs += p * (negatives + q / 2);
        positives += p;
        negatives += q;
        i = end;
    }
    return positives > 0 && negatives > 0 ? pairs / (positives * negatives) : NAN;
}

/* --- training -------------------------------------------------------------------------------- */

static enum err check(const struct xgboost *x, int status, struct log *log)
{
    if (status == 0)
        return ERR_OK;
    log_error(log, "XGBoost: %s", x->error());
    return ERR_SYSTEM;
}

static enum err matrix_of(const struct xgboost *x, const struct table *t, size_t attribute,
                          uint16_t value, void **matrix, struct log *log)
{
    size_t columns = t->domain->attributes - 1;
    float *data = memory_array(t->rows * columns, sizeof *data);
    float *label = memory_array(t->rows, sizeof *label);
    enum err e = data != NULL && label != NULL ? ERR_OK : ERR_NOMEM;
    for (size_t row = 0; e == ERR_OK && row < t->rows; row++) {
        for (size_t a = 0, at = row * columns; a < t->domain->attributes; a++)
            if (a != attribute)
                data[at++] = t->column[a][row];
        label[row] = t->column[attribute][row] == value;
    }
    if (e == ERR_OK)
        e = check(x, x->matrix_new(data, t->rows, columns, -1, matrix), log);
    if (e == ERR_OK)
        e = check(x, x->matrix_set(*matrix, "label", label, t->rows), log);
    memory_free_all(&data, &label);
    return e;
}

static enum err train(const struct xgboost *x, void *booster, void *matrix, struct log *log)
{
    static const char *const parameter[][2] = {{"objective", "binary:logistic"},
                                               {"tree_method", "hist"},
                                               {"max_depth", "6"},
                                               {"eta", "0.2"},
                                               {"nthread", "1"},
                                               {"seed", "1"},
                                               {"verbosity", "0"}};
    for (size_t i = 0; i < sizeof parameter / sizeof parameter[0]; i++)
        TRY(check(x, x->booster_set(booster, parameter[i][0], parameter[i][1]), log));
    for (int i = 0; i < TREES; i++)
        TRY(check(x, x->booster_update(booster, i, matrix), log));
    return ERR_OK;
}

static enum err predict(const struct xgboost *x, void *booster, void *matrix,
                        const struct table *test, size_t attribute, uint16_t value, double *auc,
                        struct log *log)
{
    xgb_count n = 0;
    const float *score = NULL;
    struct scored *s;
    TRY(check(x, x->booster_predict(booster, matrix, 0, 0, 0, &n, &score), log));
    s = memory_array(test->rows, sizeof *s);
    if (s == NULL || n != test->rows)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        s[i] = (struct scored){score[i], test->column[attribute][i] == value};
    *auc = area(s, n);
    memory_free(&s);
    return ERR_OK;
}

/* One value against the rest. */
static enum err one_value(const struct xgboost *x, const struct table *rows,
                          const struct table *test, size_t attribute, uint16_t value, double *auc,
                          struct log *log)
{
    void *from = NULL, *on = NULL, *booster = NULL;
    enum err e = matrix_of(x, rows, attribute, value, &from, log);
    if (e == ERR_OK)
        e = matrix_of(x, test, attribute, value, &on, log);
    if (e == ERR_OK)
        e = check(x, x->booster_new((void *const[]){from}, 1, &booster), log);
    if (e == ERR_OK)
        e = train(x, booster, from, log);
    if (e == ERR_OK)
        e = predict(x, booster, on, test, attribute, value, auc, log);
    if (booster != NULL)
        x->booster_free(booster);
    if (from != NULL)
        x->matrix_free(from);
    if (on != NULL)
        x->matrix_free(on);
    return e;
}

static bool occurs(const struct table *t, size_t attribute, uint16_t value)
{
    for (size_t i = 0; i < t->rows; i++)
        if (t->column[attribute][i] == value)
            return true;
    return false;
}

enum err trees_auc(const struct table *rows, const struct table *test, size_t attribute,
                   double *auc, struct log *log)
{
    uint32_t values = rows->domain->attribute[attribute].size;
    double sum = 0, one = NAN;
    unsigned count = 0;
    struct xgboost x;
    *auc = NAN;
    if (!load(&x)) {
        log_error(log, LIBRARY " cannot be loaded");
        return ERR_SYSTEM;
    }
    for (uint16_t value = values == 2 ? 1 : 0; value < values; value++) {
        if (!occurs(rows, attribute, value) || !occurs(test, attribute, value))
            continue;
        TRY(one_value(&x, rows, test, attribute, value, &one, log));
        if (!isnan(one)) {
            sum += one;
            count++;
        }
    }
    if (count > 0)
        *auc = sum / count;
    return ERR_OK;
}
