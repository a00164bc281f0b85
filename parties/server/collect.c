#include "parties/server/collect.h"

#include "base/memory.h"
#include "mpc/crew.h"
#include "parties/server/round_uploads.h"

#include <math.h>
#include <string.h>

/*
 * A group is full with so many bytes of vectors, but not with fewer owners: each is converted to
 * numbers by itself, which costs as much as adding up a few owners. All three cut alike, since
 * sizes follow from study and list.
 */
#define GROUP_BYTES ((uint64_t)8 << 20)
#define GROUP_OWNERS 64

/* --- which ------------------------------------------------------------------------------------ */

/* Whether a run may begin, or go on, with what is kept; says who is missing. */
static enum err enough_have_uploaded(const struct collector *g, const struct round_uploads *u)
{
    const struct study *study = g->study;
    bool *has = memory_array(study->owners, sizeof *has);
    enum err e = ERR_OK;
    size_t enough;
    if (has == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < u->kept; k++)
        has[u->upload[k].owner] = true;
    enough = study_taking_part(study, has);
    if (enough < study->min_owners) {
        log_error(g->log, "%zu of %zu owners' rows are here; a run needs %u", enough, study->owners,
                  study->min_owners);
        e = ERR_AGAIN;
    }
    for (size_t k = 0; k < u->kept; k++)
        if (!has[u->upload[k].owner])
            log_warn(g->log, "the columns of %s wait for those of the others of its batch",
                     study->owner[u->upload[k].owner].name);
    for (size_t k = 0; k < u->count; k++)
        has[u->upload[k].owner] = true;
    for (size_t i = 0; i < study->owners; i++)
        if (!has[i])
            log_warn(g->log, "%s has not uploaded yet; it should run trefoil share",
                     study->owner[i].name);
    memory_free(&has);
    return e;
}

/* The ids of the uploads, for replays to load the same ones. */
static enum err remember_ids(struct bytes *ids, const struct round_uploads *u)
{
    bytes_clear(ids);
    for (size_t i = 0; i < u->kept; i++)
        bytes_put(ids, u->upload[i].id, UPLOAD_ID_SIZE);
    return bytes_ok(ids);
}

/* What a run has counted, and how far its last round is. */
static enum err recall(const struct collector *g, const uint8_t run[REQUEST_RUN_SIZE],
                       struct round_uploads *u)
{
    struct store_found found = {0};
    uint32_t rounds;
    TRY(store_run(g->store, run, &rounds, &u->counted));
    if (rounds > 0)
        TRY(store_find_round(g->store, run, rounds - 1, &found));
    u->last = found.standing < STANDING_OPENED && found.attempts >= ROUND_ATTEMPTS ? STANDING_LOST
                                                                                   : found.standing;
    return ERR_OK;
}

static bool is_among(const struct bytes *ids, const uint8_t id[UPLOAD_ID_SIZE])
{
    for (size_t at = 0; at + UPLOAD_ID_SIZE <= ids->size; at += UPLOAD_ID_SIZE)
        if (memcmp(ids->data + at, id, UPLOAD_ID_SIZE) == 0)
            return true;
    return false;
}

/* Rows that come late and cannot be read here do not end a run that goes on without them. */
static enum err leave_out_damaged(const struct collector *g, struct round_uploads *u)
{
    size_t left = 0;
    if (u->counted.size == 0)
        return ERR_OK;
    for (size_t i = 0; i < u->count; i++) {
        const struct upload_name name = u->upload[i];
        struct upload upload = {0};
        enum err e = is_among(&u->counted, name.id) ? ERR_OK
                                                    : store_upload(g->store, &name, &upload);
        upload_clear(&upload);
        if (e == ERR_NOMEM || e == ERR_SYSTEM)
            return e;
        if (e == ERR_OK)
            u->upload[left++] = name;
        else
            log_warn(g->log, "the upload of %s cannot be read here, and is left out",
                     g->study->owner[name.owner].name);
    }
    u->count = left;
    return ERR_OK;
}

/* Server 1 passes on once more what server 2, restored from a backup, holds no longer. */
static enum err pass_on_again(const struct collector *g, const struct bytes *lacking)
{
    if (net_index(g->net) == 1)
        for (size_t at = 0; at < lacking->size; at += UPLOAD_ID_SIZE)
            TRY(store_forwarded(g->store, lacking->data + at, false));
    return ERR_OK;
}

/* --- counting them ---------------------------------------------------------------------------- */

struct group {
    struct upload *upload;
    size_t count;
    uint64_t bytes;
};

static void empty(struct group *group)
{
    for (size_t i = 0; i < group->count; i++)
        upload_clear(&group->upload[i]);
    memory_free(&group->upload);
    *group = (struct group){0};
}

