#include "base/hash.h"

#include <openssl/sha.h>
#include <sodium.h>

/* libcrypto uses the processor's instructions for it. */
void hash_bytes(const void *p, size_t n, uint8_t digest[32])
{
    if (SHA256(p, n, digest) == NULL)
        crypto_hash_sha256(digest, p, n);
}
