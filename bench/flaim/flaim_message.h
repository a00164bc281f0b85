/*
 * bench/flaim/flaim_message.h - what FLAIM's server sends each round besides secure aggregation, as
 * small as possible: the model as its potentials on the largest measured marginals, in single
 * precision, from which a client computes any marginal by belief propagation.
 *
 *   u8 kind; u32 marginals; for each u8 attributes, u16 each attribute's index;
 *   then f32 each cell's theta
 *
 * A client answers with its choices (u8 kind, u32 each) before the sums.
 */
#pragma once

#include "aim/model/model.h"
#include "base/bytes.h"

#define FLAIM_DECISION_BYTES(steps) (1 + 4 * (uint64_t)(steps))

uint64_t flaim_model_bytes(const struct model *m);
enum err flaim_model_write(const struct model *m, struct bytes *out, struct log *log) MUST_CHECK;
