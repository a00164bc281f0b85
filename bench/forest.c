#include "bench/forest.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TREES 100
#define CLASSES_MAX 64

/* A leaf has no feature; `first` is the place of its class counts, or of a split's left child. */
struct node {
    int feature;
    double threshold; /* values up to it go left */
    size_t first, second;
};

struct forest {
    const struct table *train;
    size_t attribute, classes, features, tried;
    struct random random;
    size_t *row; /* the tree's rows, in the order of its leaves */
    struct forest_keyed {
        double value;
        uint32_t class;
    } * key;
    struct node *node;
    size_t nodes, room;
    double *share; /* of each leaf, of each class */
    size_t leaves, leaf_room;
};

struct forest_split {
    int feature;
    double threshold, impurity;
};

static double value_of(const struct table *t, size_t a, size_t row)
{
    return t->number != NULL && t->number[a] != NULL ? t->number[a][row] : t->column[a][row];
}

static int by_value(const void *a, const void *b)
{
    const double x = ((const struct forest_keyed *)a)->value,
                 y = ((const struct forest_keyed *)b)->value;
    return (x > y) - (x < y);
}

/* n (1 - sum of squared shares), less n */
static double impurity(const double *count, size_t classes, double n)
{
    double squares = 0;
    for (size_t c = 0; c < classes; c++)
        squares += count[c] * count[c];
    return -squares / n;
}

/* The best place to split rows by a feature; false if all have the same value. */
static bool try_feature(struct forest *f, const size_t *row, size_t n, size_t feature,
                        struct forest_split *best)
{
    double left[CLASSES_MAX] = {0}, right[CLASSES_MAX] = {0};
    for (size_t i = 0; i < n; i++) {
        f->key[i] = (struct forest_keyed){value_of(f->train, feature, row[i]),
                                          f->train->column[f->attribute][row[i]]};
        right[f->key[i].class]++;
    }
    qsort(f->key, n, sizeof *f->key, by_value);
    for (size_t i = 0; i + 1 < n; i++) {
        left[f->key[i].class]++;
        right[f->key[i].class]--;
        if (!(f->key[i].value < f->key[i + 1].value))
            continue;
        const double now = impurity(left, f->classes, (double)(i + 1)) +
                           impurity(right, f->classes, (double)(n - i - 1));
        if (now < best->impurity)
            *best = (struct forest_split){(int)feature, (f->key[i].value + f->key[i + 1].value) / 2,
                                          now};
    }
    return f->key[0].value < f->key[n - 1].value;
}

/* Tries features in random order until enough of them differ between rows. */
static struct forest_split best_split(struct forest *f, const size_t *row, size_t n)
{
    struct forest_split best = {-1, 0, INFINITY};
    size_t order[DOMAIN_ATTRIBUTES_MAX], tried = 0;
    for (size_t a = 0, k = 0; a <= f->features; a++)
        if (a != f->attribute)
            order[k++] = a;
    for (size_t k = 0; k < f->features && tried < f->tried; k++) {
        const size_t other = k + random_below(&f->random, f->features - k), a = order[other];
        order[other] = order[k];
        tried += try_feature(f, row, n, a, &best);
    }
    return best;
}

static enum err add_leaf(struct forest *f, const size_t *row, size_t n, struct node *node)
{
    TRY(memory_room(&f->share, &f->leaf_room, (f->leaves + 1) * f->classes));
    double *share = f->share + f->leaves * f->classes;
    memset(share, 0, f->classes * sizeof *share);
    for (size_t i = 0; i < n; i++)
        share[f->train->column[f->attribute][row[i]]] += 1 / (double)n;
    *node = (struct node){.feature = -1, .first = f->leaves++};
    return ERR_OK;
}

static bool pure(const struct forest *f, const size_t *row, size_t n)
{
    const uint16_t *class = f->train->column[f->attribute];
    for (size_t i = 1; i < n; i++)
        if (class[row[i]] != class[row[0]])
            return false;
    return true;
}

/* Grows the subtree of a node: rows to the left of the threshold go first. */
static enum err grow(struct forest *f, size_t at, size_t *row, size_t n)
{
    struct forest_split s = {.feature = -1};
    size_t left = 0;
    if (!pure(f, row, n))
        s = best_split(f, row, n);
    if (s.feature < 0)
        return add_leaf(f, row, n, &f->node[at]);
    for (size_t i = 0; i < n; i++)
        if (value_of(f->train, (size_t)s.feature, row[i]) <= s.threshold) {
            const size_t moved = row[left];
            row[left++] = row[i];
            row[i] = moved;
        }
    TRY(memory_room(&f->node, &f->room, f->nodes + 2));
    f->node[at] = (struct node){s.feature, s.threshold, f->nodes, f->nodes + 1};
    f->nodes += 2;
    const size_t first = f->node[at].first;
    TRY(grow(f, first, row, left));
    return grow(f, first + 1, row + left, n - left);
}

static enum err grow_tree(struct forest *f)
{
    const size_t n = f->train->rows;
    f->nodes = 1;
    f->leaves = 0;
    TRY(memory_room(&f->node, &f->room, 1));
    for (size_t i = 0; i < n; i++)
        f->row[i] = random_below(&f->random, n);
    return grow(f, 0, f->row, n);
}

static const double *leaf_of(const struct forest *f, const struct table *t, size_t row)
{
    size_t at = 0;
    while (f->node[at].feature >= 0)
        at = value_of(t, (size_t)f->node[at].feature, row) <= f->node[at].threshold
                 ? f->node[at].first
                 : f->node[at].second;
    return f->share + f->node[at].first * f->classes;
}

static enum err vote(struct forest *f, const struct table *test, double *votes)
{
    for (int tree = 0; tree < TREES; tree++) {
        TRY(grow_tree(f));
        for (size_t i = 0; i < test->rows; i++) {
            const double *share = leaf_of(f, test, i);
            for (size_t c = 0; c < f->classes; c++)
                votes[i * f->classes + c] += share[c];
        }
    }
    return ERR_OK;
}

static double right_of(const struct forest *f, const struct table *test, const double *votes)
{
    size_t right = 0;
    for (size_t i = 0; i < test->rows; i++) {
        size_t best = 0;
        for (size_t c = 1; c < f->classes; c++)
            if (votes[i * f->classes + c] > votes[i * f->classes + best])
                best = c;
        right += best == test->column[f->attribute][i];
    }
    return (double)right / (double)test->rows;
}

enum err forest_accuracy(const struct table *train, const struct table *test, size_t attribute,
                         uint64_t seed, double *accuracy)
{
    struct forest f = {.train = train,
                       .attribute = attribute,
                       .classes = train->domain->attribute[attribute].size,
                       .features = train->domain->attributes - 1};
    double *votes CLEAN(memory_release) = NULL;
    enum err e = ERR_OK;
    if (f.classes > CLASSES_MAX || train->rows == 0 || test->rows == 0)
        return ERR_RANGE;
    f.tried = (size_t)sqrt((double)f.features);
    f.random = random_of(seed);
    TRY(memory_new(&votes, test->rows * f.classes));
    e = memory_new(&f.row, train->rows);
    if (e == ERR_OK)
        e = memory_new(&f.key, train->rows);
    if (e == ERR_OK)
        e = vote(&f, test, votes);
    if (e == ERR_OK)
        *accuracy = right_of(&f, test, votes);
    memory_free_all(&f.row, &f.key, &f.node, &f.share);
    return e;
}
