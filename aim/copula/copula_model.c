#include "aim/copula/copula_model.h"

#include "aim/copula/copula.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

static const char magic[] = "trefoil-copula-3\n";
static const char *const old_magic[] = {"trefoil-copula-1\n",  /* without groups, */
                                        "trefoil-copula-2\n"}; /* or what is new in domains */

#define FILE_MAX (UINT64_C(4) << 30)

static enum err lay_out(struct copula *c)
{
    const size_t d = c->domain->attributes;
    for (size_t i = 0; i < d; i++)
        c->first[i + 1] = c->first[i] + (c->groups[i] > 1 ? c->groups[i] - 1 : 1);
    memory_free(&c->correlation);
    return memory_new(&c->correlation, c->first[d] * c->first[d]);
}

enum err copula_new(struct copula **out, const struct domain *d)
{
    struct copula *c CLEAN(copula_free) = NULL;
    *out = NULL;
    TRY(memory_new(&c, 1));
    c->domain = d;
    TRY(memory_new(&c->share, d->attributes));
    TRY(memory_new(&c->group, d->attributes));
    TRY(memory_new(&c->groups, d->attributes));
    TRY(memory_new(&c->first, d->attributes + 1));
    for (size_t i = 0; i < d->attributes; i++) {
        TRY(memory_new(&c->share[i], d->attribute[i].size));
        TRY(memory_new(&c->group[i], d->attribute[i].size));
        c->groups[i] = 1;
    }
    TRY(lay_out(c));
    return memory_hand_over(out, &c);
}

enum err copula_set_groups(struct copula *c, size_t attribute, const uint16_t *group, size_t groups)
{
    memcpy(c->group[attribute], group, c->domain->attribute[attribute].size * sizeof *group);
    c->groups[attribute] = groups;
    return lay_out(c);
}

void copula_free(struct copula **copula)
{
    struct copula *c = *copula;
    if (c == NULL)
        return;
    memory_free_each(&c->share, c->domain->attributes);
    memory_free_each(&c->group, c->domain->attributes);
    memory_free_all(&c->groups, &c->first, &c->correlation);
    memory_free(copula);
}

/* --- files ------------------------------------------------------------------------------------ */

enum err copula_save(const char *path, const struct copula *c, struct log *log)
{
    const size_t d = c->domain->attributes, latents = c->first[d];
    struct bytes out CLEAN(bytes_clear) = {0};
    bytes_put_text(&out, domain_needs_version_3(c->domain) ? magic : old_magic[1]);
    domain_write(c->domain, &out);
    bytes_put_double(&out, c->total);
    for (size_t i = 0; i < d; i++)
        for (uint32_t a = 0; a < c->domain->attribute[i].size; a++)
            bytes_put_double(&out, c->share[i][a]);
    for (size_t i = 0; i < d; i++) {
        bytes_put_u32(&out, (uint32_t)c->groups[i]);
        for (uint32_t a = 0; c->groups[i] > 1 && a < c->domain->attribute[i].size; a++)
            bytes_put_u16(&out, c->group[i][a]);
    }
    for (size_t i = 0; i < latents; i++)
        for (size_t j = 0; j < i; j++)
            bytes_put_double(&out, c->correlation[i * latents + j]);
    return digest_write(path, 0644, &out, log);
}

/* The shares must not be negative, and must add up to 1. */
static enum err read_shares(double *share, uint32_t size, struct reader *r)
{
    double sum = 0;
    for (uint32_t a = 0; a < size; a++) {
        share[a] = reader_double(r);
        if (r->failed || !(share[a] >= 0 && share[a] <= 1))
            return ERR_FORMAT;
        sum += share[a];
    }
    return fabs(sum - 1) < 1e-6 ? ERR_OK : ERR_FORMAT;
}

