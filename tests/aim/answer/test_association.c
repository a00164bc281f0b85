/*
 * aim/association: the figures against rows written out one by one, their errors against drawn
 * noise.
 */
#include "harness/cmocka.h"

#include "aim/answer/association.h"

/*
 * Integers 10 to 13 and a missing one; labels; numbers in bins of different widths; a second pair.
 */
enum { AGE, WARD, PAY, SEX, LEVEL };
#define MOST 64

struct association_room {
    struct domain *d;
    struct densities inside;
    double counts[MOST];
    uint16_t x, y;
};

static void room_clear(struct association_room *r)
{
    densities_clear(&r->inside);
    domain_free(&r->d);
}

static struct association_room room_new(uint16_t x, uint16_t y)
{
    static const char *const wards[] = {"a", "b", "c"}, *const sexes[] = {"f", "m", "x"};
    static const double edges[] = {0, 0, 1, 5, 40}, levels[] = {0, 0, 1, 1, 2, 2};
    struct association_room r = {0};
    r.x = x;
    r.y = y;
    OK(domain_new(&r.d));
    OK(domain_add_integer(r.d, "age", 10, 13, "?", DOMAIN_CLIP, NULL));
    OK(domain_add_categorical(r.d, "ward", wards, 3, "?", DOMAIN_REJECT, NULL));
    OK(domain_add_numeric(r.d, "pay", edges, 5, NULL, DOMAIN_CLIP, NULL));
    OK(domain_add_categorical(r.d, "sex", sexes, 3, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_numeric(r.d, "level", levels, 6, NULL, DOMAIN_CLIP, NULL));
    OK(densities_of(&r.inside, r.d, NULL, NULL));
    struct random random = random_of(7u * x + y);
    for (uint32_t i = 0; i < r.d->attribute[x].size; i++)
        for (uint32_t k = 0; k < r.d->attribute[y].size; k++)
            r.counts[i * r.d->attribute[y].size + k] = (double)(20 + random_below(&random, 30) +
                                                                (i + k) % 3 * 40);
    return r;
}

static struct association of(const struct association_room *r, double sigma)
{
    struct association a;
    OK(association_of(&a, r->d, r->x, r->y, r->counts, sigma, &r->inside));
    return a;
}

static void expect_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.12g is not %.12g", a, b);
}

/* --- the figures ------------------------------------------------------------------------------ */

/* Every row with both values; `v` from `of`. */
struct association_rows {
    size_t n;
    double x[1 << 14], y[1 << 14];
};

static void write_out(const struct association_room *r, struct association_rows *rows,
                      double first_x, double first_y)
{
    const struct domain_attribute *a = &r->d->attribute[r->x], *b = &r->d->attribute[r->y];
    rows->n = 0;
    for (uint32_t i = 0; i < a->values; i++)
        for (uint32_t k = 0; k < b->values; k++)
            for (double n = r->counts[i * b->size + k]; n >= 1; n--) {
                rows->x[rows->n] = first_x + i;
                rows->y[rows->n++] = first_y + k;
            }
}

static double mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] / (double)n;
    return sum;
}

static double product(const double *v, const double *w, size_t n)
{
    const double mv = mean(v, n), mw = mean(w, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (v[i] - mv) * (w[i] - mw);
    return sum;
}

TEST(of_numbers_it_is_the_correlation_of_rows)
{
    struct association_room r CLEAN(room_clear) = room_new(
        AGE, LEVEL); /* a bin next to each spike: these have no rows here */
    static struct association_rows rows;
    for (uint32_t i = 0; i < r.d->attribute[AGE].size; i++)
        for (uint32_t k = 1; k < 5; k += 2)
            r.counts[i * 5 + k] = 0;
    write_out(&r, &rows, 10, 0);
    for (size_t i = 0; i < rows.n; i++)
        rows.y[i] /= 2;
    assert_int_equal(of(&r, 0).kind, ASSOCIATION_R);
    expect_near(of(&r, 0).value,
                product(rows.x, rows.y, rows.n) /
                    sqrt(product(rows.x, rows.x, rows.n) * product(rows.y, rows.y, rows.n)),
                1e-12);
    assert_true(of(&r, 0).error == 0 && of(&r, 0).alone == 0);
}

/* Rows spread over a bin have a variance within it. */
TEST(a_bin_has_a_mean_and_a_spread)
{
    struct association_room r CLEAN(room_clear) = room_new(AGE, PAY);
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, n = 0;
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 4; k++) {
            static const double low[] = {0, 0, 1, 5}, high[] = {0, 1, 5, 40};
            const double c = r.counts[i * 4 + k], x = 10 + i, y = (low[k] + high[k]) / 2;
            n += c;
            sx += c * x;
            sy += c * y;
            sxx += c * x * x;
            syy += c * (y * y + (high[k] - low[k]) * (high[k] - low[k]) / 12);
            sxy += c * x * y;
        }
    expect_near(of(&r, 0).value,
                (sxy / n - sx * sy / n / n) /
                    sqrt((sxx / n - sx * sx / n / n) * (syy / n - sy * sy / n / n)),
                1e-12);
}

