/*
 * parties/owner/source.h - where an owner's rows are, and what is read from there: a table or, if a
 * database can count for an owner of counts, only the counts.
 */
#ifndef TREFOIL_PARTIES_OWNER_SOURCE_H
#define TREFOIL_PARTIES_OWNER_SOURCE_H

#include "aim/sql/database.h"
#include "aim/table/csv.h"
#include "parties/study/study.h"

/* A CSV file ("-" is standard input), or a database if sql.connection is not NULL. */
struct source_options {
    const char *csv;
    struct table_csv_options options;
    struct database_source sql;
    /*
     * In a study with `events`, theirs, the others being of persons: a CSV file, or with sql a
     * table or a SELECT.
     */
    const char *events;
    bool look; /* for columns_print() */
};

struct source {
    char name[160];         /* for messages */
    struct domain *columns; /* those that the owner holds */
    struct table *table;    /* or NULL, if a database has counted */
    struct database *database;
    struct rows_moments *moments; /* of each of `columns`, or NULL */
    int64_t *counts;              /* of all maximal marginals, one after the other */
    size_t cells;
    size_t rows;
    size_t doubts; /* how many warnings say that these may be the wrong data */
    /*
     * NULL, or the two tables that make `table`, which has the study's columns: those of persons,
     * and of events. `rows` are persons.
     */
    struct source *persons, *events;
};

/*
 * Reads or counts, for an upload of this form (parties/setting/upload.h), within the study's
 * bounds for the owner. ERR_DATA, logged, if the data do not fit them.
 */
enum err source_load(struct source *s, const struct study *study, size_t owner, unsigned form,
                     const struct source_options *options, struct log *log) MUST_CHECK;
void source_clear(struct source *s);
/*
 * Reads the rows of `columns`, or has a database that can count the maximal marginals, if `counted`
 * is not NULL.
 */
enum err source_read(struct source *s, const struct workload *counted,
                     const struct source_options *options, struct log *log) MUST_CHECK;
/*
 * Warns if persons have more rows than `most` and come from a database in any order: rows of a
 * person stay in the order in which they come.
 */
void source_say_order(const struct source *s, const struct database_source *sql, size_t repeated,
                      unsigned most, struct log *log);
/* ERR_USAGE, logged, unless there is a file of events exactly where the study has `events`. */
enum err source_suits(const struct source_options *options, const struct study *study,
                      struct log *log) MUST_CHECK;
/* The same of persons and events, whatever bounds the study sets for owners (source_events.c). */
enum err source_load_events(struct source *s, const struct study *study,
                            const struct source_options *options, struct log *log) MUST_CHECK;

/* Warns of rows that hold what the study calls impossible: the study or the data are wrong. */
enum err source_check_impossible(struct source *s, const struct study *study,
                                 struct log *log) MUST_CHECK;
/* Packs what was loaded, as it is uploaded. */
enum err source_pack(const struct source *s, const struct study *study, size_t owner, unsigned form,
                     struct bytes *packed) MUST_CHECK;

#endif
