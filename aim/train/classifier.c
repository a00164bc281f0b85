#include "aim/train/classifier.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#define UNIT 1024.0 /* of z, of a score of 1 */

/* The domain without the column that says which rows are kept back. */
static enum err copy_domain(struct domain **out, const struct features *f)
{
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < f->domain->attributes; i++)
        if (!f->tests || i != f->test)
            attribute[count++] = (uint16_t)i;
    return domain_pick(out, f->domain, attribute, count);
}

static enum err copy_features(struct classifier *c, const struct features *f)
{
    const struct features_terms terms = {.target = f->target - (f->tests && f->test < f->target),
                                         .numbers = f->norm2 > 0,
                                         .norm = (unsigned)lround(sqrt(f->norm2))};
    TRY(copy_domain(&c->domain, f));
    return features_new(&c->features, c->domain, &terms, NULL);
}

enum err classifier_new(struct classifier **out, const struct features *f, const double *weight)
{
    struct classifier *c CLEAN(classifier_free) = NULL;
    *out = NULL;
    TRY(memory_new(&c, 1));
    TRY(copy_features(c, f));
    TRY(memory_new(&c->coef, features_weights(f)));
    for (uint32_t i = 0; i < features_weights(f); i++) {
        const bool bias = (i + 1) % f->count == 0;
        c->coef[i] = (weight[i] + (bias ? features_start(f) : 0)) / UNIT;
    }
    c->rows_per_person = 1;
    return memory_hand_over(out, &c);
}

void classifier_free(struct classifier **c)
{
    if (*c == NULL)
        return;
    memory_free(&(*c)->coef);
    tested_free(&(*c)->tested);
    features_free(&(*c)->features);
    domain_free(&(*c)->domain);
    memory_free(c);
}

const char *classifier_class(const struct features *f, uint32_t class, char room[COLUMN_TEXT])
{
    return domain_text(&f->domain->attribute[f->target], class, 0, room);
}

void classifier_feature(const struct features *f, uint32_t feature, char name[CLASSIFIER_NAME])
{
    char room[COLUMN_TEXT];
    for (size_t i = 0; i < f->domain->attributes; i++) {
        const struct features_column *c = &f->column[i];
        const struct domain_attribute *a = &f->domain->attribute[i];
        const uint32_t code = feature - c->first;
        if (feature < c->first || code >= c->count)
            continue;
        if (c->kind == FEATURES_NUMBER)
            snprintf(name, CLASSIFIER_NAME, "%s", a->name);
        else
            snprintf(name, CLASSIFIER_NAME, "%s=%s", a->name,
                     code < a->values ? domain_text(a, code, 0, room) : a->missing);
    }
}

/* --- scores ----------------------------------------------------------------------------------- */

void classifier_scores(const struct classifier *c, uint16_t *const *column, size_t row,
                       double *score)
{
    const struct features *f = c->features;
    for (uint32_t k = 0; k < f->outputs; k++) {
        const double *coef = c->coef + (size_t)k * f->count;
        score[k] = coef[f->count - 1];
        for (size_t i = 0; i < f->domain->attributes; i++) {
            const struct features_column *of = &f->column[i];
            if (of->kind == FEATURES_NUMBER)
                score[k] += coef[of->first] * column[i][row];
            else if (of->kind == FEATURES_ONE_HOT)
                score[k] += coef[of->first + column[i][row]];
        }
    }
}

uint32_t classifier_choice(const struct classifier *c, const double *score)
{
    uint32_t best = 0;
    if (c->features->classes == 2)
        return score[0] >= 0.5;
    for (uint32_t k = 1; k < c->features->outputs; k++)
        best = score[k] > score[best] ? k : best;
    return best;
}

/* --- how often it is right -------------------------------------------------------------------- */

struct classifier_scored {
    double score;
    bool second;
};

static int by_score(const void *a, const void *b)
{
    const double x = ((const struct classifier_scored *)a)->score,
                 y = ((const struct classifier_scored *)b)->score;
    return (x > y) - (x < y);
}

/* The area under the curve, from ranks; rows of one score share theirs. */
static double area(struct classifier_scored *rows, size_t n)
{
    double ranks = 0, second = 0;
    qsort(rows, n, sizeof *rows, by_score);
    for (size_t i = 0, next; i < n; i = next) {
        size_t of_second = 0;
        for (next = i; next < n && rows[next].score <= rows[i].score; next++)
            of_second += rows[next].second;
        ranks += (double)of_second * (double)(i + next + 1) / 2;
        second += (double)of_second;
    }
    return (ranks - second * (second + 1) / 2) / (second * ((double)n - second));
}

enum err classifier_check(struct classifier_check *check, const struct classifier *c,
                          const struct table *t)
{
    const struct features *f = c->features;
    struct classifier_scored *rows CLEAN(memory_release) = NULL;
    double score[FEATURES_CLASSES_MAX];
    *check = (struct classifier_check){.auc = NAN};
    TRY(memory_new(&rows, t->rows));
    TRY(memory_new(&check->confused, (size_t)f->classes * f->classes));
    for (size_t i = 0; i < t->rows; i++) {
        const uint32_t y = t->column[f->target][i];
        uint32_t choice;
        if (y >= f->classes)
            continue;
        classifier_scores(c, t->column, i, score);
        choice = classifier_choice(c, score);
        check->confused[y * f->classes + choice]++;
        check->right += choice == y;
        rows[check->rows++] = (struct classifier_scored){score[0], y == 1};
    }
    if (f->classes == 2)
        check->auc = area(rows, check->rows);
    return ERR_OK;
}

void classifier_check_clear(struct classifier_check *check)
{
    memory_free(&check->confused);
}
