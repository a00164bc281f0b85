/*
 * parties/settings/two/rows.h: encrypted rows are counted once, and only with the other's share of
 * the same session; what is sent for it is fresh each time; what no owner sends is named.
 */
#include "harness/cmocka.h"
#include "harness/netio.h"
#include "harness/session.h"
#include "harness/study.h"
#include "harness/transport.h"

#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "parties/exchange/message.h"
#include "parties/exchange/price.h"
#include "parties/owner/pack.h"
#include "parties/settings/two/rows.h"
#include "parties/settings/two/split.h"
#include "parties/store/store_sorted.h"

#include <math.h>
#include <string.h>

#define OWNERS 2

/* One of the two, and what came of a session. */
struct rows_seat {
    struct net *net;
    struct store *store;
    struct two_rows rows;
    struct upload *upload; /* OWNERS of them */
    uint64_t *word[OWNERS];
    bool kept[OWNERS];
    size_t sent;
    enum err e;
    char words[1024];
    struct log log;
};

struct rows_play {
    struct support_study s;
    int64_t *right[OWNERS];
    struct upload part[OWNERS][2];
    struct rows_seat seat[2];
    uint8_t sessions;
};

static const char *const records[OWNERS] = {"    max_rows: 40\n    as: records\n",
                                            "    max_rows: 90\n    as: records\n"};

static void share_by(struct rows_play *p, const struct split *split, unsigned o, size_t rows)
{
    const struct study *study = p->s.study;
    const struct workload *w = study->workload;
    struct identity *me CLEAN(identity_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    size_t at = 0;
    assert_int_equal(identity_load(&me, file(p, "o%u.key", o), &quiet), ERR_OK);
    assert_int_equal(support_table(&t, study->domain, rows, o), ERR_OK);
    assert_int_equal(pack_table(study, o, UPLOAD_ENCRYPTED, t, &packed), ERR_OK);
    for (unsigned i = 0; i < 2; i++)
        upload_clear(&p->part[o][i]);
    assert_int_equal(upload_make(p->part[o], split, me, o, (const uint8_t[32]){1}, study,
                                 UPLOAD_ENCRYPTED, &packed),
                     ERR_OK);
    for (size_t q = 0; q < w->queries; q++)
        if (w->query[q].maximal) {
            tabulate_marginal(t, &w->query[q].clique, p->right[o] + at);
            at += w->query[q].cells;
        }
}

static void share(struct rows_play *p, unsigned o, size_t rows)
{
    share_by(p, &two_split, o, rows);
}

static void open_stores(struct rows_play *p)
{
    for (unsigned i = 0; i < 2; i++) {
        struct identity *me CLEAN(identity_free) = NULL;
        store_close(&p->seat[i].store);
        assert_int_equal(identity_load(&me, file(p, "s%u.key", i), &quiet), ERR_OK);
        assert_int_equal(store_open(&p->seat[i].store, file(p, "server%u", i), p->s.study,
                                    &two_split, me, i, &quiet),
                         ERR_OK);
    }
}

static struct rows_play *play_new(const char *workload)
{
    struct rows_play *p = memory_array(1, sizeof *p);
    NEW_STUDY(&p->s, &quiet, .owners = OWNERS, .two = true, .part = records, .workload = workload);
    for (unsigned o = 0; o < OWNERS; o++) {
        p->right[o] = memory_array(p->s.study->workload->maximal_cells, sizeof *p->right[o]);
        for (unsigned i = 0; i < 2; i++)
            p->seat[i].word[o] = memory_array(p->s.study->workload->maximal_cells,
                                              sizeof **p->seat[i].word);
        share(p, o, o == 0 ? 40 : 77);
    }
    open_stores(p);
    return p;
}

static void play_free(struct rows_play **play)
{
    struct rows_play *p = *play;
    for (unsigned i = 0; i < 2; i++) {
        store_close(&p->seat[i].store);
        for (unsigned o = 0; o < OWNERS; o++) {
            upload_clear(&p->part[o][i]);
            memory_free(&p->seat[i].word[o]);
        }
    }
    for (unsigned o = 0; o < OWNERS; o++)
        memory_free(&p->right[o]);
    support_study_free(&p->s);
    memory_free(play);
}

static enum err count_both(struct rows_seat *s)
{
    bool *kept CLEAN(memory_release) = NULL;
    static const bool counted[OWNERS] = {false};
    TRY(two_rows_meet(&s->rows, s->upload, OWNERS, counted, &kept));
    memcpy(s->kept, kept, sizeof s->kept);
    for (unsigned o = 0; o < OWNERS; o++)
        TRY(two_rows_share(&s->rows, &s->upload[o], kept[o], s->word[o]));
    return ERR_OK;
}

static void *run_seat(void *self)
{
    struct rows_seat *s = self;
    s->e = count_both(s);
    s->sent = net_total(s->net).payload_sent;
    if (s->e != ERR_OK)
        net_abort(s->net);
    two_rows_free(&s->rows);
    return NULL;
}

/* A session of both; another each time. */
static void play(struct rows_play *p)
{
    struct transport *transport[3] = {NULL};
    struct session *session[2];
    struct upload held[2][OWNERS];
    pthread_t thread[2];
    p->sessions++;
    assert_int_equal(transport_memory_pair(transport, 16), ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct rows_seat *s = &p->seat[i];
        struct net_options o = {.transport = transport[i], .log = &s->log};
        memset(s->words, 0, sizeof s->words);
        s->log = (struct log){.buffer = s->words, .buffer_size = sizeof s->words};
        assert_int_equal(session_of_two_for_test(&session[i], i, 5), ERR_OK);
        o.session = session[i];
        assert_int_equal(net_new(&s->net, &o), ERR_OK);
        s->rows = (struct two_rows){.study = p->s.study,
                                    .net = s->net,
                                    .store = s->store,
                                    .log = &s->log,
                                    .session = {p->sessions}};
        for (unsigned k = 0; k < OWNERS; k++) {
            held[i][k] = p->part[k][i];
            held[i][k].owner = k;
        }
        s->upload = held[i];
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_seat, &p->seat[i]), 0);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        net_free(&p->seat[i].net);
    }
    for (unsigned i = 0; i < 2; i++)
        session_free(&session[i]);
    links_free(&transport);
}

