#include "parties/settings/three/ranks.h"

#include <stdlib.h>
#include <string.h>

enum err ranks_start(struct ranks **ranks, const struct ranks_options *o)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    *ranks = NULL;
    if (o->places == NULL && (size == NULL || strcmp(size, "1") == 0))
        return ERR_OK;
    return log_fail(o->log, ERR_USAGE,
                    "this trefoil was built without MPI: start trefoil-mpi, which `make "
                    "MPI=1` builds, or one process");
}

void ranks_stop(struct ranks **ranks)
{
    (void)ranks;
}

bool ranks_is_first(const struct ranks *ranks)
{
    (void)ranks;
    return true;
}

size_t ranks_lanes(const struct ranks *ranks)
{
    (void)ranks;
    return 0;
}

enum err ranks_follow(struct ranks *ranks)
{
    (void)ranks;
    return ERR_MISUSE;
}

const struct ranks_place *ranks_place(const struct ranks *ranks, size_t j)
{
    (void)ranks;
    (void)j;
    return NULL;
}

enum err ranks_admit(struct ranks *ranks, unsigned index,
                     const uint8_t expect[2][TRANSPORT_PASS_SIZE], int64_t patience_ms)
{
    (void)ranks;
    (void)index;
    (void)expect;
    (void)patience_ms;
    return ERR_OK;
}

enum err ranks_open(struct ranks *ranks, const struct ranks_session *s)
{
    (void)ranks;
    (void)s;
    return ERR_MISUSE;
}

void ranks_close(struct ranks *ranks)
{
    (void)ranks;
}

const struct crew_far *ranks_far(struct ranks *ranks)
{
    (void)ranks;
    return NULL;
}
