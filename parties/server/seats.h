/*
 * parties/server/seats.h - which owner a guest of the gate is: one that the study does not list.
 *
 * A guest shows its token first (MESSAGE_TOKEN: its public key and the token in text form, as
 * strings; then the message that it goes on with, if that is short). A good token whose number no
 * other key has taken makes the guest that owner. On disk the number belongs to the key for ever;
 * memory holds the last SEATS keys, however many there are. A guest that was forgotten shows its
 * token again, as after a cut. So does a key whose last day has passed, and is then refused. An
 * invitation (parties/study/invite.h) whose last day has passed makes an owner of no other key than
 * the one that had its number before.
 *
 * Checking a token takes two verifications, or three, and costs its sender nothing. So a key whose
 * token is not taken yet, or that shows another, is heard only SEATS_AT_ONCE times at once, and
 * SEATS_PER_SECOND in the long run.
 */
#pragma once

#include "netio/gate.h"
#include "parties/store/store.h"
#include "parties/study/token.h"

struct seats;

#define SEATS_AT_ONCE 20
#define SEATS_PER_SECOND 1

enum err seats_new(struct seats **seats, const struct study *study, struct store *store) MUST_CHECK;
void seats_free(struct seats **seats);

/*
 * Takes a token; what follows it is left in `message`. If the token is refused, the status and the
 * words say why; a failure of the store is ERR_SYSTEM or ERR_NOMEM, without words.
 */
enum err seats_take(struct seats *seats, const struct gate_client *guest, struct reader *message,
                    uint32_t *owner, const char **words) MUST_CHECK;
/*
 * The owner whose Ed25519 key has signed a block (parties/exchange/sealed.h), listed or by a token,
 * which may be NULL. ERR_AUTH if there is none, ERR_REFUSED, with words, if the roster revokes the
 * key, in whatever identity, or the token, or if its number is another key's.
 */
enum err seats_own(struct seats *seats, const uint8_t sign[32], const struct token *token,
                   uint32_t *owner, const char **words) MUST_CHECK;
/* Forgets the seats in memory, for when the disk has not kept what was taken. */
void seats_forget(struct seats *seats);
/* Whether a guest has shown its token, and which owner it is. */
bool seats_find(struct seats *seats, const struct gate_client *guest, uint32_t *owner);
/* Whether a key that has not shown a token, or shows one, may be heard now. */
bool seats_hear(struct seats *seats, const struct gate_client *guest);
/* Whether a guest sends no faster than our programs do. */
bool seats_rate(struct seats *seats, const struct gate_client *guest, unsigned per_second,
                unsigned at_once);
