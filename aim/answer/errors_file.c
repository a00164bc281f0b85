#include "aim/answer/errors_file.h"

#include "aim/model/model_file.h"
#include "aim/model/model_private.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/version.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

static const char magic[] = "trefoil-errors-3\n";
/* Of earlier versions, which kept no counts: without and with merged codes. */
static const char magic_plain[] = "trefoil-errors-1\n", magic_merged[] = "trefoil-errors-2\n";

static enum err digest_of(const struct model *m, uint8_t digest[DIGEST_SIZE])
{
    struct bytes all CLEAN(bytes_clear) = {0};
    model_write(m, &all);
    TRY(bytes_ok(&all));
    crypto_generichash(digest, DIGEST_SIZE, all.data, all.size, NULL, 0);
    return ERR_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_refits(const struct errors *e, struct bytes *out)
{
    bytes_put_u32(out, (uint32_t)e->refits);
    bytes_put_u32(out, (uint32_t)e->potentials);
    bytes_put_u64(out, e->parameters);
    for (size_t r = 0; r < e->refits; r++) {
        bytes_put_double(out, e->total[r]);
        for (size_t k = 0; k < e->potentials; k++) {
            uint32_t bits;
            memcpy(&bits, &e->unit[r * e->potentials + k], sizeof bits);
            bytes_put_u32(out, bits);
        }
        for (size_t i = 0; i < e->parameters; i++)
            bytes_put_u16(out, (uint16_t)e->moved[r * e->parameters + i]);
        for (size_t i = 0; i < e->shares; i++)
            bytes_put_double(out, e->share[r * e->shares + i]);
    }
}

static void write_counts(const struct errors *e, const struct model *m, struct bytes *out)
{
    bytes_put_u32(out, (uint32_t)e->counts);
    for (size_t i = 0; i < e->counts; i++) {
        const struct measurement *x = &e->count[i];
        const uint64_t cells = measurement_cells(x, m->domain);
        clique_write(&x->clique, out);
        bytes_put_u8(out, x->merges != NULL);
        bytes_put_double(out, x->sigma);
        for (uint64_t k = 0; k < cells; k++)
            bytes_put_double(out, x->y[k]);
    }
}

enum err errors_save(const char *path, const struct errors *e, const struct model *m,
                     struct log *log)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    uint8_t model[DIGEST_SIZE];
    TRY(digest_of(m, model));
    bytes_put_text(&out, magic);
    bytes_put(&out, model, sizeof model);
    write_refits(e, &out);
    bytes_put_u8(&out, e->learned);
    bytes_put_u32(&out, ERRORS_WAVES);
    for (unsigned w = 0; w < ERRORS_WAVES; w++) {
        bytes_put_double(&out, e->apart[w].common);
        bytes_put_double(&out, e->apart[w].small);
    }
    bytes_put_u32(&out, (uint32_t)e->attributes);
    for (size_t i = 0; i < e->attributes; i++)
        bytes_put_double(&out, e->inside[i]);
    write_counts(e, m, &out);
    return digest_write(path, 0644, &out, log);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A finite number that is not below `least`. */
static enum err read_number(struct reader *r, double least, double *v)
{
    *v = reader_double(r);
    return !r->failed && isfinite(*v) && *v >= least ? ERR_OK : ERR_FORMAT;
}

static enum err read_refit(struct errors *e, const struct model *m, size_t refit, struct reader *r)
{
    TRY(read_number(r, 1, &e->total[refit]));
    for (size_t k = 0; k < e->potentials; k++) {
        uint32_t bits = reader_u32(r);
        float *unit = &e->unit[refit * e->potentials + k];
        memcpy(unit, &bits, sizeof bits);
        if (!isfinite(*unit) || *unit < 0)
            return ERR_FORMAT;
    }
    for (size_t i = 0; i < e->parameters; i++)
        e->moved[refit * e->parameters + i] = (int16_t)reader_u16(r);
    for (size_t i = 0; i < e->shares; i++)
        e->share[refit * e->shares + i] = reader_double(r);
    return !r->failed && groups_add_up(&m->merges, e->share + refit * e->shares) ? ERR_OK
                                                                                 : ERR_FORMAT;
}

static enum err read_count(struct measurement *x, const struct model *m, struct reader *r)
{
    const struct domain *d = m->domain;
    uint64_t cells;
    TRY(clique_read(&x->clique, d, r));
    x->merges = reader_u8(r) != 0 ? model_merges(m) : NULL;
    TRY(read_number(r, 0, &x->sigma));
    cells = measurement_cells(x, d);
    if (cells > r->left / sizeof *x->y)
        return ERR_FORMAT;
    TRY(memory_new(&x->y, cells));
    for (uint64_t i = 0; i < cells; i++)
        TRY(read_number(r, -INFINITY, &x->y[i]));
    return ERR_OK;
}

static enum err read_counts(struct errors *e, const struct model *m, struct reader *r)
{
    const size_t counts = reader_u32(r);
    if (r->failed || counts > r->left)
        return ERR_FORMAT;
    TRY(memory_new(&e->count, counts));
    while (e->counts < counts)
        TRY(read_count(&e->count[e->counts++], m, r));
    return ERR_OK;
}

static enum err read_all(struct errors *e, const struct model *m, bool counts, struct reader *r)
{
    size_t refits = reader_u32(r);
    if (refits < 1 || refits > ERRORS_REFITS || reader_u32(r) != m->potentials ||
        reader_u64(r) != m->parameters)
        return ERR_FORMAT;
    TRY(errors_room(e, m, refits));
    for (size_t i = 0; i < refits; i++)
        TRY(read_refit(e, m, i, r));
    e->learned = reader_u8(r) == 1;
    if (reader_u32(r) != ERRORS_WAVES)
        return ERR_FORMAT;
    for (unsigned w = 0; w < ERRORS_WAVES; w++) {
        TRY(read_number(r, 0, &e->apart[w].common));
        TRY(read_number(r, 0, &e->apart[w].small));
    }
    if (reader_u32(r) != e->attributes)
        return ERR_FORMAT;
    for (size_t i = 0; i < e->attributes; i++)
        TRY(read_number(r, 0, &e->inside[i]));
    if (counts)
        TRY(read_counts(e, m, r));
    return reader_done(r);
}

/* Checks the digest, and finds whether the version has counts. */
static enum err read_head(const struct model *m, const struct bytes *text, bool *counts,
                          struct reader *r)
{
    *counts = version_of(text->data, text->size, magic) >= 3;
    *r = reader_of(text->data, text->size);
    return digest_check(r, *counts ? magic : m->shares > 0 ? magic_merged : magic_plain);
}

enum err errors_load(struct errors **out, const struct model *m, const char *path, struct log *log)
{
    static const char again[] = "; trefoil refit makes it anew";
    struct errors *e CLEAN(errors_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    struct reader r;
    uint8_t model[DIGEST_SIZE];
    const uint8_t *stored;
    enum err failed;
    bool counts;
    *out = NULL;
    TRY(digest_of(m, model));
    TRY(file_read(path, ERRORS_FILE_MAX, &text, log));
    TRY(version_check(path, text.data, text.size, magic, 1, log));
    if (read_head(m, &text, &counts, &r) != ERR_OK)
        return log_fail(log, ERR_FORMAT, "%s is cut or altered%s", path, again);
    stored = reader_bytes(&r, sizeof model);
    if (stored == NULL || memcmp(stored, model, sizeof model) != 0)
        return log_fail(log, ERR_FORMAT, "%s is of another model%s", path, again);
    TRY(memory_new(&e, 1));
    failed = read_all(e, m, counts, &r);
    if (failed == ERR_FORMAT)
        return log_fail(log, ERR_FORMAT, "%s does not go with its model%s", path, again);
    return failed != ERR_OK ? failed : memory_hand_over(out, &e);
}
