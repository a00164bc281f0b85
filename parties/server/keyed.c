#include "parties/server/keyed.h"

#include "base/memory.h"
#include "mpc/scratch.h"
#include "protocols/answers.h"
#include "protocols/link.h"
#include "protocols/records_pack.h"

#include <string.h>

_Static_assert(LINK_KEY == RECORDS_KEY_BITS, "keys are linked as they are packed");

bool keyed_in(const struct study *study)
{
    return study->person.columns > 0;
}

enum err keyed_new(struct keyed *x, const struct study *study)
{
    *x = (struct keyed){.study = study};
    if (!keyed_in(study))
        return ERR_OK;
    TRY(memory_new(&x->table, study->owners));
    return memory_new(&x->left_out, study->owners);
}

static void free_tables(struct keyed *x)
{
    for (size_t i = 0; x->table != NULL && i < x->study->owners; i++)
        planes_free(&x->table[i]);
}

void keyed_forget(struct keyed *x)
{
    for (size_t k = 0; k < x->lists; k++)
        planes_free(&x->rows[k].planes);
}

void keyed_free(struct keyed *x)
{
    free_tables(x);
    keyed_forget(x);
    memory_free(&x->table);
    memory_free(&x->left_out);
    memory_free(&x->rows);
    x->lists = 0;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* `count` packed planes, one after the other, into planes of words. */
static void unpack(uint64_t *to, const uint8_t *packed, unsigned count, size_t records)
{
    const size_t bytes = records_plane_bytes(records), words = bits_words(records);
    for (unsigned k = 0; k < count; k++)
        memcpy(to + k * words, packed + k * bytes, bytes);
}

/* Keys are packed behind the codes, and stand before them in a table. */
static void load_component(uint64_t *table, const uint8_t *packed, unsigned bits, size_t records)
{
    const size_t bytes = records_plane_bytes(records), words = bits_words(records);
    const unsigned codes = bits - LINK_FRONT;
    unpack(table, packed, 1, records);
    unpack(table + words, packed + (1 + codes) * bytes, LINK_KEY, records);
    unpack(table + LINK_FRONT * words, packed + bytes, codes, records);
}

enum err keyed_load(struct party *p, struct keyed *x, const struct upload *u)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const size_t records = x->study->owner[u->owner].pad_to;
    const unsigned bits = study_record_bits(x->study, u->owner);
    struct planes *table = &x->table[u->owner];
    const uint8_t *seed[2];
    if (u->form != UPLOAD_RECORDS || table->width > 0 || x->lists > 0)
        return ERR_MISUSE;
    TRY(planes_new(table, bits, records));
    upload_seeds(u, p->index, seed);
    for (unsigned k = 0; k < 2; k++) {
        const uint8_t *packed;
        TRY(answers_component(p, seed[k], u->vector.data, bits * records_plane_bytes(records),
                              &packed));
        load_component(k == 0 ? table->a : table->b, packed, bits, records);
    }
    return ERR_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* All tables that are here, in the order of their owners, as one that has `most` rows of a key. */
static enum err bound(struct party *p, struct keyed *x, struct keyed_rows *rows)
{
    const struct study *study = x->study;
    struct planes *table CLEAN(memory_release) = NULL;
    bool *sorted CLEAN(memory_release) = NULL;
    size_t *owner CLEAN(memory_release) = NULL, count = 0;
    unsigned width = LINK_FRONT;
    TRY(memory_new(&table, study->owners));
    TRY(memory_new(&sorted, study->owners));
    TRY(memory_new(&owner, study->owners));
    for (size_t i = 0; i < study->owners; i++)
        if (x->table[i].width > 0) {
            width = x->table[i].width;
            owner[count] = i;
            table[count++] = x->table[i];
        }
    rows->attribute = study->owner[0].column;
    TRY(planes_new(&rows->planes, 1 + width - LINK_FRONT, link_rows(table, count)));
    TRY(link_bound(p, &rows->planes, table, count, study->rows_per_person, sorted));
    for (size_t k = 0; k < count; k++)
        x->left_out[owner[k]] = !sorted[k];
    return ERR_OK;
}

enum err keyed_make(struct party *p, struct keyed *x)
{
    TRY(memory_new(&x->rows, 1));
    x->lists = 1;
    TRY(bound(p, x, &x->rows[0]));
    free_tables(x);
    return ERR_OK;
}
