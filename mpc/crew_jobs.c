#include "mpc/crew.h"

#include "base/memory.h"

/* The arguments and the results of every lane. */
struct letters {
    struct bytes *argument, *result;
    size_t lanes;
};

static void letters_clear(struct letters *l)
{
    for (size_t k = 0; k < l->lanes; k++) {
        bytes_clear(&l->argument[k]);
        bytes_clear(&l->result[k]);
    }
    memory_free(&l->argument);
    memory_free(&l->result);
}

struct dealt {
    const struct crew_job *job;
    const struct letters *letters;
};

static enum err work_near(void *self, struct party *lane, size_t k)
{
    const struct dealt *d = self;
    const struct letters *l = d->letters;
    const struct bytes *argument = &l->argument[k];
    struct reader r = reader_of(argument->data, argument->size);
    TRY(d->job->work(d->job->self, lane, &r, &l->result[k]));
    return bytes_ok(&l->result[k]);
}

static enum err work(struct party *p, const struct crew_job *job, struct letters *l)
{
    const struct crew_far *far = crew_far(p);
    const size_t here = far != NULL ? far->first : l->lanes;
    struct dealt dealt = {job, l};
    enum err near, away;
    if (here < l->lanes)
        TRY(far->begin(far->self, job->number, l->argument + here));
    near = crew_each_here(p, work_near, &dealt);
    if (here == l->lanes)
        return near;
    away = far->end(far->self, near != ERR_OK, l->result + here);
    return near == ERR_OK || (near == ERR_PEER && away != ERR_OK) ? away : near;
}

enum err crew_jobs(struct party *p, const struct crew_job *job)
{
    struct letters l CLEAN(letters_clear) = {0};
    const size_t lanes = crew_all(p);
    if (p->check != NULL)
        return ERR_MISUSE;
    TRY(memory_new(&l.argument, lanes));
    TRY(memory_new(&l.result, lanes));
    l.lanes = lanes;
    for (size_t k = 0; k < lanes; k++) {
        TRY(job->put(job->self, k, &l.argument[k]));
        TRY(bytes_ok(&l.argument[k]));
    }
    TRY(work(p, job, &l));
    for (size_t k = 0; k < lanes && job->take != NULL; k++) {
        struct reader r = reader_of(l.result[k].data, l.result[k].size);
        TRY(job->take(job->self, k, &r));
        TRY(reader_done(&r));
    }
    return ERR_OK;
}
