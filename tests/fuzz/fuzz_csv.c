/*
 * Any bytes as an owner's CSV file: no crash, no leak, no silent failure; what is accepted is
 * inside the domain, and reads the same after it is written.
 */
#include "aim/table/csv.h"
#include "tests/fuzz/fuzz.h"

static struct domain *make_domain(void)
{
    static const char *const wards[] = {"a", "b, c", "\"d\""};
    static const double edges[] = {0, 1.5, 3, 10}, gains[] = {0, 0, 0.3, 5, 5};
    static const char *const missing[] = {"NA", "0.3"};
    struct domain *d;
    never(domain_new(&d) != ERR_OK ||
          domain_add_integer(d, "age", 0, 9, NULL, DOMAIN_CLIP, NULL) != ERR_OK ||
          domain_add_categorical(d, "ward", wards, 3, "?", DOMAIN_AS_MISSING, NULL) != ERR_OK ||
          domain_add_numeric(d, "bmi", edges, 4, "", DOMAIN_REJECT, NULL) != ERR_OK ||
          domain_set_missing(d, missing, 1, NULL) != ERR_OK ||
          domain_add_numeric(d, "gain", gains, 5, "-1", DOMAIN_CLIP, NULL) != ERR_OK ||
          domain_set_missing(d, missing, 2, NULL) != ERR_OK ||
          domain_set_step(d, 0.1, false, NULL) != ERR_OK);
    return d;
}

static void check(const struct table *t)
{
    for (size_t i = 0; i < t->domain->attributes; i++)
        for (size_t row = 0; row < t->rows; row++)
            never(t->column[i][row] >= t->domain->attribute[i].size);
}

/* Also a check of the writer; the folder belongs to this process alone. */
static void read_back(const struct table *t, const char *folder)
{
    struct table *again CLEAN(table_free) = NULL;
    char path[64];
    snprintf(path, sizeof path, "%s/t.csv", folder);
    never(table_write_csv(path, t, NULL, 1, NULL, NULL) != ERR_OK ||
          table_read_csv(&again, t->domain, path, NULL, NULL) != ERR_OK || again->rows != t->rows);
    for (size_t i = 0; i < t->domain->attributes; i++)
        never(t->rows > 0 &&
              memcmp(again->column[i], t->column[i], t->rows * sizeof t->column[i][0]) != 0);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[4096] = "", path[64], folder[] = "/tmp/trefoil-fuzz-XXXXXX";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct domain *d CLEAN(domain_free) = make_domain();
    struct table_csv_options options = {.rows.max = 1000};
    struct table *t CLEAN(table_free) = NULL;
    int fd = fuzz_file(data, size, path);
    if (size % 4 == 1) /* a quarter of the inputs as files with decimal commas */
        options = (struct table_csv_options){.delimiter = ';', .rows.decimal = ','};
    enum err e = table_read_csv(&t, d, path, &options, &log);
    if (e == ERR_OK) {
        check(t);
        /* writing syncs to disk, so not every time */
        if (t->rows > 0 && size % 64 == 0) {
            never(mkdtemp(folder) == NULL);
            read_back(t, folder);
            rmdir(folder);
        }
    } else if (strstr(sink, "error: ") == NULL) {
        abort();
    }
    close(fd);
    return 0;
}

/* The corpus has them. */
void fuzz_seeds(fuzz_put put, void *self)
{
}
