/*
 * A server that lies in what servers tell each other before they compute: it tells its two
 * neighbours of different uploads.
 */
#include "tests/support/stores.h"

#include "harness/session.h"
#include "parties/server/collect.h"
#include "parties/settings/three/engine.h"
#include "parties/settings/three/split.h"
#include "parties/study/study_uploads.h"

#define LIAR 0

struct liars_lists {
    struct stores_bench b;
    struct upload parts[2][3]; /* of two owners, for each server */
    uint8_t digest[2][32];     /* of these uploads */
    struct bounds *bounds;
    bool lies;
    enum err result[STUDY_SERVERS_MOST];
    size_t kept[STUDY_SERVERS_MOST];
    uint8_t counted[STUDY_SERVERS_MOST][32];
    uint64_t rounds[STUDY_SERVERS_MOST];
    uint64_t drawn[STUDY_SERVERS_MOST]
                  [2]; /* with each neighbour, from the streams that come then */
};

/* Owners with uploads of the same size, so that servers can count one instead of the other. */
static void open_stores(struct stores_bench *b, const char *more)
{
    static const char *const part[] = {"    max_rows: 900\n", "    max_rows: 900\n"};
    b->s = STUDY(&quiet, .owners = 2, .part = part, .more = more);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(identity_load(&b->server[i], file(b, "s%u.key", i), &quiet));
        OK(open_store(b, i));
    }
}

static void make_part(struct liars_lists *l, unsigned owner)
{
    struct identity *me CLEAN(identity_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    OK(identity_load(&me, support_path(&l->b.s, "o%u.key", owner), &quiet));
    bytes_extend(&packed, study_upload_bytes(l->b.s.study, owner));
    memset(packed.data, 0, packed.size);
    OK(upload_make(l->parts[owner], &three_split, me, owner, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   l->b.s.study, study_upload_form(l->b.s.study, owner), &packed));
}

/* All servers hold both uploads. */
static void lists_new(struct liars_lists *l, const char *more)
{
    bool complete;
    memset(l, 0, sizeof *l);
    open_stores(&l->b, more);
    OK(bounds_new(&l->bounds, l->b.s.study, &quiet));
    for (unsigned o = 0; o < 2; o++) {
        make_part(l, o);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            l->parts[o][i].owner = o;
            OK(store_put(l->b.store[i], &l->parts[o][i], false, &complete));
            assert_true(complete);
        }
        upload_digest(&l->parts[o][0], l->b.s.study->terms.digest, l->digest[o]);
    }
}

static void lists_free(struct liars_lists *l)
{
    for (unsigned o = 0; o < 2; o++)
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            upload_clear(&l->parts[o][i]);
    bounds_free(&l->bounds);
    bench_free(&l->b);
}

/*
 * The liar holds only one upload, and a different one for each neighbour, as round_uploads.c writes
 * it.
 */
static enum err lie(const struct liars_lists *l, struct net *net)
{
    uint8_t card[4 + 4 + 32] = {0}; /* of a list that nobody else has */
    uint8_t list[2][UPLOAD_ID_SIZE + 32 + 4 + 2] = {{0}}, cards[2][sizeof card],
                                              lists[2][2][sizeof list[0]];
    struct net_exchange r = {.send = {card, card},
                             .send_size = {sizeof card, sizeof card},
                             .receive = {cards[0], cards[1]},
                             .receive_size = {sizeof card, sizeof card}};
    integer_put(card, 1, 4);
    for (unsigned o = 0; o < 2; o++) {
        memcpy(list[o], l->parts[o][0].id, UPLOAD_ID_SIZE);
        memcpy(list[o] + UPLOAD_ID_SIZE, l->digest[o], 32);
        integer_put(list[o] + UPLOAD_ID_SIZE + 32, o, 4);
        list[o][sizeof list[o] - 1] = 1; /* held */
    }
    TRY(net_exchange(net, &r));
    for (unsigned p = 0; p < 2; p++) {
        r.send[p] = list[p];
        r.send_size[p] = sizeof list[p];
        r.receive[p] = lists[p];
        r.receive_size[p] = sizeof lists[p];
    }
    return net_exchange(net, &r);
}

