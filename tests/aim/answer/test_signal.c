/*
 * aim/answer/signal: over drawn tables, independent columns are as far off as the normal
 * distribution says, and linked ones farther.
 */
#include "harness/cmocka.h"

#include "aim/answer/signal.h"

#define DRAWS 1500
#define ROWS 600
#define CELLS_MOST 128

/* Eight ordered values and a missing one; three labels, one of them rare; two more. */
static const double grades[] = {0.05, 0.2, 0.2, 0.15, 0.15, 0.1, 0.05, 0.05, 0.05},
                    wards[] = {0.6, 0.39, 0.01}, sexes[] = {0.5, 0.5};
enum { GRADE, WARD, SEX };

struct signal_scene {
    struct domain *d;
    struct merges merges;
    struct measurement m;
    double y[CELLS_MOST];
    struct random random;
    unsigned last; /* the place of the second column; the first is at 0 */
};

static void scene_clear(struct signal_scene *s)
{
    merges_clear(&s->merges);
    domain_free(&s->d);
}

static void scene_new(struct signal_scene *s, const struct clique *c, double sigma, bool merged)
{
    static const char *const ward[] = {"a", "b", "c"}, *const sex[] = {"f", "m"};
    *s = (struct signal_scene){.random = random_of(7)};
    OK(domain_new(&s->d));
    OK(domain_add_integer(s->d, "grade", 1, 8, "", DOMAIN_CLIP, NULL));
    OK(domain_add_categorical(s->d, "ward", ward, 3, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_categorical(s->d, "sex", sex, 2, NULL, DOMAIN_REJECT, NULL));
    s->m = (struct measurement){.clique = *c, .sigma = sigma, .y = s->y};
    OK(merges_none(&s->merges, s->d));
    if (!merged)
        return;
    s->merges.group[GRADE] = calloc(9, sizeof(uint32_t));
    for (uint32_t i = 0; i < 9; i++)
        s->merges.group[GRADE][i] = i / 2;
    s->merges.groups[GRADE] = 5;
    s->m.merges = &s->merges;
}

static uint32_t draw(struct random *r, const double *share)
{
    double u = random_double(r);
    uint32_t code = 0;
    while (u >= share[code])
        u -= share[code++];
    return code;
}

/* Rows with noise. linked: so much of the rows have their ward by their grade. */
static void draw_table(struct signal_scene *s, double linked)
{
    const uint64_t cells = measurement_cells(&s->m, s->d);
    double noise[CELLS_MOST];
    random_normals(&s->random, noise, CELLS_MOST);
    for (uint64_t i = 0; i < cells; i++)
        s->y[i] = s->m.sigma * noise[i];
    for (unsigned row = 0; row < ROWS; row++) {
        uint32_t code[] = {draw(&s->random, grades), draw(&s->random, wards),
                           draw(&s->random, sexes)};
        uint64_t at = 0;
        if (random_double(&s->random) < linked)
            code[WARD] = code[GRADE] >= 4;
        for (unsigned i = 0; i < s->m.clique.n; i++) {
            const uint16_t a = s->m.clique.attribute[i];
            const bool grouped = s->m.merges != NULL && s->merges.group[a] != NULL;
            at = at * (grouped ? s->merges.groups[a] : s->d->attribute[a].size) +
                 (grouped ? s->merges.group[a][code[a]] : code[a]);
        }
        s->y[at]++;
    }
}

static double deviations_of(struct signal_scene *s, bool ranked, double own)
{
    static const double *const all[] = {grades, wards, sexes};
    const uint16_t *a = s->m.clique.attribute;
    const unsigned place[2] = {0, s->last};
    double share[2][9], noise[9], deviations;
    for (unsigned side = 0; side < 2; side++) {
        const uint16_t attribute = a[place[side]];
        random_normals(&s->random, noise, 9);
        for (uint32_t i = 0; i < s->d->attribute[attribute].size; i++)
            share[side][i] = all[attribute][i] + noise[i] * own / ROWS;
    }
    OK(signal_of_table(&deviations, &s->m, s->d, place, (const double *const[]){share[0], share[1]},
                       (const double[]){own, own}, ROWS, ranked));
    return deviations;
}

static const struct clique cliques[] = {
    {2, {GRADE, WARD}}, {2, {WARD, SEX}}, {3, {GRADE, WARD, SEX}}, {3, {GRADE, WARD, SEX}}};

/* Of independent columns one table in 20 is above the 95 % point, and one in 740 above 3. */
TEST(independent_columns_are_rarely_far_off)
{
    for (unsigned k = 0; k < 32; k++) {
        const double sigma = k % 2 == 0 ? 3 : 25;
        const bool ranked = k / 2 % 2 != 0, merged = k / 4 % 2 != 0;
        struct signal_scene s CLEAN(scene_clear);
        unsigned above = 0, far = 0, below = 0;
        scene_new(&s, &cliques[k / 8], sigma, merged);
        s.last = k / 8 == 2 ? 2 : 1;
        for (unsigned i = 0; i < DRAWS; i++) {
            draw_table(&s, 0);
            double z = deviations_of(&s, ranked, 5);
            above += z > 1.645;
            far += z > 3;
            below += z < 0;
        }
        assert_in_range(above, DRAWS / 80, DRAWS / 12);
        assert_true(far <= DRAWS / 150);
        assert_in_range(below, DRAWS * 2 / 5, DRAWS * 2 / 3);
    }
}

TEST(linked_columns_are_far_off)
{
    for (unsigned k = 0; k < 8; k++) {
        const bool ranked = k % 2 != 0, merged = k / 2 % 2 != 0;
        struct signal_scene s CLEAN(scene_clear);
        unsigned far = 0;
        scene_new(&s, &cliques[0], 12, merged);
        s.last = 1;
        for (unsigned i = 0; i < 100; i++) {
            draw_table(&s, k < 4 ? 0.9 : 0);
            far += deviations_of(&s, ranked, 5) > 3.5;
        }
        assert_in_range(far, k < 4 ? 90 : 0, k < 4 ? 100 : 1);
    }
}
