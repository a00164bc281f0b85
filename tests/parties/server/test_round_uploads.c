/*
 * parties/server/round_uploads.h at three servers whose lists disagree: they count what all hold
 * alike, all say the same about it, and nobody goes on without what the run has counted.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "parties/server/branches.h"
#include "parties/server/round.h"
#include "parties/server/round_uploads.h"

#include <openssl/sha.h>

#define CASES                                                                                      \
    216 /* for an upload: what each of three servers has of it, and whether it was counted */

enum has { NOTHING, IT, ANOTHER };

static enum has has_of(unsigned k, unsigned server)
{
    static const unsigned place[] = {1, 3, 9};
    return (enum has)(k / place[server] % 3);
}

static bool counts(unsigned k, unsigned server)
{
    return k / 27 >> server & 1;
}

/* Whether all hold the same; whether some run has counted it. */
static bool is_alike(unsigned k)
{
    return has_of(k, 0) != NOTHING && has_of(k, 1) == has_of(k, 0) && has_of(k, 2) == has_of(k, 0);
}

static bool is_counted(unsigned k)
{
    return k / 27 != 0;
}

/* The cases that exist, the run, and the result. */
struct round_uploads_world {
    bool there[CASES];
    struct study study;
    enum store_standing last[3];
    bool restored[3]; /* knows nothing of what it has counted */
    bool renames[3];  /* says that it has counted the same, under other ids */
    uint8_t bound[32];
    enum err result[3];
    bool kept[3][CASES], lacking[3][CASES];
    uint8_t digest[3][32];
    char words[3][4096];
};

static struct study_owner owner = {.name = "somebody"};

static struct round_uploads_world empty_world(void)
{
    return (struct round_uploads_world){.study = {.servers = 3, .owners = 1, .owner = &owner}};
}

static struct upload_name name_of(unsigned k, unsigned server)
{
    struct upload_name name = {.id = {[UPLOAD_ID_SIZE - 1] = (uint8_t)k}};
    name.digest[0] = (uint8_t)k;
    name.digest[1] = has_of(k, server) == ANOTHER;
    return name;
}

static enum err meet(struct party *p, void *shared)
{
    struct round_uploads_world *w = shared;
    const unsigned i = p->index;
    struct log log = {.buffer = w->words[i], .buffer_size = sizeof w->words[i]};
    struct upload_name names[2 * CASES];
    struct round_uploads u = {.study = &w->study, .last = w->last[i], .upload = names, .passed = 2};
    w->words[i][0] = '\0';
    memcpy(u.bound, w->bound, sizeof u.bound);
    for (unsigned k = 0; k < CASES; k++) {
        const struct upload_name name = name_of(k, i);
        if (w->there[k] && has_of(k, i) != NOTHING)
            names[u.count++] = name;
        if (w->there[k] && counts(k, i) && !w->restored[i] && !w->renames[i])
            bytes_put(&u.counted, name.id, sizeof name.id);
    }
    for (unsigned k = 0; k < CASES && w->renames[i]; k++) {
        if (!w->there[k] || !counts(k, i))
            continue;
        names[u.count] = name_of(k, i);
        names[u.count].id[0] = 1;
        bytes_put(&u.counted, names[u.count++].id, UPLOAD_ID_SIZE);
    }
    w->result[i] = round_uploads(p->net, &u, w->digest[i], &log);
    for (size_t k = 0; k < u.kept; k++)
        w->kept[i][names[k].id[UPLOAD_ID_SIZE - 1]] = true;
    for (size_t at = UPLOAD_ID_SIZE; at <= u.lacking.size; at += UPLOAD_ID_SIZE)
        w->lacking[i][u.lacking.data[at - 1]] = true;
    bytes_clear(&u.counted);
    bytes_clear(&u.lacking);
    if (w->result[i] != ERR_OK)
        net_abort(p->net);
    return ERR_OK;
}

static void run(struct round_uploads_world *w)
{
    OK(three_run(1, meet, w, NULL));
}

/* The digest of what `of` has counted, or of all that is alike. */
static void digest_of(const struct round_uploads_world *w, unsigned of, bool closed,
                      uint8_t digest[32])
{
    struct bytes all CLEAN(bytes_clear) = {0};
    for (unsigned k = 0; k < CASES; k++)
        if (w->there[k] && is_alike(k) && (!closed || counts(k, of))) {
            bytes_put(&all, name_of(k, 0).id, UPLOAD_ID_SIZE);
            bytes_put(&all, name_of(k, 0).digest, 32);
        }
    SHA256(all.size > 0 ? all.data : digest, all.size, digest);
}

