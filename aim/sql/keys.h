/*
 * aim/sql/keys.h - what a database groups the rows by, and what that means.
 *
 * An attribute's key in SQL is one of
 *   its text         for labels, and whatever cannot be binned there; coded here like a CSV field
 *   the code         for a number that fits, found in the database by comparisons with the edges. A
 *                    number that does not fit has the code that the policy gives it, or none,
 *                    marked
 *   either           for a column whose values are of several kinds; a text then begins with '='
 * Where a comparison in the database could differ from one with the text's number here, the key is
 * the text. So the codes are those of the same values in CSV, and only the number of groups
 * differs.
 */
#pragma once

#include "aim/sql/engine.h"
#include "aim/table/domain.h"

/* The dates that are some here, in SQL. */
#define KEY_DATES_FROM "DATE '0001-01-01'"
#define KEY_DATES_TO "TIMESTAMP '9999-12-31 23:59:59.999999'"

enum key_form { KEY_TEXT, KEY_CODE, KEY_EITHER };

struct key {
    const struct domain_attribute *attribute;
    struct odbc_column column;
    enum key_form form;
    struct bytes sql; /* NUL-ended */
};

/* The key of an attribute in a column; key_clear() it. */
enum err key_make(struct key *k, const struct sql_engine *e, const char *quote,
                  const struct domain_attribute *a, const struct odbc_column *column) MUST_CHECK;
void key_clear(struct key *k);

/*
 * The code that a group has by its key's field (NULL, or changed in place); DOMAIN_NO_CODE if it
 * has none. *fits: the value itself has that code; false if it does not fit and only counts as it.
 */
uint32_t key_code(const struct key *k, char *field, size_t size, bool *fits);

/* The text of a date as a calendar writes it, in `room`; the text, where it or there is none. */
char *key_date(const struct calendar *c, char *text, size_t *size, char room[COLUMN_TEXT]);

/* An SQL condition for the rows whose value does not fit; nothing where only the text can tell. */
void key_misfits(const struct key *k, struct bytes *sql);