/* With the two attributes in either order. */
TEST(labels_explain_a_share_of_the_variance)
{
    static const uint16_t pairs[2][2] = {{AGE, WARD}, {WARD, LEVEL}};
    static struct association_rows rows;
    for (unsigned t = 0; t < 2; t++) {
        struct association_room r CLEAN(room_clear) = room_new(pairs[t][0], pairs[t][1]);
        const double *v = t == 0 ? rows.x : rows.y, *l = t == 0 ? rows.y : rows.x;
        double between = 0;
        for (uint32_t i = 0; t == 1 && i < 3; i++) /* only the spikes of `level`: 0, 1, 2 */
            r.counts[i * 5 + 1] = r.counts[i * 5 + 3] = 0;
        write_out(&r, &rows, 0, 0);
        for (unsigned k = 0; k < 3; k++) {
            double sum = 0, n = 0;
            for (size_t i = 0; i < rows.n; i++)
                if (l[i] == k) {
                    sum += v[i];
                    n++;
                }
            between += n * pow(sum / n - mean(v, rows.n), 2);
        }
        assert_int_equal(of(&r, 0).kind, ASSOCIATION_ETA);
        expect_near(of(&r, 0).value, sqrt(between / product(v, v, rows.n)), 1e-12);
    }
}

TEST(of_labels_it_is_cramers_v)
{
    struct association_room r CLEAN(room_clear) = room_new(WARD, SEX);
    double row[3] = {0}, column[3] = {0}, n = 0, chi = 0;
    for (unsigned i = 0; i < 3; i++) /* the fourth is missing, and has rows */
        for (unsigned k = 0; k < 3; k++) {
            row[i] += r.counts[i * 3 + k];
            column[k] += r.counts[i * 3 + k];
            n += r.counts[i * 3 + k];
        }
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++)
            chi += pow(r.counts[i * 3 + k] - row[i] * column[k] / n, 2) / (row[i] * column[k] / n);
    assert_int_equal(of(&r, 0).kind, ASSOCIATION_V);
    expect_near(of(&r, 0).value, sqrt(chi / n / 2), 1e-12);
}

TEST(nothing_to_compute_is_nothing)
{
    struct association_room r CLEAN(room_clear) = room_new(WARD, SEX);
    memset(r.counts, 0, sizeof r.counts);
    assert_true(of(&r, 5).value == 0 && of(&r, 5).error == 0);
    r.counts[0] = 10; /* one value of each */
    assert_true(of(&r, 5).value == 0 && !isnan(of(&r, 5).error));
    r.x = AGE;
    r.y = PAY;
    assert_true(of(&r, 5).value == 0 && !isnan(of(&r, 5).error));
    r.x = AGE;
    r.y = SEX;
    assert_true(of(&r, 5).value == 0 && !isnan(of(&r, 5).error));
}

/* --- the errors ------------------------------------------------------------------------------- */

#define DRAWS 3000 /* a deviation estimated from these is within 1.3 % */
#define SIGMA 4

/* Mean of the squared distance of the figure from `about`, with noise drawn for every cell. */
static double spread(const struct association_room *r, double about)
{
    struct association_room noisy = *r;
    struct random random = random_of(99);
    double sum = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        for (unsigned k = 0; k < MOST; k++)
            noisy.counts[k] = r->counts[k] + SIGMA * (double)random_gauss(&random) * 0x1p-20;
        sum += pow(of(&noisy, 0).value - about, 2) / DRAWS;
    }
    return sqrt(sum);
}

/* Each within 4 %: three deviations with so many draws. */
TEST(the_error_is_what_noise_makes)
{
    static const uint16_t pairs[][2] = {{AGE, PAY}, {AGE, WARD}, {WARD, PAY}, {WARD, SEX}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct association_room r CLEAN(room_clear) = room_new(pairs[i][0], pairs[i][1]);
        /* so many rows that only the first order matters */
        for (uint32_t k = 0; k < r.d->attribute[r.x].size; k++)
            for (uint32_t j = 0; j < r.d->attribute[r.y].size; j++)
                r.counts[k * r.d->attribute[r.y].size + j] *= k == j ? 120 : 20;
        assert_true(fabs(of(&r, SIGMA).value) > 0.05);
        expect_near(of(&r, SIGMA).error / spread(&r, of(&r, 0).value), 1, 0.04);
        expect_near(of(&r, 2 * SIGMA).error, 2 * of(&r, SIGMA).error, 1e-12);
    }
}

/* Rows that are independent: eta and V come from noise alone. */
TEST(noise_alone_shows_something)
{
    static const uint16_t pairs[][2] = {{AGE, PAY}, {AGE, WARD}, {WARD, PAY}, {WARD, SEX}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct association_room r CLEAN(room_clear) = room_new(pairs[i][0], pairs[i][1]);
        const uint32_t stride = r.d->attribute[r.y].size;
        for (uint32_t k = 0; k < r.d->attribute[r.x].size; k++)
            for (uint32_t j = 0; j < stride; j++)
                r.counts[k * stride + j] = 100.0 * (k + 2) * (j + 3);
        expect_near(of(&r, 0).value, 0, 1e-7);
        expect_near(of(&r, SIGMA).alone / spread(&r, 0), 1, 0.04);
    }
}
