/*
 * parties/server/play.c at three servers of one process. If one departs from what binds a round,
 * the two others refuse, say which server it was and in what it differs, open nothing and pay
 * nothing. (Servers are assumed to follow the protocol; this is about one that was altered,
 * restored, or runs something else.) A round left at different steps by crashes opens what it would
 * have opened without them. And a server that asks for a bound round again and again, however it
 * departs, gets one index from two servers that have it, and a few from two that do not.
 */
#include "harness/cmocka.h"

#include "harness/session.h"
#include "harness/three.h"
#include "mpc/circuits/bits.h"
#include "mpc/move/open.h"
#include "parties/exchange/price.h"
#include "parties/server/play.h"
#include "parties/server/round.h"
#include "parties/setting/upload.h"
#include "parties/settings/three/engine.h"
#include "parties/settings/three/split.h"
#include "parties/store/store_private.h"
#include "parties/study/study_uploads.h"
#include "tests/support/store.h"

/* How a server deviates. */
enum play_cheat {
    HONEST,
    OTHER_REQUEST,
    OTHER_CANDIDATES,
    OTHER_WEIGHTS,
    OTHER_RANGE,
    OTHER_TAPE,
    OTHER_UPLOADS,
    OTHER_ROSTER,
    OTHER_ANALYST, /* two analysts of one run share a request */
    OTHER_LEDGER,
    OTHER_LIMITS, /* of the same ledger: another program, or other arithmetic */
    OTHER_NOISE,
    OTHER_COUNTS, /* its computation is wrong, and so is the index */
    HANGS_UP,     /* the same, and it does not send its part of the index */
    CHEATS
};

/* What the others call it, after "server N has another ". */
static const char *const names[CHEATS] = {
    [OTHER_REQUEST] = "request",
    [OTHER_CANDIDATES] = "price, or other weights",
    [OTHER_WEIGHTS] = "price, or other weights",
    [OTHER_RANGE] = "stretch of noise set aside for this round",
    [OTHER_TAPE] = "stretch of noise set aside for this round",
    [OTHER_UPLOADS] = "set of uploads",
    [OTHER_ROSTER] = "roster",
    [OTHER_ANALYST] = "analyst who asks for this round",
    [OTHER_LEDGER] = "privacy ledger",
    [OTHER_LIMITS] = "privacy ledger",
};

struct play_stage {
    struct support_study s;
    struct bounds *bounds;
    struct ledger_limits limits;
    struct identity *server[STUDY_SERVERS_MOST];
    struct store *store[STUDY_SERVERS_MOST], *forged[STUDY_SERVERS_MOST]; /* with one more debit */
    struct audit *audit[STUDY_SERVERS_MOST];
    struct upload parts[3];
    uint32_t *query;
    uint64_t *estimate;
    /* of a round that is played */
    uint64_t seed;                    /* of the session: other streams, another tape */
    bool keep;                        /* what is on disk before each opening */
    bool owes;                        /* something waits to be proved when a round begins; */
    const enum party_reason *owes_at; /* or when that has been opened; NULL: never */
    enum play_cheat cheat;
    unsigned who;
    uint32_t sequence;
    bool measures;                       /* instead of selecting */
    uint32_t candidates;                 /* only this many; 0: all */
    uint64_t rounds[STUDY_SERVERS_MOST]; /* exchanges of a round */
    enum err result[STUDY_SERVERS_MOST];
    struct bytes opened[STUDY_SERVERS_MOST];
    uint64_t openings[STUDY_SERVERS_MOST],
        indices[STUDY_SERVERS_MOST]; /* in total, and of an index */
    uint64_t drawn[STUDY_SERVERS_MOST]
                  [2];              /* with each neighbour, from the streams that a round left */
    bool waits[STUDY_SERVERS_MOST]; /* for agreement, as its guard knows it */
    enum log_level level;           /* of the words */
    bool late[STUDY_SERVERS_MOST], told_late[STUDY_SERVERS_MOST][3]; /* as each play has them */
    char words[STUDY_SERVERS_MOST][4096];
    struct bytes first; /* what play_and_keep() opened */
};

/* --- the stage -------------------------------------------------------------------------------- */

static void open_folder(struct play_stage *c, unsigned i, const char *kind, struct store **store)
{
    char name[24], path[SUPPORT_PATH];
    snprintf(name, sizeof name, "%s%u", kind, i);
    support_study_file(&c->s, name, path);
    OK(store_open(store, path, c->s.study, &three_split, c->server[i], i, &quiet));
    if (strcmp(kind, "server") == 0)
        OK(audit_open(&c->audit[i], path, c->s.study, c->server[i], i, &quiet));
}

/* A debit unknown to the other servers. */
static void forge_debit(struct store *store, const struct ledger_limits *limits)
{
    const struct store_round round = {.run = {9}};
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    struct bytes noise CLEAN(bytes_clear) = {0}, ids CLEAN(bytes_clear) = {0};
    uint8_t next[32] = {0};
    bytes_put_string(&noise, "noise");
    bytes_extend(&ids, UPLOAD_ID_SIZE);
    OK(store_ledger(store, limits, &ledger, &head));
    OK(store_stage(store, &round, ledger, &ids, &noise, next));
    OK(store_bind(store, &round, &(const struct vouchers){0}, &head));
}

