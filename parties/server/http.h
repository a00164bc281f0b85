/*
 * parties/server/http.h - the status pages /, /metrics and /healthz over HTTP, if asked for. They
 * have no password, so they are on the loopback address unless another is named. There they answer
 * only requests for this machine (Host: localhost, 127.0.0.1, [::1]); elsewhere for any name.
 */
#pragma once

#include "parties/server/status.h"

#include <sys/socket.h>

struct http;

/*
 * PORT (of 127.0.0.1), ADDRESS:PORT or [ADDRESS]:PORT as an address; no names, which need a
 * resolver. ERR_USAGE, logged with the option's name, for anything else.
 */
enum err http_address(const char *where, const char *option, struct sockaddr_storage *address,
                      struct log *log) MUST_CHECK;

/* Shows the pages at such a place. */
enum err http_start(struct http **http, const char *where, const struct status *status,
                    struct log *log) MUST_CHECK;
void http_stop(struct http **http);

/* Asks /healthz of a server there. ERR_PEER, logged, if it does not say that all is well. */
enum err http_probe(const char *where, struct log *log) MUST_CHECK;
