#include "parties/analyst/central.h"

#include "aim/plaintext.h"
#include "base/memory.h"
#include "parties/analyst/release.h"
#include "parties/study/bounds.h"

enum err central_run(struct aim_result **result, const struct study *study,
                     const struct table *table,
                     void (*progress)(void *self, const struct aim_round *round), void *self,
                     struct log *log)
{
    struct bounds *bounds = NULL;
    struct plaintext *plaintext = NULL;
    struct aim_options options;
    struct aim_backend backend;
    enum err e = bounds_new(&bounds, study, log);
    if (e == ERR_OK)
        e = release_loop_options(study, bounds, &options, log);
    if (e == ERR_OK)
        e = plaintext_new(&plaintext, study->workload, table, NULL, log);
    if (e == ERR_OK) {
        options.progress = progress;
        options.self = self;
        backend = plaintext_backend(plaintext);
        e = aim_run(result, &options, &backend, log);
    }
    plaintext_free(&plaintext);
    bounds_free(&bounds);
    return e;
}

enum err central_append(struct table *to, const struct table *from)
{
    size_t d = from->domain->attributes;
    uint16_t *codes = memory_array(d, sizeof *codes);
    enum err e = codes == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < from->rows; i++) {
        for (size_t a = 0; a < d; a++)
            codes[a] = from->column[a][i];
        e = table_append(to, codes);
    }
    memory_free(&codes);
    return e;
}
