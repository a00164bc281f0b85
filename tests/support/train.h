/* tests/support/train.h - rows that a small classifier is trained on. */
#pragma once

#include "aim/table/table.h"
#include "aim/train/slope.h"

#define TRAIN_COLUMNS 3

/* A target y of K classes that may be missing, between a and b: numbers, or codes one-hot. */
struct train_scene {
    struct domain *domain;
    struct features *f;
    struct table *table;
    int64_t *weight, *sums;
};

/* Columns have `size` codes; norm 0: one-hot, and a may be missing. No rows yet. */
struct train_scene train_start(uint32_t classes, unsigned norm, uint32_t size);
void train_end(struct train_scene *s);
/* Rows whose b has this code are kept back for a test; b gives no features then. */
void train_keep(struct train_scene *s, uint32_t code);
/* Adds a row, of any codes: even those that no honest owner sends. */
void train_row(struct train_scene *s, uint16_t a, uint16_t y, uint16_t b);
