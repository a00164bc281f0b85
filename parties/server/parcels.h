/*
 * parties/server/parcels.h - blocks that anybody brings (parties/exchange/sealed.h): which owner
 * each is of, and how much of the front's time they get.
 *
 * Opening a block takes a tenth of a millisecond or more, and costs a stranger nothing. So keys
 * that the study does not know get at most half of the front's time together: a flood delays
 * parcels alone. What owners have sealed has a rate for each, apart from that of the owner's own
 * link: whoever shows an owner's block again and again does not keep the owner from sending.
 */
#pragma once

#include "parties/server/intake.h"
#include "parties/server/seats.h"

struct parcels;

/* For a study with sealing keys. */
enum err parcels_new(struct parcels **parcels, const struct site *site,
                     struct seats *seats) MUST_CHECK;
void parcels_free(struct parcels **parcels);

/*
 * Opens the block that m brings: m becomes the message in it, from its owner, and points into
 * `plain` and `seal`. ERR_AUTH, ERR_FORMAT or ERR_MISMATCH for one that nobody has sealed who may:
 * the sender should be cut. Other errors are for an answer, with the words.
 */
enum err parcels_open(struct parcels *parcels, struct intake_message *m, struct bytes *plain,
                      struct intake_seal *seal, const char **words) MUST_CHECK;

/* Whether a stranger's block may be opened now; and for how many seconds one was dealt with. */
bool parcels_may(const struct parcels *parcels);
void parcels_spent(struct parcels *parcels, double seconds);
/* Whether an owner's blocks come no faster than its own messages may. */
bool parcels_rate(struct parcels *parcels, uint32_t owner, double per_second, double at_once);
