#include "aim/table/derive.h"
#include "base/memory.h"

void derive_clear(struct derive *e)
{
    memory_free_all(&e->name, &e->text);
    for (uint32_t i = 0; i < e->columns; i++)
        memory_free(&e->column[i]);
    memory_free_each(&e->key, e->keys);
    memory_free_each(&e->value, e->keys);
}

static void clear_list(struct derive_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        derive_clear(&list->of[i]);
    memory_free(&list->of);
}

void derived_free(struct derives **d)
{
    if (*d == NULL)
        return;
    clear_list(&(*d)->read);
    clear_list(&(*d)->from);
    clear_list(&(*d)->computed);
    memory_free(d);
}