/*
 * What is counted when everything may be, or when what the run has not counted yet must stay out:
 * each server knows that of itself, or from `of`.
 */
static void expect_kept(const struct round_uploads_world *w, unsigned i, unsigned of, bool closed)
{
    uint8_t digest[32];
    for (unsigned k = 0; k < CASES; k++) {
        assert_int_equal(w->kept[i][k], w->there[k] && is_alike(k) && (!closed || counts(k, of)));
        assert_int_equal(w->lacking[i][k],
                         w->there[k] && has_of(k, i) != NOTHING && has_of(k, 2) == NOTHING);
    }
    digest_of(w, of, closed, digest);
    OK(w->result[i]);
    assert_memory_equal(w->digest[i], digest, sizeof digest);
}

TEST(what_all_hold_alike_is_counted)
{
    struct round_uploads_world w = empty_world();
    for (unsigned k = 0; k < CASES; k++)
        w.there[k] = is_alike(k) || !is_counted(k);
    run(&w);
    for (unsigned i = 0; i < 3; i++)
        expect_kept(&w, i, i, false);
}

/* Whether server i says that `of` says that the run has counted what i has not, or the reverse. */
static bool names(const struct round_uploads_world *w, unsigned i, unsigned of, bool counted)
{
    char says[80];
    snprintf(says, sizeof says, "server %u says that this run has %scounted the rows of", of,
             counted ? "" : "not ");
    return strstr(w->words[i], says) != NULL;
}

/* What a server has counted must be the same at all; what another says that it has is not. */
TEST(nobody_goes_on_without_what_was_counted)
{
    for (unsigned k = 0; k < CASES; k++) {
        struct round_uploads_world w = empty_world();
        const bool lost = has_of(k, 0) + has_of(k, 1) + has_of(k, 2) == NOTHING;
        if (is_alike(k) || !is_counted(k))
            continue;
        w.there[k] = true;
        w.there[13 + 7 * 27] = true; /* all hold it, and have counted it */
        run(&w);
        for (unsigned i = 0; i < 3; i++) {
            unsigned first = i; /* that holds it, after this server itself */
            while (!lost && has_of(k, first) == NOTHING)
                first = (first + 1) % 3;
            assert_int_equal(w.result[i], counts(k, i) ? ERR_MISMATCH : ERR_OK);
            for (unsigned s = 0; s < 3; s++)
                assert_int_equal(names(&w, i, s, counts(k, s)), counts(k, s) != counts(k, i));
            if (lost && counts(k, i))
                support_says(w.words[i], "an upload that no server holds any more");
            for (unsigned s = 0; s < 3 && !lost && counts(k, i); s++) {
                char says[64];
                snprintf(says, sizeof says, "but server %u does not hold them any more", s);
                assert_int_equal(strstr(w.words[i], says) != NULL,
                                 has_of(k, s) != has_of(k, first));
            }
        }
    }
}

/* Late uploads: not in a round that may be played again, nor where nobody may join. */
TEST(what_came_later_is_counted_if_it_may)
{
    static const enum store_standing standings[] = {STANDING_NONE, STANDING_LOST, STANDING_BOUND,
                                                    STANDING_INDEX, STANDING_OPENED};
    for (unsigned mix = 0; mix < 2 * 125; mix++) {
        struct round_uploads_world w = empty_world();
        const unsigned at[] = {mix % 5, mix / 5 % 5, mix / 25 % 5};
        unsigned opened = 0;
        bool lost = false;
        w.study.late_join = mix >= 125;
        for (unsigned k = 0; k < CASES; k++)
            w.there[k] = is_alike(k);
        for (unsigned i = 0; i < 3; i++) {
            w.last[i] = standings[at[i]];
            opened += w.last[i] == STANDING_OPENED;
            lost = lost || w.last[i] == STANDING_LOST;
        }
        run(&w);
        for (unsigned i = 0; i < 3; i++)
            expect_kept(&w, i, i,
                        w.last[i] != STANDING_NONE &&
                            (!w.study.late_join || (opened < 2 && !lost)));
    }
}

/* All hold what the run has counted, and what came later. A server in `of` says that it counted
 * what is not in the ledger: more, or less. */
