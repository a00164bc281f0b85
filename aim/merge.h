/*
 * aim/merge.h - codes of an attribute that are measured together.
 *
 * A bin with next to nobody in it is mostly noise. Once every attribute is measured alone, at all
 * of its codes, those with few rows are merged: bins and whole numbers with their neighbours,
 * labels with others that have few. Marginals of two and more attributes are selected and measured
 * over the *groups* that come out. Cells over groups are *merged cells*. Codes and domain stay what
 * the study says: the model shares a group out over its codes by what was measured of them at first
 * (aim/model.h).
 *
 * Merges follow from what was opened, so they are public. As bytes:
 *
 *   u16 attributes that are merged; of each, ascending: u16 attribute, and of each code u32 its
 *   group
 *
 * Groups are numbered as their first codes come.
 */
#ifndef TREFOIL_AIM_MERGE_H
#define TREFOIL_AIM_MERGE_H

#include "aim/workload.h"

#define MERGE_SHARE 0.01 /* of all rows, and */
#define MERGE_NOISE 100. /* times the noise: a group with less than either is merged; */
#define MERGE_LABELS 10. /* of labels, times the noise */

struct merges {
    size_t attributes;
    uint32_t *codes;  /* of each attribute: how many */
    uint32_t *groups; /* and how many groups */
    uint32_t **group; /* of each attribute: of each code its group; NULL: every code is one */
    uint32_t **code;  /* and the codes, those of a group after each other; NULL likewise */
};

/* Every code its own group. */
enum err merges_none(struct merges *m, const struct domain *d) MUST_CHECK;
/*
 * Less than how many rows a group is merged with. Where there is little noise even small groups are
 * known well: merged ones would only make the model coarser. Labels with few rows need not be alike
 * as neighbours are: they are merged where noise hides what they have of other columns.
 */
struct merges_least {
    double neighbours, labels;
};
struct merges_least merges_least(double total, double sigma);
/*
 * About how many groups an attribute has whose rows are spread evenly over its values, the missing
 * one apart. Few are, and then there are fewer.
 */
uint32_t merges_expect(const struct domain_attribute *a, double rows, double sigma);
/*
 * Codes merged by their noisy counts: while a group of bins or whole numbers has less than `least`,
 * the smallest joins its smaller neighbour, of equal ones the lower. Labels that have less are
 * taken together, the largest first, until they have it. Two groups stay, so that no column is
 * lost. The missing value stays alone, and so do all codes of an attribute in `keep` (may be NULL).
 * counts[attribute][code]; those below 0 count as 0.
 */
enum err merges_choose(struct merges *m, const struct domain *d, const double *const *counts,
                       const struct merges_least *least, const bool *keep) MUST_CHECK;
/* Codes of the attribute with the largest group are on their own again. */
void merges_part(struct merges *m);
enum err merges_copy(struct merges *m, const struct merges *from) MUST_CHECK;
void merges_clear(struct merges *m);
void merges_free(struct merges **m); /* one that memory_new() made; may be NULL */

bool merges_any(const struct merges *m);
/* Whether any attribute of the clique is merged. */
bool merges_touch(const struct merges *m, const struct clique *c);
bool merges_equal(const struct merges *a, const struct merges *b);

/* Codes of the largest group. */
uint32_t merges_largest(const struct merges *m, size_t attribute);
/* Of a merged attribute: below which place in code[attribute] the group ends that begins there. */
uint32_t merges_below(const struct merges *m, size_t attribute, uint32_t from);
/* Puts codes into order: once group[attribute] and groups[attribute] are what they are to be. */
enum err merges_sort(struct merges *m, size_t attribute) MUST_CHECK;
/* Merged cells of a marginal; UINT64_MAX on overflow. */
uint64_t merges_cells(const struct merges *m, const struct clique *c);
/* The same of a query; its own cells where `m` is NULL. */
uint64_t merges_query_cells(const struct merges *m, const struct workload_query *q);
/* index[i] = the merged cell to which cell i of the clique adds, for each of its cells. */
void merges_index(const struct merges *m, const struct clique *c, uint32_t *index);
/* The attributes with groups in the place of codes, for what counts cells. It borrows the rest. */
enum err merges_domain(const struct merges *m, const struct domain *d,
                       struct domain *merged) MUST_CHECK;

void merges_write(const struct merges *m, struct bytes *out);
/*
 * ERR_FORMAT unless merges_write() wrote it for this domain; `m` then holds nothing. Reads no more
 * than that.
 */
enum err merges_read(struct merges *m, const struct domain *d, struct reader *r) MUST_CHECK;

#endif
