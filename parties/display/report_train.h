/*
 * parties/display/report_train.h - report.html of a classifier: how it learned, how far noise went,
 * and the weights of each column's codes. All from what was opened.
 */
#pragma once

#include "aim/run/train_run.h"
#include "aim/train/classifier.h"
#include "parties/study/study.h"

/* The page into `folder`; rho: of the study, or what earlier runs left. */
enum err report_train(const char *folder, const struct study *study, const struct train_result *r,
                      const struct classifier *c, struct log *log) MUST_CHECK;
