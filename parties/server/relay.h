/*
 * parties/server/relay.h - a door for browsers, which speak no ZeroMQ: takes sealed blocks
 * (parties/exchange/sealed.h) by HTTP, brings each to its server's gate, and returns the answer.
 *
 *   POST /0, /1, /2   a block; answered by the server's answer, or 504
 *   GET /             the owner's page
 *   GET /healthz      "ok", for a probe
 *
 * It has no key and no state. It sees addresses, times, sizes and answers, never rows, nor which
 * open owner brings them. If it lies, it withholds. A proxy in front of it has TLS, and limits
 * clients.
 */
#pragma once

#include "parties/study/study.h"

struct relay;

struct relay_options {
    const struct study *study; /* borrowed, as all else here */
    const char *listen;        /* parties/server/http.h */
    const struct bytes *page;  /* what GET / gives; empty: nothing */
    const char *policy;        /* its Content-Security-Policy */
    struct log *log;
};

enum err relay_start(struct relay **relay, const struct relay_options *options) MUST_CHECK;
void relay_stop(struct relay **relay);
