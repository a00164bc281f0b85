/*
 * What a server receives in every protocol: uniform whatever the inputs are, and no word twice.
 *
 * Each protocol runs on inputs that are all 0, all ones and random; all that comes in (except
 * opened values) is recorded. Chi-square on the 256 values of each of the 8 bytes of a word, high
 * ones included, and between two inputs. A mask that is used twice on the same input sends the same
 * word twice. Two mutants show that the test can fail: a PRG that starts again, and zero shares
 * that cancel out.
 */
#include "harness/cmocka.h"

#include "harness/session.h"
#include "mpc/circuits/ring.h"
#include "tests/support/all.h"
#include "tests/support/hooks.h"

#define N 4096

enum mutant { SOUND, PRG_REPEATS, MASKS_CANCEL };

struct transcript {
    struct bytes received[3];
    struct hooks_watch watch[3];
    const uint64_t *values;
    size_t protocol;
    unsigned repeats;
    enum mutant mutant;
};

static void record(void *self, const void *p, size_t n)
{
    bytes_put(self, p, n);
}

static void ignore(void *self, const void *p, size_t n)
{
}

static void watch(struct party *p, struct transcript *t)
{
    t->watch[p->index] = (struct hooks_watch){record, ignore, &t->received[p->index]};
    hooks_watch(p, &t->watch[p->index]);
}

/*
 * The streams of this party's keys from the start, as three_run() gave them. With `cancel`, the
 * stream of the next key equals its own, so that their difference is 0.
 */
static enum err streams_anew(struct party *p, uint64_t seed, bool cancel)
{
    struct session *session CLEAN(session_free) = NULL;
    enum err e = session_for_test(&session, p->index, seed);
    for (unsigned side = 0; side < 2 && e == ERR_OK; side++) {
        uint8_t key[16];
        prg_free(&p->prg[side][PRG_ZERO]);
        e = session_prg_key(session, (p->index + (cancel ? 0 : side)) % 3, 0, "zero", key);
        if (e == ERR_OK)
            e = prg_new(&p->prg[side][PRG_ZERO], key);
    }
    return e;
}

static enum err job(struct party *p, void *shared)
{
    struct transcript *t = shared;
    watch(p, t);
    for (unsigned k = 0; k < t->repeats; k++) {
        struct all_secrets s = {0};
        enum err e = secrets_new(p, &s, t->values, N, 5); /* the same shares each time */
        if (e == ERR_OK && t->mutant != SOUND && (k == 0 || t->mutant == PRG_REPEATS))
            e = streams_anew(p, 9, t->mutant == MASKS_CANCEL);
        if (e == ERR_OK)
            e = all_protocols[t->protocol].run(p, &s);
        secrets_free(&s);
        TRY(e);
    }
    return ERR_OK;
}

static void transcript_free(struct transcript *t)
{
    for (int s = 0; s < 3; s++)
        bytes_clear(&t->received[s]);
}

static struct transcript listen(size_t protocol, const uint64_t *values, unsigned repeats,
                                enum mutant mutant)
{
    struct transcript t = {
        .values = values, .protocol = protocol, .repeats = repeats, .mutant = mutant};
    OK(three_run(9, job, &t, NULL));
    return t;
}

/* How many standard deviations chi-square is above its mean; the worst of the bytes of a word. */
static double worst_byte(const struct bytes *b)
{
    double worst = -1e9, expected = (double)(b->size / 8) / 256;
    for (size_t at = 0; at < 8; at++) {
        double count[256] = {0}, chi = 0;
        for (size_t i = at; i < b->size / 8 * 8; i += 8)
            count[b->data[i]]++;
        for (int v = 0; v < 256; v++)
            chi += (count[v] - expected) * (count[v] - expected) / expected;
        worst = fmax(worst, (chi - 255) / sqrt(2 * 255.0));
    }
    return worst;
}

/* The same between two transcripts of the same length: whether they come from one distribution. */
static double worst_difference(const struct bytes *x, const struct bytes *y)
{
    double worst = -1e9;
    for (size_t at = 0; at < 8; at++) {
        double a[256] = {0}, b[256] = {0}, chi = 0;
        for (size_t i = at; i < x->size / 8 * 8; i += 8) {
            a[x->data[i]]++;
            b[y->data[i]]++;
        }
        for (int v = 0; v < 256; v++)
            if (a[v] + b[v] > 0)
                chi += (a[v] - b[v]) * (a[v] - b[v]) / (a[v] + b[v]);
        worst = fmax(worst, (chi - 255) / sqrt(2 * 255.0));
    }
    return worst;
}

static int compare_words(const void *x, const void *y)
{
    uint64_t a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return a < b ? -1 : a > b;
}

/*
 * Words that occur more than once; by chance 2^-64 for each pair. Words of at most 32 bits are
 * openings of a few bits, which may repeat. Reorders the bytes.
 */
static size_t repeated(struct bytes *b)
{
    size_t words = b->size / 8, count = 0;
    qsort(b->data, words, 8, compare_words);
    for (size_t i = 1; i < words; i++) {
        uint64_t word;
        memcpy(&word, b->data + 8 * i, sizeof word);
        count += word >> 32 != 0 && compare_words(b->data + 8 * i - 8, &word) == 0;
    }
    return count;
}

