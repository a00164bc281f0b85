/* measurements.json: no crash; what is accepted reads the same after it is written. */
#include "aim/run/output.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

static struct domain *domain_of(void)
{
    static const char *const wards[] = {"a", "b", "c"};
    struct domain *d;
    never(domain_new(&d) != ERR_OK ||
          domain_add_integer(d, "age", 0, 3, NULL, DOMAIN_CLIP, NULL) != ERR_OK ||
          domain_add_categorical(d, "ward", wards, 3, "?", DOMAIN_AS_MISSING, NULL) != ERR_OK);
    return d;
}

static void write_found(const struct output_found *f, const struct domain *d, struct bytes *text)
{
    char path[64];
    const struct output_terms terms = {.domain = d,
                                       .epsilon = f->epsilon,
                                       .delta = f->delta,
                                       .rho = f->rho,
                                       .rows_per_person = f->rows_per_person,
                                       .total = 10,
                                       .merges = f->merges,
                                       .measurement = f->measurement,
                                       .measurements = f->measurements};
    snprintf(path, sizeof path, "/tmp/trefoil-fuzz-measurements-%d", (int)getpid());
    never(output_measurements(path, &terms, NULL) != ERR_OK ||
          file_read(path, 1 << 24, text, NULL) != ERR_OK);
    unlink(path);
}

/* Written, read and written again: both texts must be the same. */
static void check(const struct output_found *f, const struct domain *d)
{
    struct output_found back CLEAN(output_found_clear) = {0};
    struct bytes once CLEAN(bytes_clear) = {0}, twice CLEAN(bytes_clear) = {0};
    char path[64];
    write_found(f, d, &once);
    int fd = fuzz_file(once.data, once.size, path);
    never(output_read(&back, path, d, NULL) != ERR_OK);
    close(fd);
    write_found(&back, d, &twice);
    never(once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[4096] = "", path[64];
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct domain *d CLEAN(domain_free) = domain_of();
    struct output_found f CLEAN(output_found_clear) = {0};
    int fd = fuzz_file(data, size, path);
    enum err e = output_read(&f, path, d, &log);
    if (e == ERR_OK && size % 16 == 0) /* writing syncs to disk, so not every time */
        check(&f, d);
    else if (e != ERR_OK && e != ERR_NOMEM && strstr(sink, "error: ") == NULL)
        abort();
    close(fd);
    return 0;
}

/* With spaces after them, so that one of them is written back as well. */
static void put_found(const struct output_found *f, fuzz_put put, void *self)
{
    struct domain *d CLEAN(domain_free) = domain_of();
    struct bytes text CLEAN(bytes_clear) = {0};
    write_found(f, d, &text);
    do
        bytes_put_u8(&text, ' ');
    while (text.size % 16 != 0);
    put(self, text.data, text.size);
}

/* Counts of codes, and counts with the first two ages and all wards but one merged. */
void fuzz_seeds(fuzz_put put, void *self)
{
    uint32_t codes[] = {4, 4}, groups[] = {3, 3}, ages[] = {0, 0, 1, 2}, wards[] = {0, 1, 0, 2},
             *group[] = {ages, wards};
    struct merges merges = {.attributes = 2, .codes = codes, .groups = groups, .group = group};
    double age[] = {1, 2.5, -3, 4}, ward[] = {0, 0.1, 1e9, 3}, both[16] = {7};
    struct measurement m[] = {
        {.clique = {.n = 1, .attribute = {0}}, .sigma = 2, .y = age, .total = 12.5},
        {.clique = {.n = 1, .attribute = {1}}, .sigma = 2, .y = ward},
        {.clique = {.n = 2, .attribute = {0, 1}}, .sigma = 1.0 / 3, .y = both},
    };
    struct output_found f = {.epsilon = 1,
                             .delta = 1e-5,
                             .rho = 0.03,
                             .rows_per_person = 2,
                             .measurement = m,
                             .measurements = 3};
    put_found(&f, put, self);
    m[2].merges = f.merges = &merges;
    put_found(&f, put, self);
}
