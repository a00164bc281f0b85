#include "parties/server/collect.h"

#include "base/memory.h"
#include "parties/server/round_uploads.h"
#include "parties/study/study_uploads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A group is full with this many bytes of vectors, but not with fewer owners than this: each group
 * is converted to numbers by itself, which costs as much as adding up a few owners. All three
 * servers cut alike, since sizes follow from the study and the list.
 */
#define GROUP_BYTES ((uint64_t)8 << 20)
#define GROUP_OWNERS 64
/* With this many it is full in any case: encrypted rows are long. */
#define GROUP_MOST_BYTES ((uint64_t)128 << 20)
/* Or with this many owners: a short upload takes several times its vector in memory. */
#define GROUP_MOST 16384

/* --- which ------------------------------------------------------------------------------------ */

/* Whether a run may begin, or go on, with what is kept; says who is missing. */
static enum err enough_have_uploaded(const struct play *p, const struct round_uploads *u)
{
    const struct study *study = p->study;
    bool *has CLEAN(memory_release) = NULL;
    size_t enough;
    TRY(memory_new(&has, study_owners_most(study)));
    for (size_t k = 0; k < u->kept; k++)
        has[u->upload[k].owner] = true;
    enough = study_taking_part(study, has);
    if (enough < study->min_owners)
        log_error(p->log, "%zu of %zu owners' rows are here; a run needs %u", enough,
                  study_owners_most(study), study->min_owners);
    for (size_t k = 0; k < u->kept; k++)
        if (!has[u->upload[k].owner])
            log_warn(p->log, "the columns of %s wait for those of the others of its batch",
                     study_owner_name(study, u->upload[k].owner).text);
    for (size_t k = 0; k < u->count; k++)
        has[u->upload[k].owner] = true;
    for (size_t i = 0; i < study->owners; i++)
        if (!has[i])
            log_warn(p->log, "%s has not uploaded yet; it should run trefoil share",
                     study->owner[i].name);
    return enough < study->min_owners ? ERR_AGAIN : ERR_OK;
}

/* Keeps the ids of the uploads, so that replays load the same ones. */
static enum err remember_ids(struct bytes *ids, const struct round_uploads *u)
{
    bytes_clear(ids);
    for (size_t i = 0; i < u->kept; i++)
        bytes_put(ids, u->upload[i].id, UPLOAD_ID_SIZE);
    return bytes_ok(ids);
}

/* What a run has counted, and how far its last round is. */
static enum err recall(const struct play *p, const uint8_t run[REQUEST_RUN_SIZE],
                       struct round_uploads *u)
{
    struct store_found found = {0};
    uint32_t rounds;
    TRY(store_run(p->store, run, &rounds, &u->counted));
    if (rounds > 0)
        TRY(store_find_round(p->store, run, rounds - 1, &found));
    memcpy(u->bound, found.round.uploads, sizeof u->bound);
    u->last = found.standing < STANDING_OPENED && found.attempts >= ROUND_ATTEMPTS ? STANDING_LOST
                                                                                   : found.standing;
    return ERR_OK;
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, UPLOAD_ID_SIZE);
}

/* The ids of a round are in order, as are the lists that it was made from. */
static bool is_among(const struct bytes *ids, const uint8_t id[UPLOAD_ID_SIZE])
{
    return ids->size > 0 &&
           bsearch(id, ids->data, ids->size / UPLOAD_ID_SIZE, UPLOAD_ID_SIZE, compare_ids) != NULL;
}

/* Late rows that cannot be read here do not end the run: it goes on without them. */
static enum err leave_out_damaged(const struct play *p, struct round_uploads *u)
{
    size_t left = 0;
    if (u->counted.size == 0)
        return ERR_OK;
    for (size_t i = 0; i < u->count; i++) {
        const struct upload_name name = u->upload[i];
        struct upload upload = {0};
        enum err e = is_among(&u->counted, name.id) ? ERR_OK
                                                    : store_upload(p->store, &name, &upload);
        upload_clear(&upload);
        if (e == ERR_NOMEM || e == ERR_SYSTEM)
            return e;
        if (e == ERR_OK)
            u->upload[left++] = name;
        else
            log_warn(p->log, "the upload of %s cannot be read here, and is left out",
                     study_owner_name(p->study, name.owner).text);
    }
    u->count = left;
    return ERR_OK;
}

/* Vectors are passed on again if the server that had them was restored, and lacks them. */
static enum err pass_on_again(const struct play *p, const struct bytes *lacking)
{
    if (net_index(p->net) == p->split->given)
        for (size_t at = 0; at < lacking->size; at += UPLOAD_ID_SIZE)
            TRY(store_forwarded(p->store, lacking->data + at, false));
    return ERR_OK;
}

