/*
 * mpc/lattice/: the ring against schoolbook products and GMP, plans against counting by hand, and
 * counts of encrypted rows against counts of the rows; what the keeper sees is uniform and fresh.
 */
#include "harness/cmocka.h"

#include "mpc/lattice/lattice_private.h"
#include "tests/support/marks.h"

#include <gmp.h>

static struct lattice_ring *ring;

static __attribute__((constructor)) void make_ring(void)
{
    if (lattice_ring_new(&ring) != ERR_OK)
        abort();
}

static __attribute__((destructor)) void free_ring(void)
{
    lattice_ring_free(&ring);
}

static struct lattice_poly *polys(size_t n)
{
    struct lattice_poly *p = memory_words(n, sizeof *p);
    return p;
}

static void randomize(struct lattice_poly *x, uint64_t seed)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        for (size_t i = 0; i < LATTICE_N; i++)
            x->w[k][i] = three_random(&seed) % lattice_prime(ring, k)->p;
}

/* --- the ring --------------------------------------------------------------------------------- */

static void get_q(mpz_t q)
{
    mpz_init_set_ui(q, 1);
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        mpz_mul_ui(q, q, lattice_prime(ring, k)->p);
}

TEST(primes_fit_the_ring)
{
    mpz_t q;
    get_q(q);
    assert_int_equal(mpz_sizeinbase(q, 2), 212);
    for (unsigned k = 0; k < LATTICE_PRIMES; k++) {
        const uint64_t p = lattice_prime(ring, k)->p;
        assert_true(prime_is(p));
        assert_int_equal(p % (2 * LATTICE_N), 1);
        assert_int_equal(p >> LATTICE_BITS, 0);
        for (unsigned o = 0; o < k; o++)
            assert_int_not_equal(p, lattice_prime(ring, o)->p);
    }
    mpz_clear(q);
}

/* Few coefficients of y, so that the schoolbook's product takes no time; X^N is -1. */
TEST(products_are_those_of_the_schoolbook)
{
    struct lattice_poly *x = polys(4), *y = x + 1, *sum = x + 2, *right = x + 3;
    uint64_t seed = 5;
    randomize(x, 1);
    randomize(sum, 2);
    for (unsigned t = 0; t < 20; t++) {
        const size_t at = t < 2 ? t * (LATTICE_N - 1) : three_random(&seed) % LATTICE_N;
        for (unsigned k = 0; k < LATTICE_PRIMES; k++)
            y->w[k][at] = lattice_prime(ring, k)->p - 1 - three_random(&seed) % 1000;
    }
    *right = *sum;
    for (unsigned k = 0; k < LATTICE_PRIMES; k++) {
        const struct prime *f = lattice_prime(ring, k);
        for (size_t j = 0; j < LATTICE_N; j++)
            for (size_t i = 0; y->w[k][j] != 0 && i < LATTICE_N; i++) {
                const uint64_t xy = (uint64_t)((word128)x->w[k][i] * y->w[k][j] % f->p);
                uint64_t *to = &right->w[k][(i + j) % LATTICE_N];
                *to = (i + j < LATTICE_N ? *to + xy : *to + f->p - xy) % f->p;
            }
    }
    lattice_values(ring, x);
    lattice_values(ring, y);
    lattice_values(ring, sum);
    lattice_add_product(ring, sum, x, y);
    lattice_coefficients(ring, sum);
    assert_memory_equal(sum, right, sizeof *sum);
    memory_free(&x);
}

TEST(values_and_back_changes_nothing)
{
    struct lattice_poly *x CLEAN(memory_release) = polys(2);
    for (unsigned k = 0; k < LATTICE_PRIMES; k++) /* the largest words in the one, zeros last */
        for (size_t i = 0; i < LATTICE_N; i++)
            x->w[k][i] = i < LATTICE_N / 2 ? lattice_prime(ring, k)->p - 1 : 0;
    x[1] = x[0];
    lattice_values(ring, x);
    lattice_coefficients(ring, x);
    assert_memory_equal(&x[0], &x[1], sizeof *x);
}

