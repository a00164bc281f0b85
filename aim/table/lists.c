#include "aim/table/lists.h"

static json_t *unless(int failed, json_t *made)
{
    if (failed == 0)
        return made;
    json_decref(made);
    return NULL;
}

json_t *list_texts(char *const *text, size_t n)
{
    json_t *list = json_array();
    int failed = 0;
    for (size_t i = 0; i < n; i++)
        failed |= json_array_append_new(list, json_string(text[i]));
    return unless(failed, list);
}

json_t *list_numbers(const double *value, size_t n)
{
    json_t *list = json_array();
    int failed = 0;
    for (size_t i = 0; i < n; i++)
        failed |= json_array_append_new(list, json_real(value[i]));
    return unless(failed, list);
}

json_t *list_attribute(const struct domain_attribute *a)
{
    json_t *o = json_object();
    int failed = json_object_set_new(o, "name", json_string(a->name)) |
                 json_object_set_new(o, "kind", json_string(a->kind->word)) |
                 json_object_set_new(o, "size", json_integer(a->size));
    failed |= a->kind->json(a, o);
    if (a->missing != NULL)
        failed |= json_object_set_new(o, "missing", json_string(a->missing));
    if (a->missing_too_count > 0)
        failed |= json_object_set_new(o, "missing_too",
                                      list_texts(a->missing_too, a->missing_too_count));
    return unless(failed, o);
}
