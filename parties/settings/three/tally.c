#include "parties/settings/three/tally.h"

#include "base/memory.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "mpc/party/scratch.h"
#include "parties/study/study_uploads.h"
#include "protocols/counts_sum.h"
#include "protocols/mask.h"
#include "protocols/records.h"

#include <string.h>

bool tally_counts(const struct study *study, size_t query)
{
    return study_counts_pairs(study) ? study->workload->query[query].maximal
                                     : query < study->workload->one_ways;
}

enum err tally_new(struct tally *t, const struct study *study, const struct bounds *bounds)
{
    uint64_t cells = 0;
    *t = (struct tally){.study = study, .bounds = bounds};
    portion_sums_new(&t->dealt);
    for (size_t q = 0; q < study->workload->queries; q++)
        cells += tally_counts(study, q) ? study->workload->query[q].cells : 0;
    TRY(memory_new(&t->counted, study_owners_most(study)));
    TRY(keyed_new(&t->keyed, study));
    TRY(share64_new(&t->linked, 1));
    return share64_new(&t->sums, cells);
}

void tally_free(struct tally *t)
{
    share64_free(&t->sums);
    share64_free(&t->linked);
    portion_sums_free(&t->dealt);
    memory_free(&t->counted);
    keyed_free(&t->keyed);
}

/* The uploads to be counted now, as the protocols take them; borrows from them and the study. */
struct tally_work {
    struct counts_upload *upload;
    struct records_batch *batch;
    struct records_part *part; /* of all batches, one after another */
    size_t uploads, batches, parts;
    struct planes packed; /* records of owners with few each */
    bool whole;           /* nothing is packed */
};

static void work_free(struct tally_work *w)
{
    memory_free_all(&w->upload, &w->batch, &w->part);
    planes_free(&w->packed);
}

static void put_counts(struct tally_work *w, const struct upload *u, unsigned index)
{
    struct counts_upload *a = &w->upload[w->uploads++];
    *a = (struct counts_upload){.bits = u->form, .vector = u->vector.data};
    three_seeds(u, index, a->seed);
}

static void put_part(struct tally_work *w, const struct study_owner *owner, const struct upload *u,
                     unsigned index)
{
    struct records_part *part = &w->part[w->parts++];
    *part = (struct records_part){
        .attributes = owner->columns, .attribute = owner->column, .vector = u->vector.data};
    three_seeds(u, index, part->seed);
    w->batch[w->batches - 1].parts++;
}

/* The batch whose first owner is `first`; by_owner[] has the uploads. */
static void put_batch(struct tally_work *w, const struct study *study, size_t first,
                      const struct upload *const *by_owner, unsigned index)
{
    const struct study_owner *owner = study->owner, *one = study_owner(study, first);
    w->batch[w->batches++] = (struct records_batch){.records = one->pad_to,
                                                    .part = &w->part[w->parts]};
    put_part(w, one, by_owner[first], index);
    if (one->columns == study->domain->attributes)
        return;
    for (size_t i = first + 1; i < study->owners; i++)
        if (owner[i].batch == first)
            put_part(w, &owner[i], by_owner[i], index);
}

/* Gathers the rows that were made from all uploads. */
static enum err gather_made(struct tally_work *w, const struct study *study, const struct keyed *x)
{
    TRY(memory_new(&w->batch, x->lists));
    TRY(memory_new(&w->part, x->lists));
    for (size_t k = 0; k < x->lists; k++) {
        w->part[k] = (struct records_part){.attributes = study->domain->attributes,
                                           .attribute = x->rows[k].attribute,
                                           .made = &x->rows[k].planes};
        w->batch[k] = (struct records_batch){
            .records = x->rows[k].planes.n, .part = &w->part[k], .parts = 1};
    }
    w->batches = x->lists;
    return ERR_OK;
}

/* --- few records of many owners --------------------------------------------------------------- */

/* Records are counted 64 of a batch at a time, so owners with fewer share a batch. */
static bool is_packed(const struct tally_work *w, const struct study *study, size_t owner,
                      const struct upload *u)
{
    return !w->whole && owner >= study->owners && u->form == UPLOAD_RECORDS &&
           study->open.each.pad_to < 64;
}