/* An integer of one coefficient, between -q/2 and q/2. */
static void join(mpz_t v, const struct lattice_poly *x, size_t i)
{
    mpz_t q, part, inverse;
    get_q(q);
    mpz_inits(part, inverse, NULL);
    mpz_set_ui(v, 0);
    for (unsigned k = 0; k < LATTICE_PRIMES; k++) {
        mpz_t p;
        mpz_init_set_ui(p, lattice_prime(ring, k)->p);
        mpz_divexact(part, q, p);
        assert_int_not_equal(mpz_invert(inverse, part, p), 0);
        mpz_mul(part, part, inverse);
        mpz_addmul_ui(v, part, x->w[k][i]);
        mpz_clear(p);
    }
    mpz_mod(v, v, q);
    mpz_mul_2exp(part, v, 1);
    if (mpz_cmp(part, q) > 0)
        mpz_sub(v, v, q);
    mpz_clears(q, part, inverse, NULL);
}

static uint64_t low_word(const mpz_t v)
{
    mpz_t r;
    mpz_init(r);
    mpz_fdiv_r_2exp(r, v, 64);
    const uint64_t low = mpz_get_ui(r);
    mpz_clear(r);
    return low;
}

TEST(low_words_are_those_of_the_integers)
{
    struct lattice_poly *x CLEAN(memory_release) = polys(1);
    static uint64_t low[LATTICE_N];
    static const int8_t ends[] = {-21, -1, 0, 1, 21, 127, -128};
    int8_t a[LATTICE_N], b[LATTICE_N];
    mpz_t v;
    mpz_init(v);
    for (size_t i = 0; i < LATTICE_N; i++) {
        a[i] = ends[i % 7];
        b[i] = ends[i / 7 % 7];
    }
    lattice_small(ring, x, a, b);
    lattice_low(ring, x, low);
    for (size_t i = 0; i < LATTICE_N; i++) {
        join(v, x, i);
        assert_int_equal(low_word(v), (uint64_t)(int64_t)a[i]);
        assert_int_equal(low[i], (uint64_t)(int64_t)a[i]);
        assert_true(mpz_sizeinbase(v, 2) <= 72);
    }
    mpz_clear(v);
}

TEST(a_flood_is_as_wide_as_it_says)
{
    static const uint8_t key[16] = {4};
    struct lattice_poly *x CLEAN(memory_release) = polys(1);
    static uint64_t low[LATTICE_N], again[LATTICE_N];
    mpz_t v, bound;
    unsigned negative = 0, high = 0;
    mpz_inits(v, bound, NULL);
    mpz_ui_pow_ui(bound, 2, 209);
    struct prg *prg CLEAN(prg_free) = MADE(prg, prg_new, key);
    OK(lattice_flood(ring, prg, x, low));
    lattice_low(ring, x, again);
    for (size_t i = 0; i < LATTICE_N; i++) {
        join(v, x, i);
        assert_true(mpz_cmpabs(v, bound) <= 0);
        assert_int_equal(low_word(v), low[i]);
        assert_int_equal(again[i], low[i]);
        negative += mpz_sgn(v) < 0;
        high += mpz_sizeinbase(v, 2) == 209;
    }
    /* of 8192, six deviations */
    assert_in_range(negative, 4096 - 272, 4096 + 272);
    assert_in_range(high, 4096 - 272, 4096 + 272);
    mpz_clears(v, bound, NULL);
}

TEST(small_samples_have_their_laws)
{
    static const uint8_t key[16] = {5};
    int8_t x[LATTICE_N];
    unsigned third[3] = {0};
    double square = 0, sum = 0;
    struct prg *prg CLEAN(prg_free) = MADE(prg, prg_new, key);
    OK(lattice_ternary(prg, x));
    for (size_t i = 0; i < LATTICE_N; i++)
        third[x[i] + 1]++;
    for (unsigned k = 0; k < 3; k++)
        assert_in_range(third[k], 2731 - 256, 2731 + 256);
    OK(lattice_errors(prg, x));
    for (size_t i = 0; i < LATTICE_N; i++) {
        assert_in_range(x[i] + LATTICE_COINS, 0, 2 * LATTICE_COINS);
        sum += x[i];
        square += x[i] * x[i];
    }
    assert_true(sum / LATTICE_N > -.22 && sum / LATTICE_N < .22);
    assert_true(square / LATTICE_N > 9.5 && square / LATTICE_N < 11.5); /* 10.5 */
}

/* --- counts ----------------------------------------------------------------------------------- */

