/*
 * bench/data.h - the tables that benchmarks run on: NAME.csv, NAME.domain.json ({attribute: size})
 * and NAME.workload.json (a list "cliques" of attribute names) in $TREFOIL_DATA, or ../shared/data.
 */
#pragma once

#include "aim/table/table.h"
#include "aim/workload/workload.h"

#include <jansson.h>

struct bench_data {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
};

const char *data_folder(void);
/* Whether the folder has this table. */
bool data_present(const char *name);
/* Whether the folder lacks it; if so, says that. */
bool data_absent(const char *name);
/* Every fifth row of a CSV file into `test`, the others into `train`. */
enum err data_hold_out(const char *rows, const char *train, const char *test,
                       struct log *log) MUST_CHECK;

/* The file's JSON, or NULL, logged. */
json_t *data_json(const char *path, struct log *log);
/* Codes from sizes as whole numbers, or labels where `codes` (NAME.codes.json, or NULL) says so. */
enum err data_domain(struct domain **d, const json_t *sizes, const json_t *codes,
                     struct log *log) MUST_CHECK;
/* The clique of names in any order; place[i] is the position among `names` of its attribute i. */
enum err data_clique(const struct domain *d, const char *const *names, size_t count,
                     struct clique *c, size_t *place, struct log *log) MUST_CHECK;

enum err bench_data_read(struct bench_data *c, const char *name, struct log *log) MUST_CHECK;
/* Without the table. */
enum err bench_data_terms(struct bench_data *c, const char *name, struct log *log) MUST_CHECK;
void bench_data_clear(struct bench_data *c);
