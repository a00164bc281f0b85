#include "netio/hkdf.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

void hkdf_put_u32(struct bytes *info, uint32_t v)
{
    bytes_put_u32(info, sizeof v);
    bytes_put_u32(info, v);
}

static OSSL_PARAM octets(const char *name, const uint8_t *p, size_t n)
{
    /* OpenSSL only reads what it is given here, but its parameter type has no const */
    union {
        const uint8_t *in;
        void *out;
    } u = {.in = p};
    return OSSL_PARAM_construct_octet_string(name, u.out, n);
}

enum err hkdf_sha256(const uint8_t *secret, size_t secret_size, const struct bytes *info,
                     uint8_t *out, size_t out_size)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[4];
    EVP_KDF *kdf;
    EVP_KDF_CTX *context = NULL;
    enum err e = ERR_CRYPTO;
    TRY(bytes_ok(info));
    params[0] = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0);
    params[1] = octets(OSSL_KDF_PARAM_KEY, secret, secret_size);
    params[2] = octets(OSSL_KDF_PARAM_INFO, info->data, info->size);
    params[3] = OSSL_PARAM_construct_end();
    kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    if (kdf != NULL)
        context = EVP_KDF_CTX_new(kdf);
    if (context != NULL && EVP_KDF_derive(context, out, out_size, params) == 1)
        e = ERR_OK;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return e;
}
