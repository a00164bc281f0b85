/*
 * parties/display/report_train.h - report.html of a classifier: how it learned, how far noise went,
 * and the weights of each column's codes. All from what was opened.
 */
#ifndef TREFOIL_PARTIES_DISPLAY_REPORT_TRAIN_H
#define TREFOIL_PARTIES_DISPLAY_REPORT_TRAIN_H

#include "aim/run/train_run.h"
#include "aim/train/classifier.h"
#include "parties/study/study.h"

/* The page into `folder`; rho: of the study, or what earlier runs left. */
enum err report_train(const char *folder, const struct study *study, const struct train_result *r,
                      const struct classifier *c, struct log *log) MUST_CHECK;

#endif
