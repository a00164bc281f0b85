/*
 * parties/exchange/head.h - what a server signs about its privacy ledger, for whoever asks: how
 * long it is, and how it ends. docs/formats.md describes what is signed, the bytes and the line of
 * text.
 *
 * Whoever asks names a length at which the ledger was seen before; the server says what its head
 * was there. So a client that keeps one statement from each server (parties/exchange/witness.h)
 * notices a ledger that was rolled back or replaced.
 */
#pragma once

#include "parties/study/study.h"

/* A length, and the hash at that length. */
struct head_at {
    uint64_t length;
    uint8_t hash[32];
};

struct head {
    struct head_at ledger; /* debits */
    struct head_at past;   /* what was asked about */
    struct head_at log;    /* lines of the audit log */
    int64_t time;          /* base/date.h */
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
};

/* Signs as server `index`, with its identity `me` and the time now. */
enum err head_sign(const struct study *study, const struct identity *me, unsigned index,
                   struct head *head) MUST_CHECK;
/* ERR_AUTH, not logged, unless server `index` of the study has signed it. */
enum err head_verify(const struct study *study, unsigned index, const struct head *head) MUST_CHECK;

void head_put(struct bytes *out, const struct head *head);
void head_read(struct reader *in, struct head *head);

#define HEAD_LINE_SIZE 640
void head_line(const struct study *study, unsigned index, const struct head *head,
               char line[HEAD_LINE_SIZE]);
/*
 * ERR_FORMAT: not such a line; ERR_MISMATCH: another study; ERR_AUTH: its server did not sign it.
 */
enum err head_parse(const struct study *study, const char *line, unsigned *index,
                    struct head *head) MUST_CHECK;
