#include "tests/support/check.h"

#include "harness/cmocka.h"
#include "mpc/check/check_numbers.h"
#include "mpc/circuits/bits.h"
#include "mpc/move/move.h"

#include <openssl/sha.h>
#include <sched.h>

/* A server of a play: which one it is, for the hook. */
struct player {
    struct check_play *play;
    unsigned index;
};

static enum err on_sent(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    const struct player *who = self;
    struct check_play *play = who->play;
    assert_true(at->exchange < PLAY_ROUNDS && at->message < PLAY_MESSAGES);
    pthread_mutex_lock(&play->lock);
    bytes_put(&play->sent[who->index][at->exchange][at->to][at->message], p, n);
    pthread_mutex_unlock(&play->lock);
    if (who->index == play->cheat && play->alter != NULL)
        return play->alter(play, at, p, n);
    return ERR_OK;
}

static void on_input(void *self, const struct planes *u, size_t begin, size_t end)
{
    const struct player *who = self;
    if (who->index == who->play->cheat && who->play->input != NULL)
        who->play->input(who->play, u, begin, end);
}

static enum err on_begin(void *self)
{
    const struct player *who = self;
    const struct check_guard *guard = &who->play->guard[who->index];
    if (guard->begin != NULL)
        TRY(guard->begin(guard->self));
    who->play->begun[who->index]++;
    return ERR_OK;
}

static enum err on_end(void *self)
{
    const struct player *who = self;
    const struct check_guard *guard = &who->play->guard[who->index];
    who->play->ended[who->index]++;
    return guard->end != NULL ? guard->end(guard->self) : ERR_OK;
}

static void on_fail(void *self)
{
    const struct player *who = self;
    const struct check_guard *guard = &who->play->guard[who->index];
    struct check_play *play = who->play;
    const uint64_t exchange = net_exchanges(play->party[who->index]->net);
    pthread_mutex_lock(&play->lock);
    if (play->noticed == 0 || exchange < play->noticed)
        play->noticed = exchange;
    pthread_mutex_unlock(&play->lock);
    play->failed[who->index]++;
    if (guard->failed != NULL)
        guard->failed(guard->self);
}

static enum err sit(struct party *p, void *shared)
{
    struct check_play *play = shared;
    struct player who = {play, p->index};
    const struct hooks_tamper tamper = {on_input, on_sent, &who};
    struct check_limits limits = {0};
    enum err e = ERR_OK;
    p->log->file = NULL;
    hooks_tamper(p, &tamper);
    play->party[p->index] = p;
    if (play->limits != NULL)
        limits = *play->limits;
    limits.guard = (struct check_guard){on_begin, on_end, on_fail, &who, NULL};
    if (play->limits != NULL)
        e = check_new(p, &limits);
    if (e == ERR_OK)
        e = play->job(p, play);
    if (e == ERR_OK)
        assert_true(check_clean(p));
    if (p->index == 0)
        play->rounds = net_exchanges(p->net);
    if (e != ERR_OK)
        net_abort(p->net);
    play->result[p->index] = e;
    hooks_tamper(p, NULL);
    return e;
}

void play_run(struct check_play *play)
{
    pthread_mutex_init(&play->lock, NULL);
    enum err e = three_run(7, sit, play, NULL);
    assert_true(e != ERR_NOMEM && e != ERR_SYSTEM);
    if (play->cheat == NOBODY)
        OK(e);
}

void play_free(struct check_play *play)
{
    pthread_mutex_destroy(&play->lock);
    for (unsigned s = 0; s < 3; s++) {
        bytes_clear(&play->opened[s]);
        for (unsigned k = 0; k < PLAY_ROUNDS * 2 * PLAY_MESSAGES; k++)
            bytes_clear(&play->sent[s][0][0][0] + k);
    }
}

void play_secret(const struct party *p, const struct check_play *play, uint64_t *own,
                 uint64_t *next, size_t words, const uint64_t *more)
{
    const unsigned lacks = (play->cheat + 2) % 3;
    uint64_t *v = p->index == lacks ? own : (p->index + 1) % 3 == lacks ? next : NULL, seed = words;
    for (size_t i = 0; play->other && v != NULL && i < words; i++)
        v[i] = more != NULL ? v[i] + more[i] : v[i] ^ three_random(&seed);
}

