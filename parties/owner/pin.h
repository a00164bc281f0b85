/*
 * parties/owner/pin.h - the terms that a key has agreed to, remembered beside it.
 *
 * The first share under a study's name writes the fingerprint of the terms to a file beside the key
 * (hospital-a.key: hospital-a.pins). Later the same name with other terms is refused: somebody has
 * changed what was agreed on, or sent another file.
 */
#pragma once

#include "base/file.h"
#include "parties/study/study.h"

/* The path of a file beside a key: the key's without ".key", followed by `end`. */
enum err pin_beside(const char *key_path, const char *end, char path[FILE_PATH],
                    struct log *log) MUST_CHECK;

/*
 * The path of a participant's file for one study: NAME.STUDY.END in the key's folder. NAME is the
 * one in the study file, so that a renewed key finds it too.
 */
enum err pin_of_study(const char *key_path, const char *name, const struct study *study,
                      const char *end, char path[FILE_PATH], struct log *log) MUST_CHECK;

/*
 * ERR_MISMATCH, logged, unless the study's terms are those of `fingerprint` or, if that is NULL,
 * those remembered under its name, if any. *known: they are remembered already.
 */
enum err pin_check(const char *key_path, const struct study *study, const char *fingerprint,
                   bool *known, struct log *log) MUST_CHECK;
/* Remembers the study's terms, instead of others under its name. */
enum err pin_set(const char *key_path, const struct study *study, struct log *log) MUST_CHECK;
