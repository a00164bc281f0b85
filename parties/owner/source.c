#include "parties/owner/source.h"

#include "aim/table/series.h"
#include "aim/train/shrink.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "parties/owner/pack.h"
#include "parties/study/study_uploads.h"

#include <inttypes.h>

void source_clear(struct source *s)
{
    memory_wipe_free(&s->counts, s->cells * sizeof *s->counts);
    memory_free(&s->moments);
    database_close(&s->database);
    table_free(&s->table);
    domain_free(&s->columns);
    for (size_t i = 0; i < 2; i++) {
        struct source **part = i == 0 ? &s->persons : &s->events;
        if (*part != NULL)
            source_clear(*part);
        memory_free(part);
    }
}

static enum err load(struct source *s, const struct study *study, unsigned form,
                     const struct source_options *o, struct log *log)
{
    return source_read(s, upload_is_records(form) ? NULL : study->workload, o, log);
}

/*
 * The same for rows with keys: makes the keys, and sorts rows by them. `person` then names the
 * columns; the servers enforce rows_per_person.
 */
static enum err load_keyed(struct source *s, const struct study *study, size_t owner, unsigned form,
                           struct source_options *o, struct log *log)
{
    const bool linked = study_linked(study, owner);
    const unsigned most = linked ? 1 : study->rows_per_person;
    char *names CLEAN(memory_release) = NULL;
    struct person_rule rule;
    size_t repeated, surplus;
    if (o->options.rows.person != NULL && (names = memory_string(o->options.rows.person)) == NULL)
        return ERR_NOMEM;
    TRY(study_person_rule(study, names, &rule, log));
    o->options.rows.person = NULL;
    o->options.rows.key = &rule;
    TRY(load(s, study, form, o, log));
    TRY(table_sort(s->table, 1, &repeated));
    source_say_order(s, &o->sql, repeated, most, log);
    TRY(table_sort(s->table, most, &surplus));
    if (surplus > 0 && linked)
        log_warn(log,
                 "%s has rows of persons who have an earlier row (%zu of %zu). They are sent, but "
                 "the servers link only the first: leave one row of each person in the table",
                 s->name, surplus, s->rows);
    else if (surplus > 0)
        log_warn(log,
                 "%s has rows beyond the first %u of their person (%zu of %zu). They are sent, but "
                 "the servers do not count them",
                 s->name, most, surplus, s->rows);
    return ERR_OK;
}

/* Makes rows short enough for a classifier's norm: servers would leave out longer ones. */
static void shrink(struct source *s, const struct study *study, struct log *log)
{
    const size_t rows = shrink_rows(s->table, study->features);
    if (rows > 0)
        log_warn(log,
                 "%s has rows whose numbers are longer than the study's norm (%zu of %zu): they "
                 "are shrunk to it",
                 s->name, rows, s->rows);
}

/* Whether there are as many rows as the owner is to have. */
static enum err check_rows(struct source *s, const struct study_owner *who, bool database,
                           struct log *log)
{
    s->doubts += s->rows == 0;
    if (s->rows == 0)
        log_warn(log, "%s has %s: is it the right %s?", s->name,
                 database ? "no rows" : "a header and no rows", database ? "one" : "file");
    if (who->rows > 0 && s->rows != who->rows)
        return log_fail(log, ERR_DATA,
                        "%s has %zu rows, and the owners of its batch agreed on %u, where row i of "
                        "one belongs to row i of the others: find out together which rows are "
                        "missing or too many, or have the study's roster amended. Nothing was sent",
                        s->name, s->rows, who->rows);
    if (s->rows >= who->min_rows)
        return ERR_OK;
    return log_fail(
        log, ERR_DATA,
        "%s has %zu %s, and %s agreed to bring at least %u: is it the right %s? Nothing was "
        "sent. (If this owner never uploads, the others can tell that it has fewer)",
        s->name, s->rows, s->persons != NULL ? "persons" : "rows", who->name, who->min_rows,
        database ? "one" : "file");
}

enum err source_load(struct source *s, const struct study *study, size_t owner, unsigned form,
                     const struct source_options *options, struct log *log)
{
    const struct study_owner *who = study_owner(study, owner);
    struct source_options o = *options;
    bool database = o.sql.connection != NULL;
    TRY(source_suits(options, study, log));
    o.options.rows.max = who->max_rows;
    o.options.rows.per_person = study->domain->series == NULL ? study->rows_per_person : 0;
    o.sql.ordered = (who->columns < study->domain->attributes && !study_linked(study, owner)) ||
                    (study->person.columns > 0 && o.sql.query != NULL &&
                     database_orders(o.sql.query));
    if (study->domain->series != NULL) {
        TRY(source_load_events(s, study, &o, log));
        return check_rows(s, who, database, log);
    }
    TRY(pack_domain(&s->columns, study, owner));
    if (o.look)
        TRY(memory_new(&s->moments, s->columns->attributes));
    o.options.rows.moments = s->moments;
    TRY(study_sends_keys(study, owner) ? load_keyed(s, study, owner, form, &o, log)
                                       : load(s, study, form, &o, log));
    if (study->features != NULL && study->features->norm2 > 0)
        shrink(s, study, log);
    return check_rows(s, who, database, log);
}

static enum err count(struct source *s, const struct clique *c, int64_t *cells)
{
    if (s->table == NULL)
        return database_count(s->database, c->attribute, c->n, cells);
    tabulate_marginal(s->table, c, cells);
    return ERR_OK;
}

static enum err check_zeros(struct source *s, const struct study *study,
                            const struct workload_zeros *zero, struct log *log)
{
    uint64_t cells = clique_cells(&zero->clique, study->domain);
    int64_t *counts, rows = 0;
    enum err e;
    TRY(memory_new(&counts, cells));
    e = count(s, &zero->clique, counts);
    for (size_t i = 0; e == ERR_OK && i < zero->cells; i++)
        rows += counts[zero->cell[i]];
    rows = (rows + series_units(study->domain) - 1) / series_units(study->domain);
    memory_wipe_free(&counts, cells * sizeof *counts);
    s->doubts += rows > 0;
    if (rows > 0)
        log_warn(log,
                 "%" PRId64 " rows hold %s that the study calls impossible: they are sent as they "
                 "are, but no row of the result will have that; check the table and the study",
                 rows, clique_name(&zero->clique, study->domain).text);
    return e;
}

enum err source_check_impossible(struct source *s, const struct study *study, struct log *log)
{
    if (s->columns != NULL && s->columns->attributes < study->domain->attributes)
        return ERR_OK;
    for (size_t k = 0; k < study->zeros; k++)
        TRY(check_zeros(s, study, &study->zero[k], log));
    return ERR_OK;
}

enum err source_pack(const struct source *s, const struct study *study, size_t owner, unsigned form,
                     struct bytes *packed)
{
    if (s->table == NULL)
        return pack_counts(study, owner, s->counts, s->rows, packed);
    return pack_table(study, owner, form, s->table, packed);
}
