/*
 * parties/owner/serial.h - the last upload or withdrawal that an owner has sealed in a study.
 *
 * Servers take sealed acts in the order of their serials (parties/server/order.h). The file,
 * NAME.STUDY.serial beside the key, has the last one; it is on disk before anything leaves.
 */
#pragma once

#include "parties/exchange/receipt.h"

struct serial {
    uint64_t last;      /* 0: there is none */
    uint8_t upload[32]; /* its digest; zeros: it was a withdrawal */
    uint8_t parcel[32]; /* of the parcel's file; zeros: it was sent at once */
};

/* ERR_STUDY, logged, for a file of another form; none is fine. */
enum err serial_load(struct serial *s, const char *path, struct log *log) MUST_CHECK;
/* What follows the last: the clock in ms, but above it. So a clock put back undoes nothing. */
uint64_t serial_next(const struct serial *last);
enum err serial_save(const struct serial *s, const char *path, struct log *log) MUST_CHECK;