/* Shares add up to the rows' counts; `kept` owners were not counted again. */
static void adds_up(struct rows_play *p, const bool kept[OWNERS])
{
    size_t results = 0;
    play(p);
    for (unsigned i = 0; i < 2; i++)
        if (p->seat[i].e != ERR_OK)
            fail_msg("server %u: %s: %s", i, error_text(p->seat[i].e), p->seat[i].words);
    for (unsigned o = 0; o < OWNERS; o++) {
        for (size_t c = 0; c < p->s.study->workload->maximal_cells; c++)
            assert_int_equal(p->seat[0].word[o][c] + p->seat[1].word[o][c], p->right[o][c]);
        assert_int_equal(p->seat[0].kept[o], kept[o]);
        assert_int_equal(p->seat[1].kept[o], kept[o]);
        results += kept[o] ? 0 : p->s.study->owner[o].encrypted.results;
    }
    assert_int_equal(p->seat[0].sent, 32 * OWNERS + results * 651264);
    assert_int_equal(p->seat[1].sent, 32 * OWNERS);
}

static const bool none[OWNERS], all[OWNERS] = {true, true};

/* No mask is used for two counts, of one owner or of two. */
static void masks_differ(const struct rows_play *p)
{
    const size_t n = p->s.study->workload->maximal_cells;
    for (size_t i = 0; i < OWNERS * n; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(p->seat[0].word[i / n][i % n], p->seat[0].word[k / n][k % n]);
}

TEST(rows_are_counted_once)
{
    struct rows_play *p CLEAN(play_free) = play_new("{all: 2}");
    adds_up(p, none);
    assert_true(p->s.study->owner[1].encrypted.results > 1);
    masks_differ(p);
    adds_up(p, all);
    open_stores(p);
    adds_up(p, all);
}

/* With marginals of one column, of which one is in no pair. */
TEST(single_columns_are_counted)
{
    struct rows_play *p CLEAN(play_free) = play_new(
        "[{attributes: [age]}, {attributes: [sex, ward]}, {attributes: [bmi]}, {attributes: "
        "[died]}]");
    adds_up(p, none);
    adds_up(p, all);
}

static void forget(struct rows_play *p, unsigned i, unsigned o, const struct bytes *instead)
{
    uint8_t digest[32];
    upload_digest(&p->part[o][i], p->s.study->terms.digest, digest);
    assert_int_equal(store_put_counted(p->seat[i].store, digest, instead), ERR_OK);
}

static void remembered(struct rows_play *p, unsigned i, unsigned o, struct bytes *out)
{
    uint8_t digest[32];
    upload_digest(&p->part[o][i], p->s.study->terms.digest, digest);
    assert_int_equal(store_counted(p->seat[i].store, digest, out), ERR_OK);
    assert_int_equal(out->size, 32 + 8 * p->s.study->workload->maximal_cells);
}

/*
 * A server that lost its share, or was put back to an older one, has it made again, afresh: no word
 * is as before, and what is there of another session is not used.
 */
TEST(shares_of_two_sessions_are_not_added)
{
    struct rows_play *p CLEAN(play_free) = play_new("{all: 2}");
    struct bytes first[2] = {{0}}, second CLEAN(bytes_clear) = {0};
    static const struct bytes nothing = {0};
    adds_up(p, none);
    for (unsigned i = 0; i < 2; i++)
        remembered(p, i, 0, &first[i]);
    forget(p, 1, 0, &nothing);
    adds_up(p, (const bool[OWNERS]){false, true});
    for (unsigned i = 0; i < 2; i++) {
        size_t same = 0;
        second.size = 0;
        remembered(p, i, 0, &second);
        for (size_t at = 32; at < second.size; at += 8)
            same += memcmp(second.data + at, first[i].data + at, 8) == 0;
        assert_int_equal(same, 0);
    }
    forget(p, 0, 0, &first[0]);
    adds_up(p, (const bool[OWNERS]){false, true});
    for (unsigned i = 0; i < 2; i++)
        bytes_clear(&first[i]);
}

/* As many are paid for as the provider makes. */
TEST(rows_are_not_sent_for_ever)
{
    static const struct bytes nothing = {0};
    struct rows_play *p CLEAN(play_free) = play_new("{all: 1}");
    const struct study *s = p->s.study;
    const double most = fmax(
        (double)s->owner[0].encrypted.results * sqrt((double)s->owner[0].encrypted.blocks),
        (double)s->owner[1].encrypted.results * sqrt((double)s->owner[1].encrypted.blocks));
    struct ledger_limits limits, other;
    struct study plain = *s;
    struct study_owner owner[OWNERS];
    for (unsigned k = 0; k < PRICE_COUNTINGS; k++) {
        adds_up(p, k == 0 ? none : (const bool[OWNERS]){false, true});
        forget(p, 1, 0, &nothing);
    }
    play(p);
    assert_int_equal(p->seat[0].e, ERR_REFUSED);
    support_says(p->seat[0].words, "the rows of o0 were sent to the keeper 8 times");
    /* the budget has it: it is no request's, and what is left buys a little less */
    assert_true(fabs(price_rows_slack(s) / (8 * (1 + M_E) * most * 0x1p-59) - 1) < 1e-6);
    plain.delta = 1e-10;
    assert_int_equal(price_limits(&plain, &limits, &quiet), ERR_OK);
    memcpy(owner, s->owner, sizeof owner);
    owner[0].encrypted = owner[1].encrypted = (struct study_encrypted){0};
    plain.owner = owner;
    assert_int_equal(price_limits(&plain, &other, &quiet), ERR_OK);
    assert_true(limits.delta_slack == other.delta_slack && limits.rho < other.rho);
    plain.epsilon = 15;
    plain.delta = 1e-9;
    assert_int_equal(price_limits(&plain, &limits, &quiet), ERR_OK);
    plain.owner = s->owner; /* a larger epsilon needs more of delta than there is */
    assert_int_equal(price_limits(&plain, &limits, &quiet), ERR_STUDY);
}

/* --- what no owner sends ---------------------------------------------------------------------- */

/* The last word is none. */
static enum err spoil(const struct study *study, size_t owner, unsigned form,
                      const uint8_t seed[][SPLIT_SEED], struct bytes *vector)
{
    TRY(two_split.mask(study, owner, form, seed, vector));
    memset(vector->data + vector->size - 7, 255, 7);
    return ERR_OK;
}

/* Sends an upload to the provider's store in parts, as they come. */
static enum err send_parts(struct rows_play *p, const struct upload *u)
{
    struct upload head = *u;
    struct store *store = p->seat[0].store;
    bool complete = false;
    uint64_t held = 0;
    head.whole = false;
    head.vector = (struct bytes){0};
    TRY(store_put(store, &head, true, &complete));
    while (!complete) {
        const size_t left = u->vector.size - (size_t)held;
        assert_true(left > 0);
        TRY(store_put_part(store, u->owner, u->id, held, u->vector.data + held,
                           left < MESSAGE_PART_MAX ? left : MESSAGE_PART_MAX, &held, &complete));
    }
    return ERR_OK;
}

/* An owner that commits to a word that is none is not believed: nothing of it is stored. */
TEST(malformed_rows_are_not_stored)
{
    struct rows_play *p CLEAN(play_free) = play_new("{all: 2}");
    struct split liar = two_split;
    struct upload good = p->part[0][0], bad;
    uint64_t whole = 0, part = 0;
    liar.mask = spoil;
    memset(p->part[0], 0, sizeof *p->part[0]);
    share_by(p, &liar, 0, 39);
    bad = p->part[0][0];
    bad.split = &two_split;
    assert_int_equal(send_parts(p, &bad), ERR_DATA);
    assert_int_equal(store_count(p->seat[0].store, &whole, &part), ERR_OK);
    assert_int_equal(whole, 0);
    assert_int_equal(send_parts(p, &good), ERR_OK);
    assert_int_equal(store_count(p->seat[0].store, &whole, &part), ERR_OK);
    assert_int_equal(whole, 1);
    upload_clear(&good);
}

/* Nor are bytes too few; and what is on a disk all the same is not counted. */
TEST(malformed_rows_are_refused_when_they_are_read)
{
    struct rows_play *p CLEAN(play_free) = play_new("{all: 2}");
    struct upload *u = &p->part[0][0], read = {0};
    struct bytes b CLEAN(bytes_clear) = {0};
    const size_t n = u->vector.size;
    memset(u->vector.data + n - 7, 255, 7);
    for (unsigned k = 0; k < 2; k++) {
        u->vector.size = n - (k == 0 ? LATTICE_POLY_SIZE : 1);
        b.size = 0;
        assert_int_equal(upload_write(u, 0, true, &b), ERR_OK);
        assert_int_equal(upload_read(&read, &two_split, 0, UPLOAD_ENCRYPTED, n, b.data, b.size),
                         ERR_FORMAT);
    }
    u->vector.size = n;
    play(p);
    assert_int_equal(p->seat[0].e, ERR_DATA);
    support_says(p->seat[0].words, "o0 sent encrypted rows that are malformed");
    share(p, 0, 40);
    adds_up(p, none);
}

/* An owner that gives the keeper another key than it used is named by the keeper. */
TEST(a_key_of_others_rows_opens_nothing)
{
    struct rows_play *p CLEAN(play_free) = play_new("{all: 2}");
    p->part[1][1].seed[0][5] ^= 1;
    play(p);
    assert_int_equal(p->seat[1].e, ERR_DATA);
    support_says(p->seat[1].words, "o1 sent encrypted rows that its key does not open");
    p->part[1][1].seed[0][5] ^= 1;
    adds_up(p, (const bool[OWNERS]){true, false});
}

/* Neither a key nor an error nor what is shown of one table is used for another. */
TEST(other_rows_have_other_seeds)
{
    struct rows_play *p CLEAN(play_free) = play_new("{all: 2}");
    struct upload before[2];
    size_t same = 0;
    memcpy(before, p->part[0], sizeof before);
    memset(p->part[0], 0, sizeof p->part[0]);
    share(p, 0, 39);
    assert_memory_not_equal(before[1].seed[0], p->part[0][1].seed[0], SPLIT_SEED);
    assert_memory_not_equal(before[0].vector.data, p->part[0][0].vector.data, LATTICE_SEED);
    for (size_t i = LATTICE_SEED; i < before[0].vector.size; i++)
        same += before[0].vector.data[i] == p->part[0][0].vector.data[i];
    assert_true(same < before[0].vector.size / 128); /* one in 256 */
    /* and the same rows again are the same upload, which can so be resumed */
    share(p, 0, 40);
    assert_int_equal(before[0].vector.size, p->part[0][0].vector.size);
    assert_memory_equal(before[0].vector.data, p->part[0][0].vector.data, before[0].vector.size);
    for (unsigned i = 0; i < 2; i++)
        upload_clear(&before[i]);
}
