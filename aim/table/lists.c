#include "aim/table/lists.h"

static json_t *unless(int failed, json_t *list)
{
    if (failed == 0)
        return list;
    json_decref(list);
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