static enum err draw(struct liars_lists *l, struct party *p)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 x;
    TRY(party_share64(p, &x, 1));
    TRY(party_random64(p, &x));
    l->drawn[p->index][NET_PREV] = x.a[0];
    l->drawn[p->index][NET_NEXT] = x.b[0];
    return ERR_OK;
}

static void forget(struct play *p)
{
    bytes_clear(&p->upload_ids);
}

static enum err count(struct liars_lists *l, struct three *g, const struct session *session)
{
    const unsigned i = g->party->index;
    atomic_uint adding = 0;
    struct play c CLEAN(forget) = {.study = l->b.s.study,
                                   .split = &three_split,
                                   .store = l->b.store[i],
                                   .net = g->party->net,
                                   .engine = three_table(g),
                                   .adding = &adding,
                                   .log = &quiet};
    g->session = session;
    if (i == LIAR && l->lies) {
        TRY(lie(l, g->party->net));
        TRY(record_alike(g->party, l->digest[0], sizeof l->digest[0]));
        TRY(tally_add(g->party, &g->tally, &l->parts[0][i], 1));
        return three_finish(g);
    }
    TRY(collect_uploads(&c, (const uint8_t[REQUEST_RUN_SIZE]){1}, true));
    l->kept[i] = c.upload_ids.size / UPLOAD_ID_SIZE;
    if (!l->lies && !check_clean(g->party))
        return ERR_MISUSE;
    if (!l->lies) /* if nothing is new, this is compared as well */
        TRY(collect_uploads(&c, (const uint8_t[REQUEST_RUN_SIZE]){1}, true));
    memcpy(l->counted[i], c.uploads, sizeof c.uploads);
    return l->lies || check_clean(g->party) ? ERR_OK : ERR_MISUSE;
}

static enum err sit(struct party *p, void *shared)
{
    struct liars_lists *l = shared;
    struct session *session CLEAN(session_free) = NULL;
    struct three *g CLEAN(three_free) = NULL;
    enum err e = session_for_test(&session, p->index, 5);
    if (e == ERR_OK)
        e = three_check(p, l->b.s.study, &(const struct check_guard){0});
    if (e == ERR_OK)
        e = three_new(&g, p, l->b.s.study, l->bounds, (const uint8_t[TAPE_ID_SIZE]){1}, &quiet);
    if (e == ERR_OK)
        e = count(l, g, session);
    if (e == ERR_OK)
        e = draw(l, p);
    l->result[p->index] = e;
    l->rounds[p->index] = net_exchanges(p->net);
    if (e != ERR_OK)
        net_abort(p->net);
    return ERR_OK;
}

/*
 * Two honest servers count different uploads, and do not know it yet: their streams are all
 * different, so nothing that they mask fits together. Their next statements about uploads differ.
 */
TEST(who_is_told_of_other_uploads_masks_with_other_streams)
{
    for (unsigned lies = 0; lies < 2; lies++) {
        struct liars_lists l CLEAN(lists_free);
        lists_new(&l, NULL);
        l.lies = lies;
        OK(three_run(5, sit, &l, NULL));
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            OK(l.result[i]);
        assert_int_equal(l.kept[1], lies ? 1 : 2);
        assert_int_equal(l.kept[2], l.kept[1]);
        assert_int_equal(memcmp(l.counted[1], l.counted[2], 32) != 0, lies);
        assert_int_equal(l.drawn[1][NET_NEXT] != l.drawn[2][NET_PREV], lies);
    }
}

/* With a check they notice: what they count is exchanged after the two exchanges of the lists. */
TEST(who_proves_does_not_count_other_uploads)
{
    for (unsigned lies = 0; lies < 2; lies++) {
        struct liars_lists l CLEAN(lists_free);
        unsigned caught = 0;
        lists_new(&l, "security: abort\n");
        l.lies = lies;
        OK(three_run(5, sit, &l, NULL));
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            caught += i != LIAR && l.result[i] == ERR_CHEAT;
            assert_int_equal(l.result[i] != ERR_OK, lies);
            assert_true(lies ? l.rounds[i] <= 3 : l.rounds[i] > 3);
        }
        assert_true(lies ? caught > 0 : caught == 0);
    }
}
