/*
 * parties/server/seats.h - who of the gate's guests is which owner that the study does not list.
 *
 * A guest shows its token first (MESSAGE_TOKEN: its public key and the token, as texts, strings;
 * then the message that it goes on with, if that is short). A token that is good, and whose number
 * no other key has taken, makes it that owner: on disk the number is the key's for ever, and in
 * memory this is known of the last SEATS keys, whatever their number. Whoever is forgotten shows
 * its token again, as after a cut; so does a key on whose last day it was taken, and then it is
 * refused.
 *
 * To look at a token costs two signatures, and its sender nothing. So a key is heard at all, before
 * its token was taken or with another, SEATS_AT_ONCE times and SEATS_PER_SECOND in the long run.
 */
#ifndef TREFOIL_PARTIES_SERVER_SEATS_H
#define TREFOIL_PARTIES_SERVER_SEATS_H

#include "netio/gate.h"
#include "parties/store/store.h"

#include <stdbool.h>

struct seats;

#define SEATS_AT_ONCE 20
#define SEATS_PER_SECOND 1

enum err seats_new(struct seats **seats, const struct study *study, struct store *store) MUST_CHECK;
void seats_free(struct seats **seats);

/*
 * Takes a token; what follows it is left in `message`. What speaks against it is the status, with
 * words; a failure of the store is ERR_SYSTEM or ERR_NOMEM, without.
 */
enum err seats_take(struct seats *seats, const struct gate_client *guest, struct reader *message,
                    uint32_t *owner, const char **words) MUST_CHECK;
/* What was taken in memory, where the disk has not kept it. */
void seats_forget(struct seats *seats);
/* Whether a guest has shown its token: which owner it is. */
bool seats_find(struct seats *seats, const struct gate_client *guest, uint32_t *owner);
/* Whether a key that has not shown a token, or shows one, may be heard now. */
bool seats_hear(struct seats *seats, const struct gate_client *guest);
/* Whether it sends no faster than programs of ours. */
bool seats_rate(struct seats *seats, const struct gate_client *guest, unsigned per_second,
                unsigned at_once);

#endif
