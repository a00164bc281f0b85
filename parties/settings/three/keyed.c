#include "parties/settings/three/keyed.h"

#include "base/memory.h"
#include "mpc/party/scratch.h"
#include "parties/study/study_uploads.h"
#include "protocols/link.h"
#include "protocols/mask.h"
#include "protocols/records_pack.h"

#include <string.h>

_Static_assert(LINK_KEY == RECORDS_KEY_BITS, "keys are linked as they are packed");
_Static_assert(STUDY_LINKED_MAX <= LINK_OWNERS_MAX, "those of a batch can be joined");

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
    TRY(memory_new(&x->known, study->owners));
    return memory_new(&x->left_out, study->owners);
}

static void free_tables(struct keyed *x)
{
    for (size_t i = 0; x->table != NULL && i < x->study->owners; i++)
        planes_free(&x->table[i]);
}

static void free_rows(struct keyed_rows *rows)
{
    planes_free(&rows->whole);
    planes_free(&rows->linked);
    memory_free(&rows->attribute);
}

void keyed_forget(struct keyed *x)
{
    for (size_t k = 0; k < x->lists; k++)
        free_rows(&x->rows[k]);
    x->lists = 0;
}

void keyed_free(struct keyed *x)
{
    free_tables(x);
    keyed_forget(x);
    memory_free_all(&x->table, &x->known, &x->left_out, &x->rows);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* `count` packed planes, one after the other, into planes of words. */
static void unpack(uint64_t *to, const uint8_t *packed, unsigned count, size_t records)
{
    const size_t bytes = records_plane_bytes(records), words = bits_words(records);
    for (unsigned k = 0; k < count; k++)
        memcpy(to + k * words, packed + k * bytes, bytes);
}

/* Keys are packed after the codes, and come before them in a table. */
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
    if (u->form != UPLOAD_RECORDS || table->width > 0 || x->made)
        return ERR_MISUSE;
    TRY(planes_new(table, bits, records));
    three_seeds(u, p->index, seed);
    for (unsigned k = 0; k < 2; k++) {
        const uint8_t *packed;
        TRY(mask_component(p, seed[k], u->vector.data, bits * records_plane_bytes(records),
                           &packed));
        load_component(k == 0 ? table->a : table->b, packed, bits, records);
    }
    return ERR_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Tables from which rows are made together, in the order of their owners. */
struct keyed_source {
    size_t count;
    size_t *owner;
    struct planes *table; /* borrowed */
    bool *sorted;
    size_t attributes; /* of all tables */
    unsigned codes;    /* planes of codes, of all tables */
};

static void source_clear(struct keyed_source *s)
{
    memory_free_all(&s->owner, &s->table, &s->sorted);
}

/* Adds owner i's table, if it is here. */
static void add_table(const struct keyed *x, size_t i, struct keyed_source *s)
{
    if (x->table[i].width == 0)
        return;
    s->owner[s->count] = i;
    s->table[s->count] = x->table[i];
    s->sorted[s->count++] = !x->left_out[i];
    s->attributes += x->study->owner[i].columns;
    s->codes += x->table[i].width - LINK_FRONT;
}

static enum err source_new(const struct keyed *x, struct keyed_source *s)
{
    TRY(memory_new(&s->owner, x->study->owners));
    TRY(memory_new(&s->table, x->study->owners));
    return memory_new(&s->sorted, x->study->owners);
}

/* The tables of a batch or, if `first` is the number of owners, all tables. */
static enum err gather(const struct keyed *x, size_t first, struct keyed_source *s)
{
    const struct study *study = x->study;
    TRY(source_new(x, s));
    for (size_t i = 0; i < study->owners; i++)
        if (first == study->owners || study->owner[i].batch == first)
            add_table(x, i, s);
    return ERR_OK;
}

/* --- are they sorted? ------------------------------------------------------------------------- */

struct keyed_asking {
    const struct keyed_watch *watch;
    const struct keyed_source *source;
};

static enum err opening(void *self)
{
    const struct keyed_asking *a = self;
    return a->watch->opening(a->watch->self, a->source->owner, a->source->count);
}

/* Opens whether tables are sorted, where that is not known. */
static enum err find_sorted(struct party *p, struct keyed *x)
{
    const struct keyed_watch *w = &x->watch;
    struct keyed_source s CLEAN(source_clear) = {0};
    struct keyed_asking asking = {w, &s};
    TRY(source_new(x, &s));
    for (size_t i = 0; i < x->study->owners; i++)
        if (!x->known[i])
            add_table(x, i, &s);
    if (s.count == 0)
        return ERR_OK;
    TRY(link_sorted(p, s.table, s.count, w->opening != NULL ? opening : NULL, &asking, s.sorted));
    if (w->opened != NULL)
        TRY(w->opened(w->self, s.owner, s.sorted, s.count));
    for (size_t k = 0; k < s.count; k++) {
        x->known[s.owner[k]] = true;
        x->left_out[s.owner[k]] = !s.sorted[k];
    }
    return ERR_OK;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Which attributes the first `count` tables have, side by side. */
static enum err name_attributes(const struct keyed *x, const struct keyed_source *s, size_t count,
                                struct keyed_rows *rows)
{
    size_t at = 0;
    TRY(memory_new(&rows->attribute, s->attributes));
    for (size_t k = 0; k < count; k++) {
        const struct study_owner *o = &x->study->owner[s->owner[k]];
        memcpy(rows->attribute + at, o->column, o->columns * sizeof *o->column);
        at += o->columns;
    }
    return ERR_OK;
}

/* All tables that are here, as one with at most rows_per_person rows of a key. */
static enum err bound(struct party *p, struct keyed *x)
{
    struct keyed_source s CLEAN(source_clear) = {0};
    struct keyed_rows *rows = &x->rows[x->lists];
    TRY(gather(x, x->study->owners, &s));
    if (s.count == 0)
        return ERR_OK;
    x->lists++;
    TRY(name_attributes(x, &s, 1, rows));
    TRY(planes_new(&rows->whole, 1 + s.table[0].width - LINK_FRONT, link_rows(s.table, s.count)));
    rows->planes = rows->whole;
    return link_bound(p, &rows->whole, s.table, s.count, x->study->rows_per_person, s.sorted);
}

/* --- joins ------------------------------------------------------------------------------------ */

/* In rows that an owner does not have, the codes of its columns, from plane `at` on, are 0: they
 * become those of missing values. */
static enum err put_missing(struct party *p, const struct study *study, size_t owner,
                            const struct keyed_rows *rows, unsigned at, struct bits has)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const struct study_owner *o = &study->owner[owner];
    struct bits lacks;
    TRY(party_bits(p, &lacks, has.n));
    bits_not(p, lacks, has);
    for (size_t c = 0; c < o->columns; c++) {
        const uint32_t size = study->domain->attribute[o->column[c]].size;
        for (unsigned k = records_code_bits(size); k-- > 0; at++)
            if (((size - 1) >> k & 1) != 0)
                bits_xor(planes_plane(&rows->planes, at), planes_plane(&rows->planes, at), lacks);
    }
    return ERR_OK;
}

/* Finishes a join that keeps the rows of table `keep`; `has` tells who has a row. */
static enum err finish_kept(struct party *p, const struct study *study,
                            const struct keyed_source *s, size_t keep,
                            const struct keyed_rows *rows, const struct planes *has)
{
    unsigned at = 1;
    for (size_t k = 0; k < s->count; k++) {
        if (k != keep)
            TRY(put_missing(p, study, s->owner[k], rows, at, planes_plane(has, (unsigned)k)));
        at += s->table[k].width - LINK_FRONT;
    }
    return ERR_OK;
}

/* Finds rows that all owners have, for a look at their number. */
static enum err find_linked(struct party *p, struct keyed_rows *rows, struct planes *has)
{
    TRY(planes_new(&rows->linked, 1, rows->whole.n));
    if (has->width > 0)
        return bits_and_all(p, planes_plane(&rows->linked, 0), has);
    bits_copy(planes_plane(&rows->linked, 0), planes_plane(&rows->planes, 0));
    return ERR_OK;
}

static bool all_sorted(const struct keyed_source *s)
{
    bool all = true;
    for (size_t k = 0; k < s->count; k++)
        all = all && s->sorted[k];
    return all;
}

/* Joins the batch that begins with this owner. */
static enum err join(struct party *p, struct keyed *x, size_t first)
{
    const struct study *study = x->study;
    struct keyed_source s CLEAN(source_clear) = {0};
    struct keyed_rows *rows = &x->rows[x->lists];
    struct planes has;
    size_t keep = 0;
    TRY(gather(x, first, &s));
    if (s.count == 0 || !all_sorted(&s))
        return ERR_OK;
    x->lists++;
    while (keep < s.count && s.owner[keep] != study->link.keep)
        keep++;
    TRY(name_attributes(x, &s, s.count, rows));
    TRY(planes_new(&rows->whole, 1 + s.codes + (keep < s.count ? (unsigned)s.count : 0),
                   link_rows(s.table, s.count)));
    rows->planes = planes_view(&rows->whole, 0, 1 + s.codes);
    has = planes_view(&rows->whole, 1 + s.codes, rows->whole.width - 1 - s.codes);
    TRY(link_join(p, &rows->whole, s.table, s.count, keep, s.sorted));
    if (keep < s.count)
        TRY(finish_kept(p, study, &s, keep, rows, &has));
    return study->link.min_linked > 0 ? find_linked(p, rows, &has) : ERR_OK;
}

static enum err join_all(struct party *p, struct keyed *x)
{
    for (size_t i = 0; i < x->study->owners; i++)
        if (x->study->owner[i].batch == i && study_linked(x->study, i))
            TRY(join(p, x, i));
    return ERR_OK;
}

enum err keyed_make(struct party *p, struct keyed *x)
{
    TRY(memory_new(&x->rows, x->study->owners));
    x->made = true;
    TRY(find_sorted(p, x));
    TRY(x->study->link.on ? join_all(p, x) : bound(p, x));
    free_tables(x);
    return ERR_OK;
}

bool keyed_lacks(const struct keyed *x, size_t owner)
{
    const struct study_owner *o = x->study->owner;
    if (!study_linked(x->study, owner))
        return x->left_out[owner];
    for (size_t i = 0; i < x->study->owners; i++)
        if (o[i].batch == o[owner].batch && x->left_out[i])
            return true;
    return false;
}
