/*
 * aim/run/loop_links.h - what the marginals of a set say of columns that they do not have together.
 *
 * A model that has a with b and b with c also has some of what a and c have to do with each other.
 * With t(a, b) the score of a pair as a share of the rows, t(a, b) t(b, c) is taken for it: exact
 * where each value of one column goes with one of the next, and for columns that correlate weakly
 * about two thirds of it. The best way from a to c counts.
 */
#pragma once

#include "aim/workload/workload.h"

struct loop_links {
    const struct workload *workload;
    double rows;
    double *score;  /* as shares of the rows, at most 1; by closure index */
    double *known;  /* of two columns */
    double *before; /* the same, before the last marginal joined */
};

/* The scores are in rows, by closure index; 0 or less: none. */
enum err links_begin(struct loop_links *links, const struct workload *w, const double *score,
                     double rows) MUST_CHECK;
void links_clear(struct loop_links *links);

/*
 * A marginal joins. What scores r say of pairs of columns that are now known by way of others comes
 * off, in squares; what they have in common with the marginal itself does not.
 */
void links_join(struct loop_links *links, const struct clique *joined, double *r);
