/*
 * parties/exchange/message.h - what programs send to gates. What they get back is in
 * parties/exchange/reply.h.
 *
 * docs/formats.md has the payloads byte by byte. handlers[] in parties/server/front.c says
 * from whom servers take a message, which of them do, and what they do with it.
 */
#pragma once

#include "parties/exchange/reply.h"
#include "parties/study/study.h"

/* The first byte of every message to a gate. */
enum message_kind {
    MESSAGE_UPLOAD = 1,   /* terms digest, then parties/setting/upload.h */
    MESSAGE_FORWARD = 2,  /* bytes of a vector (parties/server/intake.h) */
    MESSAGE_STATUS = 3,   /* what each owner has here (parties/server/intake.h) */
    MESSAGE_REQUEST = 4,  /* attempt, debits seen at this server, request or the rest of it */
    MESSAGE_REPLACE = 6,  /* an upload that replaces the owner's last one */
    MESSAGE_PART = 7,     /* id, first (u64), bytes of the vector from there on */
    MESSAGE_WITHDRAW = 8, /* terms digest */
    MESSAGE_LEDGER = 9,   /* a debit, for trefoil recover; parties/server/recover.h */
    MESSAGE_ALIVE = 10,   /* a run whose program is alive; parties/exchange/pulse.h */
    MESSAGE_HEAD = 11,    /* terms digest, debits seen (u64); parties/exchange/head.h */
    MESSAGE_PIECE = 12,   /* like MESSAGE_REQUEST, a part of a request; not answered */
    MESSAGE_TOKEN = 13,   /* of a key that the study does not list: parties/server/seats.h */
    MESSAGE_PARCEL = 14,  /* a block that anybody may carry: parties/exchange/sealed.h */
    MESSAGE_NOISE = 15,   /* terms digest, kind (u8), name, a block of the owner's noise */
    MESSAGE_KINDS
};

/* No message is much longer: longer vectors and requests are sent in parts of this many bytes. */
#define MESSAGE_PART_MAX ((size_t)256 << 10)

/* A token and what follows it: what a key that the server does not know may send. */
#define MESSAGE_TOKEN_MOST ((size_t)2048)
