/*
 * parties/display/answers.h - answers to questions, as tables for people, CSV, or JSON.
 *
 * A label is written as it is, a number by as few digits as give it back, a bin by its lower edge,
 * a missing value as NULL (in CSV an empty field). Groups of less than half a row are left out, and
 * counted.
 * JSON is a list of
 *
 *   { "question": "SELECT ..",
 *     "lines": [ { "group": {"sex": "female"},                       absent without GROUP BY
 *                  "rows": 1034.2,                                   COUNT(*)
 *                  "answers": [ { "item": "AVG(hours)", "answer": 38.2,   null: of no rows
 *                                 "low": 37.9, "high": 38.5,         null: there is no interval
 *                                 "agreed": 0.9,                     of MODE: see aim/answer.h
 *                                 "rows": 1020.7,                    that have the column
 *                                 "approximate": true,               absent where it is not
 *                                 "together": false } ] } ],         absent where they are
 *     "left_out": {"groups": 3, "rows": 0.8},        absent without GROUP BY
 *     "level": 0.95,          of the intervals; absent, with low and high, where there are none
 *     "together": false }     whether measured marginals hold all columns of each item
 */
#ifndef TREFOIL_PARTIES_DISPLAY_ANSWERS_H
#define TREFOIL_PARTIES_DISPLAY_ANSWERS_H

#include "aim/answer.h"

#include <jansson.h>

struct answers_entry {
    const char *text; /* of the question; `size` bytes of it */
    size_t size;
    const struct answer *answer;
    bool together,
        item[QUESTION_ITEMS_MAX]; /* all columns were measured together: of all, of each */
    bool copula;                  /* so what columns have in common is their correlations */
    double level;                 /* 0: without intervals */
    bool learned;                 /* what they are where columns were not measured together */
};

/* "3 groups of less than half a row, 0.8 rows together"; false, without text, if there are none. */
bool answers_left_out(const struct answer *a, char *text, size_t size);

void answers_text(struct bytes *out, const struct answers_entry *e);
void answers_csv(struct bytes *out, const struct answers_entry *e);
enum err answers_json(json_t *list, const struct answers_entry *e) MUST_CHECK;

#endif
