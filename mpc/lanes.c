#include "mpc/lanes.h"

#include "base/memory.h"

#include <pthread.h>

enum err lanes_new(struct lanes **lanes, struct net *const *nets, size_t count,
                   const struct session *session, struct log *log)
{
    struct lanes *l = memory_array(1, sizeof *l);
    enum err e = l == NULL ? ERR_NOMEM : count == 0 || count > LANES_MAX ? ERR_RANGE : ERR_OK;
    *lanes = l;
    for (size_t k = 0; e == ERR_OK && k < count; k++) {
        e = party_new(&l->lane[k], nets[k], session, (uint32_t)k, log);
        l->count = k + 1;
    }
    if (e != ERR_OK)
        lanes_free(lanes);
    return e;
}

void lanes_free(struct lanes **lanes)
{
    if (*lanes == NULL)
        return;
    for (size_t k = 0; k < (*lanes)->count; k++)
        party_free(&(*lanes)->lane[k]);
    memory_free(lanes);
}

struct errand {
    enum err (*job)(void *self, struct party *p, size_t from, size_t count);
    void *self;
    struct party *party;
    size_t from, count;
    pthread_t thread;
    bool started;
    enum err result;
};

static void *go(void *arg)
{
    struct errand *r = arg;
    r->result = r->job(r->self, r->party, r->from, r->count);
    if (r->result != ERR_OK)
        net_abort(r->party->net); /* the neighbours' lane need not wait */
    return NULL;
}

/* Where lane k begins: blocks are dealt out as evenly as they go. */
static size_t start_of(size_t n, size_t align, size_t k, size_t count)
{
    size_t blocks = n / align + (n % align != 0);
    size_t from = (blocks / count * k + blocks % count * k / count) * align;
    return from < n ? from : n;
}

enum err lanes_run(struct lanes *lanes, size_t n, size_t align,
                   enum err (*job)(void *self, struct party *p, size_t from, size_t count),
                   void *self)
{
    struct errand errand[LANES_MAX] = {0};
    enum err e = ERR_OK;
    for (size_t k = 0; k < lanes->count; k++) {
        size_t from = start_of(n, align, k, lanes->count);
        errand[k] = (struct errand){
            .job = job,
            .self = self,
            .party = lanes->lane[k],
            .from = from,
            .count = start_of(n, align, k + 1, lanes->count) - from,
        };
    }
    for (size_t k = 1; k < lanes->count; k++) {
        errand[k].started = pthread_create(&errand[k].thread, NULL, go, &errand[k]) == 0;
        if (!errand[k].started) {
            errand[k].result = ERR_SYSTEM;
            net_abort(errand[k].party->net);
        }
    }
    go(&errand[0]);
    for (size_t k = 0; k < lanes->count; k++) {
        if (errand[k].started)
            pthread_join(errand[k].thread, NULL);
        if (e == ERR_OK)
            e = errand[k].result;
    }
    return e;
}
