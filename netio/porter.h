/*
 * netio/porter.h - how many connections a socket has, and who must go when there are too many.
 *
 * ZeroMQ takes all that come. The porter hears of each, and above `most` cuts one: of the address that has most,
 * the one from which nothing has come for longest. So whoever opens many crowds out himself, half-open or silent
 * connections go before those in use, and an honest client that is cut dials again by itself.
 */
#ifndef TREFOIL_NETIO_PORTER_H
#define TREFOIL_NETIO_PORTER_H

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

struct porter;

/* Before the socket is bound; of the thread that has the socket. */
enum err porter_new(struct porter **porter, void *context, void *socket, size_t most,
                    struct log *log) MUST_CHECK;
/* Before the socket is closed. */
void porter_free(struct porter **porter, void *socket);

/* Readable when something has happened; then call porter_look(). */
void *porter_socket(struct porter *porter);
void porter_look(struct porter *porter);

#endif
