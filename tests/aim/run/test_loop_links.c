/* aim/run/loop_links: what marginals of a set say of columns that they do not have together. */
#include "harness/cmocka.h"

#include "aim/run/loop_links.h"

#define COLUMNS 4
#define ROWS 1000

struct loop_links_stage {
    struct domain *domain;
    struct workload *workload;
    double *r;
};

static struct loop_links_stage stage_new(void)
{
    struct loop_links_stage s = {0};
    OK(domain_new(&s.domain));
    for (char name[] = "a"; name[0] < 'a' + COLUMNS; name[0]++)
        OK(domain_add_integer(s.domain, name, 0, 4, NULL, DOMAIN_REJECT, NULL));
    OK(workload_all(&s.workload, s.domain, 3, NULL));
    s.r = calloc(s.workload->queries, sizeof *s.r);
    assert_non_null(s.r);
    return s;
}

static void stage_free(struct loop_links_stage *s)
{
    free(s->r);
    workload_free(&s->workload);
    domain_free(&s->domain);
}

static double *of(struct loop_links_stage *s, struct clique c)
{
    return &s->r[workload_find(s->workload, &c)];
}

static void expect(struct loop_links_stage *s, struct clique c, double rows)
{
    assert_true(fabs(*of(s, c) - rows) < 1e-9);
}

#define PAIR(a, b) ((struct clique){2, {a, b}})
#define TRIPLE(a, b, c) ((struct clique){3, {a, b, c}})

TEST(a_chain_explains_its_ends)
{
    struct loop_links_stage s CLEAN(stage_free) = stage_new();
    struct loop_links links CLEAN(links_clear) = {0};
    *of(&s, PAIR(0, 1)) = 800;
    *of(&s, PAIR(1, 2)) = 600;
    *of(&s, PAIR(0, 2)) = 500;
    *of(&s, PAIR(2, 3)) = 5000; /* more than there are rows */
    *of(&s, PAIR(0, 3)) = 490;
    *of(&s, PAIR(1, 3)) = 100;
    *of(&s, TRIPLE(0, 1, 2)) = 1000;
    OK(links_begin(&links, s.workload, s.r, ROWS));
    links_join(&links, &PAIR(0, 1), s.r);
    expect(&s, PAIR(0, 2), 500); /* nothing leads there yet */
    expect(&s, PAIR(0, 1), 800); /* what it says of itself is not this file's matter */
    links_join(&links, &PAIR(1, 2), s.r);
    expect(&s, PAIR(0, 2), 140);                          /* 500^2 - (0.8 x 0.6 x 1000)^2 */
    expect(&s, TRIPLE(0, 1, 2), sqrt(1e6 - 480. * 480.)); /* its ends, once */
    links_join(&links, &PAIR(2, 3), s.r);
    expect(&s, PAIR(0, 3), sqrt(490. * 490. - 480. * 480.)); /* three steps */
    expect(&s, PAIR(1, 3), 0);                               /* more than there is */
    links_join(&links, &PAIR(0, 1), s.r);
    expect(&s, PAIR(0, 2), 140); /* the same way again says no more */
}

TEST(a_joined_triple_leads_on)
{
    struct loop_links_stage s CLEAN(stage_free) = stage_new();
    struct loop_links links CLEAN(links_clear) = {0};
    *of(&s, PAIR(0, 1)) = 500;
    *of(&s, PAIR(1, 2)) = 400;
    *of(&s, PAIR(2, 3)) = 1000;
    *of(&s, PAIR(1, 3)) = 500;
    OK(links_begin(&links, s.workload, s.r, ROWS));
    links_join(&links, &TRIPLE(0, 1, 2), s.r);
    expect(&s, PAIR(1, 2), 400);
    links_join(&links, &PAIR(2, 3), s.r);
    expect(&s, PAIR(1, 3), 300); /* by way of 2 */
}