enum err play_open(struct party *p, struct check_play *play, const struct planes *x)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t words = bits_words(x->n);
    uint64_t *out;
    TRY(scratch_array(p->scratch, &out, words));
    for (unsigned k = 0; k < x->width; k++) {
        TRY(move_open(p, OPEN_NOISY_MARGINAL, RING_BITS, OPERAND(planes_plane(x, k)), x->n, out));
        bytes_put(&play->opened[p->index], out, words * sizeof *out);
    }
    return ERR_OK;
}

void play_masked(const struct check_play *play, const struct check_play *other, uint64_t round,
                 enum net_peer to, size_t message, size_t words)
{
    for (unsigned s = 0; s < 3; s++) {
        const struct bytes *one = &play->sent[s][round][to][message];
        assert_true(one->size >= 8 * words && one->size > 0);
        for (size_t at = 0; at < (words > 0 ? 8 * words : one->size); at += 8)
            assert_memory_not_equal(one->data + at, other->sent[s][round][to][message].data + at,
                                    8);
    }
}

bool play_opened_right(const struct check_play *play, const struct check_play *honest,
                       unsigned server)
{
    const struct bytes *got = &play->opened[server], *all = &honest->opened[0];
    return got->size <= all->size &&
           (got->size == 0 || memcmp(got->data, all->data, got->size) == 0);
}

bool play_opened_all(const struct check_play *play, const struct check_play *honest,
                     unsigned server)
{
    return play_opened_right(play, honest, server) &&
           play->opened[server].size == honest->opened[0].size;
}

bool play_has_sent(struct check_play *play, unsigned server, uint64_t round, enum net_peer to)
{
    pthread_mutex_lock(&play->lock);
    bool any = play->sent[server][round][to][0].size > 0;
    pthread_mutex_unlock(&play->lock);
    return any;
}

/* u_k is sent by server k to the next, v_k by server k-1 to the one before it. */
enum err play_coin(struct check_play *play, uint64_t round, struct prg **weights)
{
    static const char label[] = "trefoil-coin-1";
    struct bytes all CLEAN(bytes_clear) = {0};
    uint8_t coin[32];
    for (unsigned k = 0; k < 6; k++)
        while (!play_has_sent(play, k % 3, round, (enum net_peer)(k / 3)))
            sched_yield();
    pthread_mutex_lock(&play->lock);
    bytes_put(&all, label, sizeof label);
    bytes_put(&all, play->sent[0][round][NET_NEXT][0].data + 48, 32);
    for (unsigned k = 0; k < 3; k++) {
        bytes_put(&all, play->sent[k][round][NET_NEXT][0].data, 16);
        bytes_put(&all, play->sent[(k + 2) % 3][round][NET_PREV][0].data, 16);
    }
    pthread_mutex_unlock(&play->lock);
    TRY(bytes_ok(&all));
    SHA256(all.data, all.size, coin);
    return prg_new(weights, coin);
}

/* --- every message, every server -------------------------------------------------------------- */

void play_judge(const struct check_play *play, const struct check_play *honest, uint64_t round,
                const char *what, bool may_go_on)
{
    may_go_on = may_go_on || round + 1 == honest->rounds;
    for (unsigned s = 0; s < 3; s++) {
        if (s == play->cheat)
            continue;
        if (!play_opened_right(play, honest, s))
            fail_msg("%s: server %u opened something else, cheat %u in round %lu", what, s,
                     play->cheat, (unsigned long)round);
        if (play->result[s] == ERR_OK && !may_go_on)
            fail_msg("%s: server %u noticed nothing, cheat %u in round %lu", what, s, play->cheat,
                     (unsigned long)round);
        if (play->result[s] == ERR_OK)
            assert_true(play_opened_all(play, honest, s));
        assert_int_equal(play->failed[s], play->result[s] == ERR_CHEAT);
        assert_in_range(play->begun[s] - play->ended[s], 0, play->result[s] != ERR_OK);
    }
}

enum err play_alter_word(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    const struct check_altering *a = play->self;
    const size_t byte = 8 * a->word;
    uint64_t w;
    const bool same = at->to == a->to ? at->message == a->message
                                      : a->both && at->message == a->other;
    if (at->exchange != a->round || !same || byte < at->offset || byte >= at->offset + n)
        return ERR_OK;
    memcpy(&w, (uint8_t *)p + byte - at->offset, 8);
    w = a->how == FLIP ? w ^ 4 : a->how == PLUS_ONE ? w + 1 : w ^ (uint64_t)1 << 63;
    memcpy((uint8_t *)p + byte - at->offset, &w, 8);
    play->altered++;
    return ERR_OK;
}

