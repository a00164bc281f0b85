/*
 * parties/owner/courier.h - gets an owner's upload to the servers, whatever happens.
 *
 * After a failure that may pass (a server that is down, a connection that is cut, a full disk at
 * the server) the courier tries again. The pauses double, and vary at random so that owners do not
 * all come back at once. A long vector goes in parts, each acknowledged when it is on the server's
 * disk, and goes on where it was cut. A failure that cannot pass (other terms, a refused key) ends
 * the upload, and is told in the server's words.
 */
#pragma once

#include "parties/display/progress.h"
#include "parties/exchange/dials.h"
#include "parties/exchange/receipt.h"
#include "parties/exchange/witness.h"
#include "parties/owner/server_status.h"
#include "parties/setting/upload.h"

struct courier_options {
    const struct study *study;
    const struct identity *me;
    struct witness *witness; /* of what the servers sign of their ledgers */
    uint32_t owner;
    const struct token *token; /* of an owner that the study does not list, or NULL */
    uint64_t serial;           /* of an upload or withdrawal, where the study has sealing keys */
    unsigned retries;          /* after the first attempt, at each server */
    struct progress *progress; /* shows what is going on */
    struct log *log;
};

struct courier;
struct parcel;
struct parcel_answers;

/* Call courier_free() also after a failure. */
enum err courier_new(struct courier **courier, const struct courier_options *o) MUST_CHECK;
void courier_free(struct courier **courier);

/*
 * Returns with the verified statements of all servers that they hold the upload. `replace`: it
 * replaces the last one. A server whose ledger does not continue what was seen of it is sent
 * nothing (ERR_MISMATCH).
 */
enum err courier_upload(struct courier *courier, const struct upload parts[], bool replace,
                        struct receipt *receipt) MUST_CHECK;
/*
 * Sends fresh noise, where the owner makes it: to each server a share of each block. It goes before
 * the upload, so that a run that waits for that finds it.
 */
enum err courier_noise(struct courier *courier, const struct split *split) MUST_CHECK;
/*
 * Has all servers delete the owner's upload. *whole: all had the one that the receipt names. Where
 * a look may have been taken before (min_linked), asks for their ledgers after that.
 */
enum err courier_withdraw(struct courier *courier, struct receipt *receipt, bool *whole) MUST_CHECK;

/*
 * Asks all servers once, and logs those that do not answer. ERR_MISMATCH if a server has other
 * terms, or a ledger that does not continue what was seen of it.
 */
enum err courier_status(struct courier *courier, struct server_status status[]) MUST_CHECK;

/*
 * Brings a parcel's blocks to one server, as anybody's, and keeps its answers: `me` is then a key
 * that the study does not know. What the server has already of a vector is left out.
 */
enum err courier_carry(struct courier *courier, const struct parcel *parcel, unsigned server,
                       struct parcel_answers *answers) MUST_CHECK;

/* The traffic so far. */
struct dials_traffic courier_traffic(const struct courier *courier);