#define LIMIT 6.0 /* standard deviations; with fixed seeds the verdict does not change */

static void inputs(uint64_t *values, int kind)
{
    uint64_t seed = 3;
    for (size_t i = 0; i < N; i++)
        values[i] = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : three_random(&seed);
}

TEST(what_comes_in_is_uniform_and_independent_of_inputs)
{
    static uint64_t values[3][N];
    for (int kind = 0; kind < 3; kind++)
        inputs(values[kind], kind);
    for (size_t k = 0; k < ALL_PROTOCOLS; k++) {
        struct transcript t[3];
        for (int kind = 0; kind < 3; kind++)
            t[kind] = listen(k, values[kind], 1, SOUND);
        for (int s = 0; s < 3; s++) {
            size_t bytes = t[0].received[s].size;
            assert_true(bytes >= 8 * 2048);
            for (int kind = 0; kind < 3; kind++) {
                double chi = worst_byte(&t[kind].received[s]);
                assert_int_equal(t[kind].received[s].size, bytes); /* so are the sizes */
                if (chi > LIMIT)
                    print_message("%s: server %d, input %d: %.1f deviations\n",
                                  all_protocols[k].name, s, kind, chi);
                assert_true(chi <= LIMIT);
            }
            /* one seed for all three runs: other inputs, other words, the same distribution */
            assert_true(worst_difference(&t[0].received[s], &t[2].received[s]) <= LIMIT);
        }
        for (int kind = 0; kind < 3; kind++)
            transcript_free(&t[kind]);
    }
}

TEST(no_mask_is_used_twice)
{
    static uint64_t values[N];
    inputs(values, 0);
    for (size_t k = 0; k < ALL_PROTOCOLS; k++) {
        struct transcript t CLEAN(transcript_free) = listen(k, values, 2, SOUND);
        for (int s = 0; s < 3; s++)
            assert_int_equal(repeated(&t.received[s]), 0);
    }
}

/* Protocols 0 and 1: multiplication and AND. */
TEST(a_prg_that_repeats_is_caught)
{
    static uint64_t values[N];
    inputs(values, 0);
    for (size_t k = 0; k < 2; k++) {
        struct transcript t CLEAN(transcript_free) = listen(k, values, 2, PRG_REPEATS);
        for (int s = 0; s < 3; s++)
            assert_true(repeated(&t.received[s]) > N / 64);
    }
}

static enum err plain_product(struct party *p, void *shared)
{
    struct transcript *t = shared;
    struct share64 x CLEAN(share64_free) = {0}, out CLEAN(share64_free) = {0};
    TRY(share64_new(&x, N));
    TRY(share64_new(&out, N));
    if (t->mutant == MASKS_CANCEL)
        TRY(streams_anew(p, 9, true));
    watch(p, t);
    return ring64_multiply(p, out, x, x);
}

/* On shares that are 0 there is nothing but masks: without them the words are not uniform. */
TEST(masks_that_cancel_are_caught)
{
    struct transcript sound CLEAN(transcript_free) = {0},
                            mutant CLEAN(transcript_free) = {.mutant = MASKS_CANCEL};
    OK(three_run(9, plain_product, &sound, NULL));
    OK(three_run(9, plain_product, &mutant, NULL));
    for (int s = 0; s < 3; s++) {
        assert_true(worst_byte(&sound.received[s]) <= LIMIT);
        assert_true(worst_byte(&mutant.received[s]) > LIMIT);
        assert_true(worst_difference(&sound.received[s], &mutant.received[s]) > LIMIT);
    }
}

/* Shares of nothing: what a stream of masks gives to each of its two holders. */
struct topics {
    uint8_t of[3]; /* of each server's topic */
    uint64_t a[3], b[3];
};

static enum err draw(struct party *p, void *shared)
{
    struct topics *t = shared;
    const uint8_t topic[SESSION_ID_SIZE] = {t->of[p->index]};
    struct share64 x CLEAN(share64_free) = {0};
    struct session *session CLEAN(session_free) = NULL;
    TRY(session_for_test(&session, p->index, 1));
    TRY(share64_new(&x, 1));
    TRY(party_topic(p, session, topic));
    TRY(party_random64(p, &x));
    t->a[p->index] = x.a[0];
    t->b[p->index] = x.b[0];
    return ERR_OK;
}

/* A key's two holders draw the same masks if, and only if, they compute the same. */
TEST(who_computes_something_else_masks_with_something_else)
{
    uint64_t seen[4];
    for (unsigned other = 0; other < 4; other++) { /* 3: nobody */
        struct topics t = {.of = {1, 1, 1}};
        if (other < 3)
            t.of[other] = 2;
        OK(three_run(1, draw, &t, NULL));
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(t.b[i] == t.a[(i + 1) % 3], t.of[i] == t.of[(i + 1) % 3]);
        seen[other] = t.a[1];
    }
    assert_true(seen[1] != seen[3] && seen[0] == seen[3]);
}

MAIN(three_each_kernel())
