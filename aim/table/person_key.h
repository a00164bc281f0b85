/*
 * aim/table/person_key.h - the key of a row: whose row it is, as 64 bits that all owners of a study
 * make in the same way. Anybody who has the study and knows the fields can make it too, so owners
 * send only shares of it.
 *
 * The fields of some columns, in the order of the rule, each made uniform (base/unicode.h), are
 * hashed with BLAKE2b under a key that belongs to the study:
 *
 *   BLAKE2b-128("trefoil-person-1", then each field's length and its bytes), first 8 bytes
 *
 * Among n persons, two get the same key with a probability below n^2 / 2^65.
 */
#pragma once

#include "base/unicode.h"

#define PERSON_COLUMNS_MAX 8
#define PERSON_SECRET_SIZE 32

/* How to make a study's keys from a table, whose columns may have names of their own. */
struct person_rule {
    size_t columns;
    const char *column[PERSON_COLUMNS_MAX];
    struct unicode_form form;
    uint8_t secret[PERSON_SECRET_SIZE];
};

/* The columns of a table, then its rows, one after the other. */
struct person_key;

enum err person_key_new(struct person_key **key, const struct person_rule *rule) MUST_CHECK;
void person_key_free(struct person_key **key);

/* Column `at` has this name: whether it is one of the rule's; *twice: it had been found before. */
bool person_key_column(struct person_key *key, const char *name, size_t at, bool *twice);
/* The first of the rule's columns, from *k on, that was not found, or NULL; moves *k past it. */
const char *person_key_missing(const struct person_key *key, size_t *k);

/*
 * The field in column `at`, which may be none of the rule's. ERR_DATA: no key can be made from it;
 * ERR_REFUSED: not by this build. On either, *name is the column and *why the reason.
 */
enum err person_key_field(struct person_key *key, size_t at, const char *text, size_t length,
                          const char **name, const char **why) MUST_CHECK;

/* The key of a row whose fields have all come. */
enum err person_key_end(struct person_key *key, uint64_t *value) MUST_CHECK;
