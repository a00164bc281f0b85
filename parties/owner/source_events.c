/* An owner's persons and their events, from two CSV files. */
#include "aim/table/series.h"
#include "base/memory.h"
#include "parties/owner/source.h"

#include <stdio.h>

static enum err read_part(struct source **out, struct domain **columns, const char *path,
                          const struct source_options *o, struct log *log)
{
    struct table_csv_options options = o->options;
    struct source *s;
    TRY(memory_new(&s, 1));
    *out = s; /* which source_clear() frees */
    s->columns = *columns;
    *columns = NULL;
    if (o->look)
        TRY(memory_new(&s->moments, s->columns->attributes));
    options.rows.moments = s->moments;
    snprintf(s->name, sizeof s->name, "%s", table_csv_name(path));
    TRY(table_read_csv(&s->table, s->columns, path, &options, log));
    s->rows = s->table->rows;
    return ERR_OK;
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
    if (o->sql.connection != NULL || o->options.rows.person != NULL)
        return log_fail(log, ERR_USAGE,
                        "this study has events of persons, who are told apart by the column %s of "
                        "two CSV files; leave out --sql and --person",
                        series->by);
    if (o->events == NULL || o->csv == NULL)
        return log_fail(log, ERR_USAGE,
                        "this study has events of persons: name the CSV file of the persons, and "
                        "that of their events with --events");
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
    TRY(read_part(&s->persons, &persons, o.csv, &o, log));
    o.options.rows.max = 0;
    o.options.rows.numbers = true;
    TRY(read_part(&s->events, &events, o.events, &o, log));
    TRY(series_flat(&s->table, study->domain, s->persons->table, s->events->table, &found));
    s->rows = found.persons;
    s->persons->rows = s->persons->table->rows;
    tell(s, series, &found, log);
    snprintf(s->name, sizeof s->name, "%s", s->persons->name);
    return ERR_OK;
}