/* Puts the records of a packed component into as many lanes of planes, from lane `at` on. */
static void put_lanes(uint64_t *planes, const struct planes *shape, const uint8_t *packed,
                      unsigned records, size_t at)
{
    const size_t bytes = records_plane_bytes(records), words = bits_words(shape->n);
    const unsigned shift = at % 64;
    for (unsigned k = 0; k < shape->width; k++) {
        const uint64_t lanes = integer_get(packed + k * bytes, bytes) &
                               ((UINT64_C(1) << records) - 1);
        uint64_t *to = planes + k * words + at / 64;
        to[0] |= lanes << shift;
        if (shift + records > 64)
            to[1] |= lanes >> (64 - shift);
    }
}

static enum err pack_one(struct party *p, struct planes *to, const struct upload *u,
                         unsigned records, size_t at)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const uint8_t *seed[2];
    three_seeds(u, p->index, seed);
    for (unsigned k = 0; k < 2; k++) {
        const uint8_t *packed;
        TRY(mask_component(p, seed[k], u->vector.data, to->width * records_plane_bytes(records),
                           &packed));
        put_lanes(k == 0 ? to->a : to->b, to, packed, records, at);
    }
    return ERR_OK;
}

/* Packs all of them into one batch, whose last lanes are invalid records. */
static enum err put_packed(struct party *p, struct tally_work *w, const struct study *study,
                           const bool *now, const struct upload *const *by_owner)
{
    const struct study_owner *each = &study->open.each;
    struct records_part *part = &w->part[w->parts];
    size_t count = 0, at = 0;
    for (size_t i = study->owners; i < study_owners_most(study); i++)
        count += now[i] && is_packed(w, study, i, by_owner[i]);
    if (count == 0)
        return ERR_OK;
    TRY(planes_new(&w->packed, study_record_bits(study, study->owners),
                   64 * bits_words(count * each->pad_to)));
    for (size_t i = study->owners; i < study_owners_most(study); i++) {
        if (!now[i] || !is_packed(w, study, i, by_owner[i]))
            continue;
        TRY(pack_one(p, &w->packed, by_owner[i], each->pad_to, at));
        at += each->pad_to;
    }
    *part = (struct records_part){
        .attributes = each->columns, .attribute = each->column, .made = &w->packed};
    w->batch[w->batches++] = (struct records_batch){
        .records = w->packed.n, .part = part, .parts = 1};
    w->parts++;
    return ERR_OK;
}

/*
 * Gathers uploads without keys, in the order of the owners, which is the same at all servers.
 * now[i]: owner i is to be counted.
 */
static enum err gather(struct party *p, struct tally_work *w, const struct study *study,
                       const bool *now, const struct upload *const *by_owner)
{
    const size_t most = study_owners_most(study);
    TRY(memory_new(&w->upload, most));
    TRY(memory_new(&w->batch, most));
    TRY(memory_new(&w->part, most));
    for (size_t i = 0; i < most; i++) {
        if (!now[i] || study_batch(study, i) != i || study_sends_keys(study, i) ||
            is_packed(w, study, i, by_owner[i]))
            continue;
        if (by_owner[i]->form == UPLOAD_RECORDS)
            put_batch(w, study, i, by_owner, p->index);
        else
            put_counts(w, by_owner[i], p->index);
    }
    return put_packed(p, w, study, now, by_owner);
}

static enum err add_counts(struct party *p, struct tally *t, const struct tally_work *w)
{
    struct share64 more CLEAN(share64_free) = {0};
    TRY(share64_new(&more, t->sums.n));
    TRY(counts_sum(p, more, w->upload, w->uploads, t->bounds->cell_bits));
    ring64_add(t->sums, t->sums, more);
    return ERR_OK;
}

static enum err shape_of(const struct domain *d, uint32_t **size, struct records_shape *shape)
{
    TRY(memory_new(size, d->attributes));
    for (size_t a = 0; a < d->attributes; a++)
        (*size)[a] = d->attribute[a].size;
    *shape = (struct records_shape){d->attributes, *size};
    return ERR_OK;
}

