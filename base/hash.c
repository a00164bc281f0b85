#include "base/hash.h"

#include <sodium.h>
#include <string.h>

void hash_labelled(uint8_t digest[32], const char *label, const void *first, size_t n,
                   const void *second, size_t m)
{
    crypto_hash_sha256_state s;
    crypto_hash_sha256_init(&s);
    crypto_hash_sha256_update(&s, (const uint8_t *)label, strlen(label) + 1);
    crypto_hash_sha256_update(&s, first, n);
    crypto_hash_sha256_update(&s, second, m);
    crypto_hash_sha256_final(&s, digest);
}