/* --- counting them ---------------------------------------------------------------------------- */

struct collect_group {
    struct upload *upload;
    size_t count, room;
    uint64_t bytes;
};

static void empty(struct collect_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        upload_clear(&group->upload[i]);
    memory_free(&group->upload);
    *group = (struct collect_group){0};
}

static enum err load_one(const struct play *p, const struct upload_name *name,
                         struct collect_group *group)
{
    struct upload *u;
    enum err e;
    TRY(memory_room(&group->upload, &group->room, group->count + 1));
    u = &group->upload[group->count];
    e = store_upload(p->store, name, u);
    if (e != ERR_OK)
        return log_fail(p->log, e,
                        "the upload of %s cannot be read here; this server's log says why",
                        study_owner_name(p->study, name->owner).text);
    group->count++;
    group->bytes += u->split->bytes(p->study, u->owner, u->form);
    return ERR_OK;
}

/* Loads the uploads of a batch, whose owners are counted together. */
static enum err load_batch(const struct play *p, const struct upload_name *const *by_owner,
                           size_t first, struct collect_group *group)
{
    const struct study_owner *owner = p->study->owner;
    size_t end = study_owner(p->study, first)->columns == p->study->domain->attributes
                     ? first + 1
                     : p->study->owners;
    for (size_t i = first; i < end; i++)
        if ((i == first || owner[i].batch == first) && by_owner[i] != NULL)
            TRY(load_one(p, by_owner[i], group));
    return ERR_OK;
}

/* Who takes groups, and how much has been taken, in bytes of vectors. */
struct meter {
    enum err (*take)(void *taker, const struct upload *uploads, size_t count);
    enum err (*finish)(void *taker); /* once all are taken; or NULL */
    void *taker;
    atomic_uint *adding;
    uint64_t before, now, all; /* in groups that are done; in the current one; in all */
};

static void show(void *self, uint64_t done, uint64_t all)
{
    const struct meter *m = self;
    const double bytes = (double)m->before + (double)m->now * (double)done / (double)all;
    atomic_store(m->adding, 1 + (unsigned)fmin(1000, 1000 * bytes / (double)m->all));
}

static enum err take_group(struct collect_group *group, bool at_end, struct meter *m)
{
    enum err e;
    if (!at_end) /* else they are loaded, and counted by finish() */
        m->now = group->bytes;
    show(m, 0, 1);
    e = m->take(m->taker, group->upload, group->count);
    m->before += m->now;
    empty(group);
    return e;
}

/* Takes uploads in groups: those that are counted already, or those that are not. */
static enum err take_groups(const struct play *p, const struct upload_name *const *by_owner,
                            bool counted, struct meter *m)
{
    const struct study *study = p->study;
    const struct engine_counted counts = p->engine.ops->counted(p->engine.self);
    struct collect_group group CLEAN(empty) = {0};
    for (size_t i = 0; i < study_owners_most(study); i++) {
        if (study_batch(study, i) != i || counts.counted[i] != counted)
            continue;
        TRY(load_batch(p, by_owner, i, &group));
        if (group.count >= GROUP_MOST || group.bytes >= GROUP_MOST_BYTES ||
            (group.bytes >= GROUP_BYTES && group.count >= GROUP_OWNERS))
            TRY(take_group(&group, counts.at_end, m));
    }
    TRY(group.count > 0 ? take_group(&group, counts.at_end, m) : ERR_OK);
    m->now = counts.at_end ? m->all : 0;
    return ERR_OK;
}

static enum err take_all(const struct play *p, const struct upload_name *name, size_t names,
                         bool counted, struct meter *m)
{
    const struct upload_name **by_owner CLEAN(memory_release) = NULL;
    const struct engine *g = &p->engine;
    const bool *done = g->ops->counted(g->self).counted;
    enum err e;
    TRY(memory_new(&by_owner, study_owners_most(p->study)));
    m->adding = p->adding;
    m->all = 1;
    for (size_t k = 0; k < names; k++) {
        by_owner[name[k].owner] = &name[k];
        m->all += done[name[k].owner] == counted ? study_upload_bytes(p->study, name[k].owner) : 0;
    }
    if (g->ops->watch != NULL)
        g->ops->watch(g->self, show, m);
    e = take_groups(p, by_owner, counted, m);
    if (e == ERR_OK && m->finish != NULL)
        e = m->finish(m->taker);
    if (g->ops->watch != NULL)
        g->ops->watch(g->self, NULL, NULL);
    atomic_store(p->adding, 0);
    return e;
}

