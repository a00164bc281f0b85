/*
 * aim/model_jobs.h - jobs that each need a model to work on, on all processors.
 *
 * Each thread has a copy of the model (model_copy()), four of them at most; jobs are begun in
 * order, and one does not see what another has done to its copy, if it sets theta first.
 */
#ifndef TREFOIL_AIM_MODEL_JOBS_H
#define TREFOIL_AIM_MODEL_JOBS_H

#include "aim/model.h"

struct model_jobs {
    size_t jobs;
    enum err (*play)(void *self, size_t job, struct model *copy);
    void (*begun)(void *show, size_t jobs, size_t of); /* on the caller's thread; may be NULL */
    void *self, *show;
    struct log *log;
};

/* The first failure ends it: no further job is begun. */
enum err model_jobs_run(const struct model_jobs *jobs, const struct model *m) MUST_CHECK;

#endif