static void make_upload(struct play_stage *c)
{
    struct identity *owner CLEAN(identity_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    OK(identity_load(&owner, file(c, "o0.key"), &quiet));
    bytes_extend(&packed, study_upload_bytes(c->s.study, 0));
    memset(packed.data, 0, packed.size);
    packed.data[3] = 7;
    OK(upload_make(c->parts, &three_split, owner, 0, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   c->s.study, study_upload_form(c->s.study, 0), &packed));
}

static struct play_stage stage_of(const char *more)
{
    /* marginals of different sizes and weights */
    struct play_stage c = {
        .s = STUDY(&quiet, .owners = 1, .rounds = 3, .epsilon = 4, .more = more)};
    OK(bounds_new(&c.bounds, c.s.study, &quiet));
    OK(price_limits(c.s.study, &c.limits, &quiet));
    const struct workload *w = c.s.study->workload;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(identity_load(&c.server[i], file(&c, "s%u.key", i), &quiet));
        open_folder(&c, i, "server", &c.store[i]);
        open_folder(&c, i, "forged", &c.forged[i]);
        forge_debit(c.forged[i], &c.limits);
    }
    make_upload(&c);
    c.query = memory_array(w->queries, sizeof *c.query);
    c.estimate = memory_array(w->cells, sizeof *c.estimate);
    for (size_t k = 0; k < w->queries - w->one_ways; k++)
        c.query[k] = (uint32_t)(w->one_ways + k);
    return c;
}

static struct play_stage stage_new(void)
{
    return stage_of(NULL);
}

static void stage_free(struct play_stage *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        store_close(&c->store[i]);
        store_close(&c->forged[i]);
        audit_close(&c->audit[i]);
        identity_free(&c->server[i]);
        upload_clear(&c->parts[i]);
        bytes_clear(&c->opened[i]);
    }
    memory_free_all(&c->query, &c->estimate);
    bytes_clear(&c->first);
    bounds_free(&c->bounds);
    support_study_free(&c->s);
}

/* --- one round -------------------------------------------------------------------------------- */

/* A cheating server's view of the study: its own weights, or roster. */
struct mask {
    struct study study;
    struct workload workload;
};

static enum err put_on(struct mask *mask, const struct play_stage *c, enum play_cheat cheat)
{
    const struct workload *w = c->s.study->workload;
    mask->study = *c->s.study;
    mask->workload = *w;
    mask->study.workload = &mask->workload;
    mask->workload.query = memory_array(w->queries, sizeof *w->query);
    if (mask->workload.query == NULL)
        return ERR_NOMEM;
    memcpy(mask->workload.query, w->query, w->queries * sizeof *w->query);
    if (cheat == OTHER_WEIGHTS)
        mask->workload.query[w->one_ways].weight *= 2;
    if (cheat == OTHER_ROSTER)
        mask->study.roster[0] ^= 1;
    return ERR_OK;
}

/* All candidates of two columns; `less`: without the last. */
static struct request selection(const struct play_stage *c, enum play_cheat cheat)
{
    const struct workload *w = c->s.study->workload;
    struct request r = {.run = {1},
                        .sequence = c->sequence,
                        .ask = {.kind = c->measures ? ASK_MEASURE : ASK_SELECT,
                                .query = c->query,
                                .estimate = c->estimate,
                                .multiplier = 20000,
                                .epsilon = 0.3,
                                .sigma = 50}};
    r.ask.queries = (uint32_t)(w->queries - w->one_ways) - (cheat == OTHER_CANDIDATES);
    if (c->candidates > 0)
        r.ask.queries = c->candidates;
    for (uint32_t k = 0; k < r.ask.queries; k++)
        r.ask.estimates += w->query[w->one_ways + k].cells;
    return r;
}

/* There is noise for two rounds, so that one can be a sample ahead. */
static enum err make_noise(struct three *g, enum play_cheat cheat)
{
    struct share64 one CLEAN(share64_free) = {0};
    TRY(tape_reserve(g->party, &g->tape, NOISE_GUMBEL, 100));
    TRY(tape_reserve(g->party, &g->tape, NOISE_GAUSS, 2000));
    TRY(record_prove(g->party));
    if (cheat == OTHER_TAPE)
        g->tape.id[0] ^= 1;
    if (cheat == OTHER_NOISE)
        g->tape.reel[NOISE_GAUSS].samples.a[0] ^= 1;
    if (cheat != OTHER_RANGE)
        return ERR_OK;
    TRY(share64_new(&one, 1));
    return tape_take(&g->tape, NOISE_GAUSS, one);
}

/*
 * Alters this server's own shares of what scores are made of, in a different marginal in each
 * session.
 */
static void alter_counts(const struct play_stage *c, struct three *g)
{
    const struct workload *w = c->s.study->workload;
    size_t k = w->one_ways + c->seed % (w->queries - w->one_ways);
    g->counts->x.a[g->counts->start[k]] += 1000;
}

/* The store as a crash at the next opening would leave it. */
static enum err keep_store(const struct play_stage *c, unsigned i, const char *state)
{
    char name[48], from[SUPPORT_PATH], to[SUPPORT_PATH];
    snprintf(name, sizeof name, "server%u/store.sqlite", i);
    support_study_file(&c->s, name, from);
    snprintf(name, sizeof name, "%s%u", state, i);
    support_study_file(&c->s, name, to);
    TRY(support_copy(from, to));
    snprintf(name, sizeof name, "server%u/store.sqlite-wal", i);
    support_study_file(&c->s, name, from);
    snprintf(name, sizeof name, "%s%u-wal", state, i);
    support_study_file(&c->s, name, to);
    return support_copy(from, to);
}

struct keeper {
    struct play_stage *c;
    struct play *play;
    struct party *party;
    enum play_cheat cheat;
    unsigned server;
};

/* Takes the others' parts of what is opened, sends none, and leaves. */
static enum err listen_only(struct net *net, size_t values)
{
    uint64_t *part CLEAN(memory_release) = memory_array(2 * values, sizeof *part);
    const size_t size = values * sizeof *part;
    const struct net_exchange r = {.receive = {part, part + values}, .receive_size = {size, size}};
    TRY(part == NULL ? ERR_NOMEM : net_exchange(net, &r));
    return ERR_PEER;
}

