/* An owner's persons and their events: two CSV files, or two tables or queries of a database. */
#include "aim/table/series.h"
#include "base/memory.h"
#include "parties/owner/source.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Whether it is a SELECT, and no table's name. */
static bool is_query(const char *events)
{
    static const char *const first[] = {"select", "with"};
    events += strspn(events, " \t\r\n(");
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const size_t n = strlen(first[i]);
        if (strncasecmp(events, first[i], n) == 0 && events[n] != '\0' &&
            strchr(" \t\r\n*\"'(", events[n]) != NULL)
            return true;
    }
    return false;
}

/* Where the events are, once the persons have been read. */
static void turn_to_events(struct source_options *o, const struct series *series)
{
    const bool query = is_query(o->events);
    o->csv = o->events;
    o->sql.table = query ? NULL : o->events;
    o->sql.query = query ? o->events : NULL;
    o->sql.rows = series->name;
    o->sql.ordered = series->when == SERIES_NO;
    o->options.rows.max = 0;
    o->options.rows.numbers = true;
}

static enum err read_part(struct source **out, struct domain **columns, struct source_options o,
                          struct log *log)
{
    struct source *s;
    TRY(memory_new(&s, 1));
    *out = s; /* which source_clear() frees */
    s->columns = *columns;
    *columns = NULL;
    if (o.look)
        TRY(memory_new(&s->moments, s->columns->attributes));
    o.options.rows.moments = s->moments;
    return source_read(s, NULL, &o, log);
}

static void tell(const struct source *s, const struct series *series,
                 const struct series_found *found, struct log *log)
{
    const struct {
        size_t count;
        const char *what;
    } left_out[] = {
        {found->repeated, "persons who were there before"},
        {found->strangers, "events of persons who are not in the table of persons"},
        {found->undated, "events without a date, or outside the study's"},
        {found->ended, "events after one that ends"},
    };
    log_info(log, "%s: %zu events of %zu persons", s->events->name, found->events, found->persons);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (left_out[i].count > 0)
            log_warn(log, "left out, by the column %s: %s (%zu)", series->by, left_out[i].what,
                     left_out[i].count);
}

enum err source_suits(const struct source_options *o, const struct study *study, struct log *log)
{
    const struct series *series = study->domain->series;
    if (series == NULL)
        return o->events == NULL
                   ? ERR_OK
                   : log_fail(log, ERR_USAGE, "this study has no `events`; leave out --events");
    if (o->options.rows.person != NULL)
        return log_fail(log, ERR_USAGE,
                        "this study has events of persons, who are told apart by the column %s; "
                        "leave out --person",
                        series->by);
    if (o->events == NULL || (o->sql.connection == NULL) == (o->csv == NULL))
        return log_fail(log, ERR_USAGE,
                        "this study has events of persons: name the CSV file of the persons, and "
                        "that of their events with --events; or, with --sql, their table or SELECT "
                        "with --table or --query, and that of their events with --events");
    return ERR_OK;
}

enum err source_load_events(struct source *s, const struct study *study,
                            const struct source_options *options, struct log *log)
{
    const struct series *series = study->domain->series;
    struct source_options o = *options;
    struct person_rule rule = {.columns = 1, .column = {series->by}};
    struct domain *persons CLEAN(domain_free) = NULL, *events CLEAN(domain_free) = NULL;
    struct series_found found;
    TRY(series_domains(study->domain, &persons, &events));
    o.options.rows.key = &rule;
    o.sql.rows = "persons";
    o.sql.ordered = o.sql.query != NULL && database_orders(o.sql.query);
    TRY(read_part(&s->persons, &persons, o, log));
    turn_to_events(&o, series);
    TRY(read_part(&s->events, &events, o, log));
    TRY(series_flat(&s->table, study->domain, s->persons->table, s->events->table, &found));
    s->rows = found.persons;
    s->persons->rows = s->persons->table->rows;
    tell(s, series, &found, log);
    source_say_order(s->persons, &options->sql, found.repeated, 1, log);
    snprintf(s->name, sizeof s->name, "%s", s->persons->name);
    return ERR_OK;
}
