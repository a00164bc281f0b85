#include "harness/shares.h"

#include "base/memory.h"

#define DEFINE(type)                                                                               \
    enum err type##_new(struct type *x, size_t n)                                                  \
    {                                                                                              \
        *x = (struct type){memory_words(n, sizeof *x->a), memory_words(n, sizeof *x->b), n};       \
        if (x->a != NULL && x->b != NULL)                                                          \
            return ERR_OK;                                                                         \
        type##_free(x);                                                                            \
        return ERR_NOMEM;                                                                          \
    }                                                                                              \
    void type##_free(struct type *x)                                                               \
    {                                                                                              \
        memory_wipe_free(&x->a, x->n * sizeof *x->a);                                              \
        memory_wipe_free(&x->b, x->n * sizeof *x->b);                                              \
        *x = (struct type){0};                                                                     \
    }

DEFINE(share32)
DEFINE(share128)

enum err bits_new(struct bits *x, size_t n)
{
    struct planes one;
    TRY(planes_new(&one, 1, n));
    *x = (struct bits){one.a, one.b, n};
    return ERR_OK;
}

void bits_free(struct bits *x)
{
    struct planes one CLEAN(planes_free) = {x->a, x->b, x->n, 1};
    *x = (struct bits){0};
}
