/*
 * parties/server/assembly.h - puts an analyst's long requests together. They come in pieces, one
 * after another on one connection; MESSAGE_REQUEST brings the last piece. Each analyst has one
 * request in assembly at a time. It may be no longer than the study's longest request, and is
 * dropped if it stops growing.
 */
#pragma once

#include "netio/gate.h"
#include "parties/study/study.h"

struct assembly {
    struct assembly_unfinished {
        struct gate_client from;
        struct bytes message; /* with the head of its last piece */
        int64_t grown_ms;
    } * of; /* one for each analyst */
    size_t analysts, longest;
};

/* Call assembly_clear() also after a failure. */
enum err assembly_start(struct assembly *assembly, const struct study *study) MUST_CHECK;
void assembly_clear(struct assembly *assembly);

/*
 * Adds a MESSAGE_PIECE or MESSAGE_REQUEST, with its head, from analyst `who`. ERR_RANGE: the
 * request is too long. Earlier pieces are dropped on failure, or if this piece belongs to another
 * attempt or connection.
 */
enum err assembly_add(struct assembly *assembly, uint32_t who, const struct gate_client *from,
                      const struct bytes *message) MUST_CHECK;
/* What was put together is assembly->of[who].message: one head, and the request. */
void assembly_drop(struct assembly *assembly, uint32_t who);
/* Drops requests that have stopped growing. */
void assembly_tend(struct assembly *assembly);
