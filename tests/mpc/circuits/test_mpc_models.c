/*
 * The arrows of docs/protocols.md in rings so small that every key is tried: what a protocol
 * computes is right, and what a server receives is uniform whatever its own components and masks
 * are, and whatever the others hold.
 */
#include "harness/cmocka.h"

/* --- views ------------------------------------------------------------------------------------ */

#define OWN 256 /* what a server may have drawn */
#define SEEN 16 /* what it may receive */

/* How often each server saw what, given what it knew. */
struct views {
    unsigned count[3][OWN][SEEN];
};

/* Digits of base 4, one after the other. */
static unsigned digits(const unsigned *d, size_t n)
{
    unsigned all = 0;
    for (size_t i = 0; i < n; i++)
        all = 4 * all + d[i] % 4;
    return all;
}

#define DIGITS(...)                                                                                \
    digits((const unsigned[]){__VA_ARGS__},                                                        \
           sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* For everything that a server knew, each of the `seen` possible values came equally often. */
static void expect_uniform(const struct views *v, unsigned server, unsigned seen)
{
    for (unsigned own = 0; own < OWN; own++)
        for (unsigned s = 1; s < SEEN; s++)
            assert_int_equal(v->count[server][own][s], s < seen ? v->count[server][own][0] : 0);
}

/* --- a value of one server times a value of the two others ------------------------------------ */

static void a_known_product(unsigned a, unsigned b)
{
    static struct views v;
    memset(&v, 0, sizeof v);
    for (unsigned keys = 0; keys < 256; keys++) {
        const unsigned f = keys % 4, f1 = keys / 4 % 4, g = keys / 16 % 4, h = keys / 64;
        const unsigned m = (a - f - f1) % 4, from_j2 = f * b + g, from_j1 = f1 * b + h;
        assert_int_equal((from_j2 + from_j1 + (m * b - g - h)) % 4, a * b % 4);
        v.count[0][DIGITS(f, f1)][DIGITS(from_j2, from_j1)]++;
        v.count[1][DIGITS(f1, g, h)][m]++;
        v.count[2][DIGITS(f, g, h)][m]++;
    }
    expect_uniform(&v, 0, 16);
    expect_uniform(&v, 1, 4);
    expect_uniform(&v, 2, 4);
}

TEST(known_products)
{
    for (unsigned a = 0; a < 4; a++)
        for (unsigned b = 0; b < 4; b++)
            a_known_product(a, b);
}

/* --- numbers that bits choose ----------------------------------------------------------------- */

/* The parts of x = x_j + x_(j+1) + x_(j+2), in Z_4 or over XOR. */
struct parted {
    unsigned j, j1, j2;
};

static void a_choice(struct parted s, struct parted v)
{
    static struct views views;
    const unsigned t = s.j ^ s.j1, u = s.j2, known = v.j + v.j1, product = t * known;
    const unsigned w = v.j2 - 2 * u * v.j2;
    memset(&views, 0, sizeof views);
    for (unsigned keys = 0; keys < 4096; keys++) {
        const unsigned f = keys % 4, f1 = keys / 4 % 4, e = keys / 16 % 4, e1 = keys / 64 % 4;
        const unsigned g = keys / 256 % 4, h = keys / 1024;
        const unsigned m = product - f - f1, n = t - e - e1;
        const unsigned from_j2 = f + u * (v.j - 2 * f) + e * w + g;
        const unsigned from_j1 = f1 + u * (v.j1 - 2 * f1) + e1 * w + h;
        const unsigned last = m - 2 * u * m + n * w + u * v.j2 - g - h;
        assert_int_equal((from_j2 + from_j1 + last) % 4, (t ^ u) * (v.j + v.j1 + v.j2) % 4);
        views.count[0][DIGITS(f, f1, e, e1)][DIGITS(from_j2, from_j1)]++;
        views.count[1][DIGITS(f1, e1, g, h)][DIGITS(m, n)]++;
        views.count[2][DIGITS(f, e, g, h)][DIGITS(m, n)]++;
    }
    for (unsigned server = 0; server < 3; server++)
        expect_uniform(&views, server, 16);
}

TEST(choices)
{
    for (unsigned k = 0; k < 8 * 64; k++)
        a_choice((struct parted){k % 2, k / 2 % 2, k / 4 % 2},
                 (struct parted){k / 8 % 4, k / 32 % 4, k / 128});
}

/* --- carries of digits ------------------------------------------------------------------------ */

#define DIGIT 2 /* bits */
#define N (1u << DIGIT)

/* Bit v of `shares` is that of y(v), v from 1 on: y(0) is 0 and y(N) is `last`. */
static unsigned at_digit(unsigned shares, unsigned v, unsigned last)
{
    return v == 0 ? 0 : v == N ? last : shares >> v & 1;
}

/* g and p of one share */
static unsigned chosen(unsigned shares, unsigned b, unsigned last)
{
    const unsigned g = at_digit(shares, b, last);
    return g | (g ^ at_digit(shares, b + 1, last)) << 1;
}

static void a_carry(unsigned a, unsigned b)
{
    static struct views views;
    unsigned y = 0;
    memset(&views, 0, sizeof views);
    for (unsigned v = 1; v < N; v++)
        y |= (unsigned)(a + v >= N) << v;
    for (unsigned keys = 0; keys < 1024; keys++) {
        const unsigned f = keys % 8 << 1, f1 = keys / 8 % 8 << 1, g = keys / 64 % 4, h = keys / 256,
                       m = y ^ f ^ f1;
        const unsigned from_j2 = chosen(f, b, 0) ^ g, from_j1 = chosen(f1, b, 0) ^ h;
        const unsigned sum = from_j2 ^ from_j1 ^ chosen(m, b, 1) ^ g ^ h;
        assert_int_equal(sum & 1, a + b >= N);
        assert_int_equal(sum >> 1, a + b == N - 1);
        views.count[0][f / 2 * 8 + f1 / 2][from_j2 * 4 + from_j1]++;
        views.count[1][f1 / 2 * 16 + g * 4 + h][m / 2]++;
        views.count[2][f / 2 * 16 + g * 4 + h][m / 2]++;
    }
    expect_uniform(&views, 0, 16);
    expect_uniform(&views, 1, 8);
    expect_uniform(&views, 2, 8);
}

TEST(carries)
{
    for (unsigned k = 0; k < N * N; k++)
        a_carry(k % N, k / N);
}

/* --- truncation ------------------------------------------------------------------------------- */

#define K 6 /* bits of the ring */

/* The value from all shares of all v < 2^(K-1), at each shift: one floor with its offset. */
TEST(truncation_of_all_shares)
{
    for (unsigned v = 0; v < 1u << (K - 1); v++)
        for (unsigned u = 0; u < 1u << K; u++)
            for (unsigned s = 1; s < K; s++) {
                const unsigned t = (v - u) % (1u << K), u_top = u >> (K - 1), t_top = t >> (K - 1);
                const unsigned product = u_top * t_top % (1u << s); /* mod 2^s is enough */
                const unsigned known = (u >> s) - (u_top << (K - s));
                const unsigned others = (t >> s) - (t_top << (K - s)) + 1;
                const unsigned got = (known + others + (product << (K - s))) % (1u << K);
                const int offset = (int)(t % (1u << s)), low = (int)v - offset;
                const int floor = low >= 0 ? low >> s : -((-low + (1 << s) - 1) >> s);
                assert_int_equal(got, (unsigned)(floor + 1) % (1u << K));
            }
}

/* --- truncation under a check ----------------------------------------------------------------- */

#define CHECKED_K 5 /* bits of the largest ring; widened ones have 3 */

/* The pairs that make a + b with each carry: there is one answer. */
TEST(carries_have_one_solution)
{
    for (unsigned a = 0; a < 1u << CHECKED_K; a++)
        for (unsigned b = 0; b < 1u << CHECKED_K; b++) {
            unsigned solutions = 0;
            for (unsigned c = 0; c < 2u << CHECKED_K; c++) {
                const unsigned low = (1u << CHECKED_K) - 1;
                if ((c & 1) != 0 || ((((a ^ c) & (b ^ c)) ^ (c >> 1) ^ c) & low) != 0)
                    continue;
                assert_int_equal(c, (a + b) ^ a ^ b); /* the carry out is the sum's bit K */
                solutions++;
            }
            assert_int_equal(solutions, 1);
        }
}

/* From k bits to `to`, as in mpc/circuits/truncate_body.inc; `even`: 1 if all values are even. */
struct truncation {
    unsigned k, to, s, even;
};

static unsigned modulo(unsigned x, unsigned bits)
{
    return x % (1u << bits);
}

/* Both sides, less out; s, t: components of carries; top: any number, T modulo 2^(to-lift). */
static unsigned without_out(const struct truncation *m, const unsigned v[3], const unsigned s[2],
                            const unsigned t[2], unsigned top)
{
    const unsigned lift = m->k - m->s, w = v[2] >> (m->k - 1);
    const unsigned shifted = (v[0] >> m->s) + (v[1] >> m->s) + (v[2] >> m->s) + (v[2] & m->even);
    const unsigned left = 0u - 2 * s[0] * s[1] + (t[0] * t[1] << (lift + 1)) + (w * top << lift);
    const unsigned right = 0u - shifted - s[0] - s[1] + ((t[0] + t[1] + top + w) << lift);
    return modulo(right - left, m->to);
}

/* What the protocol gives for all keys: without a check, and by its relation alone. */
static void expect_truncated(const struct truncation *m, const unsigned v[3], unsigned right)
{
    const unsigned u = modulo(v[0] + v[1], m->k), lift = m->k - m->s, after = m->s > m->even;
    const unsigned carries = (v[0] + v[1]) ^ v[0] ^ v[1], u_top = u >> (m->k - 1);
    const unsigned carry_s = carries >> m->s & 1, carry_k = carries >> m->k & 1;
    const unsigned t_top = v[2] >> (m->k - 1), others = (v[2] >> m->s) + (v[2] & m->even);
    assert_int_equal(u_top, (v[0] ^ v[1] ^ carries) >> (m->k - 1) & 1);
    assert_int_equal(u >> m->s, (v[0] >> m->s) + (v[1] >> m->s) + carry_s - (carry_k << lift));
    assert_int_equal(
        modulo((u >> m->s) + others - ((u_top + t_top - u_top * t_top) << lift) + after, m->to),
        right);
    for (unsigned keys = 0; keys < 4; keys++)
        for (unsigned more = 0; more < 1u << lift; more++) {
            const unsigned s[2] = {keys & 1, (keys & 1) ^ carry_s};
            const unsigned t[2] = {keys >> 1, keys >> 1 ^ carry_k};
            const unsigned top = u_top + (more << (m->to - lift)); /* T is of few bits */
            unsigned holds = 0;
            for (unsigned out = 0; out < 1u << m->to; out++)
                if (modulo(out + without_out(m, v, s, t, top), m->to) == 0) {
                    assert_int_equal(modulo(out + after, m->to), right);
                    holds++;
                }
            assert_int_equal(holds, 1);
        }
}

static void all_shares(const struct truncation *m)
{
    for (unsigned x = 0; x < 1u << (m->k - 1); x += 1 + m->even)
        for (unsigned keys = 0; keys < 1u << 2 * m->k; keys++) {
            unsigned v[3] = {modulo(keys, m->k), keys >> m->k, 0};
            v[2] = modulo(x - v[0] - v[1], m->k);
            /* floor((x - v_2 mod 2^s) / 2^s) + 1; or, exact, x in a wider ring, and x / 2 */
            const unsigned low = modulo(v[2], m->s), all = 1u << m->k;
            const unsigned floor = ((x + all - low) >> m->s) - (all >> m->s);
            expect_truncated(m, v, modulo(m->to == m->k ? floor + 1 : x >> m->s, m->to));
        }
}

/*
 * With noted carries the formula gives what the protocol gives, and its relation allows nothing
 * else.
 */
TEST(a_truncation_has_one_solution)
{
    for (unsigned k = 2; k <= CHECKED_K; k++)
        for (unsigned s = 1; s < k; s++)
            all_shares(&(struct truncation){k, k, s, 0});
    for (unsigned k = 2; k <= 3; k++) {
        all_shares(&(struct truncation){k, 2 * k, 0, 0});
        all_shares(&(struct truncation){k, 2 * k, 1, 1});
    }
}