static enum err read_groups(struct copula *c, struct reader *r)
{
    double latents = 0;
    for (size_t i = 0; i < c->domain->attributes; i++) {
        c->groups[i] = reader_u32(r);
        if (r->failed || c->groups[i] < 1 || c->groups[i] > c->domain->attribute[i].size ||
            c->groups[i] > COPULA_GROUPS_MOST) /* the utilities of many more would take hours */
            return ERR_FORMAT;
        latents += c->groups[i] > 1 ? (double)c->groups[i] - 1 : 1;
        for (uint32_t a = 0; c->groups[i] > 1 && a < c->domain->attribute[i].size; a++)
            if ((c->group[i][a] = reader_u16(r)) >= c->groups[i])
                return ERR_FORMAT;
    }
    if (r->failed ||
        4 * latents * (latents - 1) > (double)r->left) /* nothing is allocated for absent data */
        return ERR_FORMAT;
    return lay_out(c);
}

static enum err read_correlations(struct copula *c, struct reader *r)
{
    const size_t d = c->first[c->domain->attributes], *first = c->first;
    double *root CLEAN(memory_release) = NULL;
    for (size_t i = 0; i < d; i++) {
        c->correlation[i * d + i] = 1;
        first += first[1] <= i;
        for (size_t j = 0; j < i; j++) {
            const double x = reader_double(r);
            if (r->failed || !(fabs(x) <= (j < *first ? 1 : 0))) /* 0 within one attribute */
                return ERR_FORMAT;
            c->correlation[i * d + j] = c->correlation[j * d + i] = x;
        }
    }
    TRY(memory_new(&root, d * d));
    memcpy(root, c->correlation, d * d * sizeof *root);
    return copula_root(root, d) == ERR_OK ? ERR_OK : ERR_FORMAT;
}

static enum err load(struct copula **c, struct domain **d, const struct bytes *text,
                     struct log *log)
{
    struct reader r = reader_of(text->data, text->size);
    const unsigned version = version_of(text->data, text->size, magic);
    TRY(digest_check(&r, version == 1 || version == 2 ? old_magic[version - 1] : magic));
    TRY(domain_read(d, &r, log));
    if (domain_needs_version_3(*d) != (version == 3))
        return ERR_FORMAT;
    TRY(copula_new(c, *d));
    (*c)->total = reader_double(&r);
    if (r.failed || !((*c)->total > 0 && (*c)->total <= (double)TABLE_ROWS_MAX))
        return ERR_FORMAT;
    for (size_t i = 0; i < (*d)->attributes; i++)
        TRY(read_shares((*c)->share[i], (*d)->attribute[i].size, &r));
    if (version > 1)
        TRY(read_groups(*c, &r));
    TRY(read_correlations(*c, &r));
    return reader_done(&r);
}

enum err copula_load(struct copula **c, struct domain **d, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    *c = NULL;
    *d = NULL;
    TRY(file_read(path, FILE_MAX, &text, log));
    TRY(version_check(path, text.data, text.size, magic, 1, log));
    e = load(c, d, &text, log);
    if (e == ERR_FORMAT || e == ERR_STUDY)
        e = log_fail(log, ERR_FORMAT,
                     "%s is no copula of this version of trefoil, or it is cut or altered; write "
                     "it again with trefoil aim",
                     path);
    if (e != ERR_OK) {
        copula_free(c);
        domain_free(d);
    }
    return e;
}

bool copula_is_file(const char *path)
{
    char start[sizeof magic - 1];
    FILE *f;
    const bool is = file_open(&f, path, NULL) == ERR_OK &&
                    fread(start, 1, sizeof start, f) == sizeof start &&
                    version_of(start, sizeof start, magic) > 0;
    if (f != NULL)
        (void)fclose(f);
    return is;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static enum err count(const void *self, uint16_t attribute, double *counts)
{
    const struct copula *c = self;
    for (uint32_t k = 0; k < c->domain->attribute[attribute].size; k++)
        counts[k] = c->total * c->share[attribute][k];
    return ERR_OK;
}

enum err copula_densities(struct densities *out, const struct copula *c)
{
    return densities_of(out, c->domain, count, c);
}
