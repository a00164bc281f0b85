/* parties/exchange/held.h - what a server holds of an owner, as it says in its status. */
#ifndef TREFOIL_PARTIES_EXCHANGE_HELD_H
#define TREFOIL_PARTIES_EXCHANGE_HELD_H

#include "base/bytes.h"

enum held_state { HELD_NOTHING, HELD_INCOMPLETE, HELD_COMPLETE, HELD_WITHDRAWN };

struct held {
    enum held_state state;
    uint8_t digest[32]; /* of the upload that is here, or was withdrawn last */
    int64_t time;       /* of the last change; base/date.h */
    uint64_t bytes;     /* of the vector that have come in parts, while incomplete */
};

void held_put(struct bytes *out, const struct held *held);
/* An unknown state, or too few bytes, fails the reader. */
void held_read(struct reader *in, struct held *held);

#endif
