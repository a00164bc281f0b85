/*
 * parties/server/order.h - in which order an owner's acts count: UPLOAD, REPLACE, WITHDRAW, NOISE.
 *
 * Where an attempt fails, an owner's program dials again and says the same. A network may have held
 * back what went first, and bring it when the owner has withdrawn the upload since, or when that
 * block of noise is used up. So once an owner has acted on a connection, what comes on an earlier
 * one moves nothing. That is kept in memory: connections end with the server.
 *
 * Sealed acts come on anybody's connection.
 * Whoever carries a block may keep it, show it late, or twice. An act counts if its serial is above
 * the owner's last, or it is the last again: the same serial, kind and upload. A PART counts if its
 * upload was the last. A serial is the owner's clock: one more than a day ahead is refused, since
 * it would shut out later acts, and so is one of 30 days ago, when memory of what came since may be
 * lost. What is refused moves nothing.
 */
#pragma once

#include "parties/server/intake.h"

/*
 * Whether an act or a PART comes in order; else answers why not. `digest`: of the upload, zeros for
 * WITHDRAW; of no use for a PART or NOISE.
 */
enum err order_check(const struct intake *in, const struct intake_message *m,
                     const uint8_t digest[32], bool *good) MUST_CHECK;
/*
 * Notes that the act is the last, in the transaction with what it changed. A bare one follows what
 * its owner has sealed before, by this server's clock, whether or not that has come: a roster may
 * leave sealing keys out, and list them again.
 */
enum err order_note(const struct intake *in, const struct intake_message *m,
                    const uint8_t digest[32]) MUST_CHECK;
