/* netio/: the handshake, over in-process queues and over CURVE links. */
#include "harness/cmocka.h"

#include "base/clock.h"
#include "harness/netio.h"
#include "harness/patience.h"
#include "harness/transport.h"
#include "netio/session.h"

#include <stdatomic.h>

struct session_server {
    unsigned index;   /* its place */
    unsigned claimed; /* what it takes itself to be */
    struct transport *transport;
    struct terms terms;
    int64_t patience;  /* ms for its whole part */
    unsigned attempts; /* of server 0 */
    int64_t per_try;   /* ms for each of server 0's attempts but the last */
    bool absent;
    /* server 0 counts the attempts that failed, and server 2 begins after so many */
    atomic_uint *failed;
    unsigned begins_after;
    enum err e;
    struct session *session;
    struct session_offer offer;
    char sink[4096];
};

static enum err lead(struct session_server *s, struct log *log, int64_t deadline)
{
    enum err e = ERR_TIMEOUT;
    for (unsigned i = 0; i < s->attempts && e == ERR_TIMEOUT; i++) {
        s->offer.about[0] = (uint8_t)(i + 1);
        e = session_open(&s->session, s->transport, 3, s->claimed, &s->terms, NULL, &s->offer,
                         i + 1 < s->attempts ? s->per_try : clock_left_ms(deadline), log);
        if (s->failed != NULL && e == ERR_TIMEOUT)
            atomic_fetch_add(s->failed, 1);
    }
    return e;
}

/* What servers 1 and 2 do: wait for a PROPOSE of server 0, then join. */
static enum err follow(struct session_server *s, struct log *log, int64_t deadline)
{
    enum net_peer zero = s->index == 1 ? NET_PREV : NET_NEXT;
    struct bytes message CLEAN(bytes_clear) = {0};
    enum err e;
    do {
        e = transport_receive_by(s->transport, zero, &message, deadline);
    } while (e == ERR_OK && !session_is_propose(&message));
    if (e == ERR_OK)
        e = session_open(&s->session, s->transport, 3, s->claimed, &s->terms, &message, &s->offer,
                         clock_left_ms(deadline), log);
    return e;
}

static void *run_server(void *argument)
{
    struct session_server *s = argument;
    struct log log = {.buffer = s->sink, .buffer_size = sizeof s->sink, .level = LOG_INFO};
    int64_t deadline = clock_now_ms() + s->patience;
    double end = support_deadline(10);
    if (s->absent)
        return NULL;
    while (s->begins_after > 0 && atomic_load(s->failed) < s->begins_after && support_again(end))
        ;
    s->e = s->index == 0 ? lead(s, &log, deadline) : follow(s, &log, deadline);
    return NULL;
}

static struct terms some_terms(void)
{
    struct terms t = {.parts = 3};
    memset(t.digest, 1, sizeof t.digest);
    snprintf(t.part[0].name, sizeof t.part[0].name, "domain");
    snprintf(t.part[1].name, sizeof t.part[1].name, "budget");
    snprintf(t.part[2].name, sizeof t.part[2].name, "servers");
    for (size_t i = 0; i < t.parts; i++)
        memset(t.part[i].digest, (int)(10 + i), sizeof t.part[i].digest);
    return t;
}

static void stand_up(struct session_server s[3], struct transport *t[3])
{
    memset(s, 0, 3 * sizeof *s);
    for (unsigned i = 0; i < 3; i++)
        s[i] = (struct session_server){.index = i,
                                       .claimed = i,
                                       .transport = t[i],
                                       .terms = some_terms(),
                                       .patience = support_patience_ms(10),
                                       .offer = {.lanes = 1},
                                       .attempts = 1};
}

static void sit_down(struct session_server s[3])
{
    for (unsigned i = 0; i < 3; i++) {
        session_free(&s[i].session);
        transport_free(&s[i].transport);
    }
}