static enum err owe(struct party *p)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes x;
    TRY(party_planes(p, &x, 1, 64));
    bits_zero(planes_flat(&x));
    return bits_and(p, planes_flat(&x), planes_flat(&x), planes_flat(&x));
}

static enum err keep_and_audit(void *self, enum party_reason reason, size_t values)
{
    struct keeper *k = self;
    if (k->cheat == HANGS_UP && reason == OPEN_SELECTED_INDEX)
        return listen_only(k->play->net, values);
    if (k->c->keep && reason == OPEN_SELECTED_INDEX)
        TRY(keep_store(k->c, k->server, "bound"));
    if (k->c->keep && reason == OPEN_NOISY_MARGINAL)
        TRY(keep_store(k->c, k->server, "index"));
    TRY(three_audit(&k->play->openings, reason, values));
    if (k->c->owes_at != NULL && *k->c->owes_at == reason)
        TRY(owe(k->party));
    return ERR_OK;
}

static enum err draw(struct play_stage *c, struct party *p)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 x;
    TRY(party_share64(p, &x, 1));
    TRY(party_random64(p, &x));
    c->drawn[p->index][NET_PREV] = x.a[0];
    c->drawn[p->index][NET_NEXT] = x.b[0];
    return ERR_OK;
}

static void on_expect(void *self, bool heard)
{
    bool *waits = self;
    *waits = !heard;
}

static enum err play_with(struct play_stage *c, struct party *p, struct three *g, struct mask *mask,
                          enum play_cheat cheat, struct log *log)
{
    unsigned i = p->index;
    struct request r = selection(c, cheat);
    uint8_t digest[REQUEST_DIGEST_SIZE] = {3};
    struct ledger_limits limits = c->limits;
    struct play play = {.study = &mask->study,
                        .split = &three_split,
                        .me = c->server[i],
                        .limits = &limits,
                        .store = cheat == OTHER_LEDGER ? c->forged[i] : c->store[i],
                        .openings = {.audit = c->audit[i], .log = log},
                        .net = p->net,
                        .engine = three_table(g),
                        .expect = on_expect,
                        .expect_self = &c->waits[i],
                        .log = log};
    struct session *session CLEAN(session_free) = NULL;
    struct keeper keeper = {.c = c, .play = &play, .party = p, .cheat = cheat, .server = i};
    enum err e = session_for_test(&session, i, c->seed);
    limits.rho += cheat == OTHER_LIMITS ? 0x1p-40 : 0;
    g->store = play.store;
    g->session = session;
    memcpy(play.told_late, c->told_late[i], sizeof play.told_late);
    digest[1] = cheat == OTHER_REQUEST;
    play.uploads[0] = cheat == OTHER_UPLOADS;
    play.analyst[0] = cheat == OTHER_ANALYST ? 2 : 1;
    bytes_put(&play.upload_ids, c->parts[i].id, UPLOAD_ID_SIZE);
    p->audit = keep_and_audit;
    p->audit_self = &keeper;
    c->rounds[i] = net_exchanges(p->net);
    if (e == ERR_OK)
        e = play_round(&play, &r, digest, &c->opened[i]);
    if (play.openings.confirmed || draw(c, p) != ERR_OK)
        e = ERR_DATA; /* what comes next could be opened without being bound */
    c->rounds[i] = net_exchanges(p->net) - c->rounds[i];
    c->indices[i] = p->opened[OPEN_SELECTED_INDEX].calls;
    c->openings[i] = c->indices[i] + p->opened[OPEN_NOISY_MARGINAL].calls;
    c->late[i] = play.late;
    memcpy(c->told_late[i], play.told_late, sizeof play.told_late);
    p->audit = NULL;
    bytes_clear(&play.upload_ids);
    bytes_clear(&play.openings.what);
    return e;
}

static enum err play_one(struct party *p, void *shared)
{
    struct play_stage *c = shared;
    const uint8_t id[TAPE_ID_SIZE] = {(uint8_t)c->seed};
    unsigned i = p->index;
    enum play_cheat cheat = i == c->who ? c->cheat : HONEST;
    struct log log = {.buffer = c->words[i], .buffer_size = sizeof c->words[i], .level = c->level};
    struct three *g = NULL;
    struct mask mask = {0};
    c->words[i][0] = '\0';
    c->openings[i] = c->indices[i] = 0;
    bytes_clear(&c->opened[i]);
    p->log = &log;
    enum err e = put_on(&mask, c, cheat);
    if (e == ERR_OK)
        e = three_check(p, c->s.study, &(const struct check_guard){0});
    if (e == ERR_OK)
        e = three_new(&g, p, &mask.study, c->bounds, id, &log);
    if (e == ERR_OK)
        e = tally_add(p, &g->tally, &c->parts[i], 1);
    if (e == ERR_OK)
        e = three_finish(g);
    if (e == ERR_OK && cheat >= OTHER_COUNTS)
        alter_counts(c, g);
    if (e == ERR_OK)
        e = make_noise(g, cheat);
    if (e == ERR_OK && c->owes)
        e = owe(p);
    if (e == ERR_OK)
        e = play_with(c, p, g, &mask, cheat, &log);
    c->result[i] = e;
    if (e != ERR_OK)
        net_abort(p->net);
    three_free(&g);
    memory_free(&mask.workload.query);
    p->log = NULL;
    return ERR_OK;
}

