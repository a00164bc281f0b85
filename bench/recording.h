/*
 * bench/recording.h - keeps what came to a server on one lane, and plays it again: so a server can
 * be measured without neighbours on the same machine.
 */
#pragma once

#include "netio/transport.h"

struct recording;

enum err recording_new(struct recording **r) MUST_CHECK;
void recording_free(struct recording **r);

/* Like `inner`, which it borrows, but keeps what comes. */
struct transport recording_keep(struct recording *r, struct transport *inner);
/*
 * Gives what was kept, from the first message on, as soon as it is asked for; what is sent goes
 * nowhere.
 */
struct transport recording_play(struct recording *r);
