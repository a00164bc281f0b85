#include "mpc/kernel/share.h"

#include "base/memory.h"

size_t ring_size(enum share_ring ring)
{
    static const size_t size[] = {
        [RING_BITS] = 8, [RING_16] = 2, [RING_32] = 4, [RING_64] = 8, [RING_128] = 16,
    };
    return size[ring];
}

enum err share16_new(struct share16 *x, size_t n)
{
    *x = (struct share16){memory_words(n, sizeof *x->a), memory_words(n, sizeof *x->b), n};
    if (x->a != NULL && x->b != NULL)
        return ERR_OK;
    share16_free(x);
    return ERR_NOMEM;
}

void share16_free(struct share16 *x)
{
    memory_wipe_free(&x->a, x->n * sizeof *x->a);
    memory_wipe_free(&x->b, x->n * sizeof *x->b);
    *x = (struct share16){0};
}

enum err share64_new(struct share64 *x, size_t n)
{
    *x = (struct share64){memory_words(n, sizeof *x->a), memory_words(n, sizeof *x->b), n};
    if (x->a != NULL && x->b != NULL)
        return ERR_OK;
    share64_free(x);
    return ERR_NOMEM;
}

void share64_free(struct share64 *x)
{
    memory_wipe_free(&x->a, x->n * sizeof *x->a);
    memory_wipe_free(&x->b, x->n * sizeof *x->b);
    *x = (struct share64){0};
}

enum err planes_new(struct planes *x, unsigned width, size_t n)
{
    struct share64 words;
    TRY(share64_new(&words, width * bits_words(n)));
    *x = (struct planes){words.a, words.b, n, width};
    return ERR_OK;
}

void planes_free(struct planes *x)
{
    struct share64 words = {x->a, x->b, x->width * bits_words(x->n)};
    share64_free(&words);
    *x = (struct planes){0};
}
