/* tests/support/pair_ends.h - both ends of mpc/pair/ in one thread: messages are handed over. */
#pragma once

#include "mpc/pair/garbled.h"

/* After their base transfers. */
enum err pair_ends_new(struct pair *end[2]) MUST_CHECK;
void pair_ends_free(struct pair *(*end)[2]);
void pair_runs_free(struct pair_run *(*run)[2]);

/* Hands over the matrix, then the tables, in tiles of so many bytes. */
enum err pair_ends_matrix(struct pair_run *run[2], size_t tile) MUST_CHECK;
enum err pair_ends_tables(struct pair_run *run[2], size_t tile) MUST_CHECK;
