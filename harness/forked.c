#include "harness/forked.h"

#include "harness/netio.h"
#include "harness/session.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum err forked_barrier(struct party *p, uint64_t *from_0)
{
    uint64_t value = *from_0, got = 0;
    const struct net_exchange ring = {.send[NET_NEXT] = &value,
                                      .send_size[NET_NEXT] = sizeof value,
                                      .receive[NET_PREV] = &got,
                                      .receive_size[NET_PREV] = sizeof got};
    for (int round = 0; round < 2; round++) {
        TRY(net_exchange(p->net, &ring));
        if (p->index != 0)
            value = got;
    }
    *from_0 = value;
    return ERR_OK;
}

static enum err serve(unsigned index, char (*endpoint)[ENDPOINT_SIZE], forked_job job, void *shared)
{
    struct log log = {.file = stderr, .level = LOG_ERROR};
    unsigned prev = net_index_of(index, NET_PREV), next = net_index_of(index, NET_NEXT);
    struct netio *netio CLEAN(netio_free) = NULL;
    struct transport *transport CLEAN(transport_free) = NULL;
    struct session *session CLEAN(session_free) = NULL;
    struct net *net CLEAN(net_free) = NULL;
    struct party *party CLEAN(party_free) = NULL;
    TRY(netio_new(&netio, &log));
    struct transport_zmq_options zo = {
        .netio = netio,
        .servers = 3,
        .index = index,
        .listen = {endpoint[2 * index + NET_PREV], endpoint[2 * index + NET_NEXT]},
        .dial = {endpoint[2 * prev + NET_NEXT], endpoint[2 * next + NET_PREV]},
        .max_message = (size_t)2 << 20,
        .depth = 8,
        .log = &log,
    };
    TRY(transport_zmq_new(&transport, &zo));
    TRY(session_for_test(&session, index, 1));
    TRY(open_bare(transport, index));
    struct net_options no = {.transport = transport, .session = session, .log = &log};
    TRY(net_new(&net, &no));
    TRY(party_new(&party, net, session, 0, &log));
    return job(party, shared);
}

bool forked_run(const char *name, forked_job job, void *shared, double peak_rss_mib[3])
{
    char endpoint[6][ENDPOINT_SIZE];
    pid_t child[3];
    bool right = true;
    free_endpoints(endpoint, 6);
    fflush(stdout);
    for (unsigned i = 0; i < 3; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            enum err e = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? ERR_OK : ERR_SYSTEM;
            if (e == ERR_OK)
                e = serve(i, endpoint, job, shared);
            if (e != ERR_OK)
                fprintf(stderr, "%s: server %u: %s\n", name, i, error_text(e));
            fflush(stdout);
            _exit(e == ERR_OK ? 0 : 1);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        struct rusage usage = {0};
        int status = 0;
        if (child[i] < 0 || wait4(child[i], &status, 0, &usage) < 0 || status != 0)
            right = false;
        if (peak_rss_mib != NULL)
            peak_rss_mib[i] = (double)usage.ru_maxrss / 1024;
    }
    return right;
}