static void expect_agreement(struct session_server s[3])
{
    for (unsigned i = 0; i < 3; i++) {
        if (s[i].e != ERR_OK)
            fail_msg("server %u: %s\n%s", i, error_text(s[i].e), s[i].sink);
        assert_memory_equal(s[i].session->id, s[0].session->id, SESSION_ID_SIZE);
        assert_memory_equal(s[i].session->terms, s[0].terms.digest, 32);
        assert_int_equal(s[i].session->index, i);
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned next = net_index_of(i, NET_NEXT);
        uint8_t a[16], b[16];
        assert_memory_equal(s[i].session->pair_secret[NET_NEXT],
                            s[next].session->pair_secret[NET_PREV], SESSION_SECRET_SIZE);
        assert_memory_not_equal(s[i].session->pair_secret[NET_NEXT],
                                s[i].session->pair_secret[NET_PREV], SESSION_SECRET_SIZE);
        OK(session_bulk_key(s[i].session, NET_NEXT, true, 0, a));
        OK(session_bulk_key(s[next].session, NET_PREV, false, 0, b));
        assert_memory_equal(a, b, 16);
        OK(session_prg_key(s[i].session, next, 0, "zero", a));
        OK(session_prg_key(s[next].session, next, 0, "zero", b));
        assert_memory_equal(a, b, 16);
    }
}

static void in_memory(struct session_server s[3])
{
    struct transport *t[3];
    OK(transport_memory_new(t, 16));
    stand_up(s, t);
}

TEST(three_agree)
{
    struct session_server s[3];
    uint8_t first[SESSION_ID_SIZE];
    in_memory(s);
    run_three(run_server, s, sizeof *s);
    expect_agreement(s);
    memcpy(first, s[0].session->id, sizeof first);
    /* the next session over the same links is a different one */
    for (unsigned i = 0; i < 3; i++)
        session_free(&s[i].session);
    run_three(run_server, s, sizeof *s);
    expect_agreement(s);
    assert_memory_not_equal(first, s[0].session->id, sizeof first);
    /* and nothing is left in the queues */
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(transport_wait(s[i].transport, 3, 0, clock_now_ms()), ERR_TIMEOUT);
    sit_down(s);
}

TEST(the_least_number_of_lanes_is_agreed_on)
{
    static const unsigned lanes[][3] = {{1, 16, 4}, {8, 2, 3}, {4, 4, 4}};
    for (size_t k = 0; k < 3; k++) {
        const unsigned least[] = {1, 2, 4}, most[] = {16, 8, 4};
        struct session_server s[3];
        in_memory(s);
        for (unsigned i = 0; i < 3; i++) {
            s[i].offer.lanes = lanes[k][i];
            s[i].offer.all = 20 * lanes[k][i];
        }
        run_three(run_server, s, sizeof *s);
        expect_agreement(s);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(s[i].offer.lanes, least[k]);
            assert_int_equal(s[i].offer.all, 20 * least[k]);
            assert_int_equal(s[i].offer.most, most[k]);
        }
        sit_down(s);
    }
}

TEST(other_terms_are_named)
{
    struct session_server s[3];
    for (unsigned odd = 0; odd < 3; odd++) {
        in_memory(s);
        s[odd].terms.digest[31] ^= 1;
        s[odd].terms.part[1].digest[0] ^= 1;
        run_three(run_server, s, sizeof *s);
        for (unsigned i = 0; i < 3; i++) {
            char words[80];
            assert_int_equal(s[i].e, ERR_MISMATCH);
            assert_null(s[i].session);
            snprintf(words, sizeof words, "server %u has other terms than we: \"budget\" differs",
                     i == odd ? net_index_of(i, NET_NEXT) : odd);
            support_says(s[i].sink, words);
            assert_null(strstr(s[i].sink, "\"domain\""));
        }
        sit_down(s);
    }
}

TEST(missing_and_nameless_differences_are_named)
{
    struct session_server s[3];
    in_memory(s);
    s[1].terms.digest[0] ^= 1;
    snprintf(s[1].terms.part[2].name, sizeof s[1].terms.part[2].name, "workload");
    s[2].terms.digest[0] ^= 2;
    run_three(run_server, s, sizeof *s);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(s[i].e, ERR_MISMATCH);
    support_says(s[0].sink, "server 1: only our study has \"servers\"");
    support_says(s[0].sink, "server 1: only its study has \"workload\"");
    support_says(s[0].sink, "server 2 has other terms than we, though no named part");
    sit_down(s);
}

