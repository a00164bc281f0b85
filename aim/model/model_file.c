#include "aim/model/model_file.h"

#include "aim/model/model_private.h"
#include "aim/table/table.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/version.h"

#include <math.h>

static const char magic[] = "trefoil-model-1\n";
static const char magic_merged[] = "trefoil-model-2\n";
static const char magic_dates[] = "trefoil-model-3\n";

/* --- writing --------------------------------------------------------------------------------- */

static void write_zeros(const struct model_mask *mask, const struct domain *d, struct bytes *out)
{
    uint64_t cells = clique_cells(&mask->clique, d), zeros = 0;
    for (uint64_t i = 0; i < cells; i++)
        zeros += mask->barred[i];
    clique_write(&mask->clique, out);
    bytes_put_u64(out, zeros);
    for (uint64_t i = 0; i < cells; i++)
        if (mask->barred[i])
            bytes_put_u32(out, (uint32_t)i);
}

static void write_groups(const struct model *m, struct bytes *out)
{
    merges_write(&m->merges, out);
    for (uint16_t a = 0; a < m->domain->attributes; a++)
        for (uint32_t code = 0; m->share[a] != NULL && code < m->merges.codes[a]; code++)
            bytes_put_double(out, m->share[a][code]);
}

void model_write(const struct model *m, struct bytes *out)
{
    if (m->shares > 0)
        write_groups(m, out);
    bytes_put_double(out, m->total);
    bytes_put_u32(out, (uint32_t)m->potentials);
    for (size_t k = 0; k < m->potentials; k++)
        clique_write(&m->potential[k].clique, out);
    bytes_put_u32(out, (uint32_t)m->masks);
    for (size_t k = 0; k < m->masks; k++)
        write_zeros(&m->mask[k], m->domain, out);
    bytes_put_u64(out, m->parameters);
    for (size_t i = 0; i < m->parameters; i++)
        bytes_put_double(out, m->theta[i]);
}

enum err model_save(const char *path, const struct model *m, struct log *log)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    const bool merged = m->shares > 0, dates = domain_needs_version_3(m->domain);
    bytes_put_text(&out, dates ? magic_dates : merged ? magic_merged : magic);
    domain_write(m->domain, &out);
    if (dates)
        bytes_put_u8(&out, merged);
    model_write(m, &out);
    return digest_write(path, 0644, &out, log);
}

/* --- reading --------------------------------------------------------------------------------- */

struct file_parts {
    struct merges merges;
    size_t shares;
    double *share;
    struct clique *clique;
    size_t cliques;
    struct workload_zeros *zero;
    size_t zeros;
};

static enum err read_zeros(struct reader *r, const struct domain *d, struct workload_zeros *z)
{
    uint32_t *cell;
    TRY(clique_read(&z->clique, d, r));
    z->cells = (size_t)reader_u64(r);
    if (r->failed || z->cells > r->left / sizeof *cell)
        return ERR_FORMAT;
    TRY(memory_new(&cell, z->cells));
    z->cell = cell;
    for (size_t i = 0; i < z->cells; i++)
        cell[i] = reader_u32(r);
    return ERR_OK;
}

/* Counts are checked against the bytes that are left before they size any allocation. */
static enum err read_parts(struct file_parts *p, struct reader *r, const struct domain *d)
{
    size_t zeros, cliques = reader_u32(r);
    if (r->failed || cliques == 0 || cliques > r->left / 4)
        return ERR_FORMAT;
    TRY(memory_new(&p->clique, cliques));
    for (; p->cliques < cliques; p->cliques++)
        TRY(clique_read(&p->clique[p->cliques], d, r));
    zeros = reader_u32(r);
    if (r->failed || zeros > r->left / 12)
        return ERR_FORMAT;
    TRY(memory_new(&p->zero, zeros));
    while (p->zeros < zeros)
        TRY(read_zeros(r, d, &p->zero[p->zeros++]));
    return ERR_OK;
}

