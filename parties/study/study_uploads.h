/*
 * parties/study/study_uploads.h - what an owner uploads, counts or records: in which form, of how
 * many bytes, and how long servers keep it.
 */
#ifndef TREFOIL_PARTIES_STUDY_STUDY_UPLOADS_H
#define TREFOIL_PARTIES_STUDY_STUDY_UPLOADS_H

#include "parties/study/study.h"

/* A form, as uploads say it: records, or else counts, of so many bits a cell. */
#define UPLOAD_RECORDS 0

/* Bytes of an upload, as counts or as records (protocols/records.h); from public values alone. */
uint64_t study_counts_bytes(const struct study *study, size_t owner);
unsigned study_record_bits(const struct study *study, size_t owner); /* the validity bit counted */
uint64_t study_records_bytes(const struct study *study,
                             size_t owner); /* UINT64_MAX: not possible */
/* The form that the study bounds the owner by, and its bytes. */
unsigned study_upload_form(const struct study *study, size_t owner);
uint64_t study_upload_bytes(const struct study *study, size_t owner);
/*
 * Whether servers count maximal marginals. Of a copula whose owners all send records they count
 * attributes alone: what it asks of pairs is made of the records, without counts.
 */
bool study_counts_pairs(const struct study *study);
/*
 * Bytes of an upload of some form; 0 where the study's bounds do not carry it: they carry records
 * in place of counts, but not counts in place of records.
 */
uint64_t study_form_bytes(const struct study *study, size_t owner, unsigned form);

/* When uploads are due to be purged of which the last came then; 0 if the study does not say. */
int64_t study_purge_due(const struct study *study, int64_t last);

#endif
