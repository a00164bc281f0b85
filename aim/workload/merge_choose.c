/* Which codes are merged. */
#include "aim/workload/merge.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Groups of neighbours, each named by its first code. A tournament finds the least count. */
struct merge_joining {
    uint32_t codes;
    double *count;
    uint32_t *before, *after; /* the neighbours' first codes; `codes` where there is none */
    uint32_t leaves, *winner; /* winner[1] has won; leaves are at winner[leaves + code] */
};

static void play_code(struct merge_joining *j, uint32_t code)
{
    for (uint32_t at = (j->leaves + code) / 2; at > 0; at /= 2) {
        const uint32_t low = j->winner[2 * at], high = j->winner[2 * at + 1];
        j->winner[at] = j->count[high] < j->count[low] ? high : low;
    }
}

static enum err joining_new(struct merge_joining *j, uint32_t codes, const double *counts)
{
    j->codes = codes;
    for (j->leaves = 1; j->leaves < codes;)
        j->leaves *= 2;
    TRY(memory_new(&j->count, j->leaves));
    TRY(memory_new(&j->before, codes));
    TRY(memory_new(&j->after, codes));
    TRY(memory_new(&j->winner, 2 * (size_t)j->leaves));
    for (uint32_t code = 0; code < j->leaves; code++) {
        j->count[code] = code < codes ? fmax(counts[code], 0) : INFINITY;
        j->winner[j->leaves + code] = code;
    }
    for (uint32_t code = 0; code < codes; code++) {
        j->before[code] = code > 0 ? code - 1 : codes;
        j->after[code] = code + 1;
    }
    for (uint32_t code = 0; code < j->leaves; code++)
        play_code(j, code);
    return ERR_OK;
}

static void joining_clear(struct merge_joining *j)
{
    memory_free_all(&j->count, &j->before, &j->after, &j->winner);
}

/* The group at `code` takes in the one after it. */
static void join(struct merge_joining *j, uint32_t code)
{
    const uint32_t gone = j->after[code];
    j->count[code] += j->count[gone];
    j->count[gone] = INFINITY;
    j->after[code] = j->after[gone];
    if (j->after[code] < j->codes)
        j->before[j->after[code]] = code;
    play_code(j, gone);
    play_code(j, code);
}

/* Bins and whole numbers; `stay` groups at least stay. */
static enum err join_neighbours(uint32_t *first, uint32_t codes, const double *counts, double least,
                                uint32_t stay)
{
    struct merge_joining j CLEAN(joining_clear) = {0};
    TRY(joining_new(&j, codes, counts));
    for (uint32_t groups = codes; groups > stay && j.count[j.winner[1]] < least; groups--) {
        const uint32_t code = j.winner[1], before = j.before[code], after = j.after[code];
        if (after == codes || (before < codes && j.count[before] <= j.count[after]))
            join(&j, before);
        else
            join(&j, code);
    }
    for (uint32_t code = 0; code < codes; code++)
        first[code] = code == 0 || isfinite(j.count[code]) ? code : first[code - 1];
    return ERR_OK;
}

struct label {
    double count;
    uint32_t code;
};

static int by_count(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : (x->code > y->code) - (x->code < y->code);
}

/* Joins labels with few rows, the largest first, until the group has enough. */
static enum err join_labels(uint32_t *first, uint32_t codes, const double *counts, double least,
                            uint32_t stay)
{
    struct label *label CLEAN(memory_release) = NULL;
    double sum = 0;
    TRY(memory_new(&label, codes));
    for (uint32_t code = 0; code < codes; code++)
        label[code] = (struct label){fmax(counts[code], 0), code};
    qsort(label, codes, sizeof *label, by_count);
    for (uint32_t k = 0; k < codes; k++) {
        const bool begins = sum >= least || k < stay;
        first[label[k].code] = begins ? label[k].code : first[label[k - 1].code];
        sum = label[k].count + (begins ? 0 : sum);
    }
    return ERR_OK;
}

/* Numbers groups in the order of their first codes; `first` has a code of each code's group. */
static enum err number(struct merges *m, size_t attribute, const uint32_t *first)
{
    uint32_t *group = NULL, *known CLEAN(memory_release) = NULL, groups = 0;
    TRY(memory_new(&known, m->codes[attribute]));
    TRY(memory_new(&group, m->codes[attribute]));
    m->group[attribute] = group;
    for (uint32_t code = 0; code < m->codes[attribute]; code++) {
        uint32_t *of = &known[first[code]];
        if (*of == 0)
            *of = ++groups;
        group[code] = *of - 1;
    }
    m->groups[attribute] = groups;
    return merges_sort(m, attribute);
}

