/* bench/flaim/stage.h - tables for the tests of bench/. */
#pragma once

#include "harness/cmocka.h"

#include "base/memory.h"
#include "bench/flaim/flaim.h"

#include <string.h>

#define CLIENTS 7

#define ROWS 700

#define CELLS_MOST 256

#define QUERIES_MOST 32

struct stage {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
    uint32_t assignment[ROWS];
    struct flaim_split split;
};

/* Four attributes; clients differ in what is frequent. */
struct stage *stage_new(void);

void stage_free(struct stage **s);
