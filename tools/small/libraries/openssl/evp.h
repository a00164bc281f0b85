/* The part of OpenSSL that base/prg.c asks for: tools/small/small_aes.c. */
#ifndef SMALL_EVP_H
#define SMALL_EVP_H

#include <stdint.h>

typedef struct evp_cipher_ctx_st EVP_CIPHER_CTX;
typedef struct evp_cipher_st EVP_CIPHER;

EVP_CIPHER_CTX *EVP_CIPHER_CTX_new(void);
void EVP_CIPHER_CTX_free(EVP_CIPHER_CTX *c);
const EVP_CIPHER *EVP_aes_128_ctr(void);
int EVP_EncryptInit_ex(EVP_CIPHER_CTX *c, const EVP_CIPHER *type, void *engine, const uint8_t *key,
                       const uint8_t *counter);
int EVP_EncryptUpdate(EVP_CIPHER_CTX *c, uint8_t *out, int *written, const uint8_t *in, int n);

#endif
