#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "mpc/pair/labels.h"
#include "mpc/party/scratch.h"

#include <sodium.h>
#include <string.h>

#define POINT 32

enum err pair_new(struct pair **pair, enum pair_end end, const uint8_t id[PAIR_ID_SIZE])
{
    TRY(memory_new(pair, 1));
    (*pair)->end = end;
    memcpy((*pair)->id, id, PAIR_ID_SIZE);
    (*pair)->kernel = kernel_best(NULL);
    (*pair)->scratch = scratch_new();
    (*pair)->scalar = secret_new(POINT);
    if ((*pair)->scratch != NULL && (*pair)->scalar != NULL)
        return ERR_OK;
    pair_free(pair);
    return ERR_NOMEM;
}

void pair_free(struct pair **pair)
{
    if (*pair == NULL)
        return;
    for (unsigned j = 0; j < LABELS_BITS; j++) {
        prg_free(&(*pair)->stream[0][j]);
        prg_free(&(*pair)->stream[1][j]);
    }
    secret_free(&(*pair)->scalar);
    scratch_free(&(*pair)->scratch);
    memory_wipe_free(pair, sizeof **pair);
}

/* Begins a stream of transfer j from the point that both ends can have. */
static enum err begin(struct pair *pair, unsigned bit, uint8_t j, const uint8_t choice[POINT],
                      const uint8_t point[POINT])
{
    uint8_t number[PAIR_ID_SIZE + 1], points[3 * POINT], key[32];
    enum err e;
    memcpy(number, pair->id, PAIR_ID_SIZE);
    number[PAIR_ID_SIZE] = j;
    memcpy(points, pair->hello, POINT);
    memcpy(points + POINT, choice, POINT);
    memcpy(points + 2 * POINT, point, POINT);
    hash_labelled(key, "trefoil-pair-base-1", number, sizeof number, points, sizeof points);
    e = prg_new(&pair->stream[bit][j], key);
    secret_wipe(points, sizeof points);
    secret_wipe(key, sizeof key);
    return e;
}

enum err pair_hello(struct pair *keeper, uint8_t hello[PAIR_HELLO_SIZE])
{
    if (keeper->end != PAIR_KEEPER || keeper->ready || keeper->stream[0][0] != NULL)
        return ERR_MISUSE;
    crypto_core_ristretto255_scalar_random(keeper->scalar);
    if (crypto_scalarmult_ristretto255_base(hello, keeper->scalar) != 0)
        return ERR_CRYPTO;
    memcpy(keeper->hello, hello, PAIR_HELLO_SIZE);
    return ERR_OK;
}

/* B = x G + bit A, and the stream of x A. Both points are made, whatever the bit. */
static enum err choose(struct pair *pair, uint8_t j, unsigned bit, uint8_t choice[POINT])
{
    uint8_t x[POINT], with[POINT], point[POINT];
    const uint8_t mask = (uint8_t)(0u - bit);
    enum err e = ERR_FORMAT;
    crypto_core_ristretto255_scalar_random(x);
    if (crypto_scalarmult_ristretto255_base(choice, x) == 0 &&
        crypto_core_ristretto255_add(with, choice, pair->hello) == 0 &&
        crypto_scalarmult_ristretto255(point, x, pair->hello) == 0) {
        for (unsigned k = 0; k < POINT; k++)
            choice[k] = (uint8_t)(choice[k] ^ (mask & (choice[k] ^ with[k])));
        e = begin(pair, 0, j, choice, point);
    }
    secret_wipe(x, sizeof x);
    secret_wipe(with, sizeof with);
    secret_wipe(point, sizeof point);
    return e;
}

enum err pair_choose(struct pair *provider, const uint8_t hello[PAIR_HELLO_SIZE],
                     uint8_t choices[PAIR_CHOICES_SIZE])
{
    if (provider->end != PAIR_PROVIDER || provider->ready || provider->stream[0][0] != NULL)
        return ERR_MISUSE;
    memcpy(provider->hello, hello, PAIR_HELLO_SIZE);
    secret_random(&provider->delta, sizeof provider->delta);
    provider->delta.low |= 1;
    for (uint8_t j = 0; j < LABELS_BITS; j++) {
        const uint64_t half = j < 64 ? provider->delta.low : provider->delta.high;
        TRY(choose(provider, j, half >> (j % 64) & 1, choices + (size_t)POINT * j));
    }
    provider->ready = true;
    return ERR_OK;
}

enum err pair_chosen(struct pair *keeper, const uint8_t choices[PAIR_CHOICES_SIZE])
{
    uint8_t less[POINT], point[POINT];
    enum err e = ERR_OK;
    if (keeper->end != PAIR_KEEPER || keeper->ready || keeper->stream[0][0] != NULL)
        return ERR_MISUSE;
    for (uint8_t j = 0; j < LABELS_BITS && e == ERR_OK; j++) {
        const uint8_t *choice = choices + (size_t)POINT * j;
        if (crypto_core_ristretto255_sub(less, choice, keeper->hello) != 0 ||
            crypto_scalarmult_ristretto255(point, keeper->scalar, choice) != 0)
            e = ERR_FORMAT;
        if (e == ERR_OK)
            e = begin(keeper, 0, j, choice, point);
        if (e == ERR_OK && crypto_scalarmult_ristretto255(point, keeper->scalar, less) != 0)
            e = ERR_FORMAT;
        if (e == ERR_OK)
            e = begin(keeper, 1, j, choice, point);
    }
    secret_wipe(point, sizeof point);
    secret_wipe(keeper->scalar, POINT);
    keeper->ready = e == ERR_OK;
    return e;
}
