/*
 * netio/events.h - what ZeroMQ reports about the connections of one of its sockets.
 *
 * The queue of events has no bound: at a bound ZeroMQ's thread would wait for us, and every
 * connection of the program with it. So whoever asks for events must take them.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A ZeroMQ socket that is readable when one of `kinds` (ZMQ_EVENT_...) has happened to `socket`.
 * NULL where it fails.
 */
enum err events_new(void **events, void *context, void *socket, int kinds,
                    struct log *log) MUST_CHECK;
/* Call it before `socket` is closed. `events` may be NULL. */
void events_free(void *events, void *socket);

/* The next event and its value, a descriptor or an error; false if there is none. */
bool events_take(void *events, uint16_t *kind, int32_t *value);
