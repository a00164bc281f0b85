/*
 * netio/watch.h - what happens to the connection of a socket that dials: it broke, or was refused.
 *
 * ZeroMQ connects again by itself when a connection breaks. It does not when the other side has
 * refused our key or has proved another key than we expect. Such a socket stays dead, although the
 * other side may know us a moment later, with an amended roster. Only the socket's thread uses the
 * watch.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>

struct watch;

/* Call it about when the socket dials. The endpoint is copied. */
enum err watch_new(struct watch **watch, void *context, void *socket, const char *endpoint,
                   struct log *log) MUST_CHECK;
/* Before the socket is closed. */
void watch_free(struct watch **watch);

/*
 * Takes what has happened so far. Call it now and then where nothing else of a watch is called:
 * events wait in memory, and a port that accepts and closes at once, such as a proxy's, makes
 * twenty a second.
 */
void watch_tend(struct watch *watch);
/* Dials again if we were refused since the last call; forgets how attempts to connect ended. */
void watch_redial(struct watch *watch);
/* How attempts ended since then. */
enum watch_end {
    WATCH_NO_END, /* not yet, or well */
    WATCH_NOBODY, /* nobody listens there, or there is no such host */
    WATCH_DENIED  /* the other side has turned our key away */
};
enum watch_end watch_attempts(struct watch *watch);
/*
 * The socket can be written, so its connection stands: it may have come to stand before the watch.
 */
void watch_stands(struct watch *watch);
/* Whether a connection stands now, admitted by both sides. */
bool watch_is_up(struct watch *watch);
/* Whether a connection that stood, admitted by both sides, broke since the last watch_forget(). */
bool watch_broke(struct watch *watch);
void watch_forget(struct watch *watch);
/* To wait on: readable when there is something new. */
void *watch_socket(struct watch *watch);
