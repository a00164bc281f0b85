/*
 * parties/exchange/receipt.h - what servers sign for an owner: that they hold an upload, or
 * that it was withdrawn. docs/formats.md describes what is signed, and the file.
 *
 * Its digest is the one that servers compare before they compute (upload_digest()): it binds the
 * commitments, so it says which bytes the receipt is for without revealing anything about them.
 * Three statements make a receipt, which anybody with the study file can verify. A server that
 * signs two states does not contradict itself: the later time counts.
 */
#pragma once

#include "parties/study/study.h"

#define RECEIPT_FILE_MAX 4096

enum receipt_state { RECEIPT_HELD = 1, RECEIPT_WITHDRAWN };

/* One server's statement. */
struct receipt_part {
    int64_t time; /* base/date.h */
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
};

struct receipt {
    enum receipt_state state;
    uint32_t owner;
    uint8_t digest[32];
    struct receipt_part part[STUDY_SERVERS_MOST];
};

/* Signs the state, owner and digest in r, as `server` and with the time now. */
enum err receipt_sign(const struct study *study, const struct identity *server,
                      const struct receipt *r, struct receipt_part *part) MUST_CHECK;
/* All signatures, or one. ERR_AUTH, logged with the server whose signature fails. */
enum err receipt_verify(const struct study *study, const struct receipt *r,
                        struct log *log) MUST_CHECK;
enum err receipt_verify_part(const struct study *study, const struct receipt *r, unsigned server,
                             struct log *log) MUST_CHECK;

void receipt_part_write(const struct receipt_part *part, struct bytes *out);
void receipt_part_read(struct receipt_part *part, struct reader *in);

/* ERR_SYSTEM, logged, if it cannot be written. */
enum err receipt_save(const char *path, const struct study *study, const struct receipt *r,
                      struct log *log) MUST_CHECK;
/*
 * Reads a receipt; `path` is for messages. ERR_FORMAT, logged with the line, for any other text;
 * ERR_MISMATCH for another study, terms or people. Its signatures are left to receipt_verify().
 */
enum err receipt_parse(struct receipt *r, const struct study *study, const char *path,
                       const void *text, size_t n, struct log *log) MUST_CHECK;
enum err receipt_load(struct receipt *r, const struct study *study, const char *path,
                      struct log *log) MUST_CHECK;

/* In words, after it has been verified. */
void receipt_describe(FILE *out, const struct study *study, const struct receipt *r);
