/*
 * A check of a server with lanes (mpc/crew.h): each lane has one of its own, with its own script
 * and coins, and proves what it notes when its log is full. What lane 0 does between two runs of
 * its crew, it does for all: so nothing is opened before all have proved, side by side, and no lane
 * uses what another one made before all have compared what they heard. Jobs (crew_jobs()) end with
 * a flush of each lane's own.
 */
#include "mpc/check_matrix.h"
#include "mpc/check_private.h"
#include "mpc/crew.h"

#define LOG ((size_t)192 << 20)
#define LOG_LEAST ((size_t)32 << 20) /* of a lane */

static enum err begin_lane(void *self, struct party *lane, size_t k)
{
    const struct check_limits *limits = self;
    (void)k;
    TRY(check_new_lane(lane, limits));
    lane->check->prove = check_flush;
    return ERR_OK;
}

size_t check_log_share(size_t lanes)
{
    return LOG / lanes < LOG_LEAST ? LOG_LEAST : LOG / lanes;
}

enum err check_new(struct party *p, const struct check_limits *limits)
{
    struct check_limits each = *limits;
    if (each.log == 0)
        each.log = check_log_share(crew_most(p));
    return crew_each_here(p, begin_lane, &each);
}

/* Whether `is_so` holds for any lane's check; false without a check. */
static bool any_lane(const struct party *p, bool (*is_so)(const struct check *c))
{
    bool any = false;
    for (size_t k = 0; p->check != NULL && k < crew_lanes(p); k++)
        any = any || is_so(crew_lane(p, k)->check);
    return any;
}

static bool is_apart(const struct check *c)
{
    return c->apart;
}

static bool is_owed(const struct check *c)
{
    return c->owed || c->rode;
}

bool check_clean(const struct party *p)
{
    return !any_lane(p, check_notes) && !any_lane(p, is_apart) && !any_lane(p, is_owed);
}

struct check_failure check_failure(const struct party *p)
{
    struct check_failure first = {0};
    for (size_t k = 0; p->check != NULL && k < crew_here(p) && !first.failed; k++)
        first = crew_lane(p, k)->check->failure;
    return first;
}

/* --- agree, flush ----------------------------------------------------------------------------- */

static enum err agree_lane(void *self, struct party *lane, size_t k)
{
    (void)self;
    (void)k;
    return check_agree_lane(lane);
}

enum err check_agree(struct party *p)
{
    return any_lane(p, is_apart) ? crew_each(p, agree_lane, NULL) : ERR_OK;
}

/*
 * Lane 0 uses what others made. A cheat could hold back their coins until lane 0 has opened what
 * depends on it, so lane 0's script includes the scripts of all.
 */
static enum err say_lanes(const struct party *p)
{
    for (size_t k = 1; k < crew_lanes(p); k++) {
        uint8_t digest[CHECK_DIGEST];
        TRY(check_script(crew_lane(p, k)->check, digest));
        TRY(check_say_opened(p, digest, sizeof digest));
    }
    return ERR_OK;
}

/* What rides along rides with lane 0's flush. */
static enum err flush_lane(void *self, struct party *lane, size_t k)
{
    const struct check_ride *ride = k == 0 ? self : NULL;
    if (ride == NULL && !check_notes(lane->check) && !lane->check->owed)
        return check_agree_lane(lane);
    return check_flush_lane(lane, ride, NULL);
}

enum err check_flush_with(struct party *p, struct check_ride *ride)
{
    const struct check_guard *guard = &p->check->limits.guard;
    if (p->lane == 0 && !p->check->in_jobs)
        TRY(check_guard(guard, guard->ready));
    TRY(say_lanes(p));
    return crew_each(p, flush_lane, ride);
}

enum err check_flush(struct party *p)
{
    return check_clean(p) ? ERR_OK : check_flush_with(p, NULL);
}

enum err check_matrices(struct party *p, const struct check_matrices *m)
{
    bool whole = m->z.n == m->plans->cells;
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
    const struct check_guard *guard;
    if (p->check == NULL)
        return ERR_OK;
    guard = &p->check->limits.guard;
    TRY(check_agree(p));
    TRY(check_guard(guard, guard->ready));
    TRY(check_guard(guard, guard->begin));
    p->check->in_jobs = true;
    return ERR_OK;
}

enum err check_end_jobs(struct party *p, enum err e)
{
    const struct check_guard *guard;
    if (p->check == NULL)
        return e;
    guard = &p->check->limits.guard;
    p->check->in_jobs = false;
    if (e == ERR_CHEAT && !check_failure(p).failed)
        return check_fail(p, "what another process of this server computed");
    return e == ERR_OK ? check_guard(guard, guard->end) : e;
}
