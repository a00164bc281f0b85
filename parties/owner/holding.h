/* parties/owner/holding.h - what a server says it holds of all owners, and that in words. */
#ifndef TREFOIL_PARTIES_OWNER_HOLDING_H
#define TREFOIL_PARTIES_OWNER_HOLDING_H

#include "parties/exchange/held.h"
#include "parties/exchange/request.h"
#include "parties/study/study.h"

struct holding {
    bool answered;
    uint32_t roster;
    bool begun;
    struct held *entry; /* of each owner; NULL unless answered */
};

/* From the answer to MESSAGE_STATUS; ERR_FORMAT for one of another study's people, too. */
enum err holding_read(const struct study *study, const struct reply *reply,
                      struct holding *h) MUST_CHECK;
void holding_clear(struct holding *h);
/* In words, for 80 columns: what waits is told server by server. */
void holding_describe(FILE *out, const struct study *study,
                      const struct holding holding[STUDY_SERVERS]);

#endif
