/* protocols/records_scores.h - which values' planes make up a score; public. */
#pragma once

#include "protocols/records.h"

/*
 * A score is the sum of the weights of the planes that its value has: the bits of a number in two's
 * complement; or one plane for each value, where these are no more. Where an attribute's values are
 * in several groups, a plane belongs to one: there is one for each group, if all its values have
 * one score, or one for each value.
 */
enum records_planes { RECORDS_OF_BITS, RECORDS_OF_VALUES, RECORDS_OF_GROUPS };
struct records_scores {
    const int64_t *const *score; /* score[attribute][value] */
    const int64_t *const *group; /* group[attribute][value], or NULL */
    size_t *groups;              /* of each attribute */
    enum records_planes *kind;   /* what its planes are of */
    size_t *row;                 /* of each attribute: its first plane; and how many there are */
    size_t *of, *in;             /* of each plane: its attribute, and its group there */
    int64_t *weight;             /* of each plane */
};

/* From the party's scratch. ERR_RANGE: a score is above RECORDS_SCORE_MAX, or a group too high. */
enum err records_scores_new(struct party *p, struct records_scores *s,
                            const struct records_shape *shape, const int64_t *const *score,
                            const int64_t *const *group) MUST_CHECK;

/* Whether a value has an attribute's plane. */
bool records_scores_have(const struct records_scores *s, size_t attribute, size_t plane,
                         size_t value);
