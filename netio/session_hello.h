/*
 * netio/session_hello.h - HELLO: what a server says about itself when a session begins.
 *
 *   program version (string), index u8             the same in all versions of the protocol
 *   nonce 32, pass 32, lanes u8, all u16, terms 32, parts u8, (name, digest 32)*
 *
 * For netio/session_open.c alone.
 */
#pragma once

#include "netio/session.h"

#define SESSION_NONCE 32

struct session_hello {
    uint8_t nonce[SESSION_NONCE];
    uint8_t pass[TRANSPORT_PASS_SIZE]; /* for the bulk links of the server that gets this HELLO */
    uint8_t lanes;
    uint16_t all;
};

void session_hello_put(struct bytes *b, unsigned index, const struct session_hello *hello,
                       const struct terms *terms);

/*
 * Reads the HELLO of server `who`, and compares it with what this server has. Logs differences, and
 * then sets *mismatch. From another version of the protocol it reads only the fields that all
 * versions share. ERR_FORMAT: it does not parse.
 */
enum err session_hello_take(struct reader *r, uint16_t protocol, unsigned who,
                            const struct terms *ours, struct session_hello *hello, bool *mismatch,
                            struct log *log) MUST_CHECK;
