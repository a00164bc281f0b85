/*
 * parties/server/front_private.h - the state of the thread that looks after a gate: front.c finds
 * who sends a message, and front_handle.c does what its kind says.
 */
#pragma once

#include "parties/server/assembly.h"
#include "parties/server/front.h"
#include "parties/server/parcels.h"

struct front {
    struct site *site;
    struct outbox outbox;
    struct intake intake;
    struct assembly *assembly;
    struct seats *seats;
    struct parcels *parcels;   /* NULL: the study has no sealing keys */
    struct rate *rate;         /* of messages: for each owner, then for each analyst */
    struct upload_entry *held; /* of each owner, to be shown */
    bool changed;              /* since they were last shown .. */
    int64_t shown_ms;          /* .. at this time */
    int64_t told_due; /* since when uploads are due to be purged, as the operator was told */
};

/* Answers a message without a payload. */
enum err front_tell(struct front *f, const struct intake_message *m, enum err status,
                    const char *text) MUST_CHECK;
/* Does with a message what its kind says, if that is taken from this role, and by this server. */
enum err front_handle(struct front *f, const struct intake_message *m,
                      enum study_role role) MUST_CHECK;
