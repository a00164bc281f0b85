#include "base/secret.h"
#include "parties/store/store_private.h"

#include <sodium.h>
#include <string.h>

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES

struct store_binding store_binding(const void *id, uint64_t number, size_t n)
{
    struct store_binding b = {.size = UPLOAD_ID_SIZE + n};
    memcpy(b.bytes, id, UPLOAD_ID_SIZE);
    integer_put(b.bytes + UPLOAD_ID_SIZE, number, n);
    return b;
}

enum err store_seal(struct store *s, const void *binding, size_t binding_size,
                    const struct bytes *plain, struct bytes *sealed)
{
    uint8_t *at = bytes_extend(sealed, NONCE + plain->size + TAG);
    if (at == NULL)
        return ERR_NOMEM;
    secret_random(at, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(at + NONCE, NULL, plain->data, plain->size, binding,
                                               binding_size, NULL, at, s->key);
    return ERR_OK;
}

enum err store_unseal(struct store *s, const void *binding, size_t binding_size, const void *sealed,
                      size_t n, struct bytes *plain)
{
    const uint8_t *p = sealed;
    if (n < NONCE + TAG)
        return ERR_AUTH;
    if (bytes_extend(plain, n - NONCE - TAG) == NULL && n > NONCE + TAG)
        return ERR_NOMEM;
    return crypto_aead_xchacha20poly1305_ietf_decrypt(plain->data, NULL, NULL, p + NONCE, n - NONCE,
                                                      binding, binding_size, p, s->key) == 0
               ? ERR_OK
               : ERR_AUTH;
}