#define PAIRS_MAX 64
#define ATTRIBUTES_MAX 16

struct lattice_table {
    struct lattice_shape shape;
    uint32_t size[ATTRIBUTES_MAX], pair[PAIRS_MAX][2];
    uint16_t *codes;
    uint64_t *right[PAIRS_MAX], *sum[PAIRS_MAX];
};

static size_t cells_of(const struct lattice_table *t, size_t p)
{
    return (size_t)t->size[t->pair[p][0]] * t->size[t->pair[p][1]];
}

static void count(struct lattice_table *t)
{
    for (size_t p = 0; p < t->shape.pairs; p++) {
        t->right[p] = calloc(cells_of(t, p), sizeof(uint64_t));
        t->sum[p] = calloc(cells_of(t, p), sizeof(uint64_t));
        for (size_t i = 0; i < t->shape.rows; i++) {
            const uint16_t *row = t->codes + i * t->shape.attributes;
            const uint16_t a = row[t->pair[p][0]], b = row[t->pair[p][1]];
            if (a < t->size[t->pair[p][0]] && b < t->size[t->pair[p][1]])
                t->right[p][a * t->size[t->pair[p][1]] + b]++;
        }
    }
}

/* All pairs, or every other; of `rows`, some with codes that are none; `same`: all codes are 0. */
static void table_new(struct lattice_table *t, size_t rows, const uint32_t *size, size_t attributes,
                      bool all, bool same)
{
    uint64_t seed = rows;
    memset(t, 0, sizeof *t);
    memcpy(t->size, size, attributes * sizeof *size);
    t->shape = (struct lattice_shape){.rows = rows,
                                      .attributes = attributes,
                                      .size = t->size,
                                      .pair = (const uint32_t(*)[2])t->pair};
    for (uint32_t a = 0; a < attributes; a++)
        for (uint32_t b = a + 1; b < attributes; b++)
            if (all || (a + b) % 2 == 1) {
                t->pair[t->shape.pairs][0] = a;
                t->pair[t->shape.pairs++][1] = b;
            }
    t->codes = calloc(rows * attributes, sizeof *t->codes);
    for (size_t i = 0; !same && i < rows * attributes; i++)
        t->codes[i] = (uint16_t)(three_random(&seed) % (size[i % attributes] + (i % 7 == 0)));
    count(t);
}

static void table_free(struct lattice_table *t)
{
    for (size_t p = 0; p < t->shape.pairs; p++) {
        free(t->right[p]);
        free(t->sum[p]);
    }
    free(t->codes);
}

static const struct lattice_seeds seeds = {{1, 2}, {3}, {4}};

static void add_share(struct lattice_table *t, const struct lattice_plan *plan, size_t result,
                      const uint64_t *words)
{
    uint64_t *part[PAIRS_MAX];
    for (size_t p = 0; p < t->shape.pairs; p++)
        part[p] = calloc(cells_of(t, p), sizeof(uint64_t));
    lattice_plan_take(plan, result, words, part);
    for (size_t p = 0; p < t->shape.pairs; p++) {
        for (size_t c = 0; c < cells_of(t, p); c++)
            t->sum[p][c] += part[p][c];
        free(part[p]);
    }
}

/* All three play; shares of all results are added up. */
static void play(struct lattice_table *t, const struct lattice_plan *plan)
{
    static const uint8_t fresh[16] = {9};
    uint8_t *upload = malloc(lattice_upload_size(plan)), *hidden = malloc(LATTICE_RESULT_SIZE);
    static uint64_t share[LATTICE_N];
    struct lattice_products *products CLEAN(lattice_products_free) = NULL;
    struct lattice_key *key CLEAN(lattice_key_free) = NULL;
    OK(lattice_encrypt(ring, plan, t->codes, &seeds, upload));
    OK(lattice_upload_check(ring, upload, lattice_upload_size(plan)));
    OK(lattice_multiply(&products, ring, plan, upload));
    OK(lattice_key_new(&key, ring, seeds.key));
    struct prg *prg CLEAN(prg_free) = MADE(prg, prg_new, fresh);
    for (size_t k = 0; k < plan->results; k++) {
        OK(lattice_hide(products, k, prg, hidden, share));
        add_share(t, plan, k, share);
        OK(lattice_open(key, hidden, share));
        add_share(t, plan, k, share);
    }
    free(upload);
    free(hidden);
}

