/*
 * A copula's file, with its digest made to fit, since no mutation would find it: no crash; what is
 * accepted can be drawn from, and its codes are the domain's.
 */
#include "aim/copula/copula_model.h"
#include "base/digest.h"
#include "tests/fuzz/fuzz.h"

#define ROWS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[4096] = "", path[64];
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct bytes text CLEAN(bytes_clear) = {0};
    struct domain *d CLEAN(domain_free) = NULL;
    struct copula *c CLEAN(copula_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    bytes_put(&text, data, size);
    digest_append(&text);
    int fd = fuzz_file(text.data, text.size, path);
    enum err e = copula_load(&c, &d, path, &log);
    if (e == ERR_OK)
        e = copula_rows(&t, c, ROWS, 1, &log); /* refuses codes that do not exist */
    if (e == ERR_OK)
        e = copula_densities(&inside, c);
    never(e != ERR_OK && e != ERR_NOMEM && strstr(sink, "error: ") == NULL);
    close(fd);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const char *const wards[] = {"a", "b", "c"};
    static const double edges[] = {0, 1.5, 3, 10};
    struct domain *d CLEAN(domain_free) = NULL;
    struct copula *c CLEAN(copula_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    char path[64];
    never(domain_new(&d) != ERR_OK ||
          domain_add_categorical(d, "ward", wards, 3, "?", DOMAIN_AS_MISSING, NULL) != ERR_OK ||
          domain_add_numeric(d, "bmi", edges, 4, "", DOMAIN_REJECT, NULL) != ERR_OK ||
          copula_new(&c, d) != ERR_OK);
    never(copula_set_groups(c, 0, (const uint16_t[]){0, 1, 2, 2}, 3) != ERR_OK);
    c->total = 100;
    c->share[0][0] = c->share[0][2] = c->share[1][0] = c->share[1][3] = 0.5;
    c->correlation[0] = c->correlation[4] = c->correlation[8] = 1; /* two variables of the ward */
    c->correlation[2] = c->correlation[6] = -0.3;
    snprintf(path, sizeof path, "/tmp/trefoil-fuzz-copula-%d", (int)getpid());
    never(copula_save(path, c, NULL) != ERR_OK || file_read(path, 1 << 24, &text, NULL) != ERR_OK);
    unlink(path);
    put(self, text.data, text.size - 32);
}
