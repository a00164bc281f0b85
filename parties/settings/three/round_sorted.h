/*
 * parties/settings/three/round_sorted.h - whether an upload is sorted by person is opened once in
 * its life, though sessions make rows from it again and again (parties/settings/three/keyed.h).
 *
 *   all -> all   of each upload that is counted: unknown here, sorted, not sorted, tried too often
 *   all -> all   a digest of the uploads and of what follows from that
 *   each         count     the attempt: on disk before a part of the bits is sent
 *   all          open      the bits of uploads that two servers do not know
 *   all -> all   these bits, or what a server knew before; each keeps them on disk if all three say
 *                the same
 *
 * What two servers know is not opened again: the third takes it from them. So no server can have it
 * opened anew by saying that it does not know. Two honest servers hear each other directly: they
 * open the same bits or none, and never keep different ones.
 *
 * Where nothing is proved (security: semi-honest), a server that departs from the protocol can make
 * the bit that is opened tell something else about the rows. So each server sends its part at most
 * SORTED_ATTEMPTS times for an upload. Under a check the bit cannot be altered, and checks are
 * counted instead. LEAKS: the bits.
 */
#pragma once

#include "netio/net.h"
#include "parties/settings/three/keyed.h"
#include "parties/store/store_sorted.h"

/* It borrows what it points to, and `keyed` borrows it until rows are made. */
struct round_sorted {
    const struct study *study;
    struct store *store;
    struct net *net;
    bool proved; /* under a check */
    struct log *log;
    const struct upload_name **upload; /* by owner; NULL where none is counted */
};

/*
 * The first two steps, for uploads with this digest together: tells `keyed` what is known, and to
 * call for the others. ERR_REFUSED, logged, if an upload was tried too often; ERR_CHEAT, logged, if
 * servers differ: no crash, backup or owner makes honest ones do so.
 */
enum err round_sorted(struct round_sorted *r, const struct upload_name *upload, size_t count,
                      const uint8_t uploads[32], struct keyed *keyed) MUST_CHECK;
void round_sorted_clear(struct round_sorted *r);