static void counts_fit(size_t rows, const uint32_t *size, size_t attributes, bool all, bool same)
{
    struct lattice_table t CLEAN(table_free);
    struct lattice_plan *plan CLEAN(lattice_plan_free) = NULL;
    table_new(&t, rows, size, attributes, all, same);
    OK(lattice_plan_new(&plan, &t.shape));
    assert_true(plan->left * plan->right * plan->rows <= LATTICE_N);
    play(&t, plan);
    for (size_t p = 0; p < t.shape.pairs; p++)
        assert_memory_equal(t.sum[p], t.right[p], cells_of(&t, p) * sizeof(uint64_t));
}

TEST(counts_of_encrypted_rows_are_those_of_the_rows)
{
    counts_fit(1, (const uint32_t[]){2, 3}, 2, true, false);
    counts_fit(50, (const uint32_t[]){5, 1, 9, 4}, 4, false, false);
    counts_fit(300, (const uint32_t[]){3, 70, 2}, 3, true, false);
    counts_fit(2048, (const uint32_t[]){2, 2}, 2, true, true); /* columns of ones, and U V n = N */
}

/* --- plans ------------------------------------------------------------------------------------ */

/* Sizes of the paper's tables: rows, values. What an owner sends, and what the keeper gets. */
TEST(plans_have_the_bytes_that_they_say)
{
    static const uint32_t size[] = {2, 6, 3, 11, 7, 2, 3, 2, 5, 4};
    struct lattice_table t CLEAN(table_free);
    struct lattice_plan *plan CLEAN(lattice_plan_free) = NULL;
    table_new(&t, 228, size, 10, true, false);
    OK(lattice_plan_new(&plan, &t.shape));
    assert_int_equal(LATTICE_POLY_SIZE, 217088);
    assert_int_equal(lattice_plan_fresh(plan), 42);
    assert_int_equal(plan->results, 6);
    assert_int_equal(lattice_upload_size(plan), 16 + 43 * 217088); /* 9.3 MB */
    assert_int_equal(plan->results * LATTICE_RESULT_SIZE, 18 * 217088);
}

/* Results of tiles of u and v columns: those in which some wanted pair is. */
static size_t results_with(const struct lattice_plan *plan, size_t u, size_t v)
{
    const size_t columns = plan->first[plan->shape.attributes];
    const size_t rights = (columns + v - 1) / v;
    bool *in = calloc(((columns + u - 1) / u) * rights, sizeof *in);
    size_t results = 0;
    for (size_t p = 0; p < plan->shape.pairs; p++) {
        const uint32_t *pair = plan->shape.pair[p];
        for (size_t a = plan->first[pair[0]]; a < plan->first[pair[0] + 1]; a++)
            for (size_t b = plan->first[pair[1]]; b < plan->first[pair[1] + 1]; b++) {
                results += !in[a / u * rights + b / v];
                in[a / u * rights + b / v] = true;
            }
    }
    free(in);
    return results;
}

/* What an owner sends and the keeper gets with such tiles, in polynomials. */
static size_t polys_with(const struct lattice_plan *plan, size_t u, size_t v)
{
    const size_t columns = plan->first[plan->shape.attributes], rows = plan->shape.rows;
    const size_t n = LATTICE_N / (u * v) < rows ? LATTICE_N / (u * v) : rows;
    return (rows + n - 1) / n * ((columns + u - 1) / u + (columns + v - 1) / v) +
           3 * results_with(plan, u, v);
}

/* Of all sizes, the first that take the fewest bytes: both servers and the owner find the same. */
static void is_first_of_fewest(size_t rows, const uint32_t *size, size_t attributes, bool all)
{
    struct lattice_table t CLEAN(table_free);
    struct lattice_plan *plan CLEAN(lattice_plan_free) = NULL;
    table_new(&t, rows, size, attributes, all, true);
    OK(lattice_plan_new(&plan, &t.shape));
    size_t least = polys_with(plan, plan->left, plan->right);
    assert_int_equal(least, lattice_plan_fresh(plan) + 3 * plan->results);
    for (size_t u = 1; u <= LATTICE_TILE && u <= plan->first[attributes]; u++)
        for (size_t v = 1; v <= LATTICE_TILE && v <= plan->first[attributes]; v++) {
            const bool before = u < plan->left || (u == plan->left && v < plan->right);
            assert_true(polys_with(plan, u, v) >= least + before);
        }
}

