/*
 * parties/analyst/refit.h - fits the model of a result again, from its measurements.
 *
 * Columns, bins and structural zeros come from the result's `model`; noisy counts, sigmas and the
 * guarantee from its measurements.json. Nobody is asked for anything, and nothing is spent. With
 * the run's own iterations the model is the run's, byte for byte.
 *
 * The model meets margins that are known from elsewhere (parties/analyst/known.h) exactly. The
 * result keeps them, so a further refit of it has them too.
 */
#pragma once

#include "aim/run/loop.h"
#include "parties/analyst/known.h"
#include "parties/study/study.h"

struct refit_terms {
    const char *folder;         /* of the result */
    const char *impossible;     /* further structural zeros: a file, or NULL */
    const char *known;          /* published margins: a file, or NULL */
    unsigned iterations, final; /* between rounds, and at the end */
    unsigned max_mib;           /* 0: 80, or the size of the result's model if that is larger */
};

struct refit {
    struct study *study; /* as far as a release goes: domain, zeros, guarantee */
    struct aim_result *result;
    double rho;
    struct known known; /* the result's own margins, and those of the file */
};

/* Call refit_clear() also after a failure. */
enum err refit_run(struct refit *f, const struct refit_terms *terms,
                   const struct aim_refit_progress *progress, struct log *log) MUST_CHECK;
void refit_clear(struct refit *f);