/* What is counted, each with its place among the sums. */
static enum err queries_of(const struct tally *t, struct records_query **queries, size_t *count)
{
    const struct workload *load = t->study->workload;
    size_t at = 0;
    *count = 0;
    TRY(memory_new(queries, load->queries));
    for (size_t q = 0; q < load->queries; q++) {
        const struct workload_query *query = &load->query[q];
        struct records_query *to = &(*queries)[*count];
        if (!tally_counts(t->study, q))
            continue;
        *to = (struct records_query){.n = query->clique.n,
                                     .out = share64_view(t->sums, at, query->cells)};
        memcpy(to->attribute, query->clique.attribute,
               query->clique.n * sizeof query->clique.attribute[0]);
        at += query->cells;
        ++*count;
    }
    return ERR_OK;
}

static enum err add_records(struct party *p, struct tally *t, const struct tally_work *w)
{
    struct records_query *queries CLEAN(memory_release) = NULL;
    uint32_t *size CLEAN(memory_release) = NULL;
    struct records_shape shape;
    size_t count = 0;
    TRY(queries_of(t, &queries, &count));
    TRY(shape_of(t->study->domain, &size, &shape));
    return records_count(p, &shape, w->batch, w->batches, queries, count);
}

/* --- by all lanes ----------------------------------------------------------------------------- */

struct dealing {
    const struct portion_whole *whole;
    size_t portions;
    struct portion_sums *sums;
};

static enum err put_portion(void *self, size_t lane, struct bytes *arguments)
{
    const struct dealing *d = self;
    return portion_put(d->whole, lane, d->portions, arguments);
}

static enum err count_portion(void *self, struct party *lane, struct reader *arguments,
                              struct bytes *result)
{
    const struct dealing *d = self;
    (void)result;
    return portion_count(lane, arguments, d->sums);
}

/* Deals out uploads, a portion for each lane of the session. */
static enum err deal(struct party *p, struct tally *t, const struct tally_work *w)
{
    struct records_query *queries CLEAN(memory_release) = NULL;
    uint32_t *size CLEAN(memory_release) = NULL;
    struct portion_whole whole = {.upload = w->upload,
                                  .uploads = w->uploads,
                                  .bits = t->bounds->cell_bits,
                                  .batch = w->batch,
                                  .batches = w->batches,
                                  .cells = t->sums.n};
    struct dealing d = {&whole, crew_all(p), &t->dealt};
    TRY(queries_of(t, &queries, &whole.queries));
    TRY(shape_of(t->study->domain, &size, &whole.shape));
    whole.query = queries;
    t->deals = true;
    return crew_jobs(
        p, &(const struct crew_job){
               .number = CREW_COUNT, .put = put_portion, .work = count_portion, .self = &d});
}

enum err tally_gather(struct party *p, struct tally *t)
{
    const struct crew_far *far = crew_far(p);
    if (!t->deals)
        return ERR_OK;
    t->deals = false;
    if (t->dealt.sums.a != NULL)
        ring64_add(t->sums, t->sums, t->dealt.sums);
    portion_sums_free(&t->dealt);
    portion_sums_new(&t->dealt);
    return far != NULL ? far->sum(far->self, t->sums) : ERR_OK;
}

/* --- uploads ---------------------------------------------------------------------------------- */

/* Finds uploads whose whole batch is here, of owners that are counted, or not: now[] says which. */
static enum err sort_out(const struct tally *t, const struct upload *uploads, size_t count,
                         bool counted, bool *now, const struct upload ***by_owner)
{
    const struct study *study = t->study;
    TRY(memory_new(by_owner, study_owners_most(study)));
    for (size_t k = 0; k < count; k++) {
        (*by_owner)[uploads[k].owner] = &uploads[k];
        now[uploads[k].owner] = true;
    }
    study_taking_part(study, now);
    for (size_t i = 0; i < study_owners_most(study); i++)
        now[i] = now[i] && t->counted[i] == counted;
    return ERR_OK;
}

/* Counts uploads that are counted by themselves. */
static enum err add_each(struct party *p, struct tally *t, const bool *now,
                         const struct upload *const *by_owner)
{
    struct tally_work w CLEAN(work_free) = {0};
    w.whole = crew_deals(p); /* portions consist of uploads as they came */
    TRY(gather(p, &w, t->study, now, by_owner));
    if (crew_deals(p))
        return w.uploads + w.batches > 0 ? deal(p, t, &w) : ERR_OK;
    if (w.uploads > 0)
        TRY(add_counts(p, t, &w));
    return w.batches > 0 ? add_records(p, t, &w) : ERR_OK;
}

