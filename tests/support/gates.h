/*
 * tests/support/gates.h - the gates of three servers, whose answers come from a test, so that they
 * refuse, lie or cheat.
 */
#pragma once

#include "base/bytes.h"
#include "harness/study.h"
#include "parties/study/identity.h"

struct gates;

/*
 * What server i answers, appended to `out`; if that is nothing, the server is silent. Called from a
 * thread of that gate.
 */
typedef void (*gates_answer)(void *self, unsigned i, const struct bytes *message,
                             struct bytes *out);

/* At the study's endpoints, with its servers' keys, for one client. Both are borrowed. */
void gates_new(struct gates **gates, const struct support_study *s,
               const struct public_identity *client, gates_answer answer, void *self);
void gates_free(struct gates **gates);

/* An answer to a request that went well, whose statement of the ledger is all zeros. */
enum err gates_write_answer(uint8_t kind, const void *p, size_t n, struct bytes *out) MUST_CHECK;