static void parts_clear(struct file_parts *p)
{
    for (size_t i = 0; i < p->zeros; i++)
        memory_free(&p->zero[i].cell);
    memory_free_all(&p->clique, &p->zero, &p->share);
    merges_clear(&p->merges);
}

static enum err read_theta(struct model *m, struct reader *r)
{
    if (reader_u64(r) != m->parameters || r->left / sizeof(double) < m->parameters)
        return ERR_FORMAT;
    for (size_t i = 0; i < m->parameters; i++) {
        m->theta[i] = reader_double(r);
        if (!isfinite(m->theta[i]))
            return ERR_FORMAT;
    }
    model_propagate(m, true);
    return isfinite(m->log_z) ? ERR_OK : ERR_FORMAT;
}

static enum err read_groups(struct file_parts *p, struct reader *r, const struct domain *d)
{
    TRY(merges_read(&p->merges, d, r));
    for (uint16_t a = 0; a < d->attributes; a++)
        p->shares += p->merges.group[a] != NULL ? d->attribute[a].size : 0;
    if (p->shares == 0 || p->shares > r->left / sizeof *p->share)
        return ERR_FORMAT;
    TRY(memory_new(&p->share, p->shares));
    for (size_t i = 0; i < p->shares; i++)
        p->share[i] = reader_double(r);
    return !r->failed && groups_add_up(&p->merges, p->share) ? ERR_OK : ERR_FORMAT;
}

enum err model_read(struct model **out, const struct domain *d, bool merged, struct reader *r,
                    uint64_t limit_cells, struct log *log)
{
    struct file_parts p CLEAN(parts_clear) = {0};
    struct model *m CLEAN(model_free) = NULL;
    struct model_terms t = {.domain = d, .limit_cells = limit_cells};
    double total;
    *out = NULL;
    if (merged) {
        TRY(read_groups(&p, r, d));
        t.merges = &p.merges;
    }
    total = reader_double(r);
    TRY(read_parts(&p, r, d));
    if (!(total > 0 && total <= (double)TABLE_ROWS_MAX))
        return ERR_FORMAT;
    t.clique = p.clique;
    t.cliques = p.cliques;
    t.zero = p.zero;
    t.zeros = p.zeros;
    TRY(model_new(&m, &t, log));
    if (merged)
        groups_set(m, p.share);
    TRY(read_theta(m, r));
    m->total = total;
    return memory_hand_over(out, &m);
}

static enum err load(struct model **m, struct domain **d, const struct bytes *text,
                     uint64_t limit_cells, struct log *log)
{
    struct reader r = reader_of(text->data, text->size);
    const unsigned version = version_of(text->data, text->size, magic_dates);
    uint8_t merged = version == 2;
    TRY(digest_check(&r, version == 3 ? magic_dates : merged ? magic_merged : magic));
    TRY(domain_read(d, &r, log));
    if (version == 3)
        merged = reader_u8(&r);
    if (merged > 1 || domain_needs_version_3(*d) != (version == 3))
        return ERR_FORMAT;
    TRY(model_read(m, *d, merged == 1, &r, limit_cells, log));
    return reader_done(&r);
}

enum err model_load(struct model **m, struct domain **d, const char *path, uint64_t limit_cells,
                    struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    *m = NULL;
    *d = NULL;
    TRY(file_read(path, MODEL_FILE_MAX, &text, log));
    TRY(version_check(path, text.data, text.size, magic_dates, 1, log));
    e = load(m, d, &text, limit_cells, log);
    if (e == ERR_FORMAT || e == ERR_STUDY)
        e = log_fail(log, ERR_FORMAT,
                     "%s is no model of this version of trefoil, or it is cut or altered; write it "
                     "again with trefoil run or trefoil aim",
                     path);
    if (e != ERR_OK) {
        model_free(m);
        domain_free(d);
    }
    return e;
}
