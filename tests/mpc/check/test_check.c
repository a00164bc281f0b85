/*
 * mpc/check/check.h among three servers that follow the protocol: they open what they open without
 * a check, in six more rounds; all that is sent is masked.
 */
#include "harness/cmocka.h"

#include "mpc/circuits/adder.h"
#include "mpc/circuits/bits.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/open.h"
#include "tests/support/check.h"

#define WIDTH 5

/* --- the same is opened ----------------------------------------------------------------------- */

/* Sums in place, of one product and of several. */
static enum err add(struct party *p, struct check_play *play)
{
    struct planes x CLEAN(planes_free) = {0}, y CLEAN(planes_free) = {0},
                    z CLEAN(planes_free) = {0};
    TRY(three_share_planes(p, &x, three_values(), play->n, WIDTH, 3));
    TRY(three_share_planes(p, &y, three_values() + 1, play->n, WIDTH, 4));
    TRY(planes_new(&z, 1, play->n));
    TRY(adder_add(p, y, &x, &y, false));
    const struct bits out = planes_flat(&z), a = planes_plane(&x, 1), b = planes_plane(&y, 2);
    const struct move_term terms[3] = {bits_product_plus(out, a, b, planes_plane(&x, 3)),
                                       bits_product(out, b, planes_plane(&y, 4)),
                                       bits_product(out, a, a)};
    TRY(bits_sums(p, terms, 1, 3));
    TRY(play_open(p, play, &z));
    return play_open(p, play, &y);
}

TEST(what_is_opened_is_the_same)
{
    static const size_t lengths[] = {1, 61, 64, 130, 1000, 30000};
    static const struct check_limits limits[] = {
        {.log = 0}, {.log = 1}, {.groups = 1}, {.log = 20000, .groups = 1}};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct check_play plain CLEAN(play_free) = {.job = add, .n = lengths[l], .cheat = NOBODY};
        play_run(&plain);
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            struct check_play checked CLEAN(play_free) = {
                .job = add, .limits = &limits[k], .n = lengths[l], .cheat = NOBODY};
            play_run(&checked);
            for (unsigned s = 0; s < 3; s++)
                assert_true(play_opened_all(&checked, &plain, s));
            if (k == 0)
                assert_int_equal(checked.rounds, plain.rounds + 6);
            if (k == 1)
                assert_int_equal(checked.rounds, plain.rounds + 6 * 4);
            for (unsigned s = 0; s < 3 && k < 2; s++) {
                assert_int_equal(checked.begun[s], k == 0 ? 1 : 4);
                assert_int_equal(checked.ended[s], checked.begun[s]);
                assert_int_equal(checked.failed[s], 0);
            }
        }
    }
}

/* --- what is not covered ---------------------------------------------------------------------- */

static enum err numbers(struct party *p, struct check_play *play)
{
    struct share64 x CLEAN(share64_free) = {0};
    struct move_known known = {.ring = RING_64, .n = 64};
    TRY(share64_new(&x, 64));
    known.out = OPERAND(x);
    known.known = x.a;
    if ((move_known(p, &known) != ERR_MISUSE ||
         move_settle(p, RING_64, OPERAND(x), x.a, 64, NULL) != ERR_MISUSE ||
         net_exchanges(p->net) != 0))
        return ERR_FORMAT;
    return ERR_OK;
}

TEST(what_nobody_could_note_is_refused)
{
    static const struct check_limits limits;
    struct check_play play CLEAN(play_free) = {.job = numbers, .limits = &limits, .cheat = NOBODY};
    play_run(&play);
}

/* --- what is sent ----------------------------------------------------------------------------- */

/* Relations with zeros only, in all components: so only masks are sent. */
static enum err nothing(struct party *p, struct check_play *play)
{
    struct planes x CLEAN(planes_free) = {0}, y CLEAN(planes_free) = {0};
    uint64_t out[64];
    TRY(planes_new(&x, 1, play->n));
    TRY(planes_new(&y, 1, play->n));
    TRY(bits_and(p, planes_flat(&x), planes_flat(&y), planes_flat(&y)));
    TRY(play_open(p, play, &x));
    const struct share64 product = {y.a, y.b, bits_words(play->n)};
    TRY(open_products(p, OPEN_NOISY_MARGINAL, product, product, out));
    /* whether they fit must still be told */
    return check_clean(p) ? ERR_FORMAT : p->recorder->calls->rode(p, true);
}

static int compare_words(const void *x, const void *y)
{
    return memcmp(x, y, 8);
}

TEST(every_word_is_masked)
{
    static const struct check_limits limits;
    struct check_play play CLEAN(play_free) = {
        .job = nothing, .limits = &limits, .n = 1000, .cheat = NOBODY};
    const struct {
        uint64_t round;
        enum net_peer to;
        size_t message, words;
    } messages[] = {{2, NET_PREV, 0, 729},
                    {4, NET_PREV, 0, 729 + 65},
                    {6, NET_NEXT, 0, 2 * 8},
                    {9, NET_PREV, 1, 16}};
    struct bytes all CLEAN(bytes_clear) = {0};
    play_run(&play);
    for (unsigned s = 0; s < 3; s++)
        for (unsigned k = 0; k < sizeof messages / sizeof *messages; k++) {
            const struct bytes *sent =
                &play.sent[s][messages[k].round][messages[k].to][messages[k].message];
            assert_true(sent->size >= 8 * messages[k].words);
            bytes_put(&all, sent->data, 8 * messages[k].words);
        }
    OK(bytes_ok(&all));
    qsort(all.data, all.size / 8, 8, compare_words);
    for (size_t i = 8; i < all.size; i += 8)
        assert_memory_not_equal(all.data + i - 8, all.data + i, 8);
}

/* Beyond their end, vectors hold bits that nobody vouches for. */
static enum err open_with_more(struct party *p, struct check_play *play)
{
    struct planes x CLEAN(planes_free) = {0};
    uint64_t out[2 * 3];
    TRY(planes_new(&x, 2, play->n));
    memset(x.a, 0xff, 2 * bits_words(play->n) * 8);
    memset(x.b, 0xff, 2 * bits_words(play->n) * 8);
    TRY(move_reveal(p, 0, &x, out));
    x.width = 1;
    return play_open(p, play, &x);
}

TEST(lanes_past_the_end_do_not_leave)
{
    static const struct check_limits limits;
    static const uint64_t cleared[] = {UINT64_MAX, UINT64_MAX, 3, UINT64_MAX, UINT64_MAX, 3};
    struct check_play play CLEAN(play_free) = {
        .job = open_with_more, .limits = &limits, .n = 130, .cheat = NOBODY};
    play_run(&play);
    for (unsigned to = 0; to < 2; to++)
        assert_memory_equal(play.sent[0][0][to][0].data, cleared, sizeof cleared);
    for (unsigned s = 0; s < 3; s++)
        assert_memory_equal(play.sent[s][1][NET_NEXT][0].data, cleared, sizeof cleared / 2);
}

MAIN(three_each_kernel())
