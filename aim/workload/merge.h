/*
 * aim/workload/merge.h - codes of an attribute that are measured together.
 *
 * A bin with next to nobody in it is mostly noise. Once every attribute is measured alone, at all
 * of its codes, those with few rows are merged: bins and whole numbers with their neighbours,
 * labels with others that have few. Marginals of two or more attributes are selected and measured
 * over the resulting *groups*. Cells over groups are *merged cells*. Codes and domain stay as the
 * study has them: the model shares a group out over its codes by what was first measured of them
 * (aim/model/model.h).
 *
 * Merges follow from what was opened, so they are public. As bytes:
 *
 *   u16 attributes that are merged; for each, ascending: u16 attribute, and for each code u32 its
 *   group
 *
 * Groups are numbered in the order of their first codes.
 */
#pragma once

#include "aim/workload/workload.h"

#define MERGE_SHARE 0.01 /* of all rows, and */
#define MERGE_NOISE 100. /* times the noise: a group with less than both is merged; */
#define MERGE_LABELS 10. /* times the noise, for labels */

struct merges {
    size_t attributes;
    uint32_t *codes;  /* of each attribute: how many */
    uint32_t *groups; /* and how many groups */
    uint32_t **group; /* of each attribute: the group of each code; NULL: every code is one */
    uint32_t **code;  /* and the codes, group by group; NULL likewise */
};

/* Every code its own group. After an error, this and all that fills in merges may leave some. */
enum err merges_none(struct merges *m, const struct domain *d) MUST_CHECK;
/*
 * The numbers of rows below which a group is merged. Where there is little noise even small groups
 * are known well: merging them would only make the model coarser. Labels with few rows need not be
 * alike as neighbours are: they are merged where noise hides how they relate to other columns.
 */
struct merges_least {
    double neighbours, labels;
};
struct merges_least merges_least(double total, double sigma);

/*
 * Which codes are alike, so that they may be merged: those of a part. Codes are of one part if the
 * same cells cannot occur with them, in each clique that has such cells (merge_alike.c).
 */
struct merges_alike {
    size_t attributes;
    uint32_t **part; /* of each attribute: the part of each code; NULL: all codes are alike */
};
enum err merges_alike(struct merges_alike *x, const struct domain *d,
                      const struct workload_zeros *zero, size_t zeros) MUST_CHECK;
/* Then each code of the attribute is a part by itself. */
enum err merges_apart(struct merges_alike *x, const struct domain *d,
                      uint16_t attribute) MUST_CHECK;
void merges_alike_clear(struct merges_alike *x);

/*
 * About how many groups an attribute has if its rows are spread evenly over its values, leaving the
 * missing one aside. Few attributes are like that; others have fewer groups. `part` is that of its
 * codes, or NULL.
 */
enum err merges_expect(const struct domain_attribute *a, const uint32_t *part, double rows,
                       double sigma, uint32_t *groups) MUST_CHECK;
/*
 * Merges codes by their noisy counts. While a group of bins or whole numbers has less than `least`,
 * the smallest joins its smaller neighbour, the lower of two equal ones. Labels that have less are
 * put together, the largest first, until they have it. Two groups stay, so that no column is lost.
 * The missing value stays alone, and a group has codes of one part (NULL: all codes are alike).
 * counts[attribute][code]; those below 0 count as 0.
 */
enum err merges_choose(struct merges *m, const struct domain *d, const double *const *counts,
                       const struct merges_least *least,
                       const struct merges_alike *alike) MUST_CHECK;
/* Undoes the merging of the attribute with the largest group. */
void merges_part(struct merges *m);
enum err merges_copy(struct merges *m, const struct merges *from) MUST_CHECK;
void merges_clear(struct merges *m);
void merges_free(struct merges **m); /* one that memory_new() made; may be NULL */

bool merges_any(const struct merges *m);
/* Whether any attribute of the clique is merged. */
bool merges_touch(const struct merges *m, const struct clique *c);
bool merges_equal(const struct merges *a, const struct merges *b);

/* How many codes the largest group has. */
uint32_t merges_largest(const struct merges *m, size_t attribute);
/* For a merged attribute: the end of the group that begins at place `from` of code[attribute]. */
uint32_t merges_below(const struct merges *m, size_t attribute, uint32_t from);
/* Sorts code[attribute], once group[attribute] and groups[attribute] are set. */
enum err merges_sort(struct merges *m, size_t attribute) MUST_CHECK;
/* Merged cells of a marginal; UINT64_MAX on overflow. */
uint64_t merges_cells(const struct merges *m, const struct clique *c);
/* The same for a query; its own cells where `m` is NULL. */
uint64_t merges_query_cells(const struct merges *m, const struct workload_query *q);
/* index[i] = the merged cell to which cell i of the clique adds, for each of its cells. */
void merges_index(const struct merges *m, const struct clique *c, uint32_t *index);
/* The domain with groups instead of codes, for whatever counts cells. It borrows the rest. */
enum err merges_domain(const struct merges *m, const struct domain *d,
                       struct domain *merged) MUST_CHECK;

void merges_write(const struct merges *m, struct bytes *out);
/* ERR_FORMAT unless merges_write() wrote it for this domain. Reads no further. */
enum err merges_read(struct merges *m, const struct domain *d, struct reader *r) MUST_CHECK;
