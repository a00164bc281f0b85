#include "base/prg.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "base/prg_vaes.h"
#include "base/processor.h"
#include "base/secret.h"

#include <openssl/evp.h>
#include <string.h>

/*
 * The stream is made in chunks. What callers leave of one waits in `ready`, so that short draws are
 * copies.
 */
struct prg {
    EVP_CIPHER_CTX *cipher; /* NULL where `vaes` makes the chunks */
    void (*vaes)(const struct prg_schedule *schedule, uint64_t chunk, uint8_t *out,
                 const uint8_t *in, size_t chunks);
    struct prg_schedule schedule;
    uint64_t chunk; /* the next */
    uint8_t ready[PRG_CHUNK];
    size_t left; /* the last bytes of `ready` */
};

static enum err use_openssl(struct prg *p, const uint8_t key[16])
{
    static const uint8_t start[16];
    p->cipher = EVP_CIPHER_CTX_new();
    return p->cipher == NULL ||
                   EVP_EncryptInit_ex(p->cipher, EVP_aes_128_ctr(), NULL, key, start) != 1
               ? ERR_CRYPTO
               : ERR_OK;
}

enum err prg_new(struct prg **prg, const uint8_t key[16])
{
    TRY(memory_new(prg, 1));
    enum err e = ERR_OK;
#if defined(__x86_64__)
    const enum processor set = processor_has_wide_ciphers() ? processor_best(NULL)
                                                            : PROCESSOR_PORTABLE;
    if (set != PROCESSOR_PORTABLE) {
        (*prg)->vaes = set == PROCESSOR_AVX512 ? prg_vaes_avx512 : prg_vaes_avx2;
        prg_vaes_schedule(&(*prg)->schedule, key);
    } else
#endif
        e = use_openssl(*prg, key);
    if (e != ERR_OK)
        prg_free(prg);
    return e;
}

void prg_free(struct prg **prg)
{
    if (*prg != NULL)
        EVP_CIPHER_CTX_free((*prg)->cipher);
    memory_wipe_free(prg, sizeof **prg);
}

static enum err encrypt(struct prg *prg, uint8_t *out, const uint8_t *in, size_t n)
{
    int written;
    if (EVP_EncryptUpdate(prg->cipher, out, &written, in, (int)n) != 1 || written != (int)n)
        return ERR_CRYPTO;
    return ERR_OK;
}

/* The next chunks, XORed with what `in` holds unless that is NULL. */
static enum err make(struct prg *prg, uint8_t *out, const uint8_t *in, size_t chunks)
{
    static const uint8_t zeros[32 * PRG_CHUNK]; /* read from the first-level cache */
    if (prg->vaes != NULL) {
        prg->vaes(&prg->schedule, prg->chunk, out, in, chunks);
        prg->chunk += chunks;
        return ERR_OK;
    }
    while (chunks > 0) {
        const size_t n = chunks < 32 ? chunks : 32;
        TRY(encrypt(prg, out, in != NULL ? in : zeros, n * PRG_CHUNK));
        out += n * PRG_CHUNK;
        in = in != NULL ? in + n * PRG_CHUNK : NULL;
        chunks -= n;
    }
    return ERR_OK;
}

/* Takes at most n bytes from `ready`; returns how many. */
static size_t take(struct prg *prg, uint8_t *out, size_t n, bool add)
{
    const size_t k = n < prg->left ? n : prg->left;
    const uint8_t *from = prg->ready + PRG_CHUNK - prg->left;
    if (!add)
        memcpy(out, from, k);
    for (size_t i = 0; i < k && add; i++)
        out[i] ^= from[i];
    prg->left -= k;
    return k;
}

static enum err draw(struct prg *prg, uint8_t *out, size_t n, bool add)
{
    size_t at = take(prg, out, n, add), chunks = (n - at) / PRG_CHUNK;
    TRY(make(prg, out + at, add ? out + at : NULL, chunks));
    at += chunks * PRG_CHUNK;
    if (at == n)
        return ERR_OK;
    TRY(make(prg, prg->ready, NULL, 1));
    prg->left = PRG_CHUNK;
    take(prg, out + at, n - at, add);
    return ERR_OK;
}

enum err prg_fill(struct prg *prg, void *p, size_t n)
{
    return draw(prg, p, n, false);
}

enum err prg_xor(struct prg *prg, void *p, size_t n)
{
    return draw(prg, p, n, true);
}

/* Goes to the start of this chunk. */
static enum err seek(struct prg *prg, uint64_t chunk)
{
    uint8_t counter[16] = {0};
    uint64_t block = chunk * (PRG_CHUNK / sizeof counter);
    prg->chunk = chunk;
    for (size_t i = sizeof counter; i-- > 8; block >>= 8)
        counter[i] = (uint8_t)block;
    return prg->vaes != NULL || EVP_EncryptInit_ex(prg->cipher, NULL, NULL, NULL, counter) == 1
               ? ERR_OK
               : ERR_CRYPTO;
}

enum err prg_xor_from(const uint8_t key[16], uint64_t from, void *p, size_t n)
{
    uint8_t before[PRG_CHUNK];
    struct prg *prg CLEAN(prg_free) = NULL;
    TRY(prg_new(&prg, key));
    TRY(seek(prg, from / PRG_CHUNK));
    TRY(prg_fill(prg, before, from % PRG_CHUNK));
    secret_wipe(before, from % PRG_CHUNK); /* masks of what comes before */
    return prg_xor(prg, p, n);
}

enum err prg_xor_once(const uint8_t key[16], void *p, size_t n)
{
    return prg_xor_from(key, 0, p, n);
}

enum err prg_words_once(const uint8_t key[16], uint64_t *word, size_t n)
{
    memset(word, 0, n * sizeof *word);
    TRY(prg_xor_once(key, word, n * sizeof *word));
    for (size_t i = 0; i < n; i++)
        word[i] = integer_get((const uint8_t *)&word[i], 8);
    return ERR_OK;
}