static enum err add_all(struct play *p, const struct round_uploads *u)
{
    struct meter m = {
        .take = p->engine.ops->add, .finish = p->engine.ops->finish, .taker = p->engine.self};
    enum err e;
    net_enter(p->net, NET_COMPUTE);
    e = take_all(p, u->upload, u->kept, false, &m);
    net_enter(p->net, NET_OTHER);
    return e;
}

enum err collect_again(void *play,
                       enum err (*take)(void *taker, const struct upload *uploads, size_t count),
                       void *taker)
{
    const struct play *p = play;
    struct upload_name *name CLEAN(memory_release) = NULL;
    struct meter m = {.take = take, .taker = taker};
    size_t names, kept = 0;
    TRY(store_uploads(p->store, &name, &names));
    for (size_t k = 0; k < names; k++)
        if (is_among(&p->upload_ids, name[k].id))
            name[kept++] = name[k];
    if (kept != p->upload_ids.size / UPLOAD_ID_SIZE)
        return log_fail(p->log, ERR_DATA, "an upload that was counted is no longer here");
    return take_all(p, name, kept, true, &m);
}

/*
 * The third server may have told the two others of different uploads. Then their streams differ,
 * and a check fails before anything leaves unmasked.
 */
static enum err count_alike(const struct play *p)
{
    uint8_t topic[ENGINE_TOPIC];
    round_uploads_topic(p->net, p->uploads, topic);
    return p->engine.ops->topic(p->engine.self, topic, p->uploads);
}

static void clear(struct round_uploads *u)
{
    memory_free(&u->upload);
    bytes_clear(&u->counted);
    bytes_clear(&u->lacking);
}

/* Those that are not left out have to be enough. */
static enum err enough_are_counted(const struct play *p)
{
    const struct engine_counted counted = p->engine.ops->counted(p->engine.self);
    const size_t left = counted.owners;
    if (counted.left_out == NULL || left >= p->study->min_owners)
        return ERR_OK;
    return log_fail(p->log, ERR_AGAIN, "uploads here that are not left out: %zu; a run needs %u",
                    left, p->study->min_owners);
}

enum err collect_uploads(struct play *p, const uint8_t run[REQUEST_RUN_SIZE], bool late)
{
    struct round_uploads u CLEAN(clear) = {.study = p->study, .passed = p->split->passed};
    enum err e, passed;
    TRY(store_uploads(p->store, &u.upload, &u.count));
    if (late)
        bytes_put(&u.counted, p->upload_ids.data, p->upload_ids.size);
    else
        TRY(recall(p, run, &u));
    TRY(bytes_ok(&u.counted));
    TRY(leave_out_damaged(p, &u));
    e = round_uploads(p->net, &u, p->uploads, p->log);
    if (e == ERR_CHEAT)
        log_error(p->log,
                  "server %u or %u lists uploads as no server can: it departs from the "
                  "protocol, or its memory is faulty; nothing was counted",
                  net_neighbour_of(net_servers(p->net), net_index(p->net), NET_NEXT),
                  net_neighbour(p->net, NET_PREV));
    passed = pass_on_again(p, &u.lacking); /* also if the run cannot go on without them */
    TRY(e);
    TRY(passed);
    TRY(remember_ids(&p->upload_ids, &u));
    if (!late)
        TRY(enough_have_uploaded(p, &u));
    TRY(count_alike(p));
    if (p->engine.ops->hold != NULL)
        TRY(p->engine.ops->hold(p->engine.self, u.upload, u.kept, p->uploads));
    TRY(add_all(p, &u));
    return enough_are_counted(p);
}

/* --- between rounds --------------------------------------------------------------------------- */

enum err collect_late(struct play *p, uint8_t *late)
{
    const struct study *study = p->study;
    bool *has CLEAN(memory_release) = NULL;
    *late = 0;
    if (!study->late_join)
        return ERR_OK;
    if (p->patience > 0) {
        p->patience--;
        return ERR_OK;
    }
    TRY(memory_new(&has, study_owners_most(study)));
    TRY(store_owners(p->store, has));
    p->here = study_taking_part(study, has);
    *late = p->here > p->engine.ops->counted(p->engine.self).owners;
    return ERR_OK;
}

void collect_hear_late(struct play *p, const bool *late)
{
    const bool here = late[net_index(p->net)];
    p->late = true;
    for (unsigned i = 0; i < p->study->servers; i++)
        p->late = p->late && late[i];
    for (unsigned i = 0; i < p->study->servers; i++) {
        if (here && !late[i] && !p->told_late[i])
            log_warn(p->log,
                     "rows have come that may join the run, but server %u says that none have come "
                     "there; they wait as long as it says so",
                     i);
        p->told_late[i] = !p->late && (p->told_late[i] || (here && !late[i]));
    }
}
