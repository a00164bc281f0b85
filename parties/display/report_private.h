/* parties/display/report_private.h - what the pieces of a report share. */
#pragma once

#include "aim/answer/association.h"
#include "aim/answer/released.h"
#include "aim/run/output.h"
#include "base/text.h"
#include "parties/display/html.h"
#include "parties/display/report.h"

#include <jansson.h>

struct report {
    const struct study *study;
    const struct report_truth *truth;
    struct released *of;       /* the model, which may keep what it was asked */
    struct output_found found; /* the measurements: the one-ways, then one a round, or sets */
    json_t *stats;
    json_t *opened; /* measurements.json of a copula, for its sums; else NULL */
    struct bytes *out;
    struct log *log;
};

/* Reads the three files. Call report_unload() also after a failure. */
enum err report_load(struct report *r, const char *folder) MUST_CHECK;
void report_unload(struct report *r);

#define REPORT_PHASES 6
struct report_phase {
    const char *key, *name;
};
extern const struct report_phase report_phases[REPORT_PHASES];

/* From stats.json: the object of a round, or of a server's phase; NULL if absent, and numbers 0. */
const json_t *report_round(const struct report *r, size_t round);
const json_t *report_phase(const struct report *r, unsigned server, size_t phase);
double report_number(const json_t *object, const char *key);

/* The round in which a measurement was made. */
static inline size_t report_round_of(const struct report *r, size_t measurement)
{
    size_t one_ways = r->study->workload->one_ways;
    if (r->found.sweep[measurement] > 0)
        return 2 * r->found.sweep[measurement];
    return measurement < one_ways ? 0 : measurement - one_ways + 1;
}

/* report_truth.c: of a demo alone, the tables against the data. */
void report_truth(const struct report *r);
/* report_fit.c: the model against what was measured. */
enum err report_fit(const struct report *r) MUST_CHECK;

/* --- report_slots.c: an attribute's codes, in as few slots as a picture has room for ---------- */

enum report_slot_kind { SLOT_NUMBERS, SLOT_LABEL, SLOT_ONE_NUMBER, SLOT_MISSING, SLOT_OTHERS };
struct report_slot {
    enum report_slot_kind kind;
    uint32_t first, codes; /* the first, and how many */
    double low, high;      /* of numbers */
};
/* Ranges of numbers come first, ascending; then slots that have a name. */
struct report_slots {
    const struct domain_attribute *a;
    size_t count, ranges;
    struct report_slot *slot;
    uint32_t *of;           /* a code's slot */
    bool to_scale;          /* ranges are drawn to scale .. */
    bool cut_low, cut_high; /* .. except these at the ends, which are drawn shorter */
    double narrowest;       /* width of a range */
};
/*
 * At most `ranges` ranges, and `names` names. The names that get a slot are those with the most
 * rows, by `counts` of all codes.
 */
enum err report_slots_new(struct report_slots *s, const struct domain_attribute *a,
                          const double *counts, size_t ranges, size_t names) MUST_CHECK;
void report_slots_clear(struct report_slots *s);
/* Where ranges begin and end on an axis of this width: s->ranges + 1 places. */
void report_slots_place(const struct report_slots *s, double width, double *at);
/* The last number of the ranges. */
double report_slots_last(const struct report_slots *s);
/* A slot in a word or two, cut to so many characters. */
void report_slot_name(const struct report_slots *s, size_t slot, size_t characters,
                      struct bytes *out);

/* --- pictures: each is one <svg> or <figure>, REPORT_WIDTH units wide ------------------------- */

#define REPORT_WIDTH 320.0 /* a small phone */
#define REPORT_BAND 2.0    /* standard deviations of noise that are shown, on either side: 95 % */

/* `<svg ...aria-label="`; the caller adds what the picture shows, in words, and then `">`. */
static inline void report_svg(struct bytes *out, double height)
{
    text_put(out, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", REPORT_WIDTH, height);
}

/* report_chart.c. */
enum err report_chart_attribute(const struct report *r, uint16_t attribute) MUST_CHECK;
/* A bar of `value` and a mark at `expected`, both out of `most`; no mark if that is below 0. */
void report_chart_bar(struct bytes *out, double value, double expected, double most);
void report_chart_budget(const struct report *r);
void report_chart_phases(const struct report *r);

/* A bar: the model's count, the noisy count with its deviation, and in a demo the truth. */
struct report_bar {
    double model, noisy, sigma, truth;
};
/* report_bins.c: ranges of numbers, as a histogram. */
enum err report_bins(const struct report *r, const struct report_slots *s,
                     const struct report_bar *bar) MUST_CHECK;

/* --- report_pairs.c: pairs of attributes ------------------------------------------------------ */

struct report_pair {
    uint16_t x, y;         /* x < y */
    unsigned times, alone; /* how often it was measured: in all, and as just this pair */
    size_t first, last;    /* the first and last such round */
    double sigma;          /* of a cell, by all measurements together; 0 if there are none */
    size_t best;           /* the measurement with the least noise in a cell of the pair .. */
    double least;          /* .. and that noise */
    bool known;            /* whether there is an association */
    struct association association;
    double signal; /* above what noise and chance would show (aim/answer/signal.h) */
    bool stands;   /* so far above that hardly any pair of a study would get there by chance */
};

#define REPORT_MATRIX_MOST 30 /* attributes of the matrix */
struct report_pairs {
    const struct report *r;
    size_t count, measured, listed;
    struct report_pair *pair;           /* all, by report_pair_place() */
    const struct report_pair **list;    /* measured ones, the strongest first; then the others */
    uint16_t shown[REPORT_MATRIX_MOST]; /* attributes of the matrix, ascending */
    size_t attributes;
};
enum err report_pairs_find(struct report_pairs *p, const struct report *r) MUST_CHECK;
void report_pairs_clear(struct report_pairs *p);
enum err report_pairs(const struct report_pairs *p) MUST_CHECK;
/* report_signal.c: which measured pairs stand out of noise. */
enum err report_signal(const struct report_pairs *p) MUST_CHECK;
/* report_verdict.c: what the table is worth: a text of a few sentences, each a line. */
enum err report_verdict(const struct report_pairs *p, struct bytes *text) MUST_CHECK;
/* report_card.c: README.md and the metadata of synthetic.csv. */
enum err report_card(const struct report_pairs *p, const char *verdict,
                     const char *folder) MUST_CHECK;
/* report_heat.c: whether a pair was measured, and when; and the model's rows of a pair. */
void report_known_from(const struct report *r, const struct report_pair *p);
enum err report_heat(const struct report *r, const struct report_pair *p) MUST_CHECK;
/* The place of a pair of the domain's attributes, x < y, among all pairs. */
static inline size_t report_pair_place(uint16_t x, uint16_t y)
{
    return (size_t)y * (y - 1u) / 2 + x;
}