static void play(struct play_stage *c, enum play_cheat cheat, unsigned who)
{
    c->cheat = cheat;
    c->who = who;
    c->seed++;
    OK(three_run(c->seed, play_one, c, NULL));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_false(c->waits[i]); /* otherwise a failure in the next round would not count */
}

static uint64_t debits(struct play_stage *c, unsigned i)
{
    uint64_t n = 0;
    OK(store_debits(c->store[i], &n));
    return n;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* All went well, and have paid so often. */
static void expect_debited(struct play_stage *c, uint64_t times)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(c->result[i]);
        assert_int_equal(debits(c, i), times);
    }
}

static void expect_refused(struct play_stage *c, enum play_cheat cheat, unsigned who)
{
    char named[128];
    unsigned names_it = 0;
    play(c, cheat, who);
    snprintf(named, sizeof named, "server %u has another %s", who, names[cheat]);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        if (i == who)
            continue;
        if (c->result[i] == ERR_OK || debits(c, i) > 0 || c->openings[i] > 0)
            fail_msg("server %u went on with server %u, whose %s differs", i, who, names[cheat]);
        names_it += strstr(c->words[i], named) != NULL;
    }
    if (names_it != 2)
        fail_msg("%u say: %s\n%s%s%s", names_it, named, c->words[0], c->words[1], c->words[2]);
}

TEST(whoever_departs_is_named_and_nothing_is_opened)
{
    struct play_stage c CLEAN(stage_free) = stage_new();
    for (enum play_cheat cheat = HONEST + 1; cheat < OTHER_NOISE; cheat++)
        for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++)
            expect_refused(&c, cheat, who);
    /* and nothing of all this remains: the round is played, and paid for once */
    play(&c, HONEST, 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(c.result[i]);
        assert_int_equal(debits(&c, i), 1);
        assert_int_equal(c.openings[i], 2);
        SAME_BYTES(&c.opened[i], c.opened[0].data, c.opened[0].size);
    }
}

/* A measurement ends where statements are heard: its streams are as at the beginning. */
TEST(who_is_asked_something_else_masks_with_other_streams)
{
    struct play_stage c CLEAN(stage_free) = stage_new();
    c.measures = true;
    c.candidates = 1;
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        play(&c, OTHER_REQUEST, who);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            const unsigned next = (i + 1) % 3;
            assert_int_equal(c.drawn[i][NET_NEXT] == c.drawn[next][NET_PREV],
                             i != who && next != who);
        }
    }
}

/* What the three say if the holders of server `who`'s first component have different ones. */
static void expect_unlike(const struct play_stage *c, unsigned who, enum err e)
{
    char named[128];
    snprintf(named, sizeof named, "servers %u and %u do not hold the same share of this round's",
             (who + 2) % 3, who);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        assert_int_equal(c->result[i], e);
        assert_int_equal(c->openings[i], 0);
        support_says(c->words[i], named);
    }
}

/* A component has two holders, and all three servers hear that it differs: nobody binds it. */
TEST(noise_that_was_altered_is_not_bound)
{
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        struct play_stage c CLEAN(stage_free) = stage_new();
        play(&c, OTHER_NOISE, who);
        expect_unlike(&c, who, ERR_AGAIN);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            assert_int_equal(debits(&c, i), 0);
        play(&c, HONEST, 0); /* with other noise */
        expect_debited(&c, 1);
    }
}

/* A server's store as it was before an opening; its audit log has gone on, as it would. */
static void put_back(struct play_stage *c, unsigned i, const char *state)
{
    store_close(&c->store[i]);
    audit_close(&c->audit[i]);
    OK(support_copy(file(c, "%s%u", state, i), file(c, "server%u/store.sqlite", i)));
    OK(support_copy(file(c, "%s%u-wal", state, i), file(c, "server%u/store.sqlite-wal", i)));
    (void)remove(file(c, "server%u/store.sqlite-shm", i));
    open_folder(c, i, "server", &c->store[i]);
}

/* Each of the neighbours has signed this server's log, and this one has seen theirs. */
static void expect_signatures(const struct play_stage *c, unsigned i)
{
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    unsigned seen = 0, kept = 0;
    OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
    for (size_t k = 0; k < log->entries; k++) {
        seen += log->entry[k].kind == AUDIT_SEEN;
        kept += log->entry[k].kind == AUDIT_SIGNED;
    }
    assert_int_equal(seen, 2);
    assert_int_equal(kept, 2);
}

static const char *const securities[] = {"security: semi-honest\n", "security: abort\n"};

/* A round that was played, and its state at each step. */
static struct play_stage play_and_keep(const char *more)
{
    struct play_stage c = stage_of(more);
    c.keep = true;
    play(&c, HONEST, 0);
    c.keep = false;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(c.result[i]);
        expect_signatures(&c, i);
        OK(keep_store(&c, i, "opened"));
    }
    bytes_put(&c.first, c.opened[0].data, c.opened[0].size);
    return c;
}

static void put_all_back(struct play_stage *c, const char *state)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        put_back(c, i, state);
}

/* What was kept. */
static void expect_answer(const struct play_stage *c, unsigned i)
{
    if (c->result[i] != ERR_OK)
        fail_msg("server %u: %s", i, c->words[i]);
    SAME_BYTES(&c->opened[i], c->first.data, c->first.size);
}

static void expect_answers(const struct play_stage *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        expect_answer(c, i);
}

static uint64_t rounds_of(struct play_stage *c, unsigned openings)
{
    play(c, HONEST, 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        if (c->result[i] != ERR_OK)
            fail_msg("server %u: %s", i, c->words[i]);
        assert_int_equal(c->openings[i], openings);
        assert_int_equal(c->rounds[i], c->rounds[0]);
    }
    return c->rounds[0];
}

