/*
 * tests/support/result.h - commands on a study, and the folders with results that they leave in its
 * folder.
 */
#pragma once

#include "harness/study.h"
#include "tests/support/command.h"

/* Runs a command, which ends with this code, for a `g` that has a study `s` and an outcome `o`. */
#define TREFOIL(code, g, ...)                                                                      \
    support_ends(code, &(g)->o, support_path(&(g)->s, "out"), support_path(&(g)->s, "err"),        \
                 (const char *const[]){__VA_ARGS__, NULL})

/* Removes a result, if it is there. */
void support_drop_result(const struct support_study *s, const char *folder);
/* Whether two files have the same bytes. */
bool support_same_files(const char *a, const char *b);
