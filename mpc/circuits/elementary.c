#include "mpc/circuits/elementary.h"

#include "mpc/circuits/convert.h"
#include "mpc/circuits/fixed.h"
#include "mpc/circuits/point.h"
#include "mpc/circuits/ring.h"
#include "mpc/circuits/truncate.h"

#include <string.h>

#define LOGARITHM_DEGREE 12
#define LOGARITHM_COEFFICIENT_BITS 32

/* At 60 fraction bits, a row for each segment. */
const int64_t elementary_root_of[ELEMENTARY_ROOT_SEGMENTS][ELEMENTARY_ROOT_DEGREE + 1] = {
    {1188404285385017078, 559249075475240302, -131588017758845134, 61923773274092337,
     -36425749029487623, 23997945991838862, -16939708259855447, 12593245316512967,
     -9632474273907002},
    {1256367082104027270, 528996666149040110, -111367719189259472, 46891671319509073,
     -24679827025797045, 14548033062681816, -9188225046655899, 6105196939849745, -4178054322319868},
    {1320837516300813619, 503176196686013992, -95843085083045601, 36511651495170798,
     -17386500717981723, 9272768162198536, -5298722208105178, 3183021910931197, -1970756522588317},
    {1382304323924661883, 480801503973790713, -83617652865005108, 29084401012649206,
     -12645391747154806, 6157741120221649, -3212733463313480, 1761100677660246, -995537113999916},
    {1441151880758558720, 461168601842736466, -73786976294836942, 23611832422282133,
     -9444732970055660, 4231233058504472, -2030991399961636, 1023794345239051, -532432981395350},
    {1497688967338360791, 443759694026179767, -65742176892766943, 19479163527906105,
     -7214505010885479, 2992679760111459, -1330079668139296, 620593386628854, -298833055378015},
    {1552168077999338324, 428184297379127156, -59059903086775942, 16292387060666513,
     -5618064503956916, 2169733187226959, -897820514992791, 389909352929276, -174801569941510},
    {1604798816622592884, 414141630096152629, -53437629689826030, 13790356050260950,
     -4448501951845004, 1607199531463022, -622141693523234, 252697717354381, -105977766419218},
};

/* At 32 fraction bits, on t in [0, 1]. */
static const int64_t logarithm_of[LOGARITHM_DEGREE + 1] = {
    0,         4294967262, -2147481691, 1431611617, -1073217530, 855225047, -698040161,
    555418896, -400037967, 237429866,   -104081716, 29059607,    -3808758};

/* --- the circle ------------------------------------------------------------------------------- */

/* Coordinates of points, as shares: x, y and -y. */
struct turning {
    struct share128 x, y, minus_y;
};

/* The points of component k of u, which its two holders know; the other components are 0. */
static enum err turn_component(struct party *p, struct turning *z, struct share64 u, unsigned k)
{
    const bool first = p->index == k, holds = first || (p->index + 1) % 3 == k;
    const uint64_t *known = first ? u.a : u.b;
    word128 *words[3] = {NULL, NULL, NULL}, *zeros;
    TRY(scratch_array(p->scratch, &zeros, u.n));
    for (unsigned c = 0; c < 3; c++)
        TRY(scratch_array(p->scratch, &words[c], u.n));
    memset(zeros, 0, u.n * sizeof *zeros);
    for (size_t i = 0; i < u.n; i++) {
        const struct point at = holds ? point_at(known[i]) : (struct point){0, 0};
        words[0][i] = (word128)at.x;
        words[1][i] = (word128)at.y;
        words[2][i] = 0 - words[1][i];
    }
    struct share128 *const to[3] = {&z->x, &z->y, &z->minus_y};
    for (unsigned c = 0; c < 3; c++)
        *to[c] = (struct share128){first ? words[c] : zeros, first ? zeros : words[c], u.n};
    return ERR_OK;
}

/* The product of z1 and z2, as complex numbers. */
static enum err turn_on(struct party *p, struct share128 x, struct share128 y,
                        const struct turning *z1, const struct turning *z2)
{
    return ring128_sums(p,
                        (struct move_term[]){ring128_product(x, z1->x, z2->x),
                                             ring128_product(x, z1->y, z2->minus_y),
                                             ring128_product(y, z1->x, z2->y),
                                             ring128_product(y, z1->y, z2->x)},
                        2, 2);
}

/* Server 0's part of the product of the points of components 0 and 1; the others have none. */
static void turn_first(const struct party *p, word128 *x, word128 *y, struct share64 u)
{
    for (size_t i = 0; i < u.n; i++) {
        struct point z = {0, 0};
        if (p->index == 0)
            z = point_turned(point_at(u.a[i]), point_at(u.b[i]));
        x[i] = (word128)z.x;
        y[i] = (word128)z.y;
    }
}

