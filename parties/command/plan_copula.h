/* parties/command/plan_copula.h - what `trefoil plan` says of method: copula. */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_COPULA_H
#define TREFOIL_PARTIES_COMMAND_PLAN_COPULA_H

#include "parties/study/study.h"

/* What is opened and kept, where all owners have so many rows together. */
void plan_copula_size(const struct study *study, uint64_t rows);

/* A line for each of several epsilons: noise, and the error to expect of it. */
enum err plan_copula_errors(const struct study *study, uint64_t rows) MUST_CHECK;

#endif
