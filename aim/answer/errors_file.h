/*
 * aim/answer/errors_file.h - the file that keeps a model's errors beside it.
 *
 *   "trefoil-errors-3\n"
 *   32 bytes    BLAKE2b-256 of the section "model" of the file model (aim/model/model_file.h)
 *   refits      u32 how many, u32 cliques, u64 parameters; for each f64 total, u32 each clique's
 *               unit (the bits of an IEEE float), u16 each parameter's difference in units (i16);
 *               for a model with merged codes also f64 each code of each merged attribute: its
 *               share of its group
 *   gaps        u8 1 if learned, u32 waves, for each f64 common, f64 small
 *   bins        u32 attributes, for each f64 inside
 *   counts      u32 measured marginals, for each u16 attributes, u16 each of them, u8 1 if its
 *               cells are merged ones, f64 sigma, f64 each noisy count
 *   digest      32 bytes: BLAKE2b-256 of all before
 *
 * Versions 1 and, for models with merged codes, 2 end with the bins; they are still read.
 *
 * A model with many parameters has fewer refits: the file has at most ERRORS_FILE_MAX bytes.
 */
#pragma once

#include "aim/answer/errors.h"

enum err errors_save(const char *path, const struct errors *e, const struct model *m,
                     struct log *log) MUST_CHECK;
/* ERR_FORMAT, logged, for a file that is cut, altered, or of another model. */
enum err errors_load(struct errors **e, const struct model *m, const char *path,
                     struct log *log) MUST_CHECK;