/* The same in steps that can each be checked: multiplied as shares, and truncated. */
static enum err turn_first_checked(struct party *p, struct share128 first, struct share64 u)
{
    struct turning z0, z1;
    TRY(turn_component(p, &z0, u, 0));
    TRY(turn_component(p, &z1, u, 1));
    TRY(turn_on(p, share128_view(first, 0, u.n), share128_view(first, u.n, u.n), &z0, &z1));
    return truncate_signed_ring128(p, first, first, POINT_BITS);
}

enum err elementary_circle(struct party *p, struct share128 cosine, struct share128 sine,
                           struct share64 u)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t n = u.n;
    struct turning first, last;
    struct share128 both;
    TRY(party_share128(p, &both, 2 * n));
    first.x = share128_view(both, 0, n);
    first.y = share128_view(both, n, n);
    if (party_proves(p)) {
        TRY(turn_first_checked(p, both, u));
    } else {
        turn_first(p, first.x.a, first.y.a, u);
        TRY(move_settle(p, RING_128, OPERAND(both), both.a, 2 * n, NULL));
    }
    TRY(turn_component(p, &last, u, 2));
    return turn_on(p, cosine, sine, &first, &last);
}

/* --- the root --------------------------------------------------------------------------------- */

static void subtract(struct share128 out, struct share128 x)
{
    ring128_add_scaled(out, x, (word128)0 - 1);
}

/*
 * Extends a choice among `count` to one among twice as many, by one more bit. Choices with the bit
 * are products, except the last, which is what is left of the bit.
 */
static enum err choose_further(struct party *p, struct share128 chosen, struct share128 bit,
                               size_t count)
{
    const size_t n = bit.n;
    const struct share128 last = share128_view(chosen, (2 * count - 1) * n, n);
    struct move_term terms[ELEMENTARY_ROOT_SEGMENTS / 2];
    for (size_t s = 0; s + 1 < count; s++)
        terms[s] = ring128_product(share128_view(chosen, (count + s) * n, n),
                                   share128_view(chosen, s * n, n), bit);
    if (count > 1)
        TRY(ring128_sums(p, terms, count - 1, 1));
    ring128_copy(last, bit);
    for (size_t s = 0; s + 1 < count; s++)
        subtract(last, share128_view(chosen, (count + s) * n, n));
    subtract(share128_view(chosen, 0, count * n), share128_view(chosen, count * n, count * n));
    return ERR_OK;
}

/* chosen[s n + lane] = whether `segment` is s */
static enum err choose_segment(struct party *p, struct share128 chosen,
                               const struct planes *segment)
{
    const size_t n = segment->n, lanes = 64 * bits_words(n);
    struct share128 bits;
    TRY(party_share128(p, &bits, segment->width * lanes));
    TRY(convert_bit128(p, bits, planes_flat(segment)));
    memset(chosen.a, 0, n * sizeof *chosen.a);
    memset(chosen.b, 0, n * sizeof *chosen.b);
    ring128_add_public(p, share128_view(chosen, 0, n), 1);
    for (unsigned k = 0; k < segment->width; k++)
        TRY(choose_further(p, chosen, share128_view(bits, k * lanes, n), (size_t)1 << k));
    return ERR_OK;
}

enum err elementary_root(struct party *p, struct share128 out, struct share128 x,
                         const struct planes *segment)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share128 chosen;
    if (segment->n != x.n || (size_t)1 << segment->width != ELEMENTARY_ROOT_SEGMENTS)
        return ERR_RANGE;
    TRY(party_share128(p, &chosen, ELEMENTARY_ROOT_SEGMENTS * x.n));
    TRY(choose_segment(p, chosen, segment));
    TRY(fixed_chosen_polynomial128(p, out, x, ELEMENTARY_ROOT_BITS, elementary_root_of[0],
                                   ELEMENTARY_ROOT_DEGREE, chosen));
    return truncate_signed_ring128(p, out, out, ELEMENTARY_ROOT_BITS);
}

/* --- the logarithm ---------------------------------------------------------------------------- */

enum err elementary_logarithm(struct party *p, struct share64 out, struct share64 t)
{
    TRY(fixed_polynomial64(p, out, t, ELEMENTARY_ARGUMENT_BITS, logarithm_of, LOGARITHM_DEGREE));
    return truncate_signed_ring64(p, out, out,
                                  ELEMENTARY_ARGUMENT_BITS + LOGARITHM_COEFFICIENT_BITS -
                                      ELEMENTARY_LOGARITHM_BITS);
}
