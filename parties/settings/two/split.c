#include "parties/settings/two/split.h"

#include "base/memory.h"
#include "base/prg.h"

/* The stream of a seed, as bytes; wiped by memory_wipe_free(). */
static enum err stream_of(const uint8_t seed[SPLIT_SEED], size_t bytes, uint8_t **stream)
{
    TRY(memory_new(stream, bytes));
    return prg_xor_once(seed, *stream, bytes);
}

static enum err mask(const uint8_t seed[][SPLIT_SEED], uint8_t *vector, size_t bytes)
{
    uint8_t *stream = NULL;
    const enum err e = stream_of(seed[0], bytes, &stream);
    for (size_t at = 0; e == ERR_OK && at < bytes; at += 8)
        integer_put(vector + at, integer_get(vector + at, 8) - integer_get(stream + at, 8), 8);
    memory_wipe_free(&stream, bytes);
    return e;
}

const struct split two_split = {.servers = 2,
                                .components = 2,
                                .held = 1,
                                .component = {{1}, {0}},
                                .given = 0,
                                .passed = SPLIT_NOBODY,
                                .gets = {"the masked counts", "a random seed"},
                                .bytes = study_form_bytes,
                                .mask = mask};

static void add(uint64_t *words, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        words[i] += integer_get(bytes + 8 * i, 8);
}

enum err two_split_add(const struct upload *u, enum pair_end end, uint64_t *words, size_t n)
{
    uint8_t *stream = NULL;
    enum err e;
    if (end == PAIR_PROVIDER) {
        if (u->vector.size != 8 * n)
            return ERR_MISUSE;
        add(words, u->vector.data, n);
        return ERR_OK;
    }
    e = stream_of(u->seed[0], 8 * n, &stream);
    if (e == ERR_OK)
        add(words, stream, n);
    memory_wipe_free(&stream, 8 * n);
    return e;
}
