/*
 * parties/server/http_private.h - answers over HTTP, as the status pages and the relay give them.
 */
#pragma once

#include "parties/server/http.h"

#include <microhttpd.h>

struct http_header {
    const char *name, *value;
};

/* Queues an answer under a Content-Security-Policy, which no page may frame; `body` is copied. */
enum MHD_Result http_answer(struct MHD_Connection *connection, unsigned code, const char *policy,
                            const struct http_header *header, size_t headers, const void *body,
                            size_t n);

/* The library's own messages are dropped: every peer that leaves early would cause one. */
void http_ignore(void *self, const char *format, va_list args);
