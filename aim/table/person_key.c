#include "aim/table/person_key.h"

#include "base/memory.h"
#include "base/secret.h"

#include <sodium.h>
#include <string.h>

static const char label[] = "trefoil-person-1";

struct person_key {
    struct person_rule rule;
    size_t column[PERSON_COLUMNS_MAX]; /* SIZE_MAX until it is found */
    struct bytes field[PERSON_COLUMNS_MAX];
    struct bytes all;
};

enum err person_key_new(struct person_key **key, const struct person_rule *rule)
{
    TRY(memory_new(key, 1));
    (*key)->rule = *rule;
    for (size_t k = 0; k < PERSON_COLUMNS_MAX; k++)
        (*key)->column[k] = SIZE_MAX;
    return ERR_OK;
}

void person_key_free(struct person_key **key)
{
    if (*key == NULL)
        return;
    for (size_t k = 0; k < PERSON_COLUMNS_MAX; k++)
        bytes_clear(&(*key)->field[k]);
    bytes_clear(&(*key)->all);
    secret_wipe(*key, sizeof **key);
    memory_free(key);
}

bool person_key_column(struct person_key *key, const char *name, size_t at, bool *twice)
{
    for (size_t k = 0; k < key->rule.columns; k++)
        if (strcmp(key->rule.column[k], name) == 0) {
            *twice = key->column[k] != SIZE_MAX;
            key->column[k] = at;
            return true;
        }
    *twice = false;
    return false;
}

const char *person_key_missing(const struct person_key *key, size_t *k)
{
    while (*k < key->rule.columns)
        if (key->column[(*k)++] == SIZE_MAX)
            return key->rule.column[*k - 1];
    return NULL;
}

static enum err take(struct person_key *key, size_t k, const char *text, size_t length,
                     const char **why)
{
    struct bytes *b = &key->field[k];
    enum err e;
    b->size = 0;
    *why = "is not UTF-8; save the file as UTF-8";
    if (strlen(text) < length)
        return ERR_DATA;
    e = unicode_put(b, text, key->rule.form);
    if (e == ERR_REFUSED)
        *why = "has letters beyond ASCII, which this build of trefoil cannot compose or take the "
               "case off: install utf8proc (on Debian: apt-get install libutf8proc-dev) and build "
               "it again";
    if (e != ERR_OK || b->size > 0)
        return e;
    *why = "is empty; every row needs it where persons are counted";
    return ERR_DATA;
}

enum err person_key_field(struct person_key *key, size_t at, const char *text, size_t length,
                          const char **name, const char **why)
{
    for (size_t k = 0; k < key->rule.columns; k++)
        if (key->column[k] == at) {
            *name = key->rule.column[k];
            TRY(take(key, k, text, length, why));
        }
    return ERR_OK;
}

enum err person_key_end(struct person_key *key, uint64_t *value)
{
    uint8_t digest[crypto_generichash_BYTES_MIN];
    bytes_set(&key->all, label, sizeof label);
    for (size_t k = 0; k < key->rule.columns; k++)
        bytes_put_block(&key->all, key->field[k].data, key->field[k].size);
    TRY(bytes_ok(&key->all));
    if (crypto_generichash(digest, sizeof digest, key->all.data, key->all.size, key->rule.secret,
                           sizeof key->rule.secret) != 0)
        return ERR_CRYPTO;
    *value = integer_get(digest, sizeof *value);
    return ERR_OK;
}
