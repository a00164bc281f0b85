/* parties/study/study_text.h - a study in words, for people; and an example to start from. */
#pragma once

#include "parties/study/outline.h"
#include "parties/study/study.h"

/*
 * The study in words: who takes part and sees what, the guarantee, the fingerprint, what is not
 * protected. `me`, unless NULL, is the reader, and the text says what their part is.
 */
void study_describe(FILE *out, const struct study *study, const struct public_identity *me);

/* A part of that: its columns. */
void study_describe_columns(FILE *out, const struct domain *d);
/* Puts words one after another, on lines indented like the text before; one word or the other. */
void study_wrap(FILE *out, size_t *at, const char *word, const char *after);
const char *study_plural(size_t n, const char *one, const char *many);

/* The unit of the guarantee where that is a person, who is .. "with at most 2 rows". */
const char *study_unit(const struct study *study);
struct words_text study_most(const struct study *study);
/* What a result calls its tables: synthetic.csv, or those of persons and events. */
struct words_text study_tables(const struct study *study);

/* How many keys a draft lacks: "not yet: 6 keys". */
struct words_text study_not_yet(const struct study *study);

/*
 * Where a step, more edges, spikes or a tail would improve the numbers inside bins: a line for
 * each, or nothing. Judged from the study alone.
 */
enum err study_suggest(FILE *out, const struct study *study) MUST_CHECK;

/*
 * A commented example, valid once each REPLACE-WITH-KEY-OF-<name> is a public key; with these
 * columns instead of its own, unless NULL; with two servers if it is for a `provider`. ERR_SYSTEM
 * if the file exists, unless `force`.
 */
enum err study_write_template(const char *path, const struct outline *columns, bool provider,
                              bool force, struct log *log) MUST_CHECK;
extern const char study_example[];
