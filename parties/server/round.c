#include "parties/server/round.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/secret.h"

#include <sodium.h>
#include <string.h>

enum err round_broadcast(struct net *net, const void *own, size_t size, void *prev, void *next)
{
    const struct net_exchange r = {
        .send = {own, own},
        .send_size = {size, size},
        .receive = {prev, next},
        .receive_size = {size, size},
    };
    return net_exchange(net, &r);
}

/* --- as bytes --------------------------------------------------------------------------------- */

#define HEAD_SIZE 40 /* of an audit log: lines (u64), last hash */

static uint8_t *put(uint8_t *to, const void *p, size_t n)
{
    memcpy(to, p, n);
    return to + n;
}

static uint8_t *put_head(uint8_t *to, const struct audit_head *head)
{
    return put(integer_put(to, head->entries, 8), head->hash, sizeof head->hash);
}

static void take_head(struct reader *in, struct audit_head *head)
{
    head->entries = reader_u64(in);
    reader_copy(in, head->hash, sizeof head->hash);
}

void round_digest_stake(const struct stake_place *stake, uint8_t digest[32])
{
    uint8_t bytes[sizeof stake->of + NOISE_LAWS * 2 * sizeof(uint64_t)];
    uint8_t *to = put(bytes, stake->of, sizeof stake->of);
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        to = integer_put(integer_put(to, stake->from[k], 8), stake->count[k], 8);
    hash_bytes(bytes, sizeof bytes, digest);
}

void round_topic_of(const struct net *net, const char *label, const void *alike, size_t n,
                    uint8_t topic[SESSION_ID_SIZE])
{
    uint8_t at[8];
    integer_put(at, net_exchanges(net), sizeof at);
    hash_labelled(topic, label, at, sizeof at, alike, n);
}

void round_topic(const struct net *net, const struct round_statement *own,
                 uint8_t topic[SESSION_ID_SIZE])
{
    round_topic_of(net, "trefoil-topic-1", own->digest[ROUND_OWN_DIGESTS],
                   sizeof own->digest - ROUND_OWN_DIGESTS * sizeof own->digest[0], topic);
}

static void put_statement(const struct round_statement *s, uint8_t bytes[ROUND_AGREE_SIZE])
{
    const uint8_t words[] = {s->verdict, s->intent, s->standing, s->obstacle, s->late};
    uint8_t *to = integer_put(put(bytes, words, sizeof words), s->selected, 8);
    to = put_head(put(to, s->digest, sizeof s->digest), &s->audit);
    put(put(to, s->replica, sizeof s->replica), s->voucher, sizeof s->voucher);
}

static void take_statement(const uint8_t bytes[ROUND_AGREE_SIZE], struct round_statement *s)
{
    struct reader in = reader_of(bytes, ROUND_AGREE_SIZE);
    s->verdict = reader_u8(&in);
    s->intent = reader_u8(&in);
    s->standing = reader_u8(&in);
    s->obstacle = reader_u8(&in);
    s->late = reader_u8(&in);
    s->selected = reader_u64(&in);
    reader_copy(&in, s->digest, sizeof s->digest);
    take_head(&in, &s->audit);
    reader_copy(&in, s->replica, sizeof s->replica);
    reader_copy(&in, s->voucher, sizeof s->voucher);
}

/* --- agreement -------------------------------------------------------------------------------- */

static enum err impossible(unsigned server, struct log *log)
{
    return log_fail(log, ERR_CHEAT,
                    "server %u states what no server can have: it departs from the protocol, or "
                    "its memory is faulty; nothing was opened",
                    server);
}

static enum err verdict_of(unsigned server, uint8_t verdict, struct log *log)
{
    if (verdict == ERR_OK)
        return ERR_OK;
    /* if a check fails the session ends, and nothing more is stated */
    if (verdict >= ERR_COUNT || verdict == ERR_CHEAT)
        return impossible(server, log);
    return log_fail(log, (enum err)verdict, "server %u refuses: %s", server,
                    error_text((enum err)verdict));
}

static enum err differs(unsigned server, const char *what, struct log *log)
{
    return log_fail(log, ERR_MISMATCH, "server %u has another %s; nothing was opened", server,
                    what);
}

