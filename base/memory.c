#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void *memory_array(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}

enum err memory_new_array(void *address_of_pointer, size_t count, size_t size)
{
    void *p = memory_array(count, size);
    memcpy(address_of_pointer, &p, sizeof p);
    return p != NULL ? ERR_OK : ERR_NOMEM;
}

enum err memory_move(void *to, void *from)
{
    void *none = NULL;
    memcpy(to, from, sizeof none);
    memcpy(from, &none, sizeof none);
    return ERR_OK;
}

static void *grow(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return realloc(old, bytes ? bytes : 1);
}

enum err memory_extend_array(void *address_of_pointer, size_t *room, size_t count, size_t size)
{
    void *p;
    if (room != NULL && count <= *room)
        return ERR_OK;
    if (room != NULL)
        count += count / 2 + 16;
    memcpy(&p, address_of_pointer, sizeof p);
    p = grow(p, count, size);
    if (p == NULL)
        return ERR_NOMEM;
    memcpy(address_of_pointer, &p, sizeof p);
    if (room != NULL)
        *room = count;
    return ERR_OK;
}

char *memory_string(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    if (copy != NULL)
        memcpy(copy, s, n);
    return copy;
}

void *memory_words(size_t count, size_t size)
{
    size_t bytes;
    void *p;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 64)
        return NULL;
    bytes = (bytes + 63) & ~(size_t)63;
    p = aligned_alloc(64, bytes ? bytes : 64);
    if (p != NULL)
        memset(p, 0, bytes ? bytes : 64);
    return p;
}

void memory_release(void *address_of_pointer)
{
    void *p;
    memcpy(&p, address_of_pointer, sizeof p);
    free(p);
    p = NULL;
    memcpy(address_of_pointer, &p, sizeof p);
}

void memory_release_all(void *const addresses[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        memory_release(addresses[i]);
}

void memory_release_each(void *address_of_array, size_t count)
{
    char *array;
    memcpy(&array, address_of_array, sizeof array);
    for (size_t i = 0; array != NULL && i < count; i++)
        memory_release(array + i * sizeof(void *));
    memory_release(address_of_array);
}

void memory_wipe_release(void *address_of_pointer, size_t bytes)
{
    void *p;
    memcpy(&p, address_of_pointer, sizeof p);
    if (p != NULL)
        explicit_bzero(p, bytes);
    memory_release(address_of_pointer);
}

void memory_give_back(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
