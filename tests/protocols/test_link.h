/* tests/protocols/test_link.h - tables of several owners, in the clear and as shares. */
#pragma once

#include "base/memory.h"
#include "harness/three.h"
#include "protocols/link.h"

#include <stdlib.h>
#include <string.h>

#define OWNERS_MAX 9

struct link_row {
    bool valid;
    uint64_t key, columns;
};

struct link_tables {
    size_t owners, n[OWNERS_MAX];
    unsigned columns[OWNERS_MAX];
    struct link_row *row[OWNERS_MAX];
};

static inline void tables_free(struct link_tables *t)
{
    for (size_t o = 0; o < t->owners; o++)
        memory_free(&t->row[o]);
}

/* As owners sort: invalid rows last. Rows of a key are in the order of their columns. */
static inline int by_key(const void *x, const void *y)
{
    const struct link_row *a = x, *b = y;
    return a->valid != b->valid ? b->valid - a->valid
           : a->key != b->key   ? (a->key > b->key) - (a->key < b->key)
                                : (a->columns > b->columns) - (a->columns < b->columns);
}

/* n rows with keys of a few values, spread over all 64 bits; one in eight is invalid. */
static inline void tables_fill(struct link_tables *t, size_t owner, size_t n, unsigned columns,
                               uint64_t keys, uint64_t *state)
{
    t->row[owner] = memory_array(n, sizeof(struct link_row));
    t->n[owner] = n;
    t->columns[owner] = columns;
    t->owners = owner + 1 > t->owners ? owner + 1 : t->owners;
    for (size_t i = 0; i < n; i++) {
        const uint64_t k = three_random(state) % keys;
        t->row[owner][i] = (struct link_row){three_random(state) % 8 > 0, k * 0x9e3779b97f4a7c15,
                                             three_random(state) & (((uint64_t)1 << columns) - 1)};
    }
    qsort(t->row[owner], n, sizeof(struct link_row), by_key);
}

/* This server's share of a table: planes of validity, key and columns. */
static inline enum err tables_share(const struct party *p, const struct link_tables *t,
                                    size_t owner, struct planes *x)
{
    const size_t n = t->n[owner], words = bits_words(n);
    const unsigned width[3] = {1, LINK_KEY, t->columns[owner]};
    uint64_t *values CLEAN(memory_release) = memory_array(n, sizeof *values);
    size_t at = 0;
    TRY(planes_new(x, LINK_FRONT + t->columns[owner], n));
    for (unsigned part = 0; part < 3; part++) {
        struct planes y CLEAN(planes_free) = {0};
        for (size_t i = 0; i < n; i++) {
            const struct link_row *r = &t->row[owner][i];
            values[i] = part == 0 ? r->valid : part == 1 ? r->key : r->columns;
        }
        TRY(three_share_planes(p, &y, values, n, width[part], 10 * owner + part));
        memcpy(x->a + at, y.a, width[part] * words * sizeof *y.a);
        memcpy(x->b + at, y.b, width[part] * words * sizeof *y.b);
        at += width[part] * words;
    }
    return ERR_OK;
}
