/* parties/exchange/upload_entry.h - what a server holds from an owner, as stated in its status. */
#pragma once

#include "base/bytes.h"

enum upload_state { UPLOAD_NOTHING, UPLOAD_INCOMPLETE, UPLOAD_COMPLETE, UPLOAD_WITHDRAWN };

struct upload_entry {
    enum upload_state state;
    uint8_t digest[32]; /* of the upload that is here, or was last withdrawn */
    int64_t time;       /* of the last change; base/date.h */
    uint64_t bytes;     /* how many of the vector have come in parts, while incomplete */
};

void upload_entry_put(struct bytes *out, const struct upload_entry *entry);
/* An unknown state, or too few bytes, fails the reader. */
void upload_entry_read(struct reader *in, struct upload_entry *entry);
