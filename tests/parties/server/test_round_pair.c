/*
 * parties/server/: what two servers say to each other around a round, where three have a third to
 * ask: statements, values, lists of uploads, ledgers.
 */
#include "base/hash.h"
#include "harness/cmocka.h"
#include "harness/netio.h"
#include "harness/session.h"
#include "harness/transport.h"

#include "parties/server/round.h"
#include "parties/server/round_ledger.h"
#include "parties/server/round_uploads.h"
#include "parties/setting/split.h"

#define UPLOADS 300 /* enough for branches that are taken apart */

struct pair_side {
    unsigned index;
    struct net *net;
    struct log log;
    char words[1024];
    const struct study *study;
    enum err e;
    /* of a round */
    struct round_statement own;
    struct round_talk talk;
    bool lies; /* shows other bytes than it promised */
    uint8_t values[4];
    /* of uploads */
    struct upload_name name[UPLOADS];
    size_t count, kept, lacking;
    uint8_t digest[32];
    /* of the ledger */
    struct round_ledger ledger;
    struct vouchers vouchers;
    bool adopts;
};

struct table_for_two {
    struct pair_side at[2];
    struct transport *transport[3];
    struct session *session[2];
};

static void sit_down(struct table_for_two *t)
{
    memset(t, 0, sizeof *t);
    OK(transport_memory_pair(t->transport, 16));
    for (unsigned i = 0; i < 2; i++) {
        struct pair_side *s = &t->at[i];
        struct net_options o = {.transport = t->transport[i], .log = &s->log};
        s->index = i;
        s->log = (struct log){.buffer = s->words, .buffer_size = sizeof s->words};
        OK(session_of_two_for_test(&t->session[i], i, 5));
        o.session = t->session[i];
        OK(net_new(&s->net, &o));
        s->talk = (struct round_talk){.net = s->net, .log = &s->log};
    }
}

static void get_up(struct table_for_two *t)
{
    for (unsigned i = 0; i < 2; i++) {
        net_free(&t->at[i].net);
        session_free(&t->session[i]);
    }
    links_free(&t->transport);
}

static void meet(struct table_for_two *t, void *(*job)(void *))
{
    pthread_t thread[2];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, job, &t->at[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

/* --- a round ---------------------------------------------------------------------------------- */

static void *agree(void *self)
{
    struct pair_side *s = self;
    const uint8_t signature[2][64] = {{0}};
    round_agree(&s->talk, &s->own);
    s->e = net_settle(s->net);
    if (s->e != ERR_OK)
        return NULL;
    s->talk.fresh[s->index][7] ^= s->lies;
    round_confirm(&s->talk, ERR_OK, signature);
    s->e = net_settle(s->net);
    if (s->e == ERR_OK && s->talk.agreement.course == ROUND_GIVE) {
        struct bytes values = {.data = s->values, .size = sizeof s->values};
        s->e = round_values(s->net, &s->talk.agreement, &values, &s->log);
    }
    return NULL;
}

static void stand(struct table_for_two *t, enum store_standing zero, enum store_standing one)
{
    sit_down(t);
    for (unsigned i = 0; i < 2; i++) {
        struct round_statement *own = &t->at[i].own;
        const enum store_standing standing = i == 0 ? zero : one;
        own->intent = ROUND_BIND;
        own->standing = (uint8_t)standing;
        own->selected = standing >= STANDING_INDEX ? 77 : 0;
        if (standing == STANDING_OPENED) {
            memcpy(t->at[i].values, "abcd", 4);
            hash_bytes(t->at[i].values, 4, own->values);
        }
    }
}

static void expect(const struct table_for_two *t, enum err e)
{
    for (unsigned i = 0; i < 2; i++)
        if (t->at[i].e != e)
            fail_msg("server %u: %s: %s", i, error_text(t->at[i].e), t->at[i].words);
}

/* What one has opened the other takes: nothing is opened again. */
TEST(two_take_what_one_has)
{
    static const struct {
        enum store_standing zero, one;
        enum round_course course;
    } cases[] = {
        {STANDING_NONE, STANDING_NONE, ROUND_SELECT},
        {STANDING_BOUND, STANDING_BOUND, ROUND_SELECT},
        {STANDING_INDEX, STANDING_BOUND, ROUND_MEASURE},
        {STANDING_BOUND, STANDING_INDEX, ROUND_MEASURE},
        {STANDING_OPENED, STANDING_BOUND, ROUND_GIVE},
        {STANDING_INDEX, STANDING_OPENED, ROUND_GIVE},
        {STANDING_OPENED, STANDING_OPENED, ROUND_ANSWER},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct table_for_two t CLEAN(get_up);
        stand(&t, cases[k].zero, cases[k].one);
        meet(&t, agree);
        expect(&t, ERR_OK);
        assert_memory_equal(t.at[0].talk.seed, t.at[1].talk.seed, 32);
        for (unsigned i = 0; i < 2; i++) {
            const struct round_agreement *a = &t.at[i].talk.agreement;
            assert_int_equal(a->course, cases[k].course);
            if (cases[k].course != ROUND_SELECT)
                assert_int_equal(a->selected, 77);
            if (cases[k].course == ROUND_GIVE)
                assert_memory_equal(t.at[i].values, "abcd", 4);
        }
    }
}

TEST(two_that_opened_different_values_stop)
{
    struct table_for_two t CLEAN(get_up);
    stand(&t, STANDING_OPENED, STANDING_OPENED);
    t.at[1].own.values[3] ^= 1;
    meet(&t, agree);
    expect(&t, ERR_CHEAT);
    assert_non_null(strstr(t.at[0].words, "servers 0 and 1 have different values"));
}

TEST(who_shows_other_bytes_than_it_promised_is_named)
{
    struct table_for_two t CLEAN(get_up);
    stand(&t, STANDING_NONE, STANDING_NONE);
    t.at[1].lies = true;
    meet(&t, agree);
    assert_int_equal(t.at[0].e, ERR_CHEAT);
    assert_non_null(strstr(t.at[0].words, "server 1 shows other random bytes"));
}

TEST(one_of_two_can_refuse)
{
    struct table_for_two t CLEAN(get_up);
    stand(&t, STANDING_NONE, STANDING_NONE);
    t.at[0].own.verdict = ERR_BUDGET;
    meet(&t, agree);
    expect(&t, ERR_BUDGET);
    assert_non_null(strstr(t.at[1].words, "server 0 refuses"));
}

/* --- uploads ---------------------------------------------------------------------------------- */

static void *compare_uploads(void *self)
{
    struct pair_side *s = self;
    struct round_uploads u = {.study = s->study,
                              .last = STANDING_NONE,
                              .upload = s->name,
                              .count = s->count,
                              .passed = SPLIT_NOBODY};
    s->e = round_uploads(s->net, &u, s->digest, &s->log);
    s->kept = u.kept;
    s->lacking = u.lacking.size;
    bytes_clear(&u.lacking);
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const struct upload_name *)a)->id, ((const struct upload_name *)b)->id,
                  UPLOAD_ID_SIZE);
}

