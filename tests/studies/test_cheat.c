/*
 * A study in real processes, one of whose servers departs from the protocol: with security: abort
 * the two others open nothing that is wrong. A server that notices says so, the run ends with an
 * exit code of its own, and no server goes on before its operator says that it may. The cheat is a
 * child of this program, in which the functions that it abuses are wrapped (Makefile). `make test`
 * has some of the attacks, TREFOIL_LONG=1 all of them.
 */
#include "tests/support/hooks.h"
#include "tests/support/scene.h"
#include "tests/support/store.h"

#include "mpc/check/check_private.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/elementary.h"
#include "mpc/circuits/truncate.h"
#include "mpc/move/crew.h"
#include "mpc/move/move_private.h"
#include "parties/server/play.h"
#include "parties/server/round.h"
#include "parties/server/round_ledger.h"
#include "parties/server/round_uploads.h"
#include "parties/server/server.h"
#include "parties/settings/three/engine.h"
#include "protocols/bitonic.h"
#include "protocols/coin.h"
#include "protocols/measure.h"

#include <stdatomic.h>
#include <sys/prctl.h>

enum cheat_place {
    ANYWHERE,
    TO_BITS,
    KNOWN,
    REVEAL,
    CIRCLE,
    TRUNCATION,
    COIN_FLIP,
    CHOICE,
    OPENING,
    MERGING,
    MEASUREMENT,
    COIN_OF_CHECK,
    STATEMENT,
    TWO_TONGUES,
    OTHER_BYTES,
    SIGNATURE,
    LAST_SIGNATURE,
    LAST_HEAD,
    NEW_NOISE,
    NOISE,
    LEDGER,
    LISTS,
    LOST_SESSION,
    OTHER_LANE
};

/* --- the server that cheats ------------------------------------------------------------------- */

#define LONG 256 /* bytes of a stretch that is altered somewhere */
#define LANES 2  /* most */

/* One bit of the first such message, or long stretch, to a neighbour in a place and phase. */
struct cheat_lie {
    enum cheat_place place;
    enum net_phase phase;
    enum net_peer to;
    size_t message; /* of those sent together */
};

static struct {
    struct cheat_lie lie;
    const struct net *first; /* lane */
    atomic_bool inside;      /* the place of its lie */
    atomic_bool done;
    bool before; /* it lied in a session before this one */
} villain;

/* For servers of which an analyst asks different things: in the last round, the first time. */
#define LAST 2
static struct {
    bool still, asked_otherwise, impatient;
    bool now;
} apart;

/* For a cheat whose rows come in the middle of a run; it lies after that. */
static struct scene *late;

static void lies(struct log *log)
{
    villain.done = true;
    log_info(log, "this server lies");
}

static enum err alter(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    const struct cheat_lie *lie = &villain.lie;
    const struct party *party = self;
    const bool here = lie->place == ANYWHERE     ? n >= LONG
                      : lie->place == OTHER_LANE ? party->lane > 0 && apart.now
                                                 : villain.inside && at->message == lie->message;
    uint8_t *bytes = p;
    if (villain.done || !here || at->to != lie->to || net_phase(party->net) != lie->phase)
        return ERR_OK;
    lies(party->log);
    /* not a low bit of numbers; each word of what is opened, so that none is the winner's */
    if (lie->place == OPENING)
        for (size_t k = 0; k < n; k += 8)
            bytes[k] ^= 1;
    else
        bytes[n / 2 + (lie->place == CIRCLE ? 7 : 0)] ^= 1;
    return ERR_OK;
}

static struct hooks_tamper tamper[LANES];

__typeof__(party_new) __real_party_new, __wrap_party_new;
enum err __wrap_party_new(struct party **party, struct net *net, const struct session *session,
                          uint32_t lane, struct log *log)
{
    TRY(__real_party_new(party, net, session, lane, log));
    tamper[lane] = (struct hooks_tamper){.alter = alter, .self = *party};
    hooks_tamper(*party, &tamper[lane]);
    if (lane == 0) {
        villain.first = net;
        villain.before = villain.done;
    }
    return ERR_OK;
}

/* Once it has lied about noise, it leaves where it should wish for more. */
__typeof__(round_broadcast) __real_round_broadcast, __wrap_round_broadcast;
enum err __wrap_round_broadcast(struct net *net, const void *own, size_t size, void *prev,
                                void *next)
{
    return villain.before && villain.lie.place == CIRCLE && size == 1
               ? ERR_PEER
               : __real_round_broadcast(net, own, size, prev, next);
}

static void enter(enum cheat_place place)
{
    villain.inside = villain.inside || place == villain.lie.place;
}

