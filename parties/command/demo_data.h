/*
 * parties/command/demo_data.h - invented patients of six hospitals, for trefoil demo and tests.
 *
 * They are drawn from formulas and a seed, the same on every machine. Attributes depend on each
 * other, some values are missing, and each hospital has its own size and kind of patients, so that
 * none of them looks like all together. The last two hold different columns of the same patients,
 * most of whom are at both. Each has its own order, and its file says in its own way who a patient
 * is.
 */
#pragma once

#include "base/log.h"

#include <stdint.h>

#define DEMO_HOSPITALS 6
#define DEMO_POPULATIONS 5 /* patients of one hospital, or of the last two */
#define DEMO_SEED 7

struct demo_hospital {
    const char *name;    /* the owner's name in the study; its file is <name>.csv */
    const char *about;   /* a few words about its patients */
    const char *columns; /* those that it has; NULL: all */
    uint32_t rows;
    uint32_t max_rows; /* the public bound that it declares: not taken from `rows` */
};

extern const struct demo_hospital demo_hospitals[DEMO_HOSPITALS];

/* Writes <folder>/<name>.csv for the first hospitals; makes the folder if necessary. */
enum err demo_data_write(const char *folder, unsigned hospitals, uint64_t seed,
                         struct log *log) MUST_CHECK;

/* The `domain:` block of a study file that fits the data, line ends included. */
const char *demo_data_domain_yaml(void);
