/*
 * aim/answer/released.h - a released model of either kind, to ask questions of and to draw rows
 * from.
 *
 *   released_load()    the file model, a tree's or a copula's
 *   released_sums()    before questions; for a copula it draws rows, which takes a second
 *   released_errors()  before intervals
 */
#pragma once

#include "aim/answer/errors.h"
#include "aim/copula/copula_model.h"
#include "aim/question/question.h"
#include "base/file.h"

struct released {
    struct domain *domain;
    struct model *model;   /* NULL: a copula */
    struct copula *copula; /* NULL: a tree */
    struct densities inside;
    struct model_sums *sums; /* NULL before released_sums() */
    struct errors *errors;   /* NULL before released_errors(), or where there are none */
};

/* ERR_DATA, logged, where the folder has a classifier instead of the file `path`. */
enum err released_is_model(const char *path, struct log *log) MUST_CHECK;

/*
 * ERR_FORMAT, logged, for a file that is cut, altered or no model; ERR_DATA for a classifier's
 * run.
 */
enum err released_load(struct released *r, const char *path, struct log *log) MUST_CHECK;
void released_clear(struct released *r);

enum err released_sums(struct released *r, struct log *log) MUST_CHECK;
/* The file errors beside the file model; `beside` is its path, there or not. */
enum err released_errors(struct released *r, const char *path, char beside[FILE_PATH],
                         struct log *log) MUST_CHECK;

/* The number of rows that it stands for. */
double released_total(const struct released *r);
/* Whether one measured marginal holds all columns of an item. */
bool released_item_together(const struct released *r, const struct question *q, size_t item);
/* Counts of up to CLIQUE_MAX columns, as answers to questions have them. */
enum err released_marginal(struct released *r, const struct clique *c, double *counts,
                           struct log *log) MUST_CHECK;

/* ERR_USAGE, logged, for a model of persons and events (aim/model/series_draw.h draws those). */
enum err released_has_rows(const struct released *r, struct log *log) MUST_CHECK;
/* How rows are drawn (aim/model/sample.h). A copula's are each drawn by itself. */
enum released_sampling { SAMPLING_ANY, SAMPLING_ROUNDED, SAMPLING_INDEPENDENT };
/*
 * Draws so many rows; 0: as many as the model stands for. ERR_USAGE, logged, if a copula's rows are
 * to be rounded.
 */
enum err released_rows(struct table **t, const struct released *r, size_t rows, uint64_t seed,
                       enum released_sampling how, struct log *log) MUST_CHECK;
