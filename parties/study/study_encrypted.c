/* Rows that an owner encrypts for a provider: how they lie, and how long they are. */
#include "base/memory.h"
#include "base/words.h"
#include "parties/study/study_parse.h"
#include "parties/study/study_uploads.h"

/* The most that an owner may send, and the provider send on of it: what either has in memory. */
#define ENCRYPTED_MOST ((uint64_t)256 << 20)

static size_t singles(const struct study *study)
{
    size_t n = 0;
    for (size_t q = 0; q < study->workload->queries; q++)
        n += study->workload->query[q].maximal && study->workload->query[q].clique.n == 1;
    return n;
}

bool study_encrypts(const struct study *study)
{
    size_t i = 0;
    while (i < study->owners && study->owner[i].encrypted.bytes == 0)
        i++;
    return i < study->owners;
}

size_t study_encrypted_codes(const struct study *study)
{
    return study->domain->attributes + (singles(study) > 0);
}

enum err study_encrypted_plan(const struct study *study, size_t owner, struct lattice_plan **plan)
{
    const struct workload *w = study->workload;
    const size_t attributes = study->domain->attributes;
    uint32_t *size CLEAN(memory_release) = NULL, (*pair)[2] CLEAN(memory_release) = NULL;
    struct lattice_shape shape = {.rows = study_owner(study, owner)->pad_to,
                                  .attributes = study_encrypted_codes(study)};
    *plan = NULL;
    TRY(memory_new(&size, attributes + 1));
    TRY(memory_new(&pair, w->queries));
    for (size_t a = 0; a < attributes; a++)
        size[a] = study->domain->attribute[a].size;
    size[attributes] = 1;
    for (size_t q = 0; q < w->queries; q++) {
        const struct clique *c = &w->query[q].clique;
        if (!w->query[q].maximal)
            continue;
        if (c->n > 2)
            return ERR_RANGE;
        pair[shape.pairs][0] = c->attribute[0];
        pair[shape.pairs++][1] = c->n == 2 ? c->attribute[1] : (uint32_t)attributes;
    }
    shape.size = size;
    shape.pair = (const uint32_t(*)[2])pair;
    return lattice_plan_new(plan, &shape);
}

static enum err check_encrypted(struct study_reading *r, const yaml_node_t *node,
                                const struct study_owner *o)
{
    const struct workload *w = r->study->workload;
    const uint64_t sent = (uint64_t)o->encrypted.results * LATTICE_RESULT_SIZE;
    for (size_t q = 0; q < w->queries; q++)
        if (w->query[q].clique.n > 2)
            return yaml_error(r->file, node,
                              "%s cannot send records: a provider counts encrypted rows in pairs "
                              "of columns, and a marginal has %u; use as: counts",
                              o->name, (unsigned)w->query[q].clique.n);
    if (o->encrypted.bytes == 0 || o->encrypted.bytes > ENCRYPTED_MOST || sent > ENCRYPTED_MOST)
        return yaml_error(r->file, node,
                          "%s cannot send records: encrypted, %u of them take more than %s; lower "
                          "pad_to or have fewer values, or use as: counts",
                          o->name, o->pad_to, words_bytes(ENCRYPTED_MOST).text);
    return ERR_OK;
}

/* As long as those of another owner that pads to as many. */
enum err study_plan_encrypted(struct study_reading *r, const yaml_node_t *node, size_t owner)
{
    struct study_owner *all = r->study->owner, *o = &all[owner];
    struct lattice_plan *plan CLEAN(lattice_plan_free) = NULL;
    enum err e;
    for (size_t k = 0; k < owner; k++)
        if (all[k].encrypted.bytes > 0 && all[k].pad_to == o->pad_to) {
            o->encrypted = all[k].encrypted;
            return ERR_OK;
        }
    e = study_encrypted_plan(r->study, owner, &plan);
    if (e != ERR_OK && e != ERR_RANGE)
        return e;
    if (e == ERR_OK)
        o->encrypted = (struct study_encrypted){lattice_upload_size(plan), plan->results,
                                                plan->blocks};
    return check_encrypted(r, node, o);
}
