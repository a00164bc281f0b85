/*
 * What `trefoil plan` says about the analyst's memory against what `trefoil run` takes, for studies
 * of different sizes; of the largest if TREFOIL_LONG is set.
 */
#include "tests/support/scene.h"

struct size {
    const char *name, *domain, *workload; /* the domain by its name */
    unsigned rounds;
    const char *rows; /* rows to draw: as many as the owner may have */
    bool merges;      /* bins; how many cannot be told from the study */
    unsigned pairs;   /* rows (i, i) instead of the usual ones: so both are measured together */
    bool large;
};

static const struct size sizes[] = {
    {.name = "small", .rounds = 3, .rows = "2000"},
    {.name = "many rows", .rounds = 2, .rows = "1500000"},
    {.name = "one large marginal",
     .domain = "large",
     .workload = "{all: 2}",
     .rounds = 1,
     .rows = "500000",
     .pairs = 500000,
     .large = true},
    {.name = "many marginals",
     .domain = "many",
     .workload = "{all: 3}",
     .rounds = 3,
     .rows = "2000",
     .large = true},
    {.name = "a bit of each", .rounds = 10, .rows = "300000"},
    {.name = "bins that are merged",
     .domain = "sparse",
     .workload = "{all: 2}",
     .rounds = 3,
     .rows = "2000",
     .merges = true},
};

/* Sixteen attributes of eight values. */
static void many_attributes(char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "domain:\n");
    for (unsigned i = 0; i < 16; i++)
        n += (size_t)snprintf(text + n, size - n,
                              "  - {name: a%u, kind: integer, min: 0, max: 7, outside: clip}\n", i);
}

/* Three of 300 values: a pair has 90000 cells, and less than a ninth as many over groups. */
static void sparse_attributes(char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "domain:\n");
    for (unsigned i = 0; i < 3; i++)
        n += (size_t)snprintf(text + n, size - n,
                              "  - {name: a%u, kind: integer, min: 0, max: 299}\n", i);
}

/* Two of 500 labels, which have too little noise to be merged. */
static void large_attributes(char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "domain:\n");
    for (unsigned i = 0; i < 2; i++) {
        n += (size_t)snprintf(text + n, size - n, "  - {name: %c, kind: categorical, values: [",
                              "ab"[i]);
        for (unsigned k = 0; k < 500; k++)
            n += (size_t)snprintf(text + n, size - n, "\"%u\"%s", k, k < 499 ? ", " : "]}\n");
    }
}

static void write_pairs(struct scene *c, unsigned rows)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    bytes_put(&text, "a,b\n", 4);
    for (unsigned i = 0; i < rows; i++) {
        char line[32];
        bytes_put(&text, line, (size_t)snprintf(line, sizeof line, "%u,%u\n", i % 500, i % 500));
    }
    OK(file_write(file(c, "o0.csv"), 0600, text.data, text.size, &quiet));
}

/* "the analyst's program about 9.4 MB" */
static double planned_bytes(struct scene *c)
{
    static const char before[] = "the analyst's program about ";
    struct bytes b CLEAN(bytes_clear) = {0};
    char *at, *unit;
    EXPECT(0, file(c, "plan.txt"), 10, "plan", c->s.path);
    OK(file_read(file(c, "plan.txt"), 1 << 20, &b, NULL));
    bytes_put_u8(&b, 0);
    at = strstr((char *)b.data, before);
    assert_non_null(at);
    double bytes = strtod(at + sizeof before - 1, &unit);
    bytes *= unit[1] == 'k' ? 1e3 : unit[1] == 'M' ? 1e6 : 1e9;
    return bytes;
}

static double taken_bytes(struct scene *c, const struct size *size)
{
    size_t peak = 0;
    expect_code(
        support_wait_peak(START(file(c, "run.log"), "run", c->s.path, "--key", file(c, "a.key"),
                                "--out", file(c, "out"), "--rows", size->rows),
                          60, &peak),
        0, file(c, "run.log"));
    return (double)peak;
}

TEST(the_plan_says_what_a_run_takes)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("# SKIP a sanitizer's own memory\n");
    skip();
#endif
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct size *size = &sizes[i];
        char domain[16384], part[64];
        const char *parts[] = {part};
        struct study_options o = {.owners = 1,
                                  .domain = size->domain,
                                  .workload = size->workload,
                                  .rounds = size->rounds,
                                  .epsilon = 8,
                                  .part = parts};
        if (size->large && getenv("TREFOIL_LONG") == NULL)
            continue;
        if (size->domain != NULL) {
            (strcmp(size->domain, "many") == 0     ? many_attributes
             : strcmp(size->domain, "sparse") == 0 ? sparse_attributes
                                                   : large_attributes)(domain, sizeof domain);
            o.domain = domain;
        }
        snprintf(part, sizeof part, "    max_rows: %s\n    as: counts\n", size->rows);
        struct scene c CLEAN(scene_free) = scene_new(&o);
        if (size->pairs > 0)
            write_pairs(&c, size->pairs);
        share_everything(&c);
        double planned = planned_bytes(&c);
        assert_int_equal(
            support_contains(file(&c, "plan.txt"), "values with few rows taken as merged"),
            size->merges);
        double taken = taken_bytes(&c, size);
        print_message("# %s: planned %.1f MB, taken %.1f MB\n", size->name, planned / 1e6,
                      taken / 1e6);
        /* one processor takes less, since it fits one model at a time; so do merged bins */
        assert_true(planned < 2 * taken && taken < 1.5 * planned);
    }
}
