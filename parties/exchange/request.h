/*
 * parties/exchange/request.h - what an analyst asks of the servers, as bytes.
 *
 *   REQUEST_OPEN   start a session over the complete uploads, to begin or continue a run
 *   REQUEST_CLOSE  end session and run
 *   REQUEST_ROUND  a round of the run, which is paid for and answered (aim/run/ask.h)
 *
 * The analyst sends the request to all three servers, which compare its SHA-256. Weights, penalties
 * and sensitivity are not in it: servers compute them from the study. Formats are versioned and
 * bounded; a reader refuses whatever is too long, out of order or left over.
 */
#ifndef TREFOIL_PARTIES_EXCHANGE_REQUEST_H
#define TREFOIL_PARTIES_EXCHANGE_REQUEST_H

#include "aim/run/ask.h"
#include "base/bytes.h"

#define REQUEST_VERSION 5u
#define REQUEST_RUN_SIZE 16
#define REQUEST_DIGEST_SIZE 32

/* On the wire a round has the number of what it asks for. */
enum request_kind { REQUEST_ROUND, REQUEST_OPEN = 1, REQUEST_CLOSE = 4 };

struct request {
    enum request_kind kind;
    uint8_t run[REQUEST_RUN_SIZE]; /* chosen by the analyst, the same throughout a run */
    uint32_t sequence;             /* of a round: 0, 1 .. within a run */
    struct ask ask;                /* of a round */
};

/* Appends the bytes of a request. */
enum err request_write(const struct request *r, struct bytes *out) MUST_CHECK;
/*
 * ERR_FORMAT for anything malformed; query indices and sizes are checked against the workload.
 * ERR_REFUSED for merges that are not possible in this domain.
 */
enum err request_read(struct request *r, const struct domain *d, const struct workload *w,
                      const void *p, size_t n) MUST_CHECK;
void request_clear(struct request *r);
/* The version in the bytes; 0 if there are no bytes. Only REQUEST_VERSION can be read. */
unsigned request_version(const void *p, size_t n);
/* No valid request is longer. */
size_t request_longest(const struct workload *w);

void request_digest(const void *p, size_t n, uint8_t digest[REQUEST_DIGEST_SIZE]);

/* --- messages between programs and gates ------------------------------------------------------ */

/* The first byte of every message to a gate. */
enum message_kind {
    MESSAGE_UPLOAD = 1, /* owner: terms digest, then parties/exchange/upload.h */
    MESSAGE_FORWARD,    /* server 1 to server 2: bytes of a vector (parties/server/intake.h) */
    MESSAGE_STATUS,     /* anybody admitted: what each owner has here (parties/server/intake.h) */
    /* analyst: attempt, debits that it has seen at this server, request or the rest of it */
    MESSAGE_REQUEST,
    MESSAGE_REPLACE = 6, /* owner: an upload that replaces its last one */
    MESSAGE_PART,        /* owner to server 1: id, first (u64), bytes of the vector from there on */
    MESSAGE_WITHDRAW,    /* owner: terms digest */
    MESSAGE_LEDGER, /* server to server: a debit, for trefoil recover; parties/server/recover.h */
    MESSAGE_ALIVE,  /* analyst: a run whose program is alive; parties/exchange/pulse.h */
    MESSAGE_HEAD,   /* anybody admitted: terms digest, debits that it has seen (u64); head.h */
    MESSAGE_PIECE,  /* analyst: like MESSAGE_REQUEST, a part of a request; not answered */
    MESSAGE_TOKEN   /* owner that the study does not list: parties/server/seats.h */
};

/* No message is much longer: longer vectors and requests are sent in parts of this many bytes. */
#define MESSAGE_PART_MAX ((size_t)256 << 10)

/* A token and what follows it: what a key that the server does not know may send. */
#define MESSAGE_TOKEN_MOST ((size_t)2048)

/* The same request may be sent again: a fresh random attempt tells them apart. */
#define REQUEST_ATTEMPT_SIZE 16
#define REQUEST_HEAD_SIZE (1 + REQUEST_ATTEMPT_SIZE + 8) /* kind, attempt, debits (u64) */

/* Every answer from a gate: a status, words for people, then a payload. */
struct reply {
    uint8_t kind; /* of the message that it answers */
    enum err status;
    char text[512];         /* after reading, without anything that could control a terminal */
    const uint8_t *payload; /* within the message that was read */
    size_t size;
};
enum err reply_write(uint8_t kind, enum err status, const char *text, const void *payload, size_t n,
                     struct bytes *out) MUST_CHECK;
/* ERR_MISMATCH, with words in r->text, for an answer in another version. */
enum err reply_read(struct reply *r, const struct bytes *message) MUST_CHECK;

#endif
