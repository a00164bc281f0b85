/* tests/support/socket.h - a client that knows nothing but TCP. */
#pragma once

#include "base/bytes.h"

/* Connects to an IPv4 or IPv6 address; -1 if nobody is there. */
int support_connect(const char *address, uint16_t port);
/* Whether the other side has closed it; what it sent before is dropped. */
bool support_is_cut(int fd);
/* What comes until the other side closes, or is silent for long, as a string; then closes. */
const char *support_answer(int fd, struct bytes *answer);
/*
 * The answer of a port on 127.0.0.1 to an HTTP request line such as "GET /"; empty if there is
 * none.
 */
const char *support_ask(uint16_t port, const char *request, struct bytes *answer);
/* Whether this machine's loopback has [::1]. */
bool support_has_ipv6(void);