static enum err load_one(const struct collector *g, const struct upload_name *name,
                         struct group *group)
{
    struct upload *more = memory_grow(group->upload, group->count + 1, sizeof *more), *u;
    enum err e;
    if (more == NULL)
        return ERR_NOMEM;
    group->upload = more;
    u = &more[group->count];
    e = store_upload(g->store, name, u);
    if (e != ERR_OK) {
        log_error(g->log, "the upload of %s cannot be read here; this server's log says why",
                  g->study->owner[name->owner].name);
        return e;
    }
    group->count++;
    group->bytes += study_form_bytes(g->study, u->owner, u->form);
    return ERR_OK;
}

/* What is here of a batch, whose owners are counted together. */
static enum err load_batch(const struct collector *g, const struct upload_name *const *by_owner,
                           size_t first, struct group *group)
{
    const struct study_owner *owner = g->study->owner;
    size_t end = owner[first].columns == g->study->domain->attributes ? first + 1
                                                                      : g->study->owners;
    for (size_t i = first; i < end; i++)
        if (owner[i].batch == first && by_owner[i] != NULL)
            TRY(load_one(g, by_owner[i], group));
    return ERR_OK;
}

/* How much of what is to be added up has been, by bytes of vectors. */
struct meter {
    atomic_uint *adding;
    uint64_t before, now, all; /* groups that are done; the one in hand; everything */
};

static void show(void *self, uint64_t done, uint64_t all)
{
    const struct meter *m = self;
    const double bytes = (double)m->before + (double)m->now * (double)done / (double)all;
    atomic_store(m->adding, 1 + (unsigned)fmin(1000, 1000 * bytes / (double)m->all));
}

static enum err add_group(const struct collector *g, struct group *group, struct meter *m)
{
    enum err e;
    m->now = group->bytes;
    show(m, 0, 1);
    e = tally_add(g->engine->party, &g->engine->tally, group->upload, group->count);
    m->before += group->bytes;
    empty(group);
    return e;
}

static enum err add_groups(const struct collector *g, const struct upload_name *const *by_owner,
                           struct meter *m)
{
    const struct study *study = g->study;
    struct group group = {0};
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < study->owners; i++) {
        if (study->owner[i].batch != i || g->engine->tally.counted[i])
            continue;
        e = load_batch(g, by_owner, i, &group);
        if (e == ERR_OK && group.bytes >= GROUP_BYTES && group.count >= GROUP_OWNERS)
            e = add_group(g, &group, m);
    }
    if (e == ERR_OK && group.count > 0)
        e = add_group(g, &group, m);
    empty(&group);
    return e == ERR_OK ? engine_finish(g->engine) : e;
}

static enum err add_all(const struct collector *g, const struct round_uploads *u)
{
    const struct upload_name **by_owner = memory_array(g->study->owners, sizeof *by_owner);
    struct party *party = g->engine->party;
    struct meter m = {.adding = g->adding, .all = 1};
    enum err e;
    if (by_owner == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < u->kept; k++) {
        const uint32_t owner = u->upload[k].owner;
        by_owner[owner] = &u->upload[k];
        m.all += g->engine->tally.counted[owner] ? 0 : study_upload_bytes(g->study, owner);
    }
    party->progress = show;
    party->progress_self = &m;
    net_enter(g->net, NET_COMPUTE);
    e = add_groups(g, by_owner, &m);
    net_enter(g->net, NET_OTHER);
    party->progress = NULL;
    atomic_store(g->adding, 0);
    memory_free(&by_owner);
    return e;
}

/*
 * What two of them were told by the third might differ: then no word of theirs is masked as one of
 * the other's is, and a check says so before anything leaves unmasked.
 */
static enum err count_alike(const struct collector *g, const uint8_t digest[32])
{
    uint8_t topic[SESSION_ID_SIZE];
    round_uploads_topic(g->net, digest, topic);
    TRY(crew_topic(g->engine->party, g->session, topic));
    return check_alike(g->engine->party, digest, 32);
}

enum err collect_uploads(const struct collector *g, const uint8_t run[REQUEST_RUN_SIZE], bool late,
                         struct bytes *ids, uint8_t digest[32])
{
    struct round_uploads u = {.study = g->study};
    enum err e = store_uploads(g->store, &u.upload, &u.count), passed;
    if (e == ERR_OK && late)
        bytes_put(&u.counted, ids->data, ids->size);
    else if (e == ERR_OK)
        e = recall(g, run, &u);
    if (e == ERR_OK)
        e = bytes_ok(&u.counted);
    if (e == ERR_OK)
        e = leave_out_damaged(g, &u);
    if (e == ERR_OK)
        e = round_uploads(g->net, &u, digest, g->log);
    passed = pass_on_again(g, &u.lacking); /* also where the run cannot go on without */
    if (e == ERR_OK)
        e = passed;
    if (e == ERR_OK)
        e = remember_ids(ids, &u);
    if (e == ERR_OK && !late)
        e = enough_have_uploaded(g, &u);
    if (e == ERR_OK)
        e = count_alike(g, digest);
    if (e == ERR_OK)
        e = add_all(g, &u);
    memory_free(&u.upload);
    bytes_clear(&u.counted);
    bytes_clear(&u.lacking);
    return e;
}