/* Each lacks one of the other's, and one is another: the rest is counted. */
TEST(two_count_what_both_hold_alike)
{
    static struct study_owner owner = {.name = "somebody"};
    const struct study study = {.servers = 2, .owners = 1, .owner = &owner};
    struct table_for_two t CLEAN(get_up);
    sit_down(&t);
    for (unsigned i = 0; i < 2; i++) {
        struct pair_side *s = &t.at[i];
        s->study = &study;
        for (unsigned k = 0; k < UPLOADS; k++) {
            struct upload_name *name = &s->name[s->count];
            if (k == (i == 0 ? 20 : 280))
                continue;
            integer_put(name->id, k * 0x01000193u, 4);
            integer_put(name->id + 8, k, 4);
            name->digest[0] = (uint8_t)(k == 100 ? 10 + i : 1);
            s->count++;
        }
        qsort(s->name, s->count, sizeof *s->name, by_id);
    }
    meet(&t, compare_uploads);
    expect(&t, ERR_OK);
    assert_memory_equal(t.at[0].digest, t.at[1].digest, 32);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(t.at[i].kept, UPLOADS - 3);
        assert_int_equal(t.at[i].lacking, 0);
        /* only branches that differ are listed, not all of what each has */
        assert_true(net_total(t.at[i].net).payload_sent < UPLOADS * 54 / 2);
    }
}

/* --- ledgers ---------------------------------------------------------------------------------- */

static void *compare_ledgers(void *self)
{
    static const uint8_t asked[32] = {4};
    struct pair_side *s = self;
    s->e = round_ledger(s->net, asked, &s->ledger, &s->adopts, &s->vouchers, &s->log);
    return NULL;
}

/* Server 1 has made a debit that server 0 has staged: 0 takes it over, if both have signed it. */
TEST(one_of_two_takes_over_a_debit_that_both_have_staged)
{
    static uint8_t entry[] = "the entry";
    struct identity *me[2] = {NULL};
    struct study study = {.servers = 2};
    for (unsigned i = 0; i < 2; i++) {
        OK(identity_new(&me[i], NULL));
        study.server[i].key = me[i]->public;
    }
    for (unsigned missing = 0; missing < 3; missing++) { /* 2: none is */
        struct table_for_two t CLEAN(get_up);
        struct round_ledger ahead = {.study = &study, .head = {.number = 1}};
        sit_down(&t);
        store_chain(entry, sizeof entry, ahead.head.head);
        for (unsigned i = 0; i < 2; i++)
            if (i != missing)
                OK(voucher_sign(&study, me[i], ahead.head.head, ahead.vouchers.by[i]));
        t.at[0].ledger = (struct round_ledger){.study = &study,
                                               .staged = {.data = entry, .size = sizeof entry}};
        t.at[1].ledger = ahead;
        meet(&t, compare_ledgers);
        OK(t.at[1].e);
        assert_false(t.at[1].adopts);
        assert_int_equal(t.at[0].e, missing == 2 ? ERR_OK : ERR_MISMATCH);
        assert_int_equal(t.at[0].adopts, missing == 2);
        if (missing == 2)
            assert_memory_equal(&t.at[0].vouchers, &ahead.vouchers, 2 * IDENTITY_SIGNATURE_SIZE);
    }
    for (unsigned i = 0; i < 2; i++)
        identity_free(&me[i]);
}
