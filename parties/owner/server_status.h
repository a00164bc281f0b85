/* parties/owner/server_status.h - what a server says it holds from all owners, also in words. */
#pragma once

#include "parties/exchange/message.h"
#include "parties/exchange/upload_entry.h"
#include "parties/setting/split.h"

struct server_status {
    bool answered;
    uint32_t roster;
    bool begun;
    struct upload_entry *entry; /* one for each listed owner; NULL unless answered */
    uint64_t whole, part;       /* uploads of the others */
    struct upload_entry own;    /* the asking owner's, if it is one of the others */
};

/* Reads the answer to MESSAGE_STATUS; ERR_FORMAT also if it is about another study's people. */
enum err server_status_read(const struct study *study, const struct reply *reply,
                            struct server_status *h) MUST_CHECK;
void server_status_clear(struct server_status *h);
/* In words, for 80 columns: an upload that may be incomplete is told server by server. */
void server_status_describe(FILE *out, const struct study *study, const struct split *split,
                            const struct server_status status[]);
