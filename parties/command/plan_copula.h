/* parties/command/plan_copula.h - what `trefoil plan` says about method: copula. */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_COPULA_H
#define TREFOIL_PARTIES_COMMAND_PLAN_COPULA_H

#include "parties/study/study.h"

/* Prints what is opened and kept if all owners together have this many rows. */
void plan_copula_size(const struct study *study, uint64_t rows);

/* Prints a line for each of several epsilons: noise, and the error to expect from it. */
enum err plan_copula_errors(const struct study *study, uint64_t rows) MUST_CHECK;

#endif