/* Loads uploads that are counted together. */
static enum err load_each(struct party *p, struct tally *t, const bool *now,
                          const struct upload *const *by_owner)
{
    for (size_t i = 0; i < t->study->owners; i++)
        if (now[i] && study_sends_keys(t->study, i))
            TRY(keyed_load(p, &t->keyed, by_owner[i]));
    return ERR_OK;
}

enum err tally_add(struct party *p, struct tally *t, const struct upload *uploads, size_t count)
{
    const struct study *study = t->study;
    const struct upload **by_owner CLEAN(memory_release) = NULL;
    bool *now CLEAN(memory_release) = NULL;
    TRY(memory_new(&now, study_owners_most(study)));
    TRY(sort_out(t, uploads, count, false, now, &by_owner));
    TRY(load_each(p, t, now, by_owner));
    TRY(add_each(p, t, now, by_owner));
    for (size_t i = 0; i < study_owners_most(study); i++) {
        t->counted[i] = t->counted[i] || now[i];
        t->owners += now[i];
    }
    return ERR_OK;
}

/* Counts the rows that all owners of their batch have. */
static enum err count_linked(struct party *p, struct tally *t)
{
    static const uint32_t one = 1; /* an attribute of one value counts rows */
    static const uint16_t attribute = 0;
    struct records_query query = {.n = 1, .out = t->linked};
    const struct records_shape shape = {1, &one};
    const struct keyed *x = &t->keyed;
    struct tally_work w CLEAN(work_free) = {0};
    if (t->study->link.min_linked == 0 || x->lists == 0)
        return ERR_OK;
    TRY(gather_made(&w, t->study, x));
    for (size_t k = 0; k < x->lists; k++)
        w.part[k] = (struct records_part){
            .attributes = 1, .attribute = &attribute, .made = &x->rows[k].linked};
    return records_count(p, &shape, w.batch, w.batches, &query, 1);
}

enum err tally_finish(struct party *p, struct tally *t)
{
    struct tally_work w CLEAN(work_free) = {0};
    struct keyed *x = &t->keyed;
    if (!keyed_in(t->study) || x->made || t->owners == 0)
        return ERR_OK;
    TRY(keyed_make(p, x));
    for (size_t i = 0; i < t->study->owners; i++)
        t->owners -= t->counted[i] && keyed_lacks(x, i);
    TRY(gather_made(&w, t->study, x));
    if (w.batches > 0)
        TRY(add_records(p, t, &w));
    TRY(count_linked(p, t));
    if (study_counts_pairs(t->study))
        keyed_forget(x);
    return ERR_OK;
}

static enum err take_batches(struct party *p, const struct tally *t, const struct tally_work *w,
                             tally_take *take, void *self)
{
    uint32_t *size CLEAN(memory_release) = NULL;
    struct records_shape shape;
    TRY(shape_of(t->study->domain, &size, &shape));
    return w->batches > 0 ? take(p, &shape, w->batch, w->batches, self) : ERR_OK;
}

enum err tally_again(struct party *p, const struct tally *t, const struct upload *uploads,
                     size_t count, tally_take *take, void *self)
{
    const struct upload **by_owner CLEAN(memory_release) = NULL;
    bool *now CLEAN(memory_release) = NULL;
    struct tally_work w CLEAN(work_free) = {0};
    TRY(memory_new(&now, study_owners_most(t->study)));
    TRY(sort_out(t, uploads, count, true, now, &by_owner));
    TRY(gather(p, &w, t->study, now, by_owner));
    return w.uploads > 0 ? ERR_MISUSE : take_batches(p, t, &w, take, self);
}

enum err tally_made_again(struct party *p, const struct tally *t, tally_take *take, void *self)
{
    struct tally_work w CLEAN(work_free) = {0};
    TRY(gather_made(&w, t->study, &t->keyed));
    return take_batches(p, t, &w, take, self);
}
