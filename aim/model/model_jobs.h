/*
 * aim/model/model_jobs.h - jobs that each need a model to work on, on all processors.
 *
 * Each thread has a copy of the model (model_copy()); there are few, to save memory. Jobs are begun
 * in order. A job finds its copy as another left it, so it begins with theta and model_propagate().
 */
#pragma once

#include "aim/model/model.h"

#define MODEL_JOBS_THREADS 2
#define MODEL_JOBS_CELLS (UINT64_C(1) << 24) /* of all copies */

struct model_jobs {
    size_t jobs;
    enum err (*play)(void *self, size_t job, struct model *copy);
    void (*begun)(void *show, size_t jobs, size_t of); /* on the caller's thread; may be NULL */
    void *self, *show;
    struct log *log;
};

/* After the first failure no further job is begun. */
enum err model_jobs_run(const struct model_jobs *jobs, const struct model *m) MUST_CHECK;