/*
 * All codes but the missing one, so that those of a part follow each other: of labels, by part;
 * neighbours of other parts stay between those of one.
 */
static enum err list_codes(uint32_t **list, const struct domain_attribute *a, const uint32_t *part)
{
    uint32_t *start CLEAN(memory_release) = NULL;
    TRY(memory_new(list, a->values));
    TRY(memory_new(&start, (size_t)a->size + 1));
    if (part == NULL || domain_has_order(a)) {
        for (uint32_t code = 0; code < a->values; code++)
            (*list)[code] = code;
        return ERR_OK;
    }
    for (uint32_t code = 0; code < a->values; code++)
        start[part[code] + 1]++;
    for (uint32_t k = 0; k < a->size; k++)
        start[k + 1] += start[k];
    for (uint32_t code = 0; code < a->values; code++)
        (*list)[start[part[code]]++] = code;
    return ERR_OK;
}

/* The end of the codes of one part that begin at place `from`. */
static uint32_t part_end(const uint32_t *list, uint32_t codes, const uint32_t *part, uint32_t from)
{
    while (++from < codes && (part == NULL || part[list[from]] == part[list[from - 1]]))
        ;
    return from;
}

static enum err choose_one(struct merges *m, uint16_t attribute, const struct domain_attribute *a,
                           const uint32_t *part, const double *counts,
                           const struct merges_least *least)
{
    uint32_t *first CLEAN(memory_release) = NULL, *list CLEAN(memory_release) = NULL, groups = 0;
    uint32_t *joined CLEAN(memory_release) = NULL;
    double *of CLEAN(memory_release) = NULL;
    TRY(memory_new(&first, a->size));
    TRY(memory_new(&joined, a->size));
    TRY(memory_new(&of, a->size));
    TRY(list_codes(&list, a, part));
    for (uint32_t from = 0, n, end; from < a->values; from = end) {
        end = part_end(list, a->values, part, from);
        n = end - from;
        for (uint32_t i = 0; i < n; i++)
            of[i] = counts[list[from + i]];
        TRY(domain_has_order(a)
                ? join_neighbours(joined, n, of, least->neighbours, n < a->values ? 1 : 2)
                : join_labels(joined, n, of, least->labels, n < a->values ? 1 : 2));
        for (uint32_t i = 0; i < n; i++)
            first[list[from + i]] = list[from + joined[i]];
    }
    for (uint32_t code = a->values; code < a->size; code++)
        first[code] = code;
    for (uint32_t code = 0; code < a->size; code++)
        groups += first[code] == code;
    return groups < a->size ? number(m, attribute, first) : ERR_OK;
}

struct merges_least merges_least(double total, double sigma)
{
    return (struct merges_least){fmin(MERGE_SHARE * total, MERGE_NOISE * sigma),
                                 fmin(MERGE_SHARE * total, MERGE_LABELS * sigma)};
}

enum err merges_expect(const struct domain_attribute *a, const uint32_t *part, double rows,
                       double sigma, uint32_t *groups)
{
    const struct merges_least least = merges_least(rows, sigma);
    const bool labels = !domain_has_order(a);
    const double each = rows / a->values, most = labels ? least.labels : least.neighbours;
    uint32_t *list CLEAN(memory_release) = NULL;
    *groups = a->size;
    if (a->values < 2)
        return ERR_OK;
    TRY(list_codes(&list, a, part));
    *groups -= a->values;
    for (uint32_t from = 0, end; from < a->values; from = end) {
        double of_part;
        end = part_end(list, a->values, part, from);
        of_part = (end - from) / fmax(1, ceil(most / each));
        *groups += (uint32_t)fmax(end - from < a->values ? 1 : 2,
                                  labels ? ceil(of_part) : floor(of_part));
    }
    return ERR_OK;
}

enum err merges_choose(struct merges *m, const struct domain *d, const double *const *counts,
                       const struct merges_least *least, const struct merges_alike *alike)
{
    TRY(merges_none(m, d));
    for (uint16_t i = 0; i < d->attributes; i++)
        TRY(choose_one(m, i, &d->attribute[i], alike != NULL ? alike->part[i] : NULL, counts[i],
                       least));
    return ERR_OK;
}