TEST(another_index_is_named)
{
    struct session_server s[3];
    in_memory(s);
    s[1].claimed = 2;
    run_three(run_server, s, sizeof *s);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(s[i].e, ERR_MISMATCH);
    support_says(s[0].sink, "know as server 1 says that it is server 2");
    support_says(s[2].sink, "know as server 1 says that it is server 2");
    sit_down(s);
}

/* --- raw messages ----------------------------------------------------------------------------- */

static void raw_prefix(struct bytes *b, uint8_t type, uint16_t protocol, const uint8_t attempt[16])
{
    bytes_put_u32(b, 0x31534654);
    bytes_put_u8(b, type);
    bytes_put_u16(b, protocol);
    bytes_put(b, attempt, 16);
}

static void raw_hello(struct bytes *b, uint16_t protocol, const char *version, unsigned index,
                      const uint8_t attempt[16])
{
    struct terms t = some_terms();
    uint8_t nonce[32] = {9}, pass[TRANSPORT_PASS_SIZE] = {7};
    raw_prefix(b, 2, protocol, attempt);
    bytes_put_string(b, version);
    bytes_put_u8(b, (uint8_t)index);
    bytes_put(b, nonce, sizeof nonce);
    bytes_put(b, pass, sizeof pass);
    bytes_put_u8(b, 1);
    bytes_put_u16(b, 1);
    bytes_put(b, t.digest, sizeof t.digest);
    bytes_put_u8(b, (uint8_t)t.parts);
    for (size_t i = 0; i < t.parts; i++) {
        bytes_put_string(b, t.part[i].name);
        bytes_put(b, t.part[i].digest, 32);
    }
}

/* Server 2 as a script: answers the PROPOSE with a HELLO of the test's making. */
struct session_script {
    struct session_server s; /* must be first: run_three() steps over servers */
    uint16_t protocol;
    const char *version;
    size_t cut; /* bytes of the HELLO that are sent; 0: all */
};

static void *run_script(void *argument)
{
    struct session_script *x = argument;
    struct bytes m CLEAN(bytes_clear) = {0}, hello CLEAN(bytes_clear) = {0};
    int64_t deadline = support_end_ms(5);
    if (x->s.index != 2)
        return run_server(&x->s);
    x->s.e = transport_receive_by(x->s.transport, NET_NEXT, &m, deadline);
    if (x->s.e != ERR_OK || m.size != 4 + 1 + 2 + 16 + SESSION_ABOUT_SIZE)
        return NULL;
    raw_hello(&hello, x->protocol, x->version, 2, m.data + 7);
    if (x->cut != 0)
        hello.size = x->cut;
    for (unsigned p = 0; p < 2 && x->s.e == ERR_OK; p++)
        x->s.e = transport_send_by(x->s.transport, (enum net_peer)p, hello.data, hello.size,
                                   deadline);
    return NULL;
}

static void play(struct session_script x[3], uint16_t protocol, const char *version, size_t cut)
{
    struct session_server s[3];
    in_memory(s);
    memset(x, 0, 3 * sizeof *x);
    for (unsigned i = 0; i < 3; i++)
        x[i] = (struct session_script){
            .s = s[i], .protocol = protocol, .version = version, .cut = cut};
    run_three(run_script, x, sizeof *x);
    for (unsigned i = 0; i < 3; i++) {
        session_free(&x[i].s.session);
        transport_free(&x[i].s.transport);
    }
}

TEST(another_version_is_named)
{
    struct session_script x[3];
    play(x, SESSION_PROTOCOL + 7, "9.9.9", 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(x[i].s.e, ERR_MISMATCH);
        support_says(x[i].s.sink, "server 2 runs trefoil 9.9.9 (protocol 12), we run");
        support_says(x[i].s.sink, "ours is the older one, upgrade it");
    }
    play(x, SESSION_PROTOCOL, "0.0.9", 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(x[i].s.e, ERR_MISMATCH);
        support_says(x[i].s.sink, "server 2 runs trefoil 0.0.9 (protocol 5), we run");
        support_says(x[i].s.sink, "theirs is the older one, upgrade it");
    }
    /* a protocol of which we can read only the number */
    play(x, SESSION_PROTOCOL + 8, "9.9.9", 4 + 1 + 2 + 16);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(x[i].s.e, ERR_MISMATCH);
}