static enum err leave(enum cheat_place place, enum err e)
{
    villain.inside = villain.inside && place != villain.lie.place;
    return e;
}

#define INSIDE(place, function, parameters, ...)                                                   \
    __typeof__(function) __real_##function, __wrap_##function;                                     \
    enum err __wrap_##function parameters                                                          \
    {                                                                                              \
        enter(place);                                                                              \
        return leave(place, __real_##function(__VA_ARGS__));                                       \
    }
INSIDE(TO_BITS, convert_to_bits, (struct party * p, struct planes *out, struct share64 x), p, out,
       x)
INSIDE(KNOWN, move_known, (struct party * p, const struct move_known *terms), p, terms)
INSIDE(REVEAL, move_reveal,
       (struct party * p, unsigned from, const struct planes *y, uint64_t *out), p, from, y, out)
INSIDE(CIRCLE, elementary_circle,
       (struct party * p, struct share128 cosine, struct share128 sine, struct share64 u), p,
       cosine, sine, u)
INSIDE(TRUNCATION, truncate_signed_ring64,
       (struct party * p, struct share64 out, struct share64 v, unsigned bits), p, out, v, bits)
INSIDE(COIN_FLIP, coin_flip, (struct party * p, struct planes *out, const uint64_t *threshold), p,
       out, threshold)
INSIDE(CHOICE, move_choose,
       (struct party * p, struct share64 out, struct bits s, struct share64 v, const size_t *start),
       p, out, s, v, start)
INSIDE(OPENING, move_open_checked,
       (struct party * p, enum share_ring ring, struct move_operand x, size_t n, uint64_t *out), p,
       ring, x, n, out)
INSIDE(MERGING, bitonic_merge,
       (struct party * p, const struct planes *rows, unsigned order, const size_t *words,
        size_t lists),
       p, rows, order, words, lists)

/* Whether it misbehaves, once, at this place: if so, it says so. */
static bool departs(enum cheat_place place, struct log *log)
{
    if (villain.done || villain.lie.place != place)
        return false;
    lies(log);
    return true;
}

/* What is stated on lane 0 comes after the others' lane 1 could have begun a check. */
__typeof__(net_stream) __real_net_stream, __wrap_net_stream;
enum err __wrap_net_stream(struct net *net, const struct net_flow *flows, size_t count)
{
    const bool waits = villain.lie.place == OTHER_LANE && apart.now && net == villain.first;
    if (waits)
        support_pause_ms(200);
    return __real_net_stream(net, flows, count);
}

/* Knows the coin, and leaves. */
__typeof__(check_coin) __real_check_coin, __wrap_check_coin;
enum err __wrap_check_coin(struct party *p, struct prg **weights)
{
    TRY(__real_check_coin(p, weights));
    return departs(COIN_OF_CHECK, p->log) ? ERR_PEER : ERR_OK;
}

/* Leaves when it has all parts of what is opened; for a false index, when it has the index. */
__typeof__(measure_open) __real_measure_open, __wrap_measure_open;
enum err __wrap_measure_open(struct party *p, const struct counts *counts, struct tape *tape,
                             const uint32_t *queries, size_t n, const uint64_t *multiplier,
                             int64_t *values)
{
    if (net_phase(p->net) == NET_MEASURE && n == 1 &&
        (departs(STATEMENT, p->log) || departs(NOISE, p->log)))
        return ERR_PEER;
    TRY(__real_measure_open(p, counts, tape, queries, n, multiplier, values));
    return departs(MEASUREMENT, p->log) ? ERR_PEER : ERR_OK;
}

/* States another index than was opened, whenever it has one; or other noise. */
__typeof__(round_agree) __real_round_agree, __wrap_round_agree;
void __wrap_round_agree(struct round_talk *talk, const struct round_statement *own)
{
    struct round_statement said = *own;
    if (villain.lie.place == STATEMENT && said.standing == STANDING_INDEX)
        said.selected = said.selected == 0;
    if (villain.lie.place == NOISE && said.standing != STANDING_NONE)
        said.replica[NET_PREV][0] ^= 1;
    if (own->intent == ROUND_BIND && departs(NEW_NOISE, talk->log))
        said.replica[NET_PREV][0] ^= 1;
    __real_round_agree(talk, &said);
    if (own->intent == ROUND_BIND && departs(TWO_TONGUES, talk->log))
        talk->sent[NET_NEXT][4] ^= 1; /* late rows */
}

/* Shows other bytes than it promised, or signs something else. */
__typeof__(round_confirm) __real_round_confirm, __wrap_round_confirm;
void __wrap_round_confirm(struct round_talk *talk, enum err verdict, const uint8_t signature[2][64])
{
    uint8_t mine[2][64];
    memcpy(mine, signature, sizeof mine);
    if (departs(OTHER_BYTES, talk->log))
        talk->fresh[net_index(talk->net)][0] ^= 1;
    if (departs(SIGNATURE, talk->log))
        mine[0][0] ^= 1, mine[1][0] ^= 1;
    __real_round_confirm(talk, verdict, mine);
}

/* The same when a run ends. */
static struct log *lies_to;

__typeof__(round_signatures) __real_round_signatures, __wrap_round_signatures;
enum err __wrap_round_signatures(struct net *net, uint8_t signature[2][64])
{
    if (departs(LAST_SIGNATURE, lies_to))
        signature[0][0] ^= 1, signature[1][0] ^= 1;
    return __real_round_signatures(net, signature);
}

/* Or shows a longer log than it has. */
__typeof__(round_heads) __real_round_heads, __wrap_round_heads;
enum err __wrap_round_heads(struct net *net, const struct audit_head *own,
                            struct audit_head theirs[2])
{
    struct audit_head longer = *own;
    longer.entries += departs(LAST_HEAD, lies_to) ? (uint64_t)1 << 40 : 0;
    return __real_round_heads(net, &longer, theirs);
}

/*
 * Says that it has made a debit that nobody else has prepared; or that a session is a lost round.
 */
__typeof__(round_ledger) __real_round_ledger, __wrap_round_ledger;
enum err __wrap_round_ledger(struct net *net, const uint8_t open[32],
                             const struct round_ledger *own, bool *adopt, struct vouchers *vouchers,
                             struct log *log)
{
    struct round_ledger said = *own;
    if (departs(LOST_SESSION, log))
        return ERR_LOST;
    if (departs(LEDGER, log)) {
        store_chain("4711", 4, said.head.head);
        said.head.number++;
    }
    return __real_round_ledger(net, open, &said, adopt, vouchers, log);
}

/* Says that a run that goes on has counted all uploads that are here. */
__typeof__(round_uploads) __real_round_uploads, __wrap_round_uploads;
enum err __wrap_round_uploads(struct net *net, struct round_uploads *u, uint8_t digest[32],
                              struct log *log)
{
    if (u->counted.size > 0 && departs(LISTS, log)) {
        bytes_clear(&u->counted);
        for (size_t k = 0; k < u->count; k++)
            bytes_put(&u->counted, u->upload[k].id, UPLOAD_ID_SIZE);
    }
    return __real_round_uploads(net, u, digest, log);
}

/* --- servers that do not lie, and prove as soon as they can ----------------------------------- */

__typeof__(play_round) __real_play_round, __wrap_play_round;
enum err __wrap_play_round(struct play *play, const struct request *request,
                           const uint8_t digest[REQUEST_DIGEST_SIZE], struct bytes *result)
{
    const struct three *three = play->engine.self;
    const struct party *p = three->party;
    uint8_t of[REQUEST_DIGEST_SIZE];
    memcpy(of, digest, sizeof of);
    lies_to = play->log;
    apart.now = apart.still && request->sequence == LAST;
    for (size_t k = 0; apart.now && k < crew_lanes(p); k++)
        crew_lane(p, k)->recorder->log = 1;
    of[0] ^= apart.now && apart.asked_otherwise;
    apart.still = apart.still && !apart.now;
    if (late != NULL && request->sequence == 1)
        villain.done = share_own(late, OWNERS - 1) != 0;
    enum err e = __real_play_round(play, request, of, result);
    apart.now = false;
    return e;
}

__typeof__(usleep) __real_usleep, __wrap_usleep;
int __wrap_usleep(useconds_t us)
{
    return apart.impatient ? 0 : __real_usleep(us);
}

_Noreturn static void serve_falsely(struct scene *c, unsigned i, const struct cheat_lie *lie)
{
    villain.lie = *lie;
    villain.done = late != NULL;
    support_serve_here(&c->s, i);
}

static void start_cheat(struct scene *c, unsigned i, const struct cheat_lie *lie)
{
    assert_int_equal(support_stop(&c->server[i]), 0);
    assert_int_equal(unlink(file(c, "server%u.log", i)), 0);
    c->server[i] = fork();
    if (c->server[i] == 0)
        serve_falsely(c, i, lie);
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 60));
}