static struct round_uploads_world world_after(unsigned liar, bool more)
{
    struct round_uploads_world w = empty_world();
    w.there[13] = true;
    w.there[13 + 7 * 27] = true;
    w.there[13 + (more ? 1U << liar : 7 ^ 1U << liar) * 27] = true;
    for (unsigned i = 0; i < 3; i++)
        w.last[i] = STANDING_OPENED;
    digest_of(&w, (liar + 1) % 3, true, w.bound);
    return w;
}

/* A liar has nothing counted that came too late, and nothing left out: it is named. */
TEST(no_server_alone_says_what_was_counted)
{
    for (unsigned k = 0; k < 6; k++) {
        const unsigned liar = k % 3;
        struct round_uploads_world w = world_after(liar, k >= 3);
        run(&w);
        for (unsigned i = 0; i < 3; i++) {
            if (i == liar)
                continue;
            expect_kept(&w, i, i, true);
            for (unsigned s = 0; s < 3; s++)
                assert_int_equal(names(&w, i, s, k >= 3), s == liar);
        }
    }
}

/* Who was restored has no list: it takes the one that is in the ledger, whoever else lies. */
TEST(who_was_restored_believes_the_ledger)
{
    for (unsigned k = 0; k < 12; k++) {
        const unsigned liar = k % 3, restored = (liar + 1 + k / 6) % 3;
        struct round_uploads_world w = world_after(liar, k % 6 >= 3);
        w.restored[restored] = true;
        w.last[restored] = STANDING_LOST;
        run(&w);
        expect_kept(&w, restored, (liar + 1) % 3, true);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(names(&w, restored, s, k % 6 >= 3), s == liar);
    }
}

/* The same digests under other ids are another list. */
TEST(who_was_restored_believes_no_other_ids)
{
    for (unsigned k = 0; k < 6; k++) {
        const unsigned liar = k % 3, restored = (liar + 1 + k / 3) % 3;
        struct round_uploads_world w = world_after(liar, true);
        w.renames[liar] = w.restored[restored] = true;
        w.last[restored] = STANDING_LOST;
        w.there[13 + (1U << liar) * 27] = false;
        run(&w);
        expect_kept(&w, restored, (liar + 1) % 3, true);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(names(&w, restored, s, true), s == liar);
    }
}

/* Nor does a liar that holds another upload make it take the honest list for wrong. */
TEST(who_was_restored_names_who_holds_no_more)
{
    static const unsigned place[] = {1, 3, 9};
    for (unsigned k = 0; k < 6; k++) {
        const unsigned liar = k % 3, restored = (liar + 1 + k / 3) % 3, third = 3 - liar - restored;
        const unsigned lost = 2 * place[liar] + place[third] + 7 * 27;
        const struct upload_name name = name_of(lost, third);
        struct round_uploads_world w = empty_world();
        uint8_t item[UPLOAD_ID_SIZE + 32];
        w.there[lost] = w.restored[restored] = true;
        w.last[0] = w.last[1] = w.last[2] = STANDING_LOST;
        memcpy(item, name.id, UPLOAD_ID_SIZE);
        memcpy(item + UPLOAD_ID_SIZE, name.digest, 32);
        SHA256(item, sizeof item, w.bound);
        run(&w);
        assert_int_equal(w.result[restored], ERR_MISMATCH);
        for (unsigned s = 0; s < 3; s++) {
            char says[64];
            snprintf(says, sizeof says, "but server %u does not hold them any more", s);
            assert_int_equal(strstr(w.words[restored], says) != NULL, s != third);
        }
    }
}

/* Two that were restored can go on with what the third has; but not if that is not so. */
TEST(who_was_restored_does_not_guess)
{
    for (unsigned k = 0; k < 12; k++) {
        const unsigned has = k % 3;
        const bool lies = k >= 6, join = k / 3 % 2;
        struct round_uploads_world w = world_after(has, true);
        w.study.late_join = join;
        if (!lies)
            digest_of(&w, has, true, w.bound);
        for (unsigned i = 0; i < 3; i++) {
            w.restored[i] = i != has;
            w.last[i] = i != has ? STANDING_LOST : STANDING_OPENED;
        }
        run(&w);
        for (unsigned i = 0; i < 3; i++)
            if (!lies || join)
                expect_kept(&w, i, has, !join);
            else if (i != has)
                assert_int_equal(w.result[i], ERR_MISMATCH);
    }
}

/* --- branches --------------------------------------------------------------------------------- */

