/*
 * parties/analyst/refit.h - the model of a result again, from its measurements.
 *
 * Columns, bins and structural zeros are those of the result's `model`; noisy counts, sigmas and
 * the guarantee are those of its measurements.json. Nothing is asked of anybody, and nothing is
 * spent. With the run's own iterations the model is the run's, byte for byte.
 *
 * Margins that are known from elsewhere (parties/analyst/known.h) the model then has exactly; the
 * result keeps them, and a further refit of it has them too.
 */
#ifndef TREFOIL_PARTIES_ANALYST_REFIT_H
#define TREFOIL_PARTIES_ANALYST_REFIT_H

#include "aim/loop.h"
#include "parties/analyst/known.h"
#include "parties/study/study.h"

struct refit_terms {
    const char *folder;         /* of the result */
    const char *impossible;     /* further structural zeros: a file, or NULL */
    const char *known;          /* published margins: a file, or NULL */
    unsigned iterations, final; /* between rounds, and at the end */
    unsigned max_mib;           /* 0: 80, or as the result's model if that is larger */
};

struct refit {
    struct study *study; /* as far as a release goes: domain, zeros, guarantee */
    struct aim_result *result;
    double rho;
    struct known known; /* the result's own, and those of the file */
};

/* refit_clear() also after a failure. */
enum err refit_run(struct refit *f, const struct refit_terms *terms,
                   const struct aim_refit_progress *progress, struct log *log) MUST_CHECK;
void refit_clear(struct refit *f);

#endif
