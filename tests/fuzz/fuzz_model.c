/*
 * A model file, with its digest made to fit, since no mutation would find it: no crash; what is
 * accepted is written back byte for byte, and can be drawn from.
 */
#include "aim/model/model_file.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

#define CELLS 4096

static void check(const struct model *m, const struct bytes *text)
{
    struct bytes back CLEAN(bytes_clear) = {0};
    char folder[] = "/tmp/trefoil-fuzz-XXXXXX", path[64];
    never(mkdtemp(folder) == NULL);
    snprintf(path, sizeof path, "%s/model", folder);
    never(model_save(path, m, NULL) != ERR_OK || file_read(path, 1 << 24, &back, NULL) != ERR_OK ||
          back.size != text->size || memcmp(back.data, text->data, back.size) != 0);
    unlink(path);
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[4096] = "", path[64];
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct bytes text CLEAN(bytes_clear) = {0};
    struct domain *d CLEAN(domain_free) = NULL;
    struct model *m CLEAN(model_free) = NULL;
    bytes_put(&text, data, size);
    digest_append(&text);
    int fd = fuzz_file(text.data, text.size, path);
    enum err e = model_load(&m, &d, path, CELLS, &log);
    if (e == ERR_OK && size % 64 == 0) /* writing syncs to disk, so not every time */
        check(m, &text);
    else if (e != ERR_OK && strstr(sink, "error: ") == NULL && e != ERR_NOMEM)
        abort();
    close(fd);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const char *const wards[] = {"a", "b", "c"};
    static const double edges[] = {0, 1.5, 3, 10};
    struct clique cliques[2] = {{.n = 2, .attribute = {0, 1}}, {.n = 2, .attribute = {1, 2}}};
    struct domain *d CLEAN(domain_free) = NULL;
    struct model_terms terms = {.clique = cliques, .cliques = 2, .limit_cells = CELLS};
    struct model *m CLEAN(model_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    char path[64];
    never(domain_new(&d) != ERR_OK ||
          domain_add_integer(d, "age", 0, 4, NULL, DOMAIN_CLIP, NULL) != ERR_OK ||
          domain_add_categorical(d, "ward", wards, 3, "?", DOMAIN_AS_MISSING, NULL) != ERR_OK ||
          domain_add_numeric(d, "bmi", edges, 4, "", DOMAIN_REJECT, NULL) != ERR_OK ||
          domain_set_missing(d, wards, 2, NULL) != ERR_OK ||
          domain_set_step(d, 0.5, false, NULL) != ERR_OK ||
          domain_set_tail(d, DOMAIN_TAIL_TYPICAL, 5, NULL) != ERR_OK);
    terms.domain = d;
    never(model_new(&m, &terms, NULL) != ERR_OK);
    model_set_total(m, 100);
    snprintf(path, sizeof path, "/tmp/trefoil-fuzz-model-%d", (int)getpid());
    never(model_save(path, m, NULL) != ERR_OK || file_read(path, 1 << 24, &text, NULL) != ERR_OK);
    unlink(path);
    put(self, text.data, text.size - 32);
}
