/*
 * bench/tap.h - a proxy between a client and the three gates of a study on loopback, which counts
 * what goes through: all that TCP carries, with greetings and sealing.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdint.h>

struct tap;

/* The gates are at `real` + server * STUDY_PORTS; the tap listens at ports of its own. */
enum err tap_open(struct tap **tap, uint16_t real) MUST_CHECK;
/* Nothing passes any more; gives what the client sent and received. */
void tap_close(struct tap **tap, uint64_t *sent, uint64_t *received);
/* A copy of the study file `from` in which the servers' endpoints are the tap's. */
enum err tap_study(const struct tap *tap, const char *from, const char *to,
                   struct log *log) MUST_CHECK;
