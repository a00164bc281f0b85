/* parties/owner/pack.h - an owner's table before it is masked: counts or padded records. */
#pragma once

#include "aim/table/table.h"
#include "parties/study/study.h"

/* The columns that an owner holds, in the study's order; the caller frees it. */
enum err pack_domain(struct domain **own, const struct study *study, size_t owner) MUST_CHECK;

/*
 * Packs a table with pack_domain()'s columns in a form that the study permits (study_form_bytes()
 * is not 0, and is the size). ERR_DATA if it has more than max_rows rows. If the study has keys of
 * persons, the table must keep them and be sorted.
 */
enum err pack_table(const struct study *study, size_t owner, unsigned form, const struct table *t,
                    struct bytes *packed) MUST_CHECK;

/* The same for counts in the cells of all maximal marginals, one after the other. */
enum err pack_counts(const struct study *study, size_t owner, const int64_t *counts, size_t rows,
                     struct bytes *packed) MUST_CHECK;

/*
 * The form of an owner's upload (parties/setting/upload.h) by its word: counts, records, or auto
 * (the form by which the study bounds the owner); NULL is auto. ERR_USAGE, logged, for another
 * word, ERR_REFUSED for a form that the study's bounds do not allow.
 */
enum err pack_choose_form(const struct study *study, size_t owner, const char *as, unsigned *form,
                          struct log *log) MUST_CHECK;
