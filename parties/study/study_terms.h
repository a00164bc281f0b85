/* parties/study/study_terms.h - a study's digests; for parties/study/study.c alone. */
#ifndef TREFOIL_PARTIES_STUDY_STUDY_TERMS_H
#define TREFOIL_PARTIES_STUDY_STUDY_TERMS_H

#include "parties/study/study.h"

/* Fills in `terms` and `roster`. */
enum err study_digest(struct study *study) MUST_CHECK;

#endif