/* A study of counts in two rounds, everything shared, with one server that cheats. */
static struct scene scene_with(unsigned cheat, const struct cheat_lie *lie, const char *noise,
                               const char *security)
{
    struct scene c = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 2, .noise = noise, .more = security));
    start_cheat(&c, cheat, lie);
    share_everything(&c);
    return c;
}

static void scene_end(struct scene *c, unsigned cheat)
{
    support_kill(&c->server[cheat]);
    scene_free(c);
}

/* --- what the others have --------------------------------------------------------------------- */

/* Lines of an audit log: openings, why rounds are lost, and failed checks, all in this phase. */
struct lines {
    unsigned opened, lost, caught;
};

#define SAID NET_PHASES /* in no phase, but in a statement */

static struct lines lines_of(struct scene *c, unsigned i, enum net_phase phase)
{
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    struct lines lines = {0};
    OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
    for (size_t k = 0; k < log->entries; k++) {
        lines.opened += log->entry[k].kind == AUDIT_OPEN;
        lines.lost += log->entry[k].kind == AUDIT_LOST;
        if (log->entry[k].kind != AUDIT_CAUGHT)
            continue;
        lines.caught++;
        assert_int_equal(log->security, STUDY_ABORT);
        assert_string_equal(log->entry[k].phase,
                            phase == SAID ? AUDIT_STATEMENT : net_phase_name(phase));
    }
    return lines;
}

