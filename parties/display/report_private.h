/* parties/display/report_private.h - what the pieces of a report share. */
#ifndef TREFOIL_PARTIES_DISPLAY_REPORT_PRIVATE_H
#define TREFOIL_PARTIES_DISPLAY_REPORT_PRIVATE_H

#include "aim/model.h"
#include "parties/display/html.h"
#include "parties/display/report.h"

#include <jansson.h>

struct report {
    const struct study *study;
    const struct report_truth *truth;
    struct domain *domain;
    struct model *model;
    size_t measurements; /* the one-ways, then one a round */
    struct measurement *measurement;
    json_t *stats;
    struct bytes *out;
    struct log *log;
};

/* Takes in the three files; report_unload() also after a failure. */
enum err report_load(struct report *r, const char *folder) MUST_CHECK;
void report_unload(struct report *r);

#define REPORT_PHASES 6
struct report_phase {
    const char *key, *name;
};
extern const struct report_phase report_phases[REPORT_PHASES];

/* Stats: the object of a round, or of a server's phase; NULL if absent, and its numbers are 0. */
const json_t *report_round(const struct report *r, size_t round);
const json_t *report_phase(const struct report *r, unsigned server, size_t phase);
double report_number(const json_t *object, const char *key);

/* Pictures, parties/display/report_chart.c. Each is one <svg> or <figure>. */
enum err report_chart_attribute(const struct report *r, uint16_t attribute) MUST_CHECK;
/* A bar of `value` beside a mark at `expected`, both of `most`. */
void report_chart_bar(struct bytes *out, double value, double expected, double most);
void report_chart_budget(const struct report *r);
void report_chart_phases(const struct report *r);

#endif
