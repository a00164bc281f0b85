/*
 * parties/server/assembly.h - an analyst's long requests, which come in pieces, one after another
 * on one connection; MESSAGE_REQUEST brings the last. Of each analyst one request is put together
 * at a time, no longer than any that the study has a use for, and dropped if it stops growing.
 */
#ifndef TREFOIL_PARTIES_SERVER_ASSEMBLY_H
#define TREFOIL_PARTIES_SERVER_ASSEMBLY_H

#include "netio/gate.h"
#include "parties/study/study.h"

struct assembly;

/* assembly_free() also takes one that failed. */
enum err assembly_new(struct assembly **assembly, const struct study *study) MUST_CHECK;
void assembly_free(struct assembly **assembly);

/*
 * Adds a MESSAGE_PIECE or MESSAGE_REQUEST, with its head, of analyst `who`. ERR_RANGE: the request
 * is too long. What was added before is dropped on failure, or if this is of another attempt or
 * connection.
 */
enum err assembly_add(struct assembly *assembly, uint32_t who, const struct gate_client *from,
                      const struct bytes *message) MUST_CHECK;
/* What was put together: one head, and the request. */
const struct bytes *assembly_whole(const struct assembly *assembly, uint32_t who);
void assembly_drop(struct assembly *assembly, uint32_t who);
/* Drops what does not grow any more. */
void assembly_tend(struct assembly *assembly);

#endif