TEST(plans_take_the_fewest_bytes)
{
    is_first_of_fewest(228, (const uint32_t[]){2, 6, 3, 11, 7, 2, 3, 2, 5, 4}, 10, true);
    is_first_of_fewest(5000, (const uint32_t[]){3, 17, 2, 5}, 4, false);
    is_first_of_fewest(3, (const uint32_t[]){1, 1}, 2, true);
    is_first_of_fewest(100, (const uint32_t[]){60, 1, 40}, 3, false);
    for (uint64_t seed = 1, k = 0; k < 40; k++) {
        uint32_t some[4];
        for (unsigned a = 0; a < 4; a++)
            some[a] = 1 + (uint32_t)(three_random(&seed) % 12);
        is_first_of_fewest(1 + three_random(&seed) % 3000, some, 2 + k % 3, k % 2 == 0);
    }
}

TEST(shapes_without_room_are_refused)
{
    static const uint32_t size[] = {4000, 97}, pair[][2] = {{0, 1}}, backwards[][2] = {{1, 0}};
    struct lattice_plan *plan;
    struct lattice_shape s = {.rows = 10, .attributes = 2, .pairs = 1, .size = size, .pair = pair};
    assert_int_equal(lattice_plan_new(&plan, &s), ERR_RANGE);
    s.size = (const uint32_t[]){3, 4};
    s.pair = backwards;
    assert_int_equal(lattice_plan_new(&plan, &s), ERR_RANGE);
    s.pair = pair;
    s.rows = (size_t)1 << 34; /* too many blocks */
    assert_int_equal(lattice_plan_new(&plan, &s), ERR_RANGE);
    s.rows = 0;
    assert_int_equal(lattice_plan_new(&plan, &s), ERR_RANGE);
}

/* --- what the keeper sees --------------------------------------------------------------------- */

struct lattice_view {
    struct lattice_table t;
    struct lattice_plan *plan;
    uint8_t *upload, *hidden[2];
    struct lattice_products *products;
    struct lattice_key *key;
    struct prg *prg;
};

static void view_free(struct lattice_view *v)
{
    table_free(&v->t);
    lattice_plan_free(&v->plan);
    lattice_products_free(&v->products);
    lattice_key_free(&v->key);
    prg_free(&v->prg);
    free(v->upload);
    free(v->hidden[0]);
    free(v->hidden[1]);
}

static void view_new(struct lattice_view *v)
{
    static const uint8_t fresh[16] = {8};
    memset(v, 0, sizeof *v);
    table_new(&v->t, 40, (const uint32_t[]){3, 4}, 2, true, false);
    OK(lattice_plan_new(&v->plan, &v->t.shape));
    v->upload = malloc(lattice_upload_size(v->plan));
    OK(lattice_encrypt(ring, v->plan, v->t.codes, &seeds, v->upload));
    OK(lattice_multiply(&v->products, ring, v->plan, v->upload));
    OK(lattice_key_new(&v->key, ring, seeds.key));
    OK(prg_new(&v->prg, fresh));
    v->hidden[0] = malloc(LATTICE_RESULT_SIZE);
    v->hidden[1] = malloc(LATTICE_RESULT_SIZE);
}

static size_t differing(const uint8_t *x, const uint8_t *y)
{
    struct lattice_poly *p CLEAN(memory_release) = polys(2);
    size_t n = 0;
    OK(lattice_unpack(ring, x, p));
    OK(lattice_unpack(ring, y, p + 1));
    for (size_t i = 0; i < LATTICE_PRIMES * LATTICE_N; i++)
        n += p[0].w[i / LATTICE_N][i % LATTICE_N] != p[1].w[i / LATTICE_N][i % LATTICE_N];
    return n;
}

/* x of a ciphertext that decrypts to it, as values: m + t e. */
static void decrypted(const struct lattice_view *v, size_t index, struct lattice_poly *c1,
                      struct lattice_poly *x)
{
    const uint8_t *c0 = v->upload + LATTICE_SEED + index * LATTICE_POLY_SIZE;
    OK(lattice_unpack(ring, c0, x));
    OK(lattice_shown(ring, seeds.shown, index, c1));
    lattice_add_product(ring, x, c1, &v->key->s);
}

