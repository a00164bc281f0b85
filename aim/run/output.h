/*
 * aim/run/output.h - measurements.json: everything that was released, for people and other
 * programs.
 *
 *   { "format": "trefoil-measurements-1",        or -2 where codes are merged
 *     "epsilon": 1.0, "delta": 1e-05, "rho": 0.03, "rows_per_person": 1,
 *     "total": 48820.1,                            estimated number of rows
 *     "domain": { "age": 32, "sex": 2, ... },      sizes, as Python's private-pgm reads them
 *     "attributes": [ { "name": "age", "kind": "numeric", "size": 32, "edges": [17, ...] },
 *                     { "name": "sex", "kind": "categorical", "size": 2, "labels": ["F", "M"] },
 *                     { "name": "n", "kind": "integer", "size": 4, "min": 0, "max": 2,
 *                       "missing": "" } ],         a missing value is the last code
 *                                                  and "step", "tail", "typical", "missing_too"
 *                                                  where the study has them
 *     "merged": { "age": [0, 0, 0, 1, ...] },      which codes were measured together: the group of
 *                                                  each, if any are merged
 *     "measurements": [ { "attributes": ["age", "sex"], "sigma": 20.9, "values": [...] } ],
 *     "known": [ { "attributes": ["sex"], "values": [...] } ] }   published totals that the model
 *                                                  was given and has exactly, if there are any
 *
 * For a run in sweeps, measurements after the first have "sweep": 1 and so on, and there is
 *
 *     "scores": [ { "sigma": 290.1, "attributes": [["age"], ["age", "sex"], ...],
 *                   "values": [...] } ]          what each sweep opened of its candidates: how far
 *                                                the model was from each, in rows, with noise
 *
 * Where the study has assess, how far the model that the run made was from each pair of columns,
 * and how far independent columns were, in rows, with noise of sigma:
 *
 *     "assess": { "sigma": 99.1, "rho": 0.0016, "total": 48820.1,
 *                 "attributes": [["age", "sex"], ...], "measured": [true, ...],
 *                 "values": [...], "independent": [...],
 *                 "held_out": { "pairs": 80, "error": 0.061, "low": 0.056, "high": 0.066,
 *                               "independent": 0.1 }, "measured_pairs": { .. }, "all": { .. } }
 *
 * and for a copula, whose measurements are those of each attribute alone
 *
 *     "copula": { "sigma": 218.3, "scores": { "age": [-2.5, -2.4, ...], ... },
 *                 "forms": [ { "attributes": ["age", "sex"], "value": -258.4,
 *                              "correlation": -0.054 } ] }
 *
 * A form's value is the sum over all rows of the product of the two scores, with noise of deviation
 * sigma; its correlation is the model's.
 *
 * values are noisy counts, row-major over "attributes" (the last fastest), each with independent
 * Gaussian noise of standard deviation sigma. Where a measurement says "merged": true, its cells
 * are over groups of codes for the attributes that "merged" names. A measurement has a "total" only
 * if its population was another one: that one's noisy number of rows. In Python, with private-pgm:
 *
 *   doc = json.load(open("measurements.json"))
 *   domain = Domain.fromdict(doc["domain"])
 *   [LinearMeasurement(m["values"], m["attributes"], m["sigma"]) for m in doc["measurements"]]
 *
 * where nothing is merged; docs/formats.md has the rest.
 */
#pragma once

#include "aim/run/copula_run.h"
#include "aim/run/loop.h"

struct output_terms {
    const struct domain *domain;
    const struct merges *merges; /* of measurements after the first; may be NULL */
    double epsilon, delta, rho;
    unsigned rows_per_person;
    double total;
    const struct measurement *measurement;
    size_t measurements;
    const unsigned *sweep;           /* of each, as in struct aim_result; or NULL */
    const struct workload *workload; /* whose closure scores are of, or NULL */
    const struct aim_scores *scores; /* of each sweep */
    size_t sweeps;
    const char *kept_scores;            /* instead, as output_read() found them; or NULL */
    const struct copula_result *copula; /* the copula whose one-ways these are, or NULL */
    const struct measurement *known;    /* counts that were given (trefoil refit --known) */
    size_t knowns;
    const struct assess *assess; /* how far the run's model was from the rows, or NULL */
};

/* Written whole or not at all. ERR_DATA, logged, for a name or label that is not UTF-8. */
enum err output_measurements(const char *path, const struct output_terms *o,
                             struct log *log) MUST_CHECK;

/* What a file says of a run over a known domain. */
struct output_found {
    double epsilon, delta, rho;
    unsigned rows_per_person;
    struct merges *merges; /* NULL: none */
    size_t measurements;
    struct measurement *measurement;
    unsigned *sweep; /* of each */
    size_t knowns;
    struct measurement *known;
    struct assess *assess; /* NULL: none */
    char *scores;          /* of a run in sweeps, as JSON; NULL: none */
};

/*
 * Reads it back, to the last bit (aim/run/output_read.c). ERR_FORMAT, logged with the field, unless
 * it has what output_measurements() writes for this domain, beginning with a measurement of every
 * attribute. `found` may hold something even after a failure.
 */
enum err output_read(struct output_found *found, const char *path, const struct domain *domain,
                     struct log *log) MUST_CHECK;
void output_found_clear(struct output_found *found);