static bool has_noise(const struct round_statement *s)
{
    return s->intent == ROUND_BIND && s->obstacle != ROUND_NO_NOISE;
}

/* Whether a server can state this of a round, whatever is on its disk. */
static bool is_possible(const struct round_statement *s)
{
    const bool is_new = s->standing == STANDING_NONE;
    return s->intent <= ROUND_BIND && s->standing <= STANDING_OPENED &&
           s->standing != STANDING_STAGED && s->late <= 1 &&
           s->obstacle <= (is_new ? ROUND_READY : ROUND_OTHER_UPLOADS);
}

static enum err compare(unsigned server, const struct round_statement *own,
                        const struct round_statement *other, struct log *log)
{
    static const char *const what[ROUND_DIGESTS - ROUND_OWN_DIGESTS] = {
        "request (the analyst sent it another)",
        "price, or other weights, for this request (another program?)",
        "set of uploads",
        "roster (number, keys, endpoints, deadlines, model; see trefoil roster show)",
        "stretch of noise set aside for this round",
        "analyst who asks for this round",
        "privacy ledger, or limits (was it restored from a backup, or is it another program?)",
    };
    TRY(verdict_of(server, other->verdict, log));
    if (!is_possible(other))
        return impossible(server, log);
    for (size_t k = ROUND_OWN_DIGESTS; k < ROUND_DIGESTS; k++)
        if (memcmp(own->digest[k], other->digest[k], 32) != 0)
            return differs(server, what[k - ROUND_OWN_DIGESTS], log);
    if (own->intent != other->intent)
        return differs(server, "amount of noise at hand", log);
    if ((own->standing == STANDING_NONE) != (other->standing == STANDING_NONE))
        return differs(server, "past: one of us has begun this round, the other has not", log);
    return ERR_OK;
}

/* What each server states. */
struct round_statements {
    unsigned servers;
    const struct round_statement *by[STUDY_SERVERS_MOST];
};

/*
 * Each component of the noise has two holders, and all servers hear what both say of it. If
 * that differs, a new round is not bound, and one that is bound cannot be opened.
 */
static enum err compare_noise(const struct round_statements *said,
                              struct round_agreement *agreement, struct log *log)
{
    enum err e = ERR_OK;
    for (unsigned i = 0; i < said->servers; i++) {
        const unsigned j = net_neighbour_of(said->servers, i, NET_NEXT);
        if (!has_noise(said->by[i]) || !has_noise(said->by[j]) ||
            memcmp(said->by[i]->replica[NET_NEXT], said->by[j]->replica[NET_PREV], 32) == 0)
            continue;
        agreement->obstacle[i] = agreement->obstacle[j] = ROUND_OTHER_NOISE;
        log_error(log,
                  "servers %u and %u do not hold the same share of this round's noise: the memory "
                  "or the store of one of them is faulty, or it lies",
                  i, j);
        e = said->by[i]->standing == STANDING_NONE ? ERR_AGAIN : e;
    }
    return e;
}

/*
 * Any two servers that have opened the round must have the same values. So where all but one have
 * them, that one can take their word.
 */
static enum err compare_opened(const struct round_statements *said, struct log *log)
{
    for (unsigned i = 0; i < said->servers; i++) {
        const unsigned j = net_neighbour_of(said->servers, i, NET_NEXT);
        const struct round_statement *a = said->by[i], *b = said->by[j];
        const char *what = NULL;
        if (a->standing >= STANDING_INDEX && b->standing >= STANDING_INDEX &&
            a->selected != b->selected)
            what = "indices";
        else if (a->standing == STANDING_OPENED && b->standing == STANDING_OPENED &&
                 memcmp(a->values, b->values, sizeof a->values) != 0)
            what = "values";
        if (what != NULL)
            return log_fail(log, ERR_CHEAT,
                            "servers %u and %u have different %s of this round: one of them was "
                            "altered, or lies; nothing was opened",
                            i, j, what);
    }
    return ERR_OK;
}

/*
 * What all but one have opened stays: a server that claims to lack it cannot make others open it
 * again.
 */
