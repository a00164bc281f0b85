/* parties/owner/courier_private.h - the courier, shared by courier.c and carrier.c. */
#pragma once

#include "parties/owner/courier.h"

struct courier {
    struct courier_options o;
    struct netio *netio;
    struct dials dials;
    char words[512];  /* what went wrong last */
    struct log quiet; /* writes into `words` */
};

#define COURIER_MISSES 3 /* parts out of place before an attempt is given up */

/*
 * Sends a message. The reply borrows from it; that to a block is verified. Returns its status; what
 * it says goes to c->words.
 */
enum err courier_ask(struct courier *c, unsigned server, struct bytes *message,
                     struct reply *reply) MUST_CHECK;
/* The server's answer is invalid, whatever it says: ERR_FORMAT. */
enum err courier_misfit(struct courier *c) MUST_CHECK;

/* Does an errand at one server until it succeeds, or cannot. */
typedef enum err (*courier_errand)(struct courier *c, unsigned server, void *self);
enum err courier_persist(struct courier *c, unsigned server, courier_errand go,
                         void *self) MUST_CHECK;

/* How many bytes of a vector a server has. */
void courier_show(const struct courier *c, unsigned server, uint64_t done, uint64_t all);
