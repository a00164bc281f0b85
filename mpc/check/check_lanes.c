/*
 * A check of a server with lanes (mpc/move/crew.h): each lane has one of its own, with its own
 * script and coins, and proves what it notes when its log is full. What lane 0 does between two
 * runs of its crew, it does for all: so nothing is opened before all have proved, side by side, and
 * no lane uses what another one made before all have compared what they heard. Jobs (crew_jobs())
 * end with a flush of each lane's own.
 */
#include "mpc/check/check_matrix.h"
#include "mpc/check/check_private.h"
#include "mpc/move/crew.h"

#define LOG ((size_t)192 << 20)
#define LOG_LEAST ((size_t)32 << 20) /* of a lane */

size_t check_log_share(size_t lanes)
{
    return LOG / lanes < LOG_LEAST ? LOG_LEAST : LOG / lanes;
}

/*
 * Memory that a session has not had yet costs more than exchanges of a flush do. So a log gets long
 * only where a person waits for exchanges.
 */
size_t check_log_now(const struct party *p)
{
    const enum net_phase phase = net_phase(p->net);
    const size_t log = p->recorder->log, third = log / 3 < LOG_LEAST ? LOG_LEAST : log / 3;
    return (phase == NET_NOISE || phase == NET_COMPUTE) && third < log ? third : log;
}

void check_waits_for_first(const struct party *p)
{
    for (size_t k = 1; party_proves(p) && k < crew_here(p); k++)
        crew_lane(p, k)->recorder->log = SIZE_MAX;
}

bool check_clean(const struct party *p)
{
    bool clean = true;
    for (size_t k = 0; party_proves(p) && k < crew_lanes(p); k++) {
        const struct check *c = check_of(crew_lane(p, k));
        clean = clean && !check_notes(c) && !c->apart && !c->owed && !c->rode;
    }
    return clean;
}

struct check_failure check_failure(const struct party *p)
{
    struct check_failure first = {0};
    for (size_t k = 0; party_proves(p) && k < crew_here(p) && !first.failed; k++)
        first = check_of(crew_lane(p, k))->failure;
    return first;
}

/* --- agree, flush ----------------------------------------------------------------------------- */

enum err check_agree(struct party *p)
{
    bool apart = false;
    for (size_t k = 0; k < crew_lanes(p); k++)
        apart = apart || check_of(crew_lane(p, k))->apart;
    return apart ? crew_each(p, check_agree_lane, NULL) : ERR_OK;
}

/*
 * Lane 0 uses what others made. A cheat could hold back their coins until lane 0 has opened what
 * depends on it, so lane 0's script includes the scripts of all.
 */
static enum err say_lanes(const struct party *p)
{
    for (size_t k = 1; k < crew_lanes(p); k++) {
        uint8_t digest[MOVE_DIGEST];
        TRY(check_script(check_of(crew_lane(p, k)), digest));
        TRY(check_say_opened(p, digest, sizeof digest));
    }
    return ERR_OK;
}

/* What rides along rides with lane 0's flush. */
static enum err flush_lane(void *self, struct party *lane, size_t k)
{
    const struct record_ride *ride = k == 0 ? self : NULL;
    if (ride == NULL && !check_notes(check_of(lane)) && !check_of(lane)->owed)
        return check_agree_lane(NULL, lane, k);
    return check_flush_lane(lane, ride, NULL);
}

enum err check_flush(struct party *p, struct record_ride *ride)
{
    const struct check *c = check_of(p);
    if (ride == NULL && check_clean(p))
        return ERR_OK;
    if (p->lane == 0 && !c->in_jobs)
        TRY(check_guard(&c->limits.guard, c->limits.guard.ready));
    TRY(say_lanes(p));
    TRY(crew_each(p, flush_lane, ride));
    return ride != NULL || check_clean(p) ? ERR_OK : ERR_MISUSE;
}

enum err check_matrices(struct party *p, const struct check_matrices *m)
{
    bool whole = m->z.n == check_matrices_cells(m);
    for (size_t k = 0; k < m->tiles; k++)
        whole = whole && m->tile[k].n % 64 == 0;
    if (!whole)
        return ERR_MISUSE;
    TRY(say_lanes(p));
    return check_flush_lane(p, NULL, m);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/*
 * Lanes of other processes reach no disk. So a check begins here, before they can send a coin, and
 * ends once all of them have proved what they did. guard->ready is asked first.
 */
enum err check_begin_jobs(struct party *p)
{
    struct check *c = check_of(p);
    TRY(check_agree(p));
    TRY(check_guard(&c->limits.guard, c->limits.guard.ready));
    TRY(check_guard(&c->limits.guard, c->limits.guard.begin));
    c->in_jobs = true;
    return ERR_OK;
}

enum err check_end_jobs(struct party *p, enum err e)
{
    struct check *c = check_of(p);
    c->in_jobs = false;
    if (e == ERR_CHEAT && !check_failure(p).failed)
        return check_fail(p, "what another process of this server computed");
    return e == ERR_OK ? check_guard(&c->limits.guard, c->limits.guard.end) : e;
}