TEST(a_cut_hello_is_refused)
{
    struct session_script x[3];
    for (size_t cut = 4 + 1 + 2 + 16; cut < 200; cut += 29) {
        play(x, SESSION_PROTOCOL, TREFOIL_VERSION, cut);
        /* if the cut is inside the version string, that does not match either */
        assert_true(x[0].s.e == ERR_FORMAT || x[0].s.e == ERR_MISMATCH);
        support_says(x[0].s.sink, "server 2");
    }
}

TEST(leftovers_are_skipped)
{
    struct session_server s[3];
    struct bytes old CLEAN(bytes_clear) = {0}, secret CLEAN(bytes_clear) = {0};
    static const uint8_t attempt[16] = "an older attempt";
    static const uint8_t body[64] = {1};
    in_memory(s);
    raw_hello(&old, SESSION_PROTOCOL, "0.0.0", 1, attempt);
    raw_prefix(&secret, 3, SESSION_PROTOCOL, attempt);
    bytes_put(&secret, body, sizeof body);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned p = 0; p < 2; p++) {
            struct transport *t = s[i].transport;
            enum net_peer to = (enum net_peer)p;
            OK(transport_send(t, to, old.data, old.size));
            OK(transport_send(t, to, secret.data, secret.size));
            OK(transport_send(t, to, "what?", 5));
            OK(transport_send(t, to, NULL, 0));
        }
    }
    run_three(run_server, s, sizeof *s);
    expect_agreement(s);
    sit_down(s);
}

/*
 * Server 2 comes late: server 0 gives up on its first attempts; 1 and 2 follow it to the last one.
 */
TEST(a_second_attempt_takes_over)
{
    atomic_uint failed = 0;
    struct session_server s[3];
    in_memory(s);
    s[0].failed = s[2].failed = &failed;
    s[2].begins_after = 2;
    s[0].attempts = 3;
    s[0].per_try = 100;
    run_three(run_server, s, sizeof *s);
    expect_agreement(s);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(s[i].offer.about[0], 3); /* of the last attempt, whichever they joined */
    sit_down(s);
}

/* Server 2 dies after its HELLO, and is there again for the second attempt. */
static void *run_reborn(void *argument)
{
    struct session_script *x = argument;
    run_script(x);
    return x->s.index == 2 ? run_server(&x->s) : NULL;
}

/* Server 1 has server 0's SECRET by then, and waits only for server 2's. */
TEST(a_neighbour_may_die_and_return)
{
    struct session_server s[3];
    struct session_script x[3];
    in_memory(s);
    s[0].attempts = 2;
    s[0].per_try = 200;
    for (unsigned i = 0; i < 3; i++)
        x[i] = (struct session_script){s[i], SESSION_PROTOCOL, TREFOIL_VERSION, 0};
    run_three(run_reborn, x, sizeof *x);
    for (unsigned i = 0; i < 3; i++) {
        s[i] = x[i].s;
        assert_int_equal(s[i].offer.about[0], 2);
    }
    expect_agreement(s);
    sit_down(s);
}

static void in_memory_without_2(struct session_server s[3], void *unused)
{
    in_memory(s);
    s[2].absent = true;
}

/*
 * Servers 0 and 1 meet, and wait for server 2 in vain. On a busy machine they may need more
 * patience to meet; they get twice as much until they have.
 */
static void miss_server_2(struct session_server s[3],
                          void (*gather)(struct session_server s[3], void *self), void *self)
{
    bool met = false;
    for (int64_t patience = 200; !met && patience < support_patience_ms(10); patience *= 2) {
        gather(s, self);
        for (unsigned i = 0; i < 3; i++)
            s[i].patience = patience;
        run_three(run_server, s, sizeof *s);
        met = strstr(s[0].sink, "no HELLO from server 2") != NULL &&
              strstr(s[1].sink, "no HELLO from server 2") != NULL &&
              strstr(s[0].sink, "from server 1") == NULL &&
              strstr(s[1].sink, "from server 0") == NULL;
        sit_down(s);
    }
    assert_true(met);
    assert_int_equal(s[0].e, ERR_TIMEOUT);
    assert_int_equal(s[1].e, ERR_TIMEOUT);
}

