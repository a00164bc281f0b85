/*
 * What crews are given: tiles and jobs. Under a check lanes agree on what they heard before they
 * start, and jobs end with a proof.
 */
#include "mpc/move/crew.h"

#include "base/memory.h"
#include "mpc/move/record.h"

/* --- tiles ------------------------------------------------------------------------------------ */

enum err crew_run(struct party *p, size_t tiles,
                  enum err (*work)(void *self, struct party *lane, size_t tile), void *self)
{
    TRY(record_agree(p));
    return crew_tiles(p, crew_lanes(p), tiles, work, self);
}

static size_t divide_up(size_t n, size_t by)
{
    return n / by + (n % by != 0);
}

static size_t tile_of(size_t lanes, size_t n, size_t most, size_t least)
{
    const size_t longest = divide_up(most, lanes * least) * least;
    const size_t each = divide_up(n, lanes * longest); /* tiles per lane */
    if (lanes == 1)
        return most;
    return each > 0 ? divide_up(divide_up(n, lanes * each), least) * least : least;
}

size_t crew_tile(const struct party *p, size_t n, size_t most, size_t least)
{
    return tile_of(crew_lanes(p), n, most, least);
}

size_t crew_deal_tile(const struct party *p, size_t n, size_t most, size_t least)
{
    return tile_of(crew_all(p), n, crew_processes(p) * most, least);
}

size_t crew_processes(const struct party *p)
{
    return crew_all(p) / crew_most(p);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* The arguments of the lanes that are here, and the results of all. */
struct letters {
    struct bytes *argument, *result;
    size_t here, lanes;
};

static void letters_clear(struct letters *l)
{
    for (size_t k = 0; k < l->here; k++)
        bytes_clear(&l->argument[k]);
    for (size_t k = 0; k < l->lanes; k++)
        bytes_clear(&l->result[k]);
    memory_free_all(&l->argument, &l->result);
}

/*
 * Far lanes' arguments are sent lane by lane: they may take as much as half of a server's memory.
 */
static enum err give(const struct party *p, const struct crew_job *job, const struct letters *l)
{
    const struct crew_far *far = crew_far(p);
    for (size_t k = 0; k < l->here; k++) {
        TRY(job->put(job->self, k, &l->argument[k]));
        TRY(bytes_ok(&l->argument[k]));
    }
    for (size_t k = l->here; k < l->lanes; k++) {
        struct bytes arguments CLEAN(bytes_clear) = {0};
        const struct crew_task task = {job->number, net_phase(p->net), &arguments};
        TRY(job->put(job->self, k, &arguments));
        TRY(bytes_ok(&arguments));
        TRY(far->give(far->self, &task));
    }
    return ERR_OK;
}

struct crew_dealt {
    const struct crew_job *job;
    const struct letters *letters;
};

static enum err work_near(void *self, struct party *lane, size_t k)
{
    const struct crew_dealt *d = self;
    const struct letters *l = d->letters;
    const struct bytes *argument = &l->argument[k];
    struct reader r = reader_of(argument->data, argument->size);
    TRY(d->job->work(d->job->self, lane, &r, &l->result[k]));
    TRY(record_prove(lane));
    return bytes_ok(&l->result[k]);
}

static enum err work(struct party *p, const struct crew_job *job, const struct letters *l)
{
    const struct crew_far *far = crew_far(p);
    const uint64_t since = net_counters(p->net, net_phase(p->net))->exchanges;
    struct net_counters counted = {0};
    struct crew_dealt dealt = {job, l};
    enum err near;
    TRY(give(p, job, l));
    near = crew_each_here(p, work_near, &dealt);
    if (far == NULL)
        return near;
    near = crew_worse(near, far->end(far->self, near != ERR_OK, l->result + l->here, &counted));
    net_add(p->net, &counted, since);
    return near;
}

enum err crew_jobs(struct party *p, const struct crew_job *job)
{
    struct letters l CLEAN(letters_clear) = {0};
    const size_t lanes = crew_all(p), here = crew_here(p);
    enum err e;
    TRY(memory_new(&l.argument, here));
    l.here = here;
    TRY(memory_new(&l.result, lanes));
    l.lanes = lanes;
    TRY(RECORD(p, ERR_OK, begin_jobs(p)));
    e = work(p, job, &l);
    TRY(RECORD(p, e, end_jobs(p, e)));
    for (size_t k = 0; k < lanes && job->take != NULL; k++) {
        struct reader r = reader_of(l.result[k].data, l.result[k].size);
        TRY(job->take(job->self, k, &r));
        TRY(reader_done(&r));
    }
    return ERR_OK;
}