/* What the two honest ones have logged: how many openings each, and whether a check failed. */
static void expect_lines(struct scene *c, unsigned cheat, enum net_phase phase, unsigned least,
                         unsigned most, bool caught)
{
    unsigned noticed = 0;
    for (unsigned k = 1; k < STUDY_SERVERS_MOST; k++) {
        const struct lines lines = lines_of(c, (cheat + k) % STUDY_SERVERS_MOST, phase);
        assert_in_range(lines.opened, least, most);
        assert_in_range(lines.caught, 0, 1);
        noticed += lines.caught;
    }
    assert_int_equal(noticed > 0, caught);
}

static void expect_lies(struct scene *c, unsigned cheat, const char *name)
{
    if (!support_contains(file(c, "server%u.log", cheat), "this server lies"))
        fail_msg("%s: the server that should have lied has not", name);
}

static void expect_right(struct scene *c)
{
    check_measurements(c, file(c, "out%u/measurements.json", 0),
                       c->s.study->workload->one_ways + 2);
}

/* The operators look into it, and another program takes the cheat's place. */
static void resume_all(struct scene *c, unsigned cheat)
{
    support_kill(&c->server[cheat]);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        if (i != cheat)
            assert_int_equal(support_stop(&c->server[i]), 0);
        EXPECT(0, file(c, "resume%u.log", i), 30, "recover", c->s.path, "--key",
               file(c, "s%u.key", i), "--folder", file(c, "server%u", i), "--resume");
        start_server(c, i, c->s.path);
    }
}

/* --- words that are wrong --------------------------------------------------------------------- */

#define ALL 5 /* openings of a run: two selections, three measurements */

/*
 * Logged openings are of correct values. An opening is logged before it is made: the server that
 * got the correct last message of argmax begins the next opening, alone.
 */
static const struct cheat_attack {
    const char *name;
    struct cheat_lie lie;
    unsigned cheat;
    unsigned least, most; /* openings */
    bool unnoticed;       /* without a check: what follows makes matching shares of it */
    bool quick;           /* in make test */
    const char *noise;    /* or the default */
} attacks[] = {
    {"a number's bits", {TO_BITS, NET_SELECT, NET_PREV, 0}, 0, 1, 1, false, true, NULL},
    {"a sum of counts", {ANYWHERE, NET_COMPUTE, NET_PREV, 0}, 1, 0, 0, false, false, NULL},
    {"two versions of m", {KNOWN, NET_NOISE, NET_PREV, 0}, 2, 0, 0, false, false, NULL},
    {"two reveals", {REVEAL, NET_NOISE, NET_PREV, 0}, 0, 0, 0, false, false, NULL},
    {"the cosine", {CIRCLE, NET_NOISE, NET_PREV, 0}, 1, 0, 0, true, true, NULL},
    {"carries of a truncation", {TRUNCATION, NET_NOISE, NET_PREV, 0}, 2, 1, 1, false, false, NULL},
    {"a coin's digit", {COIN_FLIP, NET_NOISE, NET_PREV, 0}, 0, 0, 0, true, false, NULL},
    {"signs", {CHOICE, NET_NOISE, NET_PREV, 2}, 1, 0, 0, false, false, "discrete"},
    {"the noise", {ANYWHERE, NET_NOISE, NET_NEXT, 0}, 1, 0, 0, false, false, NULL},
    {"a score", {ANYWHERE, NET_SELECT, NET_PREV, 0}, 2, 1, 1, false, false, NULL},
    {"argmax's last message", {OPENING, NET_SELECT, NET_NEXT, 0}, 2, 2, 3, false, true, NULL},
};

