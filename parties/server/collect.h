/*
 * parties/server/collect.h - the uploads that a session counts: the servers agree on a list
 * of them, then add them up a group at a time, so that memory depends on the largest uploads and
 * not on their number.
 */
#pragma once

#include "parties/server/play.h"

/*
 * Counts the uploads that a run begins or goes on with; ERR_AGAIN, logged, if fewer owners have
 * uploaded than the study requires. `late`: those that have come between its rounds. Sets
 * p->upload_ids and p->uploads to what is counted.
 */
enum err collect_uploads(struct play *p, const uint8_t run[REQUEST_RUN_SIZE], bool late) MUST_CHECK;

/* For struct engine_uploads; `play` is a struct play: reads what is counted, a group at a time. */
enum err collect_again(void *play,
                       enum err (*take)(void *taker, const struct upload *uploads, size_t count),
                       void *taker) MUST_CHECK;

/* Whether rows are here that may join the run, and are not counted yet. */
enum err collect_late(struct play *play, uint8_t *late) MUST_CHECK;
/*
 * What each server says of that: rows join once all have some. Who has none is named, once.
 */
void collect_hear_late(struct play *play, const bool *late);