#define ITEM 24

/* Three lists, and each server's result from those of its neighbours. */
struct round_uploads_lists {
    uint8_t item[3][3000][ITEM];
    size_t count[3];
    bool lies; /* server 0, about its branches */
    enum err result[3];
};

/* In the order of k: keys that differ only in their last bytes, or in the first ones. */
static void put_item(uint8_t item[ITEM], unsigned k, bool crowded)
{
    uint8_t *key = item + (crowded ? BRANCH_KEY - 2 : 0);
    memset(item, 0, ITEM);
    key[0] = (uint8_t)(k >> 4);
    key[1] = (uint8_t)(k << 4);
}

/* Every so-many-th item is missing at one server, or is a different one there. */
static struct round_uploads_lists *make_lists(unsigned n, unsigned missing, unsigned altered,
                                              bool crowded)
{
    struct round_uploads_lists *l;
    OK(memory_new(&l, 1));
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < 3; i++) {
            uint8_t *item = l->item[i][l->count[i]];
            if (missing > 0 && k % missing == 0 && k / missing % 3 == i)
                continue;
            put_item(item, k, crowded);
            item[ITEM - 1] = altered > 0 && k % altered == 1 && k / altered % 3 == i;
            l->count[i]++;
        }
    return l;
}

static enum err bring_together(struct party *p, void *shared)
{
    struct round_uploads_lists *l = shared;
    const unsigned i = p->index;
    struct branch_card card[2];
    void *theirs[2] = {NULL, NULL};
    uint8_t said[16 * 36] = {0}, came[2][sizeof said];
    for (unsigned k = 0; k < 2; k++) {
        const unsigned j = net_index_of(i, (enum net_peer)k);
        card[k] = branch_card(l->item[j], l->count[j], ITEM);
    }
    l->result[i] = l->lies && i == 0
                       ? round_broadcast(p->net, said, sizeof said, came[0], came[1])
                       : branches_meet(p->net, l->item[i], l->count[i], ITEM, card, theirs);
    for (unsigned k = 0; k < 2 && l->result[i] == ERR_OK && !l->lies; k++) {
        const unsigned j = net_index_of(i, (enum net_peer)k);
        if (memcmp(theirs[k], l->item[j], l->count[j] * ITEM) != 0)
            l->result[i] = ERR_DATA;
    }
    for (unsigned k = 0; k < 2; k++)
        memory_free(&theirs[k]);
    if (l->result[i] != ERR_OK)
        net_abort(p->net);
    return ERR_OK;
}

TEST(neighbours_lists_come_whole)
{
    static const struct {
        unsigned n, missing, altered;
    } cases[] = {{0, 1, 0},   {1, 1, 0},    {32, 5, 7},      {33, 5, 7},     {200, 1, 0},
                 {200, 2, 3}, {3000, 1, 1}, {3000, 100, 37}, {3000, 2999, 0}};
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        const unsigned n = cases[k / 2].n;
        struct round_uploads_lists *l CLEAN(memory_release) = make_lists(
            n, cases[k / 2].missing, cases[k / 2].altered, k % 2);
        OK(three_run(1, bring_together, l, NULL));
        for (unsigned i = 0; i < 3; i++)
            OK(l->result[i]);
    }
}

/* SplitMix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, BRANCH_KEY);
}

/*
 * Many keys with the same first digits, so that branches end at many depths. Two servers have most
 * of what the third has; server 0 may have a key more often than a branch has items.
 */
static struct round_uploads_lists *draw_lists(uint64_t seed)
{
    static uint8_t all[1500][ITEM];
    const unsigned n = (unsigned)(draw(&seed) % 1500), keep = 1 + (unsigned)(draw(&seed) % 40);
    struct round_uploads_lists *l;
    OK(memory_new(&l, 1));
    for (unsigned k = 0; k < n; k++) {
        const size_t like = draw(&seed) % 4 * (draw(&seed) % 4);
        for (size_t i = 0; i < ITEM; i++)
            all[k][i] = i < like ? 0x70 : (uint8_t)draw(&seed);
    }
    qsort(all, n, sizeof *all, compare_keys);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < n; k++)
            if (draw(&seed) % 40 < keep)
                memcpy(l->item[i][l->count[i]++], all[k], ITEM);
    size_t repeats = draw(&seed) % 4 == 0 ? 200 : 0;
    for (size_t k = 1; k < l->count[0] && k < repeats; k++)
        memcpy(l->item[0][k], l->item[0][0], BRANCH_KEY);
    return l;
}