TEST(a_missing_server_is_named)
{
    struct session_server s[3];
    miss_server_2(s, in_memory_without_2, NULL);
}

TEST(proposals_are_recognised)
{
    static const uint8_t attempt[16] = "some attempt";
    struct bytes b CLEAN(bytes_clear) = {0};
    struct session_server s[3];
    assert_false(session_is_propose(&b));
    raw_prefix(&b, 1, SESSION_PROTOCOL + 1, attempt); /* of any version: the HELLO will say which */
    assert_true(session_is_propose(&b));
    b.data[4] = 2;
    assert_false(session_is_propose(&b));
    in_memory(s);
    assert_int_equal(
        session_open(&s[1].session, s[1].transport, 3, 1, &s[1].terms, &b, &s[1].offer, 0, NULL),
        ERR_FORMAT);
    assert_int_equal(
        session_open(&s[1].session, s[1].transport, 3, 1, &s[1].terms, NULL, &s[1].offer, 0, NULL),
        ERR_MISUSE);
    assert_int_equal(
        session_open(&s[1].session, s[1].transport, 3, 3, &s[1].terms, &b, &s[1].offer, 0, NULL),
        ERR_MISUSE);
    s[0].terms.parts = TERMS_PARTS_MAX + 1;
    assert_int_equal(
        session_open(&s[0].session, s[0].transport, 3, 0, &s[0].terms, NULL, &s[0].offer, 0, NULL),
        ERR_MISUSE);
    b.data[4] = 1;
    b.size--;
    assert_false(session_is_propose(&b));
    assert_int_equal(
        session_open(&s[1].session, s[1].transport, 3, 1, &s[1].terms, &b, &s[1].offer, 0, NULL),
        ERR_FORMAT);
    sit_down(s);
}

/* --- a server whose neighbours are scripts ---------------------------------------------------- */

static const uint8_t attempt_a[16] = "this attempt", attempt_b[16] = "the next attempt";

enum word { ATTEMPT_B = 1, HELLO_A, HELLO_B, SECRET_A };
enum session_fault { SOUND, CUT, ALIEN, NO_TYPE, UNKNOWN_TYPE, ENDLESS, MANY_PARTS, OTHER_TERMS };

struct line {
    unsigned from;
    enum word word;
    enum session_fault fault;
};

static void write_line(struct bytes *b, const struct line *l)
{
    static const uint8_t zeros[4096];
    if (l->word == ATTEMPT_B) {
        raw_prefix(b, 1, SESSION_PROTOCOL, attempt_b);
        bytes_put(b, "about this one..", SESSION_ABOUT_SIZE);
    } else if (l->word == SECRET_A) {
        raw_prefix(b, 3, SESSION_PROTOCOL, attempt_a);
        bytes_put(b, zeros, 64);
    } else {
        raw_hello(b, SESSION_PROTOCOL, TREFOIL_VERSION, l->from,
                  l->word == HELLO_A ? attempt_a : attempt_b);
    }
    if (l->fault == CUT)
        b->size--;
    else if (l->fault == ALIEN)
        b->data[0] ^= 1;
    else if (l->fault == NO_TYPE)
        b->data[4] = 0;
    else if (l->fault == UNKNOWN_TYPE)
        b->data[4] = 4;
    else if (l->fault == ENDLESS)
        bytes_put(b, zeros, sizeof zeros);
    else if (l->fault == MANY_PARTS)
        b->data[b->size - 3 * 36 - 6 - 6 - 7 - 1] = TERMS_PARTS_MAX + 1;
    else if (l->fault == OTHER_TERMS)
        b->data[b->size - 3 * 36 - 6 - 6 - 7 - 2] ^= 1;
}