/*
 * Agree and confirm ride on a new selection. They are two rounds with anything else: a selection
 * that is already bound, a measurement, or a single candidate (where squares take one round for its
 * counts).
 */
TEST(statements_cost_a_new_selection_no_round)
{
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    uint64_t rounds = c.rounds[0];
    put_all_back(&c, "bound");
    assert_int_equal(rounds_of(&c, 2), rounds + 2);
    c.sequence = 1;
    c.candidates = 1;
    c.measures = true;
    assert_int_equal(rounds_of(&c, 1), 3);
    stage_free(&c);
    c = stage_of("score: l2\n");
    c.candidates = 1;
    assert_int_equal(rounds_of(&c, 2), 2 + 1 + 1 + 1);
    c.sequence = 1;
    c.candidates = 2;
    rounds = rounds_of(&c, 2);
    assert_true(rounds >= 4); /* two to ride on, and two openings */
}

/* Opens something for each reason that depends on data, whatever its own hook says. */
static enum err open_unbound(struct party *p, void *shared)
{
    struct play_stage *c = shared;
    struct openings o = {.audit = c->audit[p->index]};
    struct share64 x;
    struct audit_head before, after;
    uint64_t value, rounds = net_exchanges(p->net);
    bool right = true;
    TRY(party_share64(p, &x, 1));
    memset(x.a, 0, sizeof *x.a);
    memset(x.b, 0, sizeof *x.b);
    bytes_put_string(&o.what, "-");
    p->audit = three_audit;
    p->audit_self = &o;
    TRY(audit_head(o.audit, &before));
    for (unsigned r = 0; r < OPEN_REASONS; r++)
        if (r != OPEN_SORTED && r != OPEN_REJECT_BIT)
            right = right && open_ring64(p, (enum party_reason)r, x, &value) == ERR_MISUSE;
    right = right && open_products(p, OPEN_SELECTED_INDEX, x, x, &value) == ERR_MISUSE;
    TRY(audit_head(o.audit, &after));
    right = right && before.entries == after.entries && net_exchanges(p->net) == rounds;
    o.confirmed = true;
    right = right && open_ring64(p, OPEN_NOISY_MARGINAL, x, &value) == ERR_OK;
    p->audit = NULL;
    bytes_clear(&o.what);
    return right ? ERR_OK : ERR_DATA;
}

TEST(nothing_is_opened_before_all_have_confirmed)
{
    struct play_stage c CLEAN(stage_free) = stage_new();
    OK(three_run(1, open_unbound, &c, NULL));
}

/*
 * From every mix of three disks: bound, index known, opened. The session is a new one, and so is
 * its tape.
 */
TEST(what_a_crash_left_opens_what_it_would_have)
{
    static const char *const kept[] = {"bound", "index", "opened"};
    struct play_stage c;
    for (unsigned k = 0; k < 2 * 27; k++) {
        const unsigned mix = k % 27, at[] = {mix % 3, mix / 3 % 3, mix / 9};
        if (mix == 0)
            c = play_and_keep(securities[k / 27]);
        unsigned indexed = 0, opened = 0;
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            indexed += at[i] > 0;
            opened += at[i] > 1;
        }
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            put_back(&c, i, kept[at[i]]);
        play(&c, HONEST, 0);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            expect_answer(&c, i);
            assert_int_equal(debits(&c, i), 1);
            assert_int_equal(c.openings[i], opened >= 2 ? 0 : indexed >= 2 ? 1 : 2);
        }
        if (mix == 26)
            stage_free(&c);
    }
}

/* Rounds of a selection, and then of a measurement. */
static void rounds_of_both(const char *more, uint64_t rounds[2])
{
    struct play_stage c CLEAN(stage_free) = stage_of(more);
    rounds[0] = rounds_of(&c, 2);
    c.sequence = 1;
    c.candidates = 1;
    c.measures = true;
    rounds[1] = rounds_of(&c, 1);
}

/* A selection takes one more flush; a measurement, which multiplies nothing, takes none. */
TEST(what_is_proved_takes_a_flush_more)
{
    static const char *const scores[][2] = {{"score: l1\n", "score: l1\nsecurity: abort\n"},
                                            {"score: l2\n", "score: l2\nsecurity: abort\n"}};
    for (unsigned k = 0; k < 2; k++) {
        uint64_t without[2], with[2];
        rounds_of_both(scores[k][0], without);
        rounds_of_both(scores[k][1], with);
        assert_int_equal(with[0], without[0] + (k == 0 ? 7 : 6));
        assert_int_equal(with[1], without[1]);
    }
}

/* A server computes on wrong values, so what it sends is wrong: nothing is opened. */
TEST(wrong_counts_end_a_round_that_is_proved)
{
    struct play_stage c CLEAN(stage_free) = stage_of("security: abort\n");
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        play(&c, OTHER_COUNTS, who);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            assert_int_equal(c.result[i], ERR_CHEAT);
            assert_int_equal(c.openings[i], 0);
            support_says(c.words[i], "sent something that does not fit (phase select");
        }
    }
    play(&c, HONEST, 0); /* it pays for what nobody has opened */
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(c.result[i]);
}

static struct store_found found_of(const struct play_stage *c, unsigned i)
{
    struct store_found found;
    const uint8_t run[REQUEST_RUN_SIZE] = {1};
    OK(store_find_round(c->store[i], run, 0, &found));
    return found;
}

/* The round is not even staged. */
TEST(no_round_begins_while_something_is_to_be_proved)
{
    struct play_stage c CLEAN(stage_free) = stage_of("security: abort\n");
    c.owes = true;
    play(&c, HONEST, 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        assert_int_equal(c.result[i], ERR_MISUSE);
        assert_int_equal(c.openings[i], 0);
        assert_int_equal(found_of(&c, i).standing, STANDING_NONE);
    }
}

