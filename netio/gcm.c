#include "netio/gcm.h"

#include "base/memory.h"
#include "base/secret.h"
#include "netio/gcm_ipsec.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

struct gcm {
    struct gcm_ipsec *ipsec; /* or NULL, and libcrypto's: */
    EVP_CIPHER_CTX *cipher;
};

static enum err use_openssl(struct gcm *g, bool seals, const uint8_t key[GCM_KEY])
{
    g->cipher = EVP_CIPHER_CTX_new();
    if (g->cipher == NULL)
        return ERR_NOMEM;
    return EVP_CipherInit_ex(g->cipher, EVP_aes_128_gcm(), NULL, key, NULL, seals) == 1
               ? ERR_OK
               : ERR_CRYPTO;
}

enum err gcm_new(struct gcm **gcm, bool seals, const uint8_t key[GCM_KEY])
{
    struct gcm *g CLEAN(gcm_free) = NULL;
    *gcm = NULL;
    TRY(memory_new(&g, 1));
    TRY(gcm_ipsec_new(&g->ipsec, seals, key));
    if (g->ipsec == NULL)
        TRY(use_openssl(g, seals, key));
    return memory_hand_over(gcm, &g);
}

void gcm_free(struct gcm **gcm)
{
    if (*gcm == NULL)
        return;
    gcm_ipsec_free(&(*gcm)->ipsec);
    EVP_CIPHER_CTX_free((*gcm)->cipher); /* OpenSSL wipes the expanded key */
    memory_free(gcm);
}

/* Nonce, associated data and text: all but the tag. */
static enum err begin(struct gcm *g, const uint8_t nonce[GCM_NONCE], const void *ad, size_t ad_size,
                      const void *in, size_t n, void *out)
{
    int size;
    if (EVP_CipherInit_ex(g->cipher, NULL, NULL, NULL, nonce, -1) != 1 ||
        (ad_size > 0 && EVP_CipherUpdate(g->cipher, NULL, &size, ad, (int)ad_size) != 1) ||
        (n > 0 && EVP_CipherUpdate(g->cipher, out, &size, in, (int)n) != 1))
        return ERR_CRYPTO;
    return ERR_OK;
}

enum err gcm_seal(struct gcm *gcm, const uint8_t nonce[GCM_NONCE], const void *ad, size_t ad_size,
                  const void *plain, size_t n, uint8_t *out)
{
    int size;
    if (gcm->ipsec != NULL) {
        gcm_ipsec_run(gcm->ipsec, nonce, ad, ad_size, plain, n, out, out + n);
        return ERR_OK;
    }
    TRY(begin(gcm, nonce, ad, ad_size, plain, n, out));
    if (EVP_EncryptFinal_ex(gcm->cipher, out + n, &size) != 1 ||
        EVP_CIPHER_CTX_ctrl(gcm->cipher, EVP_CTRL_GCM_GET_TAG, GCM_TAG, out + n) != 1)
        return ERR_CRYPTO;
    return ERR_OK;
}

static enum err open_text(struct gcm *gcm, const uint8_t nonce[GCM_NONCE], const void *ad,
                          size_t ad_size, const uint8_t *sealed, size_t n, void *plain)
{
    uint8_t tag[GCM_TAG], made[GCM_TAG], nothing;
    int size;
    memcpy(tag, sealed + n, GCM_TAG);
    if (gcm->ipsec != NULL) {
        gcm_ipsec_run(gcm->ipsec, nonce, ad, ad_size, sealed, n, plain, made);
        return CRYPTO_memcmp(tag, made, GCM_TAG) == 0 ? ERR_OK : ERR_AUTH;
    }
    TRY(begin(gcm, nonce, ad, ad_size, sealed, n, plain));
    if (EVP_CIPHER_CTX_ctrl(gcm->cipher, EVP_CTRL_GCM_SET_TAG, GCM_TAG, tag) != 1)
        return ERR_CRYPTO;
    return EVP_DecryptFinal_ex(gcm->cipher, &nothing, &size) == 1 ? ERR_OK : ERR_AUTH;
}

enum err gcm_open(struct gcm *gcm, const uint8_t nonce[GCM_NONCE], const void *ad, size_t ad_size,
                  const uint8_t *sealed, size_t n, void *plain)
{
    enum err e = open_text(gcm, nonce, ad, ad_size, sealed, n, plain);
    if (e != ERR_OK && n > 0)
        secret_wipe(plain, n); /* unauthenticated bytes must not be used */
    return e;
}
