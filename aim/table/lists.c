#include "aim/table/lists.h"

#include "aim/table/number.h"
#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jansson accepts a NULL value (no memory, not UTF-8, not a finite number) and reports failure. */

void list_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

void list_append(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}

json_t *list_texts(char *const *text, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        list_append(&list, json_string(text[i]));
    return list;
}

json_t *list_numbers(const double *value, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        list_append(&list, json_real(value[i]));
    return list;
}

json_t *list_attribute(const struct domain_attribute *a)
{
    json_t *o = json_object();
    list_set(&o, "name", json_string(a->name));
    list_set(&o, "kind", json_string(a->kind->word));
    list_set(&o, "size", json_integer(a->size));
    a->kind->json(a, &o);
    if (a->missing != NULL)
        list_set(&o, "missing", json_string(a->missing));
    if (a->missing_too_count > 0)
        list_set(&o, "missing_too", list_texts(a->missing_too, a->missing_too_count));
    return o;
}

struct list_pieces {
    struct bytes *out;
    bool quoted; /* within a string */
};

/* Jansson writes the quotes of a string, and each number, as a piece of its own. */
static int put_piece(const char *piece, size_t size, void *self)
{
    struct list_pieces *p = self;
    char text[40];
    if (size == 1 && *piece == '"')
        p->quoted = !p->quoted;
    if (p->quoted || size < 17 || size >= sizeof text || strchr("-0123456789", *piece) == NULL) {
        bytes_put(p->out, piece, size);
        return 0;
    }
    snprintf(text, sizeof text, "%.*s", (int)size, piece);
    number_shortest(text, sizeof text, strtod(text, NULL));
    text_put(p->out, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
    return 0;
}

enum err list_print(const json_t *root, size_t flags, struct bytes *out)
{
    struct list_pieces p = {.out = out};
    if (json_dump_callback(root, put_piece, &p, flags | JSON_REAL_PRECISION(17)) != 0)
        return ERR_NOMEM;
    bytes_put_u8(out, '\n');
    return bytes_ok(out);
}

enum err list_save(const char *path, json_t *root, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    if (root == NULL)
        return log_fail(log, ERR_DATA,
                        "cannot write %s: a name or label is not UTF-8, a number is not finite, or "
                        "memory is short",
                        path);
    e = list_print(root, JSON_COMPACT, &text);
    json_decref(root);
    TRY(e);
    return file_write(path, 0644, text.data, text.size, log);
}