/* What is opened in that state is not kept: neither the index nor, after it, the values. */
TEST(nothing_is_kept_while_something_is_to_be_proved)
{
    static const enum party_reason at[] = {OPEN_SELECTED_INDEX, OPEN_NOISY_MARGINAL};
    static const enum store_standing kept[] = {STANDING_BOUND, STANDING_INDEX};
    for (unsigned k = 0; k < 2; k++) {
        struct play_stage c CLEAN(stage_free) = stage_of("security: abort\n");
        c.owes_at = &at[k];
        play(&c, HONEST, 0);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            assert_int_equal(c.result[i], ERR_MISUSE);
            assert_int_equal(c.opened[i].size, 0);
            assert_int_equal(found_of(&c, i).standing, kept[k]);
        }
    }
}

/* How many lines of an audit log say that round 0 is lost because of a server. */
static unsigned lost_lines(const struct play_stage *c, unsigned i, unsigned server, const char *why)
{
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    unsigned lines = 0;
    OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
    for (size_t k = 0; k < log->entries; k++)
        lines += log->entry[k].kind == AUDIT_LOST && log->entry[k].run[0] == 1 &&
                 log->entry[k].round == 0 && log->entry[k].server == server &&
                 strcmp(log->entry[k].why, why) == 0;
    return lines;
}

/* One bit of the first component, in memory before it was sealed, say. */
static void alter_noise(struct play_stage *c, unsigned i)
{
    const struct store_found found = found_of(c, i);
    struct bytes noise CLEAN(bytes_clear) = {0};
    OK(store_noise(c->store[i], &found.round, &noise));
    noise.data[sizeof(uint64_t) + 3] ^= 16;
    OK(store_execute(c->store[i], "DELETE FROM noise"));
    OK(store_put_noise(c->store[i], &found.round, &noise));
}

/*
 * One bit of bound noise costs the round and nothing else: all three say so, in their audit logs as
 * well, and the run goes on with the next one. What two have opened is answered nevertheless.
 */
TEST(noise_that_was_altered_loses_its_round_alone)
{
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        const unsigned other = (who + 2) % 3;
        struct play_stage c CLEAN(stage_free) = play_and_keep(securities[who % 2]);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            put_back(&c, i, i == other ? "bound" : "opened");
        alter_noise(&c, who);
        play(&c, HONEST, 0);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            expect_answer(&c, i);
            put_back(&c, i, i == who ? "bound" : "index");
        }
        alter_noise(&c, who);
        for (unsigned k = 1; k < 3; k++) {
            play(&c, HONEST, 0);
            expect_unlike(&c, who, ERR_LOST);
            for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
                assert_int_equal(lost_lines(&c, i, who, "other-noise"), k);
                assert_int_equal(lost_lines(&c, i, other, "other-noise"), k);
                assert_int_equal(found_of(&c, i).attempts, who % 2 == 0); /* none is new */
                assert_int_equal(debits(&c, i), 1);
            }
        }
        c.sequence = 1;
        play(&c, HONEST, 0);
        expect_debited(&c, 2);
    }
}

static const struct play_ruin {
    const char *others, *its; /* states of the round */
    const char *sql;          /* run in its store */
    enum err e;
    const char *says, *others_say; /* of ERR_LOST all say the same: "server N ", and this */
    enum play_cheat cheat;
} ruins[] = {
    {"bound", "bound", "UPDATE rounds SET standing = 2", ERR_LOST, "no longer has its noise", NULL,
     0},
    {"bound", "bound", "DELETE FROM noise", ERR_LOST, "no longer has its noise", NULL, 0},
    {"bound", "index", "DELETE FROM noise", ERR_LOST, "no longer has its noise", NULL, 0},
    {"bound", "opened", "DELETE FROM noise", ERR_LOST, "no longer has its noise", NULL, 0},
    {"index", "bound", "DELETE FROM noise", ERR_LOST, "no longer has its noise", NULL, 0},
    {"index", "index", "UPDATE rounds SET attempts = 8", ERR_LOST, "has tried it as often as it",
     NULL, 0},
    {"bound", "opened", "UPDATE rounds SET attempts = 9", ERR_LOST, "has tried it as often as it",
     NULL, 0},
    {"bound", "bound", "PRAGMA user_version", ERR_LOST, "holds other uploads now", NULL,
     OTHER_UPLOADS},
    {"index", "opened", "PRAGMA user_version", ERR_LOST, "holds other uploads now", NULL,
     OTHER_UPLOADS},
    {"bound", "bound", "UPDATE rounds SET request = zeroblob(32)", ERR_REFUSED,
     "round 0 of this run is bound to another request for ever", "refuses", 0},
    {"index", "index", "UPDATE rounds SET selected = 999", ERR_MISMATCH,
     "what round 0 selected is not among its candidates", "refuses", 0},
    {"opened", "index", "UPDATE rounds SET selected = (selected + 1) % 2", ERR_CHEAT,
     "have different indices of this round", "have different indices of this round", 0},
    {"bound", "bound", "UPDATE noise SET sealed = zeroblob(length(sealed))", ERR_LOST,
     "no longer has its noise", NULL, 0},
    {"bound", "index", "UPDATE noise SET sealed = zeroblob(length(sealed))", ERR_LOST,
     "no longer has its noise", NULL, 0},
    {"bound", "index", "UPDATE rounds SET sequence = 1", ERR_REFUSED,
     "this run has 2 rounds; round 0 cannot come next", "refuses", 0},
};

