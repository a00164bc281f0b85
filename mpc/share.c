#include "mpc/share.h"

#include "base/memory.h"

#define DEFINE(type, word)                                                                         \
    enum err type##_new(struct type *x, size_t n)                                                  \
    {                                                                                              \
        *x = (struct type){memory_words(n, sizeof(word)), memory_words(n, sizeof(word)), n};       \
        if (x->a != NULL && x->b != NULL)                                                          \
            return ERR_OK;                                                                         \
        type##_free(x);                                                                            \
        return ERR_NOMEM;                                                                          \
    }                                                                                              \
    void type##_free(struct type *x)                                                               \
    {                                                                                              \
        memory_wipe_free(&x->a, x->n * sizeof(word));                                              \
        memory_wipe_free(&x->b, x->n * sizeof(word));                                              \
        x->n = 0;                                                                                  \
    }

DEFINE(share16, uint16_t)
DEFINE(share32, uint32_t)
DEFINE(share64, uint64_t)
DEFINE(share128, word128)

enum err bits_new(struct bits *x, size_t n)
{
    struct planes p;
    TRY(planes_new(&p, 1, n));
    *x = (struct bits){p.a, p.b, n};
    return ERR_OK;
}

void bits_free(struct bits *x)
{
    struct planes p = {x->a, x->b, x->n, 1};
    planes_free(&p);
    *x = (struct bits){0};
}

enum err planes_new(struct planes *x, unsigned width, size_t n)
{
    size_t words = bits_words(n);
    *x = (struct planes){memory_words(words, width * sizeof(uint64_t)),
                         memory_words(words, width * sizeof(uint64_t)), n, width};
    if (x->a != NULL && x->b != NULL)
        return ERR_OK;
    planes_free(x);
    return ERR_NOMEM;
}

void planes_free(struct planes *x)
{
    size_t bytes = bits_words(x->n) * x->width * sizeof(uint64_t);
    memory_wipe_free(&x->a, bytes);
    memory_wipe_free(&x->b, bytes);
    *x = (struct planes){0};
}