static bool skipped(bool quick)
{
    return !quick && getenv("TREFOIL_LONG") == NULL;
}

static void attack(const struct cheat_attack *a)
{
    char says[64];
    struct scene c = scene_with(a->cheat, &a->lie, a->noise, "security: abort\n");
    expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run0.log"));
    expect_lies(&c, a->cheat, a->name);
    snprintf(says, sizeof says, "sent something that does not fit (phase %s, check",
             net_phase_name(a->lie.phase));
    file_says(file(&c, "run0.log"), says);
    assert_false(support_contains(file(&c, "run0.log"), "trying again"));
    expect_lines(&c, a->cheat, a->lie.phase, a->least, a->most, true);
    /* nobody goes on before the operators of those who noticed say so */
    expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run0.log"));
    file_says(file(&c, "run0.log"), "no longer takes part in the study");
    expect_lines(&c, a->cheat, a->lie.phase, a->least, a->most, true);
    if (a == attacks) {
        resume_all(&c, a->cheat);
        expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
        expect_right(&c);
    }
    scene_end(&c, a->cheat);
}

TEST(a_server_that_cheats_ends_the_run)
{
    for (size_t k = 0; k < sizeof attacks / sizeof *attacks; k++)
        if (!skipped(attacks[k].quick))
            attack(&attacks[k]);
}

/* The same words, where nobody proves anything: the run ends as if all were well. */
TEST(servers_that_prove_nothing_do_not_notice)
{
    for (size_t k = 0; k < sizeof attacks / sizeof *attacks; k++) {
        const struct cheat_attack *a = &attacks[k];
        if (!a->unnoticed || skipped(a->quick))
            continue;
        struct scene c = scene_with(a->cheat, &a->lie, a->noise, "security: semi-honest\n");
        expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
        expect_lies(&c, a->cheat, a->name);
        expect_lines(&c, a->cheat, a->lie.phase, ALL, ALL, false);
        scene_end(&c, a->cheat);
    }
}

/* --- what is said, and who leaves ------------------------------------------------------------- */

/*
 * What is computed on is correct, and so is what is opened, if the others can go on. What no server
 * can state counts as a check that fails. What comes after the last round leaves the results.
 */
static const struct departure {
    const char *name;
    struct cheat_lie lie;
    const char *heard; /* by the analyst */
    int code;
    unsigned least, most; /* openings: that of a replayed round is logged again */
    unsigned tries;       /* checks that were abandoned before */
    bool quick;
} departures[] = {
    {"it leaves after a coin", {.place = COIN_OF_CHECK}, "trying again", 0, ALL, ALL, 0, true},
    {"too often", {.place = COIN_OF_CHECK}, "too many checks were broken off", 5, 0, 0, 255, false},
    {"a replayed round", {.place = MEASUREMENT}, "trying again", 0, ALL, ALL + 1, 0, false},
    {"a false index", {.place = STATEMENT}, "have different indices", 7, 2, 3, 0, true},
    {"two tongues", {.place = TWO_TONGUES}, "something else about this round", 7, 0, 0, 0, false},
    {"other bytes", {.place = OTHER_BYTES}, "shows other random bytes", 7, 0, 0, 0, false},
    {"a signature", {.place = SIGNATURE}, "no longer takes part", 7, 0, 0, 0, false},
    {"the last one", {.place = LAST_SIGNATURE}, "no longer takes part", 7, ALL, ALL, 0, true},
    {"new noise", {.place = NEW_NOISE}, "do not hold the same share", 0, ALL, ALL, 0, false},
    {"other noise", {.place = NOISE}, "do not hold the same share", 0, ALL - 1, ALL, 0, true},
    {"a long log", {.place = LAST_HEAD}, "lines, which does not fit", 3, ALL, ALL, 0, true},
    {"a foreign debit", {.place = LEDGER}, "has not prepared", 3, 0, 0, 0, false},
};

