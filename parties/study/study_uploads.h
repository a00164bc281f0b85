/*
 * parties/study/study_uploads.h - what an owner uploads, counts or records: in which form, how many
 * bytes, and how long servers keep it.
 */
#pragma once

#include "base/lattice_plan.h"
#include "parties/study/study.h"

/* A form, as uploads state it: records, or else counts with that many bits a cell. With two servers
 * a count is a word, and records are encrypted. */
#define UPLOAD_RECORDS 0
#define UPLOAD_WORDS 64 /* what two servers add is words */
#define UPLOAD_ENCRYPTED 255

static inline bool upload_is_records(unsigned form)
{
    return form == UPLOAD_RECORDS || form == UPLOAD_ENCRYPTED;
}

/* Bytes of an upload, as counts or as records (protocols/records.h); from public values alone. */
uint64_t study_counts_bytes(const struct study *study, size_t owner);
unsigned study_record_bits(const struct study *study, size_t owner); /* with the validity bit */
uint64_t study_records_bytes(const struct study *study,
                             size_t owner); /* UINT64_MAX: not possible */
/* The least b with counts of so many rows, or of the units of so many persons, below 2^b. */
unsigned study_bits(const struct study *study, uint32_t rows);
/* The form of an owner's counts. */
unsigned study_counts_form(const struct study *study, size_t owner);
/* The form by which the study bounds the owner, and its bytes. */
unsigned study_upload_form(const struct study *study, size_t owner);
uint64_t study_upload_bytes(const struct study *study, size_t owner);
uint64_t study_uploads_bytes(const struct study *study); /* of all that there may be */
/*
 * How rows lie in what an owner encrypts (study_encrypted.c): a code for each attribute, and if a
 * maximal marginal has a single attribute, one of 0 more, with which that is a pair. The pairs are
 * the maximal marginals, in the closure's order.
 */
bool study_encrypts(const struct study *study); /* whether any owner does */
size_t study_encrypted_codes(const struct study *study);
enum err study_encrypted_plan(const struct study *study, size_t owner,
                              struct lattice_plan **plan) MUST_CHECK;
/*
 * Whether servers count maximal marginals. For a copula whose owners all send records they count
 * only single attributes: what it asks about pairs is computed from the records, without counts.
 */
bool study_counts_pairs(const struct study *study);
/*
 * Bytes of an upload in some form; 0 if the study's bounds do not allow it: they allow records
 * instead of counts, but not counts instead of records.
 */
uint64_t study_form_bytes(const struct study *study, size_t owner, unsigned form);

/* When uploads are due to be purged if the last came then; 0 if the study does not say. */
int64_t study_purge_due(const struct study *study, int64_t last);
