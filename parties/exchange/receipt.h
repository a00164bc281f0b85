/*
 * parties/exchange/receipt.h - what three servers sign for an owner: that they hold an upload, or
 * that it was withdrawn. docs/formats.md has what is signed, and the file.
 *
 * The digest in it is what servers compare before they compute (upload_digest()): it binds the
 * commitments, and so says which bytes the receipt is of without telling anything about them. Three
 * statements make a receipt, which anybody with the study file can verify. A server that signs two
 * states does not contradict itself: the later time counts.
 */
#ifndef TREFOIL_PARTIES_EXCHANGE_RECEIPT_H
#define TREFOIL_PARTIES_EXCHANGE_RECEIPT_H

#include "base/bytes.h"
#include "parties/study/study.h"

#define RECEIPT_FILE_MAX 4096

enum receipt_state { RECEIPT_HELD = 1, RECEIPT_WITHDRAWN };

/* One server's statement. */
struct receipt_part {
    int64_t time; /* base/date.h */
    uint8_t signature[KEYS_SIGNATURE_SIZE];
};

struct receipt {
    enum receipt_state state;
    uint32_t owner;
    uint8_t digest[32];
    struct receipt_part part[STUDY_SERVERS];
};

/* Signs, as `server` and now, the state, owner and digest of r. */
enum err receipt_sign(const struct study *study, const struct identity *server,
                      const struct receipt *r, struct receipt_part *part) MUST_CHECK;
/* ERR_AUTH, logged, names the server whose signature fails; all three, or one. */
enum err receipt_verify(const struct study *study, const struct receipt *r,
                        struct log *log) MUST_CHECK;
enum err receipt_verify_part(const struct study *study, const struct receipt *r, unsigned server,
                             struct log *log) MUST_CHECK;

void receipt_part_write(const struct receipt_part *part, struct bytes *out);
void receipt_part_read(struct receipt_part *part, struct reader *in);

/* ERR_SYSTEM, logged, where it cannot be written. */
enum err receipt_save(const char *path, const struct study *study, const struct receipt *r,
                      struct log *log) MUST_CHECK;
/*
 * Reads a receipt; `path` is for messages. ERR_FORMAT, logged with the line, for another text;
 * ERR_MISMATCH for another study, terms or people. receipt_verify() is for its signatures.
 */
enum err receipt_parse(struct receipt *r, const struct study *study, const char *path,
                       const void *text, size_t n, struct log *log) MUST_CHECK;
enum err receipt_load(struct receipt *r, const struct study *study, const char *path,
                      struct log *log) MUST_CHECK;

/* In words, after it has been verified. */
void receipt_describe(FILE *out, const struct study *study, const struct receipt *r);

#endif
