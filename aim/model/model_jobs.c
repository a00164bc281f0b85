#include "aim/model/model_jobs.h"

#include "base/cores.h"
#include "base/thread.h"

struct jobs_work {
    const struct model_jobs *jobs;
    const struct model *model;
    pthread_mutex_t lock; /* of the two below */
    size_t next;
    enum err failed;
};

static size_t take(struct jobs_work *w)
{
    size_t job;
    (void)pthread_mutex_lock(&w->lock);
    job = w->failed == ERR_OK ? w->next++ : w->jobs->jobs;
    (void)pthread_mutex_unlock(&w->lock);
    return job;
}

static void note(struct jobs_work *w, enum err e)
{
    (void)pthread_mutex_lock(&w->lock);
    w->failed = w->failed == ERR_OK ? e : w->failed;
    (void)pthread_mutex_unlock(&w->lock);
}

static enum err play_jobs(struct jobs_work *w, bool shows)
{
    const struct model_jobs *j = w->jobs;
    struct model *m CLEAN(model_free) = NULL;
    TRY(model_copy(&m, w->model, j->log));
    for (size_t job; (job = take(w)) < j->jobs;) {
        if (shows && j->begun != NULL)
            j->begun(j->show, job, j->jobs);
        TRY(j->play(j->self, job, m));
    }
    return ERR_OK;
}

static void *thread(void *arg)
{
    note(arg, play_jobs(arg, false));
    return NULL;
}

/* No more threads than jobs: the others would have nothing to do. */
static size_t threads_for(size_t jobs, uint64_t cells)
{
    uint64_t copies = MODEL_JOBS_CELLS / (cells + 1);
    size_t n = cores_count();
    n = n < MODEL_JOBS_THREADS ? n : MODEL_JOBS_THREADS;
    n = n < copies ? n : copies > 1 ? copies : 1;
    return n < jobs ? n : jobs;
}

enum err model_jobs_run(const struct model_jobs *jobs, const struct model *m)
{
    struct jobs_work w = {.jobs = jobs, .model = m, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct thread other[MODEL_JOBS_THREADS];
    size_t threads = 1, wanted = threads_for(jobs->jobs, model_cells(m));
    while (threads < wanted && thread_start(&other[threads], thread, &w, NULL) == ERR_OK)
        threads++;
    note(&w, play_jobs(&w, true));
    while (threads > 1)
        thread_join(&other[--threads]);
    (void)pthread_mutex_destroy(&w.lock);
    return w.failed;
}
