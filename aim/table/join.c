#include "aim/table/join.h"

#include "base/memory.h"

/* Whether the next row of a part, if there is one, has this key. */
static bool row_of(const struct join_part *part, size_t at, uint64_t key)
{
    return at < part->table->rows && part->table->key[at] == key;
}

static void put_row(const struct join_part *part, size_t row, bool has, const struct domain *d,
                    uint16_t *codes)
{
    for (size_t c = 0; c < part->table->domain->attributes; c++) {
        const struct domain_attribute *a = &d->attribute[part->attribute[c]];
        codes[part->attribute[c]] = has ? part->table->column[c][row] : (uint16_t)(a->size - 1);
    }
}

/* The least key not yet taken; false if all are. */
static bool next_key(const struct join_part *part, size_t parts, const size_t *at, uint64_t *key)
{
    bool any = false;
    for (size_t k = 0; k < parts; k++)
        if (at[k] < part[k].table->rows && (!any || part[k].table->key[at[k]] < *key)) {
            *key = part[k].table->key[at[k]];
            any = true;
        }
    return any;
}

enum err table_join(struct table *out, const struct join_part *part, size_t parts, size_t keep,
                    size_t *linked, size_t *surplus)
{
    uint16_t codes[DOMAIN_ATTRIBUTES_MAX] = {0};
    size_t *at CLEAN(memory_release) = NULL, more;
    uint64_t key = 0;
    TRY(memory_new(&at, parts));
    *linked = *surplus = 0;
    for (size_t k = 0; k < parts; k++) {
        TRY(table_bound(part[k].table, 1, &more));
        *surplus += more;
    }
    while (next_key(part, parts, at, &key)) {
        size_t has = 0;
        const bool kept = keep < parts && row_of(&part[keep], at[keep], key);
        for (size_t k = 0; k < parts; k++) {
            const bool own = row_of(&part[k], at[k], key);
            put_row(&part[k], at[k], own, out->domain, codes);
            at[k] += own;
            has += own;
        }
        *linked += has == parts;
        if (kept || (keep >= parts && has == parts))
            TRY(table_append(out, codes));
    }
    return ERR_OK;
}
