/*
 * parties/display/report.h - report.html: a run in words and pictures, on one page.
 *
 * It is made from the study file and what a run wrote: measurements.json, model and stats.json.
 * Nothing in them comes from data except through noise. The one exception is `truth`, which a demo
 * with invented data gives, and which the page marks wherever it shows.
 */
#pragma once

#include "aim/run/train_run.h"
#include "aim/train/classifier.h"
#include "parties/study/study.h"

#include <jansson.h>

struct report_truth {
    size_t rows;
    const int64_t *const *one_way; /* counts of each attribute */
    size_t comparisons;            /* errors of tables, from 0 to 2 */
    const char *const *name;
    const double *error;
};

/* Reads a JSON file in `folder`; ERR_FORMAT, logged with the line of the error. */
enum err report_read_json(json_t **json, const char *folder, const char *name,
                          struct log *log) MUST_CHECK;

/* Checks that stats.json, from `folder`, is of this study; ERR_MISMATCH, logged, if not. */
enum err report_check_stats(const json_t *stats, const struct study *study, const char *folder,
                            struct log *log) MUST_CHECK;

/*
 * Reads and writes in `folder`; beside the report, README.md and synthetic.csv-metadata.json
 * (parties/display/card.h). `truth` is NULL except in a demo. `verdict`, unless NULL, gets what
 * the first box of the page says: a text of sentences, each a line.
 */
enum err report_write(const char *folder, const struct study *study,
                      const struct report_truth *truth, struct bytes *verdict,
                      struct log *log) MUST_CHECK;

/*
 * The page of a study up to the beginning of its body: policy, title, styles (report_head.c). For
 * reports of all methods.
 */
void report_head(struct bytes *out, const struct study *study);

/*
 * The same of a classifier: how it learned, how far noise went, and the weights of each column's
 * codes. All from what was opened. rho: of the study, or what earlier runs left.
 */
enum err report_train(const char *folder, const struct study *study, const struct train_result *r,
                      const struct classifier *c, struct log *log) MUST_CHECK;
