#include "aim/digest.h"

#include <sodium.h>
#include <string.h>

void digest_append(struct bytes *out)
{
    uint8_t digest[DIGEST_SIZE];
    crypto_generichash(digest, sizeof digest, out->data, out->size, NULL, 0);
    bytes_put(out, digest, sizeof digest);
}

enum err digest_check(struct reader *r)
{
    uint8_t digest[DIGEST_SIZE];
    if (r->failed || r->left < sizeof digest)
        return ERR_FORMAT;
    r->left -= sizeof digest;
    crypto_generichash(digest, sizeof digest, r->p, r->left, NULL, 0);
    return memcmp(digest, r->p + r->left, sizeof digest) == 0 ? ERR_OK : ERR_FORMAT;
}