static void depart(const struct departure *d, unsigned cheat)
{
    char tries[64];
    struct scene c = scene_with(cheat, &d->lie, NULL, "security: abort\n");
    snprintf(tries, sizeof tries, "UPDATE guard SET tries = %u", d->tries);
    for (unsigned k = 1; k < STUDY_SERVERS_MOST && d->tries > 0; k++)
        support_alter(&c.s, (cheat + k) % STUDY_SERVERS_MOST, tries);
    expect_code(run_study(&c, "a.key", 0), d->code, file(&c, "run0.log"));
    expect_lies(&c, cheat, d->name);
    if (!support_contains(file(&c, "run0.log"), d->heard))
        fail_msg("%s: nobody says so", d->name);
    expect_lines(&c, cheat, SAID, d->least, d->most, d->code == 7);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(lines_of(&c, i, SAID).lost, d->lie.place == NOISE ? 2 : 0);
    if (d->least == ALL)
        expect_right(&c);
    if (d->least == ALL && d->code != 0) {
        file_says(file(&c, "run0.log"), "wrote report.html");
        assert_false(support_contains(file(&c, "run0.log"), "between the servers"));
        assert_false(support_contains(file(&c, "out%u/report.html", 0), "between the servers"));
        resume_all(&c, cheat);
        expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
        expect_right(&c);
    }
    scene_end(&c, cheat);
}

TEST(who_says_what_is_not_so_or_leaves_opens_nothing)
{
    for (unsigned k = 0; k < sizeof departures / sizeof *departures; k++)
        if (!skipped(departures[k].quick))
            depart(&departures[k], k % STUDY_SERVERS_MOST);
}

/* Where nothing is proved, the session ends, and the next one goes on. */
TEST(what_no_server_can_state_stops_no_server_that_proves_nothing)
{
    const struct cheat_lie lie = {.place = OTHER_BYTES};
    struct scene c = scene_with(1, &lie, NULL, "security: semi-honest\n");
    expect_code(run_study(&c, "a.key", 0), 3, file(&c, "run0.log"));
    file_says(file(&c, "run0.log"), "shows other random bytes");
    expect_lines(&c, 1, SAID, 0, 0, false);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
    expect_right(&c);
    scene_end(&c, 1);
}

/* --- an analyst that asks the servers for different things ------------------------------------ */

#define LIAR 1
#define OTHER 2 /* which server gets the other request */

/*
 * Lane 1 has a full log before lane 0 hears that requests differ: the liar keeps lane 0 waiting,
 * and lies on lane 1. A check of that lane does not begin; or, `hastily`, when nobody has waited
 * long enough, it begins and does not end. Nobody is caught, and the study goes on.
 */
static void ask_differently(bool hastily)
{
    const struct cheat_lie lie[STUDY_SERVERS_MOST] = {
        [LIAR] = {OTHER_LANE, NET_SELECT, NET_PREV, 0}};
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 2,
                                                         .lanes = LANES,
                                                         .more = "security: abort\nscore: l1\n"));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        apart.still = true;
        apart.asked_otherwise = i == OTHER;
        apart.impatient = hastily;
        start_cheat(&c, i, &lie[i]);
        support_alter(&c.s, i,
                      hastily ? "UPDATE guard SET tries = 254" : "UPDATE guard SET tries = 255");
    }
    memset(&apart, 0, sizeof apart); /* for the cheats of other tests */
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 3, file(&c, "run0.log"));
    expect_lies(&c, LIAR, "lane 1");
    if (hastily)
        assert_true(support_contains(file(&c, "server%u.log", 0), "so no check failed") ||
                    support_contains(file(&c, "server%u.log", OTHER), "so no check failed"));
    else
        file_says(file(&c, "run0.log"), "has another request");
    expect_lines(&c, LIAR, NET_OTHER, 3, 3, false);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
    expect_right(&c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        support_kill(&c.server[i]);
}

TEST(who_is_asked_for_something_else_is_no_cheat)
{
    ask_differently(true);
    if (!skipped(false))
        ask_differently(false);
}

static int run_to(struct scene *c, const char *rounds)
{
    return COMMAND(file(c, "run0.log"), 60, "run", c->s.path, "--key", file(c, "a.key"), "--out",
                   file(c, "out%u", 0), "--rounds", rounds);
}

#define JOIN "security: abort\nmin_owners: 2\nlate_uploads: join\n"

/* A study to which all but the last owner have sent. */
static struct scene scene_but_one(const struct study_options *o)
{
    struct scene c = scene_new(o);
    for (unsigned i = 0; i < OWNERS - 1; i++)
        expect_code(share_own(&c, i), 0, file(&c, "share%u.log", i));
    return c;
}