/* A store in which a bound round has changed: nobody opens anything, and each says why. */
TEST(a_round_that_cannot_go_on_is_told_why)
{
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (size_t k = 0; k < sizeof ruins / sizeof *ruins; k++) {
        const struct play_ruin *r = &ruins[k];
        unsigned who = (unsigned)k % STUDY_SERVERS_MOST;
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            put_back(&c, i, i == who ? r->its : r->others);
        support_alter(&c.s, who, r->sql);
        play(&c, r->cheat, who);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            char says[128];
            if (r->e == ERR_LOST)
                snprintf(says, sizeof says, "its debit stays: server %u %s", who, r->says);
            else
                snprintf(says, sizeof says, "%s", i == who ? r->says : r->others_say);
            if (c.result[i] != r->e || strstr(c.words[i], says) == NULL)
                fail_msg("%s: server %u: %s, says: %s", r->sql, i, error_text(c.result[i]),
                         c.words[i]);
            assert_int_equal(c.openings[i], 0);
            assert_int_equal(debits(&c, i), 1);
        }
    }
}

/* --- what two others state -------------------------------------------------------------------- */

static struct {
    unsigned who; /* who is told so */
    uint64_t selected;
    bool noise;      /* it tells its next neighbour of other noise than the previous one */
    unsigned late;   /* servers to which rows have come, as bits */
    unsigned forger; /* who does not sign its debit, from 1 on; 0: nobody */
} told;

/* Where a statement has the digest of what is held with the next server. */
#define REPLICA (5 + 8 + ROUND_DIGESTS * 32 + 40 + 32)

__typeof__(round_agree) __real_round_agree, __wrap_round_agree;
void __wrap_round_agree(struct round_talk *talk, const struct round_statement *own)
{
    struct round_statement said = *own;
    if (told.selected > 0 && net_index(talk->net) != told.who)
        said.selected = told.selected;
    said.late = told.late >> net_index(talk->net) & 1;
    said.voucher[9] ^= net_index(talk->net) + 1 == told.forger;
    __real_round_agree(talk, &said);
    if (told.noise && net_index(talk->net) == told.who)
        talk->sent[NET_NEXT][REPLICA] ^= 1;
}

/* A server without an index takes the one that two others state, but only a candidate's. */
TEST(an_index_that_is_taken_over_is_a_candidate_s)
{
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (unsigned past = 0; past < 2; past++)
        for (told.who = 0; told.who < STUDY_SERVERS_MOST; told.who++) {
            for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
                put_back(&c, i, i == told.who ? "bound" : "index");
            told.selected = selection(&c, HONEST).ask.queries - 1 + past;
            play(&c, HONEST, 0);
            told.selected = 0;
            /* those who state what they do not have get no further */
            assert_int_equal(found_of(&c, told.who).standing,
                             past ? STANDING_BOUND : STANDING_INDEX);
            assert_int_equal(strstr(c.words[told.who], "is not among its candidates") != NULL,
                             past);
        }
}

/*
 * A liar that speaks of other noise to one neighbour alone: that one takes the round for lost, and
 * the other opens nothing without it. Nothing of that is on a disk, so an honest server in its
 * place gets the same answer as before.
 */
TEST(noise_that_one_alone_hears_of_is_not_opened)
{
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (told.who = 0; told.who < STUDY_SERVERS_MOST; told.who++) {
        put_all_back(&c, "bound");
        told.noise = true;
        play(&c, HONEST, 0);
        told.noise = false;
        assert_int_equal(c.result[(told.who + 1) % 3], ERR_LOST);
        assert_int_not_equal(c.result[(told.who + 2) % 3], ERR_OK);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            assert_int_equal(c.openings[i], 0);
            assert_int_equal(found_of(&c, i).attempts, 1);
        }
        play(&c, HONEST, 0);
        expect_answers(&c);
    }
}

/* Nobody debits what not all three have signed; and whoever debits keeps what they signed. */
TEST(a_debit_has_three_vouchers)
{
    struct play_stage c CLEAN(stage_free) = stage_new();
    for (told.forger = 3; told.forger > 0; told.forger--) {
        const unsigned who = told.forger - 1;
        char says[64];
        snprintf(says, sizeof says, "server %u did not sign the debit that it agrees to", who);
        play(&c, HONEST, 0);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            assert_int_equal(debits(&c, i), 0);
            assert_int_equal(c.openings[i], 0);
            assert_true(c.result[i] != ERR_OK);
            support_says(c.words[i], says);
        }
    }
    play(&c, HONEST, 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct bytes entry CLEAN(bytes_clear) = {0};
        struct vouchers vouchers;
        uint8_t head[32];
        unsigned without;
        OK(c.result[i]);
        OK(store_entry(c.store[i], 1, &entry, head));
        OK(store_vouchers(c.store[i], &vouchers));
        assert_true(vouchers_good(c.s.study, head, &vouchers, &without));
    }
}

/* Rows join when all three have some. Who says that it has none is named, once each time. */
TEST(who_keeps_rows_out_is_named_once)
{
    static const unsigned late[] = {0, 7, 6, 6, 2, 7, 6, 5, 0},
                          named[] = {0, 0, 1, 0, 4, 0, 1, 2, 0};
    struct play_stage c CLEAN(stage_free) = stage_new();
    c.level = LOG_WARN;
    for (size_t k = 0; k < sizeof late / sizeof *late; k++) {
        told.late = late[k];
        play(&c, HONEST, 0);
        told.late = 0;
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            OK(c.result[i]);
            assert_int_equal(c.late[i], late[k] == 7);
            for (unsigned s = 0; s < STUDY_SERVERS_MOST; s++) {
                char says[64];
                snprintf(says, sizeof says, "but server %u says that none have come", s);
                assert_int_equal(strstr(c.words[i], says) != NULL,
                                 late[k] >> i & named[k] >> s & 1);
            }
        }
    }
}

