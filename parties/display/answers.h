/*
 * parties/display/answers.h - answers to questions, as tables for people, CSV, or JSON.
 *
 * A label is written as it is, an answer with six digits (all before the point, and in JSON as many
 * as give it back), a bin as its lower
 * edge, a missing value as NULL (in CSV as an empty field). Groups of less than half a row are left
 * out, and counted. JSON is a list of
 *
 *   { "question": "SELECT ..",
 *     "lines": [ { "group": {"sex": "female"},                       absent without GROUP BY
 *                  "rows": 1034.2,                                   COUNT(*)
 *                  "answers": [ { "item": "AVG(hours)", "answer": 38.2,   null: no rows
 *                                 "low": 37.9, "high": 38.5,         null: there is no interval
 *                                 "agreed": 0.9,                     for MODE: see answer.h
 *                                 "rows": 1020.7,                    that have the column
 *                                 "approximate": true,               absent if false
 *                                 "together": false } ] } ],         absent if true
 *     "left_out": {"groups": 3, "rows": 0.8},        absent without GROUP BY
 *     "level": 0.95,          of the intervals; absent, with low and high, if there are none
 *     "together": false }     whether measured marginals contain all columns of each item
 */
#pragma once

#include "aim/answer/answer.h"
#include "aim/table/csv.h"

#include <jansson.h>

struct answers_entry {
    const char *text; /* of the question: `size` bytes */
    size_t size;
    const struct answer *answer;
    bool together,
        item[QUESTION_ITEMS_MAX]; /* all columns were measured together: for all items, for each */
    bool copula;                  /* so columns are related only by their correlations */
    double level;                 /* 0: without intervals */
    const struct csv_form *csv;   /* for answers_csv() */
    bool learned;                 /* intervals where columns were not measured together */
};

/* "3 groups of less than half a row, 0.8 rows together"; false, with no text, if there are none. */
bool answers_left_out(const struct answer *a, char *text, size_t size);

enum err answers_text(struct bytes *out, const struct answers_entry *e) MUST_CHECK;
enum err answers_csv(struct bytes *out, const struct answers_entry *e) MUST_CHECK;
enum err answers_json(json_t *list, const struct answers_entry *e) MUST_CHECK;