/* Late rows stay uncounted if what counts them is wrong, until somebody has looked into it. */
TEST(late_rows_are_not_counted_where_a_check_fails)
{
    static const struct cheat_lie lie = {ANYWHERE, NET_COMPUTE, NET_PREV, 0};
    struct scene c = scene_but_one(OPTIONS(.owners = OWNERS, .rounds = 2, .more = JOIN));
    expect_code(run_to(&c, "1"), 0, file(&c, "run0.log"));
    start_cheat(&c, 1, &lie);
    expect_code(share_own(&c, OWNERS - 1), 0, file(&c, "share.log"));
    expect_code(run_to(&c, "2"), 7, file(&c, "run0.log"));
    expect_lies(&c, 1, "late rows");
    assert_false(support_contains(file(&c, "run0.log"), "came during the run"));
    expect_lines(&c, 1, NET_COMPUTE, 3, 3, true);
    resume_all(&c, 1);
    expect_code(run_to(&c, "2"), 0, file(&c, "run0.log"));
    file_says(file(&c, "run0.log"), "came during the run");
    scene_end(&c, 1);
}

/*
 * Rows that come once a run has begun stay out of it, though one server says that it counted them.
 */
TEST(no_server_alone_has_late_rows_counted)
{
    static const struct cheat_lie lie = {.place = LISTS};
    struct scene c = scene_but_one(
        OPTIONS(.owners = OWNERS, .rounds = 2, .more = "security: abort\nmin_owners: 2\n"));
    expect_code(run_to(&c, "1"), 0, file(&c, "run0.log"));
    start_cheat(&c, 1, &lie);
    expect_code(share_own(&c, OWNERS - 1), 0, file(&c, "share.log"));
    expect_code(run_to(&c, "2"), 7, file(&c, "run0.log"));
    expect_lies(&c, 1, "a list");
    expect_lines(&c, 1, NET_COMPUTE, 3, 3, true);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i += 2)
        file_says(file(&c, "server%u.log", i),
                  "server 1 says that this run has counted the rows of");
    resume_all(&c, 1);
    expect_code(run_to(&c, "2"), 0, file(&c, "run0.log"));
    file_says(file(&c, "run0.log"), "the rows of 2 of 3");
    scene_end(&c, 1);
}

/* The same for rows that come between two rounds. */
TEST(rows_between_rounds_are_not_counted_where_a_check_fails)
{
    static const struct cheat_lie lie = {ANYWHERE, NET_COMPUTE, NET_PREV, 0};
    struct scene c = scene_but_one(OPTIONS(.owners = OWNERS, .rounds = 2, .more = JOIN));
    late = &c;
    start_cheat(&c, 1, &lie);
    late = NULL;
    expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run0.log"));
    expect_lies(&c, 1, "rows between rounds");
    file_says(file(&c, "server%u.log", 0), "could not be counted");
    expect_lines(&c, 1, NET_COMPUTE, 3, 3, true);
    scene_end(&c, 1);
}

/*
 * A lie in the sums of products that servers make of records once these are paid for: only the
 * one-ways are opened. The same round is answered on two lanes when the servers may go on.
 */
TEST(sums_of_products_are_not_opened_where_a_check_fails)
{
    static const struct cheat_lie lie = {ANYWHERE, NET_MEASURE, NET_NEXT, 0};
    static const char *const records[] = {"    max_rows: 1000\n    as: records\n",
                                          "    max_rows: 2000\n    as: records\n",
                                          "    max_rows: 4000\n    as: records\n"};
    struct scene c = scene_new(OPTIONS(.owners = OWNERS, .copula = "method: copula\n",
                                       .part = records, .lanes = LANES,
                                       .more = "security: abort\n"));
    const char *const a[] = {"run",   c.s.path,         "--key", file(&c, "a.key"),
                             "--out", file(&c, "out0"), NULL};
    start_cheat(&c, 2, &lie);
    share_everything(&c);
    expect_code(support_run(file(&c, "run0.log"), 60, a), 7, file(&c, "run0.log"));
    expect_lies(&c, 2, "sums of products");
    assert_int_equal(access(file(&c, "out0/loop.state"), F_OK), 0); /* has the one-ways */
    expect_lines(&c, 2, NET_MEASURE, 1, 1, true);
    resume_all(&c, 2);
    expect_code(support_run(file(&c, "run0.log"), 60, a), 0, file(&c, "run0.log"));
    expect_lines(&c, 2, NET_MEASURE, 2, 2, true);
    scene_end(&c, 2);
}

