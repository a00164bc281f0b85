/*
 * aim/question/values.h - sets of a column's values.
 *
 * A set is a list of half-open intervals, and whether missing values are in it. Numbers stand for
 * themselves, and `= v` is [v, the next double). Labels are placed by their codes; they and
 * integers reach half a step to either side: 5 is [4.5, 5.5). So sets of all values are equal.
 *
 * Sets never change. They share one pool of intervals, which is freed as a whole.
 */
#pragma once

#include "aim/table/domain.h"

struct values_span {
    double from, below;
};

struct values_pool {
    struct values_span *span;
    size_t used, room;
    bool failed; /* no memory: sets made since are wrong */
};

struct values {
    uint32_t first, spans; /* in the pool, ascending and disjoint */
    bool missing;
};

void pool_clear(struct values_pool *p);

/* The place just before, or just after, a value: where intervals begin or end. */
double values_before(const struct domain_attribute *a, double value);
double values_after(const struct domain_attribute *a, double value);

/* All values of a column; the same without missing ones; only missing ones; an interval. */
struct values values_every(struct values_pool *p, const struct domain_attribute *a);
struct values values_known(struct values_pool *p, const struct domain_attribute *a);
struct values values_missing(const struct domain_attribute *a);
struct values values_between(struct values_pool *p, double from, double below);

struct values values_and(struct values_pool *p, struct values a, struct values b);
struct values values_or(struct values_pool *p, struct values a, struct values b);
/* What is in `a` and not in `b`. */
struct values values_minus(struct values_pool *p, struct values a, struct values b);
/* Forgets all sets made since the pool had `used` intervals, except `v`. */
struct values values_keep(struct values_pool *p, size_t used, struct values v);
bool values_are_none(struct values v);
/* Whether a number, or the place of a label, is in it. */
bool values_hold(const struct values_pool *p, struct values v, double x);
bool values_equal(const struct values_pool *p, struct values a, struct values b);
