/*
 * parties/server/http.h - the status pages /, /metrics and /healthz over HTTP, if asked for. They
 * have no password, so they are on the loopback address unless another is named. There they answer
 * only requests for this machine (Host: localhost, 127.0.0.1, [::1]); elsewhere for any name.
 */
#ifndef TREFOIL_PARTIES_SERVER_HTTP_H
#define TREFOIL_PARTIES_SERVER_HTTP_H

#include "parties/server/status.h"

struct http;

/* `where` is PORT, ADDRESS:PORT or [ADDRESS]:PORT; ERR_USAGE, logged, for anything else. */
enum err http_start(struct http **http, const char *where, const struct status *status,
                    struct log *log) MUST_CHECK;
void http_stop(struct http **http);

#endif