/* The message to the next server that equals this one to the previous server. */
static bool goes_to_both(const struct check_play *honest, unsigned cheat, uint64_t round,
                         unsigned m, size_t *other)
{
    const struct bytes *sent = &honest->sent[cheat][round][NET_PREV][m];
    for (*other = 0; *other < PLAY_MESSAGES; (*other)++) {
        const struct bytes *same = &honest->sent[cheat][round][NET_NEXT][*other];
        if (same->size == sent->size && memcmp(same->data, sent->data, same->size) == 0)
            return true;
    }
    return false;
}

/* The same alteration of a job on other secrets. */
static void try_other(const char *name, const struct check_play *model,
                      const struct check_play *first, struct check_altering a)
{
    struct check_play play CLEAN(play_free) = *model;
    play.cheat = first->cheat;
    play.alter = play_alter_word;
    play.self = &a;
    play.other = true;
    play_run(&play);
    if (play.noticed != first->noticed)
        fail_msg("%s: noticed in exchange %lu or %lu, depending on secrets: cheat %u in round %lu",
                 name, (unsigned long)first->noticed, (unsigned long)play.noticed, play.cheat,
                 (unsigned long)a.round);
}

static void try_word(const char *name, const struct check_play *model,
                     const struct check_play *honest, unsigned cheat, struct check_altering a,
                     bool may_go_on)
{
    struct check_play play CLEAN(play_free) = *model;
    play.cheat = cheat;
    play.alter = play_alter_word;
    play.self = &a;
    play_run(&play);
    assert_int_equal(play.altered, a.both ? 2 : 1);
    play_judge(&play, honest, a.round, name, may_go_on);
    try_other(name, model, &play, a);
}

void play_sweep(const char *name, const struct check_play *model, bool may_go_on)
{
    struct check_play honest CLEAN(play_free) = *model;
    uint64_t seed = model->n;
    const bool all = getenv("TREFOIL_LONG") != NULL;
    const unsigned of = model->sparse > 0 ? model->sparse : 3;
    honest.cheat = NOBODY;
    play_run(&honest);
    for (unsigned k = 0; k < 3 * honest.rounds * 2 * PLAY_MESSAGES; k++) {
        const unsigned cheat = k % 3, m = k / 3 % PLAY_MESSAGES, to = k / 3 / PLAY_MESSAGES % 2;
        const uint64_t round = k / 3 / PLAY_MESSAGES / 2;
        const size_t words = honest.sent[cheat][round][to][m].size / 8;
        const size_t word[3] = {0, words - 1, words > 0 ? three_random(&seed) % words : 0};
        const unsigned chosen = (unsigned)(three_random(&seed) % of);
        for (unsigned w = 0; words > 0 && w < 3; w++)
            for (unsigned how = 0; how < HOWS; how++) {
                struct check_altering a = {round, (enum net_peer)to, m, word[w], how, false, 0};
                if (!all && (w != chosen || how != (k + w) % HOWS))
                    continue;
                try_word(name, model, &honest, cheat, a, may_go_on);
                a.both = to == NET_PREV && goes_to_both(&honest, cheat, round, m, &a.other);
                if (a.both)
                    try_word(name, model, &honest, cheat, a, may_go_on);
            }
    }
}

enum err play_and(struct party *p, struct check_play *play)
{
    struct planes x CLEAN(planes_free) = {0}, y CLEAN(planes_free) = {0};
    TRY(planes_new(&x, 1, play->n));
    TRY(planes_new(&y, 1, play->n));
    TRY(bits_and(p, planes_flat(&x), planes_flat(&x), planes_flat(&y)));
    return play_open(p, play, &x);
}

static word128 word_at(enum share_ring ring, const void *v, size_t i)
{
    word128 w = 0;
    if (v != NULL && ring == RING_BITS)
        return ((const uint64_t *)v)[i / 64] >> i % 64 & 1;
    if (v != NULL)
        memcpy(&w, (const uint8_t *)v + i * ring_size(ring), ring_size(ring));
    return w;
}

word128 play_factors(const struct check_record *r, unsigned l, unsigned component, size_t i,
                     word128 *x, word128 *y)
{
    const bool words = r->form[l] == RECORD_WORDS;
    *x = word_at(words ? r->ring : RING_BITS, r->x[l][component], i);
    *y = word_at(words                         ? r->ring
                 : r->form[l] == RECORD_CHOICE ? r->narrow[l]
                                               : RING_BITS,
                 r->y[l][component], i);
    return words ? 1 : r->factor[l];
}