/* d1 + 2 d2 s */
static void tell(const struct lattice_view *v, const struct lattice_poly *d1,
                 const struct lattice_poly *d2, struct lattice_poly *told)
{
    *told = *d1;
    for (unsigned twice = 0; twice < 2; twice++)
        lattice_add_product(ring, told, d2, &v->key->s);
}

/* x / y, of values. */
static void divide(const struct lattice_poly *x, const struct lattice_poly *y,
                   struct lattice_poly *out)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++)
        for (size_t i = 0; i < LATTICE_N; i++) {
            const struct prime *f = lattice_prime(ring, k);
            uint64_t power = y->w[k][i], q = x->w[k][i]; /* x y^(p - 2) */
            for (uint64_t bits = f->p - 2; bits > 0; bits >>= 1) {
                if (bits & 1)
                    q = prime_times(f, q, power);
                power = prime_times(f, power, power);
            }
            out->w[k][i] = q;
        }
}

/* Bits of the largest coefficient. */
static size_t widest(const struct lattice_poly *x)
{
    size_t most = 0;
    mpz_t v;
    mpz_init(v);
    for (size_t i = 0; i < LATTICE_N; i++) {
        join(v, x, i);
        most = mpz_sizeinbase(v, 2) > most ? mpz_sizeinbase(v, 2) : most;
    }
    mpz_clear(v);
    return most;
}

/*
 * The part of s has no noise: with the key it tells a_B x_A + a_A x_B, so that one column gives the
 * other. Hidden, no word of it does.
 */
TEST(one_column_does_not_give_another)
{
    struct lattice_view v CLEAN(view_free);
    struct lattice_poly *x = polys(7), *both = x + 4, *told = x + 5, *got = x + 6;
    static uint64_t share[LATTICE_N];
    view_new(&v);
    assert_int_equal(v.plan->blocks * v.plan->lefts * v.plan->rights, 1);
    decrypted(&v, 1, x, x + 1);
    decrypted(&v, 2, x + 2, x + 3);
    lattice_add_product(ring, both, x, x + 3);
    lattice_add_product(ring, both, x + 2, x + 1);
    tell(&v, &v.products->part[0][1], &v.products->part[0][2], told);
    assert_memory_equal(both, told, sizeof *both);
    OK(lattice_hide(v.products, 0, v.prg, v.hidden[0], share));
    OK(lattice_unpack(ring, v.hidden[0] + LATTICE_POLY_SIZE, got));
    tell(&v, got, &v.products->part[0][2], told);
    for (size_t i = 0; i < LATTICE_PRIMES * LATTICE_N; i++)
        assert_int_not_equal(both->w[i / LATTICE_N][i % LATTICE_N],
                             told->w[i / LATTICE_N][i % LATTICE_N]);
    lattice_negate(ring, both);
    lattice_add(ring, told, both);
    *both = v.products->pk[1];
    divide(told, both, got);
    lattice_coefficients(ring, told);
    lattice_coefficients(ring, got);
    assert_true(widest(told) > 200); /* not t f alone */
    assert_true(widest(got) > 200);  /* nor p1 r alone, whose r are of one bit */
    memory_free(&x);
}

/* The errors of a ciphertext of a fresh upload. */
static void errors_of(struct lattice_view *v, const struct lattice_seeds *of, size_t index,
                      int64_t e[LATTICE_N])
{
    struct lattice_poly *x CLEAN(memory_release) = polys(2);
    mpz_t m;
    mpz_init(m);
    OK(lattice_encrypt(ring, v->plan, v->t.codes, of, v->upload));
    lattice_key_free(&v->key);
    OK(lattice_key_new(&v->key, ring, of->key));
    decrypted(v, index, x + 1, x);
    lattice_coefficients(ring, x);
    for (size_t i = 0; i < LATTICE_N; i++) {
        join(m, x, i);
        assert_true(low_word(m) <= 1); /* a bit */
        mpz_fdiv_q_2exp(m, m, 64);
        e[i] = mpz_get_si(m);
        assert_in_range(e[i] + LATTICE_COINS, 0, 2 * LATTICE_COINS);
    }
    mpz_clear(m);
}

