/*
 * aim/model/series_draw.h - persons drawn from a model, and the events of each, one after the
 * other.
 *
 * A person has the columns of persons, the number of events, drawn within its bin, and the date of
 * the first. An event is drawn given its person, its stage and the event before
 * (aim/model/given.h). Where the model has none such, columns of the event before are forgotten,
 * the last first. A date is the one before plus the gap, whose bins count by their part up to the
 * last date: dates ascend within the study's range.
 */
#pragma once

#include "aim/model/model.h"
#include "aim/table/csv.h"

/* Two tables to be written; `by` is 1, 2, .. Events are by person and in order. */
struct series_drawn {
    struct domain *of_persons, *of_events;
    struct table *persons, *events;
    struct densities inside_persons, inside_events; /* what they hold is borrowed */
    size_t forgotten;                               /* events for which something was forgotten */
};

/* ERR_MISUSE unless rows of the model's domain are events. The same seed draws the same. */
enum err series_draw(struct series_drawn *drawn, const struct model *m,
                     const struct densities *inside, size_t persons, uint64_t seed,
                     struct log *log) MUST_CHECK;
/* The same of these persons, rows of the model's domain; columns of events are overwritten. */
enum err series_draw_of(struct series_drawn *drawn, const struct model *m,
                        const struct densities *inside, struct table *flat, uint64_t seed,
                        struct log *log) MUST_CHECK;
void series_drawn_clear(struct series_drawn *drawn);

/* Writes folder/persons.csv, and folder/visits.csv, or whatever the events are called. */
enum err series_write_csv(const char *folder, const struct series_drawn *drawn, const char *name,
                          uint64_t seed, const struct csv_form *form, struct log *log) MUST_CHECK;
