/*
 * parties/exchange/request.h - what an analyst asks of the servers, as bytes.
 *
 *   REQUEST_OPEN   start a session over the complete uploads, to begin or continue a run; where a
 *                  study has approvers, with their warrant
 *   REQUEST_CLOSE  end session and run
 *   REQUEST_ROUND  a round of the run, which is paid for and answered (aim/run/ask.h)
 *
 * The analyst sends the request to all servers, which compare its SHA-256. Weights, penalties
 * and sensitivity are not in it: servers compute them from the study. Formats are versioned and
 * bounded; a reader refuses whatever is too long, out of order or left over.
 */
#pragma once

#include "aim/run/ask.h"
#include "parties/study/warrant.h"

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
    struct warrant warrant;        /* of an OPEN; zeros: it has none */
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

/* The same request may be sent again: a fresh random attempt tells them apart. */
#define REQUEST_ATTEMPT_SIZE 16
#define REQUEST_HEAD_SIZE (1 + REQUEST_ATTEMPT_SIZE + 8) /* kind, attempt, debits (u64) */