/* Two errors are the same once in 11. */
static void are_strangers(const int64_t *a, const int64_t *b)
{
    size_t same = 0;
    for (size_t i = 0; i < LATTICE_N; i++)
        same += a[i] == b[i];
    assert_in_range(same, LATTICE_N / 15, LATTICE_N / 9);
}

/*
 * No two ciphertexts have a c1 or errors in common; and errors follow from a seed that nobody else
 * gets, not from the key's.
 */
TEST(each_ciphertext_has_a_c1_and_errors_of_its_own)
{
    struct lattice_view v CLEAN(view_free);
    struct lattice_seeds other_key = seeds, other_errors = seeds;
    struct lattice_poly *c1 CLEAN(memory_release) = polys(3);
    static int64_t e[3][LATTICE_N], again[LATTICE_N];
    view_new(&v);
    for (size_t k = 0; k < 3; k++) {
        errors_of(&v, &seeds, k, e[k]);
        OK(lattice_shown(ring, seeds.shown, k, &c1[k]));
        for (size_t o = 0; o < k; o++) {
            are_strangers(e[k], e[o]);
            for (size_t i = 0; i < LATTICE_PRIMES * LATTICE_N; i++)
                assert_int_not_equal(c1[k].w[i / LATTICE_N][i % LATTICE_N],
                                     c1[o].w[i / LATTICE_N][i % LATTICE_N]);
        }
    }
    other_key.key[0] ^= 1;
    errors_of(&v, &other_key, 1, again);
    assert_memory_equal(again, e[1], sizeof again);
    other_errors.errors[0] ^= 1;
    errors_of(&v, &other_errors, 1, again);
    are_strangers(again, e[1]);
}

/*
 * Hidden twice, a result has no word of the first two parts in common; and all coefficients
 * decrypt to other words, those too that no pair needs.
 */
TEST(what_the_keeper_gets_is_fresh)
{
    struct lattice_view v CLEAN(view_free);
    static uint64_t mine[2][LATTICE_N], theirs[2][LATTICE_N];
    view_new(&v);
    for (unsigned k = 0; k < 2; k++) {
        OK(lattice_hide(v.products, 0, v.prg, v.hidden[k], mine[k]));
        OK(lattice_open(v.key, v.hidden[k], theirs[k]));
    }
    for (unsigned part = 0; part < 3; part++)
        assert_int_equal(differing(v.hidden[0] + part * LATTICE_POLY_SIZE,
                                   v.hidden[1] + part * LATTICE_POLY_SIZE),
                         part < 2 ? LATTICE_PRIMES * LATTICE_N : 0);
    for (size_t i = 0; i < LATTICE_N; i++) {
        assert_int_not_equal(theirs[0][i], theirs[1][i]);
        assert_int_equal(mine[0][i] + theirs[0][i], mine[1][i] + theirs[1][i]);
    }
}

/* As an integer, a product is a count and t times a noise below the stated bound. */
TEST(noise_stays_far_below_what_hides_it)
{
    struct lattice_view v CLEAN(view_free);
    struct lattice_poly *d CLEAN(memory_release) = polys(1);
    mpz_t x, bound;
    size_t bits = 0;
    view_new(&v);
    mpz_inits(x, bound, NULL);
    mpz_ui_pow_ui(bound, 2, 128);
    mpz_mul_ui(bound, bound, 442 * LATTICE_N * v.plan->blocks);
    *d = v.products->part[0][0];
    lattice_add_product(ring, d, &v.products->part[0][1], &v.key->s);
    lattice_add_product(ring, d, &v.products->part[0][2], &v.key->square);
    lattice_coefficients(ring, d);
    for (size_t i = 0; i < LATTICE_N; i++) {
        join(x, d, i);
        assert_true(mpz_cmpabs(x, bound) < 0);
        bits = mpz_sizeinbase(x, 2) > bits ? mpz_sizeinbase(x, 2) : bits;
    }
    assert_in_range(bits, 135, 145);
    mpz_clears(x, bound, NULL);
}