static void set_course(const struct round_statements *said, struct round_agreement *agreement)
{
    unsigned indexed = 0, opened = 0;
    for (unsigned i = 0; i < said->servers; i++) {
        if (said->by[i]->standing >= STANDING_INDEX) {
            indexed++;
            agreement->selected = said->by[i]->selected;
        }
        if (said->by[i]->standing == STANDING_OPENED) {
            opened++;
            memcpy(agreement->values, said->by[i]->values, sizeof agreement->values);
        } else
            agreement->lacks = i;
    }
    agreement->course = opened == said->servers        ? ROUND_ANSWER
                        : opened == said->servers - 1  ? ROUND_GIVE
                        : indexed >= said->servers - 1 ? ROUND_MEASURE
                                                       : ROUND_SELECT;
}

static enum err agreed(const struct round_statements *said, struct round_agreement *agreement,
                       struct log *log)
{
    for (unsigned i = 0; i < said->servers; i++) {
        agreement->late[i] = said->by[i]->late != 0;
        agreement->obstacle[i] = (enum round_obstacle)said->by[i]->obstacle;
        memcpy(agreement->vouchers.by[i], said->by[i]->voucher, sizeof said->by[i]->voucher);
    }
    TRY(compare_opened(said, log));
    TRY(compare_noise(said, agreement, log));
    set_course(said, agreement);
    return ERR_OK;
}

/* Judges the statements of the neighbours, and goes on if all agree. */
static enum err hear_agree(void *self)
{
    struct round_talk *t = self;
    struct round_statement other[2];
    struct round_statements said = {.servers = net_servers(t->net)};
    enum err e = ERR_OK;
    said.by[net_index(t->net)] = &t->own;
    for (unsigned p = 0; e == ERR_OK && p + 1 < said.servers; p++) {
        unsigned server = net_neighbour(t->net, (enum net_peer)p);
        said.by[server] = &other[p];
        take_statement(t->came[p], &other[p]);
        t->agreement.audit[p] = other[p].audit;
        memcpy(t->fresh[server], other[p].fresh, sizeof other[p].fresh);
        hash_bytes(t->came[p], ROUND_AGREE_SIZE, t->said[p]);
        e = compare(server, &t->own, &other[p], t->verdict == ERR_OK ? t->log : NULL);
    }
    TRY(t->verdict);
    TRY(e);
    TRY(agreed(&said, &t->agreement, t->log));
    return t->agreed != NULL ? t->agreed(t->self) : ERR_OK;
}

/* Lets blocks of this size ride to and from all neighbours. */
static void ride(struct round_talk *t, size_t size, enum err (*heard)(void *))
{
    net_ride(t->net, &(const struct net_rider){
                         .blocks = {.send = {t->sent[NET_PREV], t->sent[NET_NEXT]},
                                    .send_size = {size, size},
                                    .receive = {t->came[NET_PREV], t->came[NET_NEXT]},
                                    .receive_size = {size, size}},
                         .heard = heard,
                         .self = t,
                     });
}

void round_agree(struct round_talk *t, const struct round_statement *own)
{
    uint8_t *fresh = t->fresh[net_index(t->net)];
    t->own = *own;
    t->verdict = (enum err)own->verdict;
    t->agreement = (struct round_agreement){0};
    secret_random(fresh, sizeof t->fresh[0]);
    hash_bytes(fresh, sizeof t->fresh[0], t->own.fresh);
    for (unsigned p = 0; p + 1 < net_servers(t->net); p++)
        put_statement(&t->own, t->sent[p]);
    ride(t, ROUND_AGREE_SIZE, hear_agree);
}

/* Checks what p shows against its promise, and what the third told p against what it told us. */
static enum err check_confirmation(struct round_talk *t, enum net_peer p, const uint8_t *fresh,
                                   const uint8_t *said)
{
    const enum net_peer other = p == NET_PREV ? NET_NEXT : NET_PREV;
    const unsigned i = net_index(t->net), server = net_neighbour(t->net, p);
    uint8_t digest[32];
    if (net_servers(t->net) > 2 && memcmp(said, t->said[other], sizeof t->said[0]) != 0)
        return log_fail(
            t->log, ERR_CHEAT,
            "server %u told server %u something else about this round than server %u, or server %u "
            "repeats it wrongly: one of the two departs from the protocol; nothing was opened",
            net_neighbour(t->net, other), server, i, server);
    hash_bytes(fresh, sizeof t->fresh[0], digest);
    if (memcmp(digest, t->fresh[server], sizeof digest) == 0) {
        memcpy(t->fresh[server], fresh, sizeof digest);
        return ERR_OK;
    }
    return log_fail(t->log, ERR_CHEAT,
                    "server %u shows other random bytes than those that it had promised: it "
                    "departs from the protocol; nothing was opened",
                    server);
}

