/*
 * parties/owner/serial.h - the last upload or withdrawal that an owner has sealed in a study.
 *
 * Servers take sealed acts in the order of their serials (parties/server/order.h). The file,
 * NAME.STUDY.serial beside the key, has the last one: a new serial is the clock in ms, but above
 * that, so that a clock which was put back undoes nothing. It is on disk before anything leaves.
 */
#ifndef TREFOIL_PARTIES_OWNER_SERIAL_H
#define TREFOIL_PARTIES_OWNER_SERIAL_H

#include "parties/exchange/receipt.h"

struct serial {
    uint64_t last;            /* 0: there is none */
    enum receipt_state state; /* what all servers sign once they have it */
    uint8_t upload[32];       /* its digest; zeros for a withdrawal */
    uint8_t parcel[32];       /* of the parcel's file; zeros: it was sent at once */
};

/* ERR_STUDY, logged, for a file of another form or study; none is fine. */
enum err serial_load(struct serial *s, const struct study *study, const char *path,
                     struct log *log) MUST_CHECK;
/* What follows the last: the clock in ms, but above it. */
uint64_t serial_next(const struct serial *last);
enum err serial_save(const struct serial *s, const struct study *study, const char *path,
                     struct log *log) MUST_CHECK;

#endif
