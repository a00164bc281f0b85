/*
 * parties/owner/parcel.h - a parcel: all that `share` would send to the servers, sealed for each of
 * them (parties/exchange/sealed.h), in a file that anybody may carry. Without network: the page in
 * a browser makes the same. docs/formats.md has the file, and that of answers, which `send` keeps
 * beside it. A server's blocks are HEAD, then UPLOAD or REPLACE and its PARTs, or WITHDRAW.
 */
#pragma once

#include "parties/exchange/sealed.h"
#include "parties/setting/upload.h"

#define PARCEL_HEAD 0u /* the blocks' numbers */
#define PARCEL_ACT 1u
#define PARCEL_PARTS 2u
#define PARCEL_MAX ((uint64_t)1 << 40) /* bytes of a file */

/* --- making one ------------------------------------------------------------------------------- */

/* The messages; `debits`: of this server's ledger, as far as it was seen. */
enum err parcel_put_head(const struct study *study, uint64_t debits, struct bytes *out) MUST_CHECK;
/* Without the vector, if that is too long for one message and goes in parts. */
enum err parcel_put_upload(const struct study *study, const struct upload *part, unsigned server,
                           bool replace, struct bytes *out) MUST_CHECK;
enum err parcel_put_part(const struct upload *part, uint64_t first, struct bytes *out) MUST_CHECK;
enum err parcel_put_withdraw(const struct study *study, struct bytes *out) MUST_CHECK;

/*
 * A parcel's file. `parts`: an upload's, or NULL: it is withdrawn. `debits`: for each server.
 * from->serial is above the owner's last.
 */
enum err parcel_make(const struct sealed_from *from, const struct upload parts[], bool replace,
                     const uint64_t debits[], struct bytes *out) MUST_CHECK;

/* What names it. */
void parcel_digest(const struct bytes *file, uint8_t digest[32]);

/* --- carrying one ----------------------------------------------------------------------------- */

struct parcel {
    const struct study *study; /* borrowed */
    struct bytes file;
    uint8_t digest[32];                /* of the file */
    size_t blocks[STUDY_SERVERS_MOST]; /* at least 2 */
    size_t *at[STUDY_SERVERS_MOST];    /* where they are in the file */
};

void parcel_clear(struct parcel *p);
/*
 * Takes a parcel's file apart; `file` becomes its own. ERR_FORMAT for anything else, ERR_MISMATCH
 * for another study's, or one for other sealing keys than the study lists. Logged; `path` is for
 * messages.
 */
enum err parcel_parse(struct parcel *p, const struct study *study, const char *path,
                      struct bytes *file, struct log *log) MUST_CHECK;
/* A block's bytes, for MESSAGE_PARCEL. */
const uint8_t *parcel_block(const struct parcel *p, unsigned server, size_t k, size_t *n);

/* What the servers answered, verified. */
struct parcel_answers {
    struct {
        struct bytes head, act; /* messages; empty: none yet */
        uint32_t block;         /* the number of the block that `act` answers */
    } of[STUDY_SERVERS_MOST];
};

void parcel_answers_clear(struct parcel_answers *a);
enum err parcel_answers_write(const struct parcel *p, const struct parcel_answers *a,
                              struct bytes *out) MUST_CHECK;
/*
 * ERR_FORMAT for anything else, ERR_MISMATCH for another parcel's, ERR_AUTH if a server did not
 * sign one. Not logged.
 */
enum err parcel_answers_read(const struct parcel *p, struct parcel_answers *a, const void *file,
                             size_t n) MUST_CHECK;