/* --- a server that asks again ----------------------------------------------------------------- */

/* Whatever a third server claims or cannot do: what two have is not opened again. */
TEST(what_two_have_is_answered_without_the_third)
{
    static const char *const harm[] = {"PRAGMA user_version", "DELETE FROM noise",
                                       "UPDATE rounds SET standing = 2; DELETE FROM noise",
                                       "UPDATE rounds SET attempts = 100"};
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (unsigned k = 0; k < 2 * sizeof harm / sizeof *harm; k++) {
        unsigned who = k % STUDY_SERVERS_MOST;
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            put_back(&c, i, i != who ? "opened" : k % 2 == 0 ? "bound" : "index");
        support_alter(&c.s, who, harm[k / 2]);
        play(&c, k == 0 ? OTHER_UPLOADS : OTHER_COUNTS, who);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            expect_answer(&c, i);
            assert_int_equal(c.openings[i], 0);
        }
        assert_int_equal(found_of(&c, who).standing, STANDING_OPENED); /* now here as well */
        play(&c, HONEST, 0);
        expect_answers(&c);
    }
}

/*
 * The store of a deviating server is put back to where it knew nothing; those of the others are as
 * they left them.
 */
TEST(two_that_have_the_index_open_no_other)
{
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        put_all_back(&c, "index");
        for (unsigned k = 0; k < 3; k++) {
            put_back(&c, who, "bound");
            play(&c, k == 2 ? HONEST : OTHER_COUNTS, who);
            for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
                assert_int_equal(c.indices[i], 0);
        }
        expect_answers(&c);
    }
}

/*
 * One has the index, and the other has to select again: if the result differs, the first one goes
 * no further.
 */
TEST(who_has_an_index_takes_no_other)
{
    unsigned noticed = 0;
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        const unsigned has = (who + 1) % 3;
        struct store_found found;
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            put_back(&c, i, i == has ? "index" : "bound");
        play(&c, OTHER_COUNTS, who);
        assert_int_equal(c.indices[has], 1);
        if (c.result[has] == ERR_OK)
            continue; /* the same result */
        noticed += c.result[has] == ERR_MISMATCH;
        assert_true(c.result[has] == ERR_MISMATCH || c.result[has] == ERR_RANGE); /* or none */
        assert_int_equal(c.openings[has], 1);
        OK(store_find_round(c.store[has], (const uint8_t[REQUEST_RUN_SIZE]){1}, 0, &found));
        assert_int_equal(found.standing, STANDING_INDEX);
        assert_memory_equal(&found.selected, c.first.data, sizeof found.selected);
    }
    assert_true(noticed > 0);
}

/*
 * One server lets the others send their parts of an index, leaves, and asks again, each time with
 * something else in its own computation: they have nothing on disk that they could compare. After
 * ROUND_ATTEMPTS the round is lost at all three, and the run goes on with the next.
 */
TEST(a_round_is_tried_a_few_times)
{
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        uint64_t indices = 0;
        put_all_back(&c, "bound");
        for (unsigned k = 1; k < ROUND_ATTEMPTS + 3; k++) { /* the first one is over */
            bool lost = k >= ROUND_ATTEMPTS;
            put_back(&c, who, "bound");
            play(&c, HANGS_UP, who);
            indices += c.indices[(who + 1) % 3];
            for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
                if (lost ? c.result[i] != ERR_LOST || c.openings[i] > 0 : c.result[i] == ERR_OK)
                    fail_msg("attempt %u, server %u: %s", k, i, error_text(c.result[i]));
        }
        assert_int_equal(indices, ROUND_ATTEMPTS - 1);
        support_says(c.words[who], "has tried it as often as it may");
        play(&c, HONEST, 0);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            assert_int_equal(c.result[i], ERR_LOST);
    }
    c.sequence = 1;
    play(&c, HONEST, 0);
    expect_debited(&c, 2);
}

/*
 * All agree, and then one cannot note the others' heads: nobody has sent anything that depends on
 * data.
 */
TEST(a_link_that_is_lost_before_is_free)
{
    struct bytes log CLEAN(bytes_clear) = {0};
    char name[32], path[SUPPORT_PATH];
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++) {
        uint32_t before[STUDY_SERVERS_MOST];
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            put_back(&c, i, "bound");
            before[i] = found_of(&c, i).attempts;
        }
        snprintf(name, sizeof name, "server%u/audit.log", who);
        support_study_file(&c.s, name, path);
        bytes_clear(&log);
        OK(file_read(path, 1 << 20, &log, &quiet));
        assert_int_equal(truncate(path, 0), 0);
        play(&c, HONEST, 0);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            assert_int_equal(c.result[i], ERR_DATA);
            assert_int_equal(c.openings[i], 0);
            assert_int_equal(found_of(&c, i).attempts, before[i]);
        }
        OK(file_write(path, 0600, log.data, log.size, &quiet));
    }
}

/*
 * Servers count for themselves: one that has tried as often as it may ends the round, wherever the
 * others are.
 */
TEST(an_honest_server_needs_few_attempts)
{
    struct play_stage c CLEAN(stage_free) = play_and_keep(NULL);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        put_back(&c, i, "bound");
        support_alter(&c.s, i, "UPDATE rounds SET attempts = 7"); /* the last one */
    }
    play(&c, HONEST, 0);
    expect_answers(&c);
    play(&c, HONEST, 0); /* what is on disk can always be answered */
    expect_answers(&c);
}
