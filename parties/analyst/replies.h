/*
 * parties/analyst/replies.h - the replies that a run has had from the servers, kept in its folder.
 *
 * This is for a run whose requests follow from earlier replies and from nothing else: when it goes
 * on, it plays its rounds again from what is here, and asks for the first that is not.
 *
 *   "trefoil-replies-2\n"; terms digest (32); run (16); for each, in the order of rounds: u32 how
 *   often the servers lost it, block request, without run and sequence, block answer, empty for a
 *   gradient that was lost; BLAKE2b-256 of terms digest, run and these (32)
 *
 * Each is appended. One that a crash has cut is not read, and its round is asked for again, which
 * the servers answer at no cost. Version 1, which is read too, and then written anew, has u32 how
 * many after the run, and one digest, at its end.
 */
#pragma once

#include "parties/exchange/request.h"
#include "parties/study/study.h"

struct replies;

/* Reads the file, which the first reply creates. ERR_DATA, logged, if it is another run's. */
enum err replies_open(struct replies **replies, const char *path, const struct study *study,
                      const uint8_t run[REQUEST_RUN_SIZE], struct log *log) MUST_CHECK;
void replies_free(struct replies **replies);

/*
 * Puts a round's reply into `answer` if it is here, else leaves that empty. ERR_MISMATCH, logged,
 * if the round asked for something else then.
 */
enum err replies_find(const struct replies *replies, const struct ask *ask, struct bytes *answer,
                      unsigned *lost) MUST_CHECK;
/* Appends the next round's reply to the file; a reply that is there already stays. */
enum err replies_keep(struct replies *replies, const struct ask *ask, const struct bytes *answer,
                      unsigned lost) MUST_CHECK;
