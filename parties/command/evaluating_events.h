/*
 * parties/command/evaluating_events.h - compares synthetic persons and their events with real ones.
 *
 * Figures are L1 distances of the tables of two columns, 0 alike and 2 nothing in common, on
 * average over all pairs of a kind: of persons, each counting once; of events; of persons and their
 * events; of events and the one before. Beside them are those of as many real persons drawn once
 * more, with all of their events, and of a table in which each pair is dealt at random.
 */
#pragma once

#include "parties/owner/source.h"

#define EVENTS_KINDS 5
#define EVENTS_SIDES 3                               /* synthetic, resample, dealt */
extern const char *const events_kinds[EVENTS_KINDS]; /* number, person, events, inter, order */

struct events_compared {
    size_t pairs[EVENTS_KINDS];
    double error[EVENTS_KINDS][EVENTS_SIDES]; /* means over these pairs */
};

/* Of flat tables (aim/table/series.h) of one domain. */
enum err events_compare(struct events_compared *c, const struct table *real,
                        const struct table *synthetic) MUST_CHECK;

struct evaluating_events {
    const struct study *study;
    struct source_options real; /* persons and events */
    const char *synthetic;      /* the folder of a result, or of trefoil synth */
    bool json;
};

enum err evaluating_events(const struct evaluating_events *e, struct log *log) MUST_CHECK;
