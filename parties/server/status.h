/*
 * parties/server/status.h - what a running server tells its operator: counters, and three pages
 * made from them (the one for people: status_page.c).
 *
 * All values are public, and none depends on data: whose uploads, which round, what the ledger has
 * spent, bytes. Any thread may write or read a field at any time. Each field is right by itself,
 * but two may be from different moments.
 */
#pragma once

#include "netio/transport.h"
#include "parties/exchange/upload_entry.h"
#include "parties/study/study.h"

#include <stdatomic.h>

/* An owner's upload. */
struct status_owner {
    atomic_int state;           /* an enum upload_state */
    atomic_int_fast64_t time;   /* of the last change */
    atomic_uint_fast64_t bytes; /* how many are here, of an upload in part */
    atomic_bool left_out;       /* of the last session, and no other upload is here since */
    bool named;                 /* the worker's: this session has said that it is left out */
};

/* A server beside this one, by enum net_peer: the one before it, and the one after. */
struct status_neighbour {
    atomic_bool connected;     /* our control link to it is up */
    atomic_int_fast64_t since; /* when that began or ended; 0: nobody has looked */
};

struct status {
    const struct study *study; /* borrowed */
    unsigned index;
    int64_t started_ms;

    /* the front */
    atomic_int_fast64_t front_ms; /* when it last went round */
    atomic_bool store_fails;      /* the last thing that should have been stored was not */
    atomic_uint_fast64_t uploads, uploads_partial; /* here whole; here in part */
    struct status_owner *owner;                    /* one for each; the front's */
    atomic_int_fast64_t purge_due; /* when the study's retain_days are over; 0: never */
    atomic_uint_fast64_t messages, message_bytes; /* from admitted keys */
    atomic_uint_fast64_t refused;                 /* of them, answered with an error */

    /* the worker */
    atomic_bool worker_ended;
    struct status_neighbour neighbour[2];
    atomic_int guard;     /* an enum err: guard_verdict() */
    atomic_bool session;  /* an analyst's run is in progress */
    atomic_bool give_way; /* set by the front: an owner waits for the session to end */
    atomic_uint round;    /* of that run */
    atomic_uint
        adding; /* 1 + thousandths of the uploads added up so far; 0: none are being added up */
    atomic_uint_fast64_t run;     /* which one: the first bytes of its number */
    atomic_uint user;             /* whose it is, by the gate's numbers */
    atomic_int_fast64_t heard_ms; /* when it was last heard of: by the worker and the front */
    atomic_uint_fast64_t requests, requests_failed;
    atomic_uint_fast64_t ahead[2], ahead_most[2]; /* samples made ahead, by enum noise_law */
    _Atomic double rho_spent, rho_limit;
    atomic_uint_fast64_t peer_sent, peer_received; /* on the bulk links, with headers and tags */
};

uint64_t status_run_word(const uint8_t *run);

/* Whether the server does its work, and why or why not. `why` is a line without its end. */
#define STATUS_WHY_SIZE 128
bool status_healthy(const struct status *s, char why[STATUS_WHY_SIZE]);
/* Notes what is here from each owner. `entry`: one for each. */
void status_note_owners(struct status *s, const struct upload_entry *entry);

/* The name of a neighbour, by enum net_peer. */
const char *status_neighbour_name(const struct status *s, unsigned peer);
/* Bytes of memory that the process uses. */
uint64_t status_memory(void);

/* The status in the text format of Prometheus; and as a single page, without scripts or links. */
enum err status_metrics(const struct status *s, struct bytes *out) MUST_CHECK;
enum err status_page(const struct status *s, struct bytes *out) MUST_CHECK;
