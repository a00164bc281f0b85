/*
 * What moves send and how often, compared with the same without a check: all except the flush that
 * proves them, whose costs are in tests/mpc/proof/test_check_flush.c.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/check/check_private.h"
#include "mpc/circuits/compare.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/truncate.h"

#define N_MAX 8200

struct check_costs_run {
    enum err (*move)(struct party *p, const struct share64 *x, const struct planes *bits);
    size_t n;
    bool checked;
};

/* Compares what was heard, as a flush would, but proves nothing. */
static enum err end(struct party *p)
{
    TRY(record_agree(p));
    check_bit_log_clear(&check_of(p)->bits);
    check_numbers_clear(&check_of(p)->numbers);
    return ERR_OK;
}

static enum err sit(struct party *p, void *shared)
{
    static const struct check_limits limits = {.log = (size_t)1 << 30};
    static const uint64_t values[N_MAX] = {1, 2, 3};
    const struct check_costs_run *r = shared;
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 x CLEAN(share64_free) = {0};
    struct planes bits CLEAN(planes_free) = {0};
    TRY(r->checked ? check_new(p, &limits) : ERR_OK);
    TRY(three_share64(p, &x, values, r->n, 5));
    TRY(three_share_planes(p, &bits, values, r->n, 2, 6));
    TRY(r->move(p, &x, &bits));
    if (r->checked)
        TRY(end(p));
    return ERR_OK;
}

/* --- moves ------------------------------------------------------------------------------------ */

static enum err top_bit(struct party *p, const struct share64 *x, const struct planes *bits)
{
    return compare_top_bit(p, planes_plane(bits, 0), *x, 46);
}

static enum err wide_top_bit(struct party *p, const struct share64 *x, const struct planes *bits)
{
    return compare_top_bit(p, planes_plane(bits, 0), *x, 58);
}

static enum err widest_top_bit(struct party *p, const struct share64 *x, const struct planes *bits)
{
    return compare_top_bit(p, planes_plane(bits, 0), *x, 64);
}

static enum err number(struct party *p, const struct share64 *x, const struct planes *bits)
{
    return convert_bit64(p, *x, planes_plane(bits, 0));
}

static enum err truncated(struct party *p, const struct share64 *x, const struct planes *bits)
{
    return truncate_signed_ring64(p, *x, *x, 7);
}

static enum err widened(struct party *p, const struct share64 *x, const struct planes *bits)
{
    struct share128 wide;
    TRY(party_share128(p, &wide, x->n));
    TRY(truncate_widen64(p, wide, *x));
    return truncate_signed_ring128(p, wide, wide, 70);
}

static enum err chosen(struct party *p, const struct share64 *x, const struct planes *bits)
{
    const size_t start[] = {0, 5, x->n};
    struct share64 sums;
    TRY(party_share64(p, &sums, 2));
    return move_choose(p, sums, planes_plane(bits, 0), *x, start);
}

/* --- costs ------------------------------------------------------------------------------------ */

/*
 * The server j of a truncation inputs as many carries as there are bits; all compare scripts once.
 */
TEST(what_a_check_adds)
{
    enum { SCRIPTS = 3 * 2 * 32 };
    static const struct {
        const char *name;
        struct check_costs_run run;
        uint64_t rounds; /* more, including the comparison of scripts */
        unsigned bits;   /* a lane more, of whole words */
    } moves[] = {
        {"46 bits", {top_bit, 200, false}, 1, 0},
        {"46 bits, many", {top_bit, 8193, false}, 1, 0},
        {"58 bits", {wide_top_bit, 8192, false}, 1, 0},
        {"58 bits, many", {wide_top_bit, 8193, false}, 1, 0},
        {"64 bits, many", {widest_top_bit, 8193, false}, 1, 0},
        {"a bit as a number", {number, 200, false}, 1, 0},
        {"a truncation", {truncated, 200, false}, 2, 64},
        {"a widening and a truncation", {widened, 200, false}, 3, 64 + 128},
        {"a choice", {chosen, 200, false}, 1, 0},
    };
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++) {
        struct check_costs_run plain = moves[k].run, checked = plain;
        struct three_costs without = {0}, with = {0};
        uint64_t bytes = SCRIPTS + 8 * moves[k].bits * bits_words(plain.n);
        checked.checked = true;
        OK(three_run(7, sit, &plain, &without));
        OK(three_run(7, sit, &checked, &with));
        for (unsigned s = 0; s < 3; s++)
            bytes += without.sent[s];
        if (with.rounds != without.rounds + moves[k].rounds ||
            with.sent[0] + with.sent[1] + with.sent[2] != bytes)
            fail_msg("%s: %llu rounds for %llu, %llu bytes, not %llu", moves[k].name,
                     (unsigned long long)with.rounds, (unsigned long long)without.rounds,
                     (unsigned long long)(with.sent[0] + with.sent[1] + with.sent[2]),
                     (unsigned long long)bytes);
    }
}