/* The same for rows that become features, with the first gradient, and for each step after them. */
TEST(gradients_are_not_opened_where_a_check_fails)
{
    static const struct cheat_lie lies[] = {{ANYWHERE, NET_MEASURE, NET_PREV, 0},
                                            {TO_BITS, NET_MEASURE, NET_NEXT, 0}};
    for (unsigned k = 0; k < 2; k++) {
        struct scene c = scene_new(
            OPTIONS(.owners = OWNERS, .train = "method: train\ntrain: {target: died, steps: 10}\n",
                    .epsilon = 5, .lanes = LANES, .more = "security: abort\n"));
        const char *const a[] = {"run",   c.s.path,         "--key", file(&c, "a.key"),
                                 "--out", file(&c, "out0"), NULL};
        start_cheat(&c, 2, &lies[k]);
        share_everything(&c);
        expect_code(support_run(file(&c, "run0.log"), 60, a), 7, file(&c, "run0.log"));
        expect_lies(&c, 2, "a gradient");
        expect_lines(&c, 2, NET_MEASURE, 1, 1, true);
        resume_all(&c, 2);
        expect_code(support_run(file(&c, "run0.log"), 60, a), 0, file(&c, "run0.log"));
        expect_lines(&c, 2, NET_MEASURE, 11, 11, true);
        scene_end(&c, 2);
    }
}

/*
 * A lie where all owners' rows are merged, which would make other rows of a person count: only
 * which uploads are sorted is opened, and not again when the servers may go on.
 */
TEST(other_rows_of_a_person_are_not_counted_where_a_check_fails)
{
    static const struct cheat_lie lie = {MERGING, NET_COMPUTE, NET_PREV, 0};
    struct scene c = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 2, .enforce = 2, .more = "security: abort\n"));
    scene_name_persons(&c);
    start_cheat(&c, 0, &lie);
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 7, file(&c, "run0.log"));
    expect_lies(&c, 0, "rows that are merged");
    expect_lines(&c, 0, NET_COMPUTE, 1, 1, true);
    resume_all(&c, 0);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
    expect_lines(&c, 0, NET_COMPUTE, 1 + ALL, 1 + ALL, true);
    scene_bound(&c, OWNERS);
    expect_right(&c);
    scene_end(&c, 0);
}

/*
 * A lie where noise is made before a run, which only a check notices: no block is kept. A session
 * that is broken off when a server has stopped is not noted as another lie.
 */
TEST(noise_ahead_is_not_kept_where_a_check_fails)
{
    static const struct cheat_lie lie = {CIRCLE, NET_NOISE, NET_PREV, 0};
    struct scene c = scene_new(OPTIONS(.owners = OWNERS, .rounds = 2, .more = "security: abort\n"));
    for (unsigned k = 1; k <= STUDY_SERVERS_MOST; k++) {
        const unsigned i = k %
                           STUDY_SERVERS_MOST; /* the cheat, which is 1, before anybody begins */
        c.s.ahead[i] = 1;
        if (i == 1)
            start_cheat(&c, i, &lie);
        else
            restart_server(&c, i, c.s.path);
    }
    assert_true(support_wait_for(file(&c, "server%u.log", 1), "this server lies", 60));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i += 2)
        assert_true(support_wait_for(file(&c, "server%u.log", i), "noise ahead: ", 60));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i += 2)
        assert_true(
            support_wait_for(file(&c, "server%u.log", i), "noise ahead: stopped for now", 60));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i += 2)
        assert_int_equal(support_stop(&c.server[i]), 0);
    expect_lines(&c, 1, NET_NOISE, 0, 0, true);
    assert_false(support_contains(file(&c, "server0.log"), "Gumbels are here") &&
                 support_contains(file(&c, "server2.log"), "Gumbels are here"));
    scene_end(&c, 1);
}

/* A server that calls a session lost costs the run that goes on no round. */
TEST(a_session_is_no_round_that_is_lost)
{
    static const struct cheat_lie lie = {.place = LOST_SESSION};
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 2));
    share_everything(&c);
    expect_code(run_to(&c, "1"), 0, file(&c, "run0.log"));
    start_cheat(&c, 1, &lie);
    expect_code(run_to(&c, "2"), 3, file(&c, "run0.log"));
    expect_lies(&c, 1, "a session");
    support_kill(&c.server[1]);
    start_server(&c, 1, c.s.path);
    expect_code(run_to(&c, "2"), 0, file(&c, "run0.log"));
}

/* Two lanes on each server; late uploads are counted. */
TEST(a_study_of_honest_servers_goes_well)
{
    struct scene c CLEAN(scene_free) = scene_but_one(
        OPTIONS(.owners = OWNERS, .annealed = true, .lanes = 2, .more = JOIN));
    expect_code(run_to(&c, "1"), 0, file(&c, "run0.log"));
    expect_code(share_own(&c, OWNERS - 1), 0, file(&c, "share.log"));
    expect_code(run_to(&c, "3"), 0, file(&c, "run0.log"));
    file_says(file(&c, "run0.log"), "came during the run");
    check_audit(&c, 3, 4);
    file_says(file(&c, "audit.txt"), "study test (security: abort): ");
}
