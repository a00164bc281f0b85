#include "bench/flaim/flaim_message.h"

#include "aim/model/model_private.h"
#include "base/memory.h"
#include "harness/model.h"

#include <string.h>

#define MODEL 1

/* Whether no other of the model's cliques holds this one. */
static bool largest(const struct model *m, size_t i)
{
    for (size_t k = 0; k < m->potentials; k++)
        if (k != i && clique_contains(&m->potential[k].clique, &m->potential[i].clique))
            return false;
    return true;
}

uint64_t flaim_model_bytes(const struct model *m)
{
    uint64_t bytes = 1 + 4;
    for (size_t i = 0; i < m->potentials; i++)
        if (largest(m, i))
            bytes += 1 + 2 * (uint64_t)m->potential[i].clique.n + 4 * m->potential[i].cells;
    return bytes;
}

static void put_float(struct bytes *out, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bytes_put_u32(out, bits);
}

/* The same distribution over the largest cliques alone is what a warm start makes of it. */
enum err flaim_model_write(const struct model *m, struct bytes *out, struct log *log)
{
    struct clique *c = memory_array(m->potentials, sizeof *c);
    struct model_terms t = {.domain = m->domain, .clique = c, .limit_cells = UINT32_MAX, .warm = m};
    struct model *small = NULL;
    size_t n = 0;
    enum err e;
    for (size_t i = 0; c != NULL && i < m->potentials; i++)
        if (largest(m, i))
            c[n++] = m->potential[i].clique;
    t.cliques = n;
    e = c != NULL ? model_new(&small, &t, log) : ERR_NOMEM;
    if (e == ERR_OK) {
        bytes_put_u8(out, MODEL);
        bytes_put_u32(out, (uint32_t)n);
        for (size_t i = 0; i < n; i++) {
            bytes_put_u8(out, (uint8_t)c[i].n);
            for (unsigned k = 0; k < c[i].n; k++)
                bytes_put_u16(out, c[i].attribute[k]);
        }
        for (size_t i = 0; i < small->parameters; i++)
            put_float(out, (float)small->theta[i]);
        e = bytes_ok(out);
    }
    model_free(&small);
    memory_free(&c);
    return e;
}
