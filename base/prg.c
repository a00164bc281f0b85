#include "base/prg.h"

#include "base/memory.h"

#include <openssl/evp.h>

struct prg {
    EVP_CIPHER_CTX *cipher;
};

enum err prg_new(struct prg **prg, const uint8_t key[16])
{
    static const uint8_t start[16];
    struct prg *p;
    TRY(memory_new(prg, 1));
    p = *prg;
    p->cipher = EVP_CIPHER_CTX_new();
    if (p->cipher == NULL ||
        EVP_EncryptInit_ex(p->cipher, EVP_aes_128_ctr(), NULL, key, start) != 1) {
        prg_free(prg);
        return ERR_CRYPTO;
    }
    return ERR_OK;
}

void prg_free(struct prg **prg)
{
    if (*prg != NULL)
        EVP_CIPHER_CTX_free((*prg)->cipher);
    memory_free(prg);
}

static enum err encrypt(struct prg *prg, uint8_t *out, const uint8_t *in, size_t n)
{
    int written;
    if (EVP_EncryptUpdate(prg->cipher, out, &written, in, (int)n) != 1 || written != (int)n)
        return ERR_CRYPTO;
    return ERR_OK;
}

enum err prg_fill(struct prg *prg, void *p, size_t n)
{
    static const uint8_t zeros[16384]; /* read from the first-level cache: no pass to clear p */
    uint8_t *at = p;
    while (n > 0) {
        size_t chunk = n < sizeof zeros ? n : sizeof zeros;
        TRY(encrypt(prg, at, zeros, chunk));
        at += chunk;
        n -= chunk;
    }
    return ERR_OK;
}

enum err prg_xor(struct prg *prg, void *p, size_t n)
{
    uint8_t *at = p;
    while (n > 0) {
        size_t chunk = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
        TRY(encrypt(prg, at, at, chunk));
        at += chunk;
        n -= chunk;
    }
    return ERR_OK;
}

enum err prg_xor_once(const uint8_t key[16], void *p, size_t n)
{
    struct prg *prg;
    enum err e = prg_new(&prg, key);
    if (e == ERR_OK)
        e = prg_xor(prg, p, n);
    prg_free(&prg);
    return e;
}
