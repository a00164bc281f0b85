/* A table from a CSV file, or read or counted in a database. */
#include "parties/owner/source.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>

#define TELL_S 5

static size_t maximal(const struct workload *w)
{
    size_t n = 0;
    for (size_t q = 0; q < w->queries; q++)
        n += w->query[q].maximal;
    return n;
}

static enum err count_marginals(struct source *s, const struct workload *w, struct log *log)
{
    double told = clock_now_s();
    size_t done = 0;
    uint64_t at = 0;
    s->cells = (size_t)w->maximal_cells;
    TRY(memory_new(&s->counts, s->cells));
    for (size_t q = 0; q < w->queries; q++)
        if (w->query[q].maximal) {
            const struct clique *c = &w->query[q].clique;
            TRY(database_count(s->database, c->attribute, c->n, s->counts + at));
            at += w->query[q].cells;
            done++;
            if (clock_now_s() - told > TELL_S) {
                told = clock_now_s();
                log_info(log, "%s: %zu of %zu marginals are counted", s->name, done, maximal(w));
            }
        }
    return ERR_OK;
}

static enum err read_sql(struct source *s, const struct workload *counted,
                         const struct source_options *o, struct log *log)
{
    TRY(database_open(&s->database, s->columns, &o->sql, &o->options.rows, log));
    snprintf(s->name, sizeof s->name, "%s", database_name(s->database));
    if (counted != NULL && database_counts(s->database) && s->columns->derived == NULL) {
        TRY(database_snapshot(s->database));
        TRY(count_marginals(s, counted, log));
        TRY(database_check(s->database, &s->rows));
        return o->look ? database_extremes(s->database) : ERR_OK;
    }
    TRY(database_read(s->database, &s->table));
    s->rows = s->table->rows;
    database_close(&s->database);
    return ERR_OK;
}

enum err source_read(struct source *s, const struct workload *counted,
                     const struct source_options *o, struct log *log)
{
    if (o->sql.connection != NULL)
        return read_sql(s, counted, o, log);
    snprintf(s->name, sizeof s->name, "%s", table_csv_name(o->csv));
    TRY(table_read_csv(&s->table, s->columns, o->csv, &o->options, log));
    s->rows = s->table->rows;
    return ERR_OK;
}

void source_say_order(const struct source *s, const struct database_source *sql, size_t repeated,
                      unsigned most, struct log *log)
{
    if (sql->connection == NULL || repeated == 0 ||
        (sql->query != NULL && database_orders(sql->query)))
        return;
    log_warn(log,
             "%s has rows of persons who have an earlier row (%zu): the database may give them in "
             "any order. The same rows can then make another upload, and for a person with "
             "more than %u, different ones count; give --query with an ORDER BY",
             s->name, repeated, most);
}