TEST(lists_drawn_by_lot_come_whole)
{
    for (uint64_t seed = 0; seed < 16; seed++) {
        struct round_uploads_lists *l CLEAN(memory_release) = draw_lists(seed);
        OK(three_run(1, bring_together, l, NULL));
        for (unsigned i = 0; i < 3; i++)
            OK(l->result[i]);
    }
}

/* Two differences in 3000 items: moves some branches and 200 items at most, not the lists. */
TEST(what_is_alike_does_not_move)
{
    struct round_uploads_lists *l CLEAN(memory_release) = make_lists(3000, 2999, 0, false);
    struct three_costs costs;
    OK(three_run(1, bring_together, l, &costs));
    assert_int_equal(costs.rounds, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_true(costs.sent[i] < 2 * (3 * 16 * 36 + 32 * ITEM));
}

TEST(branches_have_to_add_up)
{
    struct round_uploads_lists *l CLEAN(memory_release) = make_lists(200, 3, 0, false);
    l->lies = true;
    OK(three_run(1, bring_together, l, NULL));
    for (unsigned i = 1; i < 3; i++)
        assert_int_equal(l->result[i], ERR_CHEAT);
}

/* --- who lists what no server can hold -------------------------------------------------------- */

#define ENTRY (UPLOAD_ID_SIZE + 32 + 4 + 2)

/* Two uploads at server 0, as it lists them; the two others have none. */
struct round_uploads_claim {
    struct study study;
    uint8_t list[2][ENTRY];
    enum err result[3];
};

static enum err hear_claim(struct party *p, void *shared)
{
    struct round_uploads_claim *c = shared;
    struct log log = {.file = NULL};
    struct round_uploads u = {.study = &c->study};
    uint8_t digest[32], card[40] = {2}, came[2][sizeof card];
    struct net_exchange r = {.send = {c->list, c->list},
                             .send_size = {sizeof c->list, sizeof c->list}};
    if (p->index != 0) {
        c->result[p->index] = round_uploads(p->net, &u, digest, &log);
        bytes_clear(&u.lacking);
        return ERR_OK;
    }
    TRY(round_broadcast(p->net, card, sizeof card, came[0], came[1]));
    return net_exchange(p->net, &r);
}

TEST(lists_that_are_not_in_order_are_refused)
{
    static const struct {
        uint8_t id[2], owner;
        enum err expected;
    } cases[] = {{{1, 2}, 0, ERR_OK},
                 {{2, 1}, 0, ERR_FORMAT},
                 {{1, 1}, 0, ERR_FORMAT},
                 {{1, 2}, 1, ERR_FORMAT}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct round_uploads_claim c = {.study = empty_world().study};
        for (unsigned i = 0; i < 2; i++) {
            c.list[i][0] = cases[k].id[i];
            c.list[i][UPLOAD_ID_SIZE + 32] = i == 1 ? cases[k].owner : 0;
            c.list[i][ENTRY - 1] = 1; /* held */
        }
        OK(three_run(1, hear_claim, &c, NULL));
        for (unsigned i = 1; i < 3; i++)
            assert_int_equal(c.result[i], cases[k].expected);
    }
}

/* However many uploads there are: if all hold the same, one exchange of forty bytes. */
static enum err hold_alike(struct party *p, void *shared)
{
    struct round_uploads_world *w = shared;
    struct log log = {.buffer = w->words[p->index], .buffer_size = sizeof w->words[0]};
    struct upload_name *names CLEAN(memory_release) = NULL;
    struct round_uploads u = {.study = &w->study, .count = 5000};
    TRY(memory_new(&names, u.count));
    u.upload = names;
    for (unsigned k = 0; k < u.count; k++)
        for (unsigned i = 0; i < 4; i++)
            names[k].id[12 + i] = (uint8_t)(k >> (24 - 8 * i));
    TRY(round_uploads(p->net, &u, w->digest[p->index], &log));
    return u.kept == u.count ? ERR_OK : ERR_DATA;
}

TEST(lists_that_are_alike_do_not_move)
{
    struct round_uploads_world w = empty_world();
    struct three_costs costs;
    OK(three_run(1, hold_alike, &w, &costs));
    assert_int_equal(costs.rounds, 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(costs.sent[i], 2 * 40);
        assert_memory_equal(w.digest[i], w.digest[0], 32);
    }
}