static enum err hear_confirm(void *self)
{
    struct round_talk *t = self;
    TRY(t->verdict);
    for (unsigned p = 0; p + 1 < net_servers(t->net); p++)
        TRY(verdict_of(net_neighbour(t->net, (enum net_peer)p), t->came[p][0], t->log));
    for (unsigned p = 0; p + 1 < net_servers(t->net); p++) {
        const uint8_t *fresh = t->came[p] + 1, *said = fresh + 32, *signature = said + 32;
        TRY(check_confirmation(t, (enum net_peer)p, fresh, said));
        memcpy(t->signature[p], signature, sizeof t->signature[p]);
    }
    crypto_hash_sha256(t->seed, t->fresh[0], net_servers(t->net) * sizeof t->fresh[0]);
    return t->confirmed != NULL ? t->confirmed(t->self) : ERR_OK;
}

void round_confirm(struct round_talk *t, enum err verdict, const uint8_t signature[2][64])
{
    t->verdict = verdict;
    for (unsigned p = 0; p + 1 < net_servers(t->net); p++) {
        uint8_t *out = t->sent[p];
        *out++ = (uint8_t)verdict;
        out = put(out, t->fresh[net_index(t->net)], sizeof t->fresh[0]);
        out = put(out, t->said[1 - p], sizeof t->said[0]);
        put(out, signature[p], sizeof t->signature[0]);
    }
    ride(t, ROUND_CONFIRM_SIZE, hear_confirm);
}

enum err round_values(struct net *net, const struct round_agreement *agreement,
                      struct bytes *values, struct log *log)
{
    const unsigned servers = net_servers(net), i = net_index(net),
                   giver = net_neighbour_of(servers, agreement->lacks, NET_PREV);
    const enum net_peer lacking = net_back(servers, NET_PREV); /* the giver's */
    struct net_exchange r = {0};
    uint8_t digest[32];
    if (i == giver) {
        r.send[lacking] = values->data;
        r.send_size[lacking] = values->size;
    }
    if (i == agreement->lacks) {
        r.receive[NET_PREV] = values->data;
        r.receive_size[NET_PREV] = values->size;
    }
    TRY(net_exchange(net, &r));
    hash_bytes(values->data, values->size, digest);
    if (memcmp(digest, agreement->values, sizeof digest) == 0)
        return ERR_OK;
    return log_fail(log, ERR_CHEAT,
                    "server %u gives other values than servers %u and %u say they have opened; "
                    "they are not taken over",
                    giver, giver, net_neighbour_of(servers, agreement->lacks, NET_NEXT));
}

enum err round_heads(struct net *net, const struct audit_head *own, struct audit_head theirs[2])
{
    uint8_t mine[HEAD_SIZE], other[2][HEAD_SIZE];
    put_head(mine, own);
    TRY(round_broadcast(net, mine, sizeof mine, other[NET_PREV], other[NET_NEXT]));
    for (unsigned p = 0; p + 1 < net_servers(net); p++) {
        struct reader in = reader_of(other[p], HEAD_SIZE);
        take_head(&in, &theirs[p]);
    }
    return ERR_OK;
}

enum err round_signatures(struct net *net, uint8_t signature[2][64])
{
    uint8_t mine[2][64];
    const struct net_exchange r = {
        .send = {mine[NET_PREV], mine[NET_NEXT]},
        .send_size = {sizeof mine[0], sizeof mine[1]},
        .receive = {signature[NET_PREV], signature[NET_NEXT]},
        .receive_size = {sizeof mine[0], sizeof mine[1]},
    };
    memcpy(mine, signature, sizeof mine);
    return net_exchange(net, &r);
}
