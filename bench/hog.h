/*
 * bench/hog.h - Fashion-MNIST as rows of whole numbers: 252 public features of an image, and its
 * class.
 *
 * Histograms of gradients: half central differences, edges repeated; a pixel's magnitude goes to
 * two of 7 angles of the full circle, linearly, and to cells of 6 x 6 by triangular windows with
 * centres (c + 1/2) 28/6 - 1/2 and half-width 28/6. A cell is divided by sqrt(mean energy of its 3
 * x 3 + 1e-4), 0 outside; the row by sqrt(|x|^2 + 1e-3). Times 46, rounded, cut to 15.
 */
#pragma once

#include "aim/table/table.h"

#define HOG_SIDE 28
#define HOG_FEATURES 252
#define HOG_CLASSES 10

/* Whether Debian's package dataset-fashion-mnist is there. */
bool hog_present(void);
/* Columns f1 to f252, 0 to 15, and class, 0 to 9. */
enum err hog_domain(struct domain **d, struct log *log) MUST_CHECK;
/* The first `rows` images of "train" or "t10k"; 0: all. */
enum err hog_read(struct table **t, const struct domain *d, const char *part, size_t rows,
                  struct log *log) MUST_CHECK;
/* Features of one image, of bytes. */
void hog_features(const uint8_t *image, uint16_t *feature);