/* Server 1 or 2 hears only these lines in attempt A, and then nothing more. */
static enum err hear(struct session_server s[3], unsigned who, const struct line *line,
                     size_t lines)
{
    struct log log = {.buffer = s[who].sink, .buffer_size = sizeof s[who].sink, .level = LOG_DEBUG};
    struct bytes propose CLEAN(bytes_clear) = {0};
    for (size_t i = 0; i < lines && line[i].word != 0; i++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        write_line(&b, &line[i]);
        OK(transport_send(s[line[i].from].transport,
                          net_index_of(line[i].from, NET_NEXT) == who ? NET_NEXT : NET_PREV, b.data,
                          b.size));
    }
    raw_prefix(&propose, 1, SESSION_PROTOCOL, attempt_a);
    transport_memory_hurry(s[who].transport);
    enum err e = session_open(&s[who].session, s[who].transport, 3, who, &s[who].terms, &propose,
                              &s[who].offer, support_patience_ms(10), &log);
    assert_true((e == ERR_OK) == (s[who].session != NULL));
    return e;
}

TEST(what_neighbours_say_is_judged)
{
    static const struct {
        struct line line[4];
        enum err e;
        const char *words;
    } scripts[] = {
        {{{2, HELLO_A, MANY_PARTS}}, ERR_FORMAT, "server 2 sent a HELLO that does not parse"},
        {{{0, HELLO_A, SOUND}, {2, HELLO_A, SOUND}, {0, SECRET_A, CUT}},
         ERR_FORMAT,
         "server 0 sent a SECRET that does not parse"},
        {{{0, HELLO_A, SOUND}, {2, HELLO_A, SOUND}, {0, SECRET_A, SOUND}, {2, SECRET_A, SOUND}},
         ERR_TIMEOUT,
         "no SECRET from server 2"}, /* both name another session */
        {{{0, HELLO_A, SOUND}, {2, HELLO_A, SOUND}}, ERR_TIMEOUT, "no SECRET from server 0"},
        {{{2, SECRET_A, SOUND}},
         ERR_TIMEOUT,
         "skipped a handshake message of server 2 from before"},
        {{{2, HELLO_A, SOUND}, {2, HELLO_A, CUT}},
         ERR_TIMEOUT,
         "skipped a handshake message of server 2 from before"},
        {{{2, HELLO_A, OTHER_TERMS}}, ERR_MISMATCH, "no HELLO from server 0"},
        {{{2, HELLO_A, ENDLESS}},
         ERR_TIMEOUT,
         "skipped a message of server 2 that is no handshake"},
        {{{2, HELLO_A, ALIEN}, {2, HELLO_A, NO_TYPE}},
         ERR_TIMEOUT,
         "skipped a message of server 2 that is no handshake"},
        {{{2, HELLO_A, UNKNOWN_TYPE}},
         ERR_TIMEOUT,
         "skipped a message of server 2 that is no handshake"},
        {{{2, ATTEMPT_B, SOUND}},
         ERR_TIMEOUT,
         "skipped a handshake message of server 2 from before"}, /* only server 0 begins */
        /* a HELLO of the next attempt is kept, and judged when that has begun */
        {{{0, SECRET_A, SOUND}, {2, HELLO_B, CUT}, {0, ATTEMPT_B, SOUND}},
         ERR_FORMAT,
         "server 2 sent a HELLO that does not parse"},
        {{{0, SECRET_A, SOUND}, {2, HELLO_B, SOUND}, {0, ATTEMPT_B, SOUND}},
         ERR_TIMEOUT,
         "no HELLO from server 0"},
        {{{0, ATTEMPT_B, CUT}}, ERR_TIMEOUT, "no HELLO from server 2"},
        {{{0, HELLO_A, SOUND}, {2, HELLO_A, SOUND}, {2, HELLO_B, SOUND}},
         ERR_TIMEOUT,
         "server 2 has begun another session, and server 0 did not call us to it"},
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct session_server s[3];
        in_memory(s);
        enum err e = hear(s, 1, scripts[i].line, sizeof scripts[i].line / sizeof *scripts[i].line);
        if (e != scripts[i].e || strstr(s[1].sink, scripts[i].words) == NULL)
            fail_msg("script %zu: %s\n%s", i, error_text(e), s[1].sink);
        sit_down(s);
    }
}

