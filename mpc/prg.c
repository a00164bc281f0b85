#include "mpc/prg.h"

#include "base/memory.h"

#include <openssl/evp.h>
#include <string.h>

struct prg {
    EVP_CIPHER_CTX *cipher;
};

enum err prg_new(struct prg **prg, const uint8_t key[16])
{
    static const uint8_t start[16];
    struct prg *p = memory_array(1, sizeof *p);
    *prg = p;
    if (p == NULL)
        return ERR_NOMEM;
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

enum err prg_fill(struct prg *prg, void *p, size_t n)
{
    uint8_t *at = p;
    if (n > 0)
        memset(p, 0, n);
    while (n > 0) {
        int chunk = n > ((size_t)1 << 30) ? 1 << 30 : (int)n;
        int written;
        if (EVP_EncryptUpdate(prg->cipher, at, &written, at, chunk) != 1 || written != chunk)
            return ERR_CRYPTO;
        at += chunk;
        n -= (size_t)chunk;
    }
    return ERR_OK;
}
