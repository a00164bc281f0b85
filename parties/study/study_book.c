/* Code books: columns of CSV files that are beside the study file, and are its publisher's. */
#include "aim/table/csv.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "parties/study/study_parse.h"

#include <stdlib.h>
#include <string.h>

struct book_reading {
    struct derive *book;
    const char *value; /* the name of the column, NULL: the first */
    struct csv_place place;
    size_t column; /* SIZE_MAX: not found yet */
    size_t room[2];
    bool header;
    char *text[2]; /* of the row: key, value */
};

static void forget(struct book_reading *b)
{
    memory_free_all(&b->text[0], &b->text[1]);
}

static enum err take_field(void *self, char *text, size_t length)
{
    struct book_reading *b = self;
    const size_t of[2] = {0, b->column};
    text = rows_trim(text, &length);
    if (encoding_steers(text) || strlen(text) != length)
        return ERR_DATA;
    if (!b->header && b->value != NULL && strcmp(text, b->value) == 0)
        b->column = b->place.field;
    for (size_t k = 0; b->header && k < 2; k++)
        if (b->place.field == of[k] && (b->text[k] = memory_string(text)) == NULL)
            return ERR_NOMEM;
    return ERR_OK;
}

static enum err take_row(void *self)
{
    struct book_reading *b = self;
    struct derive *to = b->book;
    if (!b->header) {
        b->header = true;
        return b->column != SIZE_MAX ? ERR_OK : ERR_REFUSED;
    }
    if (b->text[0] == NULL || b->text[1] == NULL)
        return ERR_DATA;
    if (to->keys == DERIVE_KEYS)
        return ERR_RANGE;
    TRY(memory_room(&to->key, &b->room[0], to->keys + (size_t)1));
    TRY(memory_room(&to->value, &b->room[1], to->keys + (size_t)1));
    to->key[to->keys] = b->text[0];
    to->value[to->keys++] = b->text[1];
    b->text[0] = b->text[1] = NULL;
    return ERR_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A key that comes twice, or NULL. */
static enum err find_twice(const struct derive *b, const char **twice)
{
    char **sorted CLEAN(memory_release) = NULL;
    *twice = NULL;
    TRY(memory_new(&sorted, b->keys));
    memcpy(sorted, b->key, b->keys * sizeof *sorted);
    qsort(sorted, b->keys, sizeof *sorted, by_text);
    for (uint32_t i = 1; i < b->keys; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            *twice = sorted[i];
    return ERR_OK;
}

enum err study_read_book(struct study_reading *r, const yaml_node_t *node, const char *file,
                         const char *value, bool keys, struct derive *book)
{
    struct book_reading b CLEAN(forget) = {
        .book = book, .value = value, .column = value != NULL ? SIZE_MAX : 0};
    const struct csv_sink sink = {take_field, take_row, &b};
    char path[FILE_PATH];
    const char *twice = NULL;
    enum err e;
    TRY(study_beside(r, node, "a code book", file, path));
    e = csv_split(path, ',', &sink, &b.place, r->log);
    if (e == ERR_REFUSED)
        return yaml_error(r->file, node, "%.64s has no column %.64s", file, value);
    if (e == ERR_RANGE)
        return yaml_error(r->file, node, "%.64s has more than %d rows", file, DERIVE_KEYS);
    if (e != ERR_OK)
        return e == ERR_NOMEM ? e
                              : yaml_error(r->file, node,
                                           "line %zu of %.64s has a field too few, or one that "
                                           "cannot be shown",
                                           b.place.line, file);
    if (keys)
        TRY(find_twice(book, &twice));
    if (twice != NULL)
        return yaml_error(r->file, node, "%.64s has the key %.64s twice", file, twice);
    return book->keys > 0 ? ERR_OK : yaml_error(r->file, node, "%.64s has no rows", file);
}