/* Server 1's HELLO may reach server 2 before the PROPOSE that it answers. */
TEST(an_early_hello_of_either_is_judged)
{
    static const struct line lines[] = {{1, HELLO_B, CUT}, {0, ATTEMPT_B, SOUND}};
    struct session_server s[3];
    in_memory(s);
    GIVES(hear(s, 2, lines, 2), ERR_FORMAT, s[2].sink, "server 1 sent a HELLO that does not parse");
    sit_down(s);
}

/* Neighbours that take nothing: `taken` messages of server 1 or 0 go out, the next one does not. */
TEST(what_cannot_be_sent_is_named)
{
    static const struct line hellos[] = {{0, HELLO_A, SOUND}, {2, HELLO_A, SOUND}};
    struct transport *t[3];
    struct session_server s[3];
    LOG_INTO(log, sink, LOG_ERROR);
    OK(transport_memory_new(t, 1));
    stand_up(s, t);
    GIVES(hear(s, 1, hellos, 2), ERR_TIMEOUT, s[1].sink, "cannot send SECRET to server 0");
    GIVES(hear(s, 1, NULL, 0), ERR_TIMEOUT, s[1].sink, "cannot send HELLO to server 0");
    transport_memory_hurry(t[0]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(session_open(&s[0].session, s[0].transport, 3, 0, &s[0].terms, NULL,
                                      &s[0].offer, support_patience_ms(10), &log),
                         ERR_TIMEOUT);
    EACH(support_says, sink, "cannot send HELLO to server 2", "cannot send PROPOSE to server 2");
    sit_down(s);
}

/* --- over CURVE ------------------------------------------------------------------------------- */

static void over_curve(struct session_server s[3], bool impostor, struct netio **netio,
                       struct log *log)
{
    struct netio_key_pair key[3], shown[3];
    struct transport *t[3];
    for (unsigned i = 0; i < 3; i++)
        shown[i] = key[i] = new_key_pair();
    if (impostor)
        shown[2] = new_key_pair();
    OK(netio_new(netio, log));
    OK(three_zmq(t, *netio, 16, key, shown, log));
    stand_up(s, t);
}

TEST(three_agree_over_curve)
{
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct netio *netio CLEAN(netio_free) = NULL;
    struct session_server s[3];
    over_curve(s, false, &netio, &log);
    run_three(run_server, s, sizeof *s);
    expect_agreement(s);
    sit_down(s);
}

/* What stays behind when the links are gone. */
struct impostor {
    struct netio *netio;
    struct log log;
    char sink[4096];
};

static void over_curve_with_impostor(struct session_server s[3], void *self)
{
    struct impostor *x = self;
    netio_free(&x->netio);
    over_curve(s, true, &x->netio, &x->log);
}

TEST(a_wrong_key_is_not_admitted)
{
    struct impostor x = {.log = {.buffer_size = sizeof x.sink, .level = LOG_WARN}};
    struct session_server s[3];
    x.log.buffer = x.sink;
    miss_server_2(s, over_curve_with_impostor, &x);
    assert_int_equal(s[2].e, ERR_TIMEOUT);
    netio_free(&x.netio);
    support_says(x.sink, "turned away a connection from 127.0.0.1");
}

/* Server 2 is there, hears both, and is gone before it has said a word. */
static void *leave_or_run(void *argument)
{
    struct session_server *s = argument;
    struct bytes b CLEAN(bytes_clear) = {0};
    if (s->index != 2)
        return run_server(s);
    for (unsigned p = 0; p < 2; p++)
        s->e = transport_receive_by(s->transport, (enum net_peer)p, &b, support_end_ms(5));
    transport_free(&s->transport);
    return NULL;
}

TEST(one_that_leaves_meanwhile_is_not_waited_for)
{
    struct log log = {.file = stderr, .level = LOG_WARN};
    struct netio *netio CLEAN(netio_free) = NULL;
    struct session_server s[3];
    over_curve(s, false, &netio, &log);
    run_three(leave_or_run, s, sizeof *s);
    OK(s[2].e);
    for (unsigned i = 0; i < 2; i++) {
        GIVES(s[i].e, ERR_PEER, s[i].sink, "server 2 closed its connection");
        assert_null(strstr(s[i].sink, "no HELLO"));
    }
    sit_down(s);
}