/* The integer that the keeper decrypts is as wide as the flood: nothing is left of the noise. */
TEST(what_the_keeper_decrypts_is_flooded)
{
    struct lattice_view v CLEAN(view_free);
    struct lattice_poly *d CLEAN(memory_release) = polys(2);
    static uint64_t share[LATTICE_N];
    unsigned high = 0;
    mpz_t x;
    view_new(&v);
    mpz_init(x);
    OK(lattice_hide(v.products, 0, v.prg, v.hidden[0], share));
    OK(lattice_unpack(ring, v.hidden[0], d));
    for (unsigned part = 1; part < 3; part++) {
        OK(lattice_unpack(ring, v.hidden[0] + part * LATTICE_POLY_SIZE, d + 1));
        lattice_add_product(ring, d, d + 1, part == 1 ? &v.key->s : &v.key->square);
    }
    lattice_coefficients(ring, d);
    for (size_t i = 0; i < LATTICE_N; i++) {
        join(x, d, i);
        assert_true(mpz_sizeinbase(x, 2) <= 209);
        high += mpz_sizeinbase(x, 2) == 209;
    }
    assert_in_range(high, 4096 - 272, 4096 + 272); /* six deviations */
    mpz_clear(x);
}

/* What an owner encrypted under another key than the keeper has is noticed, and is no count. */
TEST(another_key_opens_nothing)
{
    struct lattice_view v CLEAN(view_free);
    struct lattice_key *other CLEAN(lattice_key_free) = NULL;
    static uint64_t share[LATTICE_N];
    view_new(&v);
    OK(lattice_hide(v.products, 0, v.prg, v.hidden[0], share));
    OK(lattice_key_new(&other, ring, seeds.shown));
    assert_int_equal(lattice_open(other, v.hidden[0], share), ERR_DATA);
}

TEST(words_that_are_none_are_refused)
{
    struct lattice_view v CLEAN(view_free);
    static uint64_t share[LATTICE_N];
    view_new(&v);
    OK(lattice_hide(v.products, 0, v.prg, v.hidden[0], share));
    for (size_t part = 0; part < 3; part++) { /* the provider's doing, not the owner's */
        static uint8_t wrong[LATTICE_RESULT_SIZE];
        memcpy(wrong, v.hidden[0], sizeof wrong);
        memset(wrong + part * LATTICE_POLY_SIZE, 255, 7);
        assert_int_equal(lattice_open(v.key, wrong, share), ERR_FORMAT);
    }
    memset(v.upload + lattice_upload_size(v.plan) - 7, 255, 7);
    assert_int_equal(lattice_upload_check(ring, v.upload, lattice_upload_size(v.plan)), ERR_DATA);
}

/* --- secrets under memcheck ------------------------------------------------------------------- */

/*
 * Keys, errors and masks are marked as soon as they are drawn: no branch and no index depends on
 * them, at the owner, the provider or the keeper. The marks reach what is sent and both shares.
 */
TEST(no_branch_depends_on_a_key_or_a_mask)
{
    struct lattice_view v CLEAN(view_free);
    static uint64_t share[2][LATTICE_N];
    view_new(&v);
    assert_int_equal(v.plan->results, 1);
    lattice_key_free(&v.key);
    lattice_products_free(&v.products);
    marks_lattice(true);
    OK(lattice_encrypt(ring, v.plan, v.t.codes, &seeds, v.upload));
    OK(lattice_key_new(&v.key, ring, seeds.key));
    assert_true(marks_reach(v.upload + LATTICE_SEED, 64) == marks_on());
    assert_true(marks_reach(&v.key->square, 64) == marks_on());
    marks_public(v.upload, lattice_upload_size(v.plan));
    OK(lattice_multiply(&v.products, ring, v.plan, v.upload));
    OK(lattice_hide(v.products, 0, v.prg, v.hidden[0], share[0]));
    for (unsigned part = 0; part < 2; part++)
        assert_true(marks_reach(v.hidden[0] + part * LATTICE_POLY_SIZE, 64) == marks_on());
    marks_public(v.hidden[0], LATTICE_RESULT_SIZE);
    OK(lattice_open(v.key, v.hidden[0], share[1]));
    marks_lattice(false);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(marks_reach(share[i], 64) == marks_on());
        marks_public(share[i], sizeof share[i]);
        add_share(&v.t, v.plan, 0, share[i]);
    }
    assert_memory_equal(v.t.sum[0], v.t.right[0], cells_of(&v.t, 0) * sizeof(uint64_t));
}
