#include "base/digest.h"

#include <sodium.h>
#include <string.h>

void digest_append(struct bytes *out)
{
    uint8_t digest[DIGEST_SIZE];
    crypto_generichash(digest, sizeof digest, out->data, out->size, NULL, 0);
    bytes_put(out, digest, sizeof digest);
}

enum err digest_write(const char *path, unsigned mode, struct bytes *out, struct log *log)
{
    const size_t n = out->size;
    enum err e;
    digest_append(out);
    TRY(bytes_ok(out));
    e = file_write(path, mode, out->data, out->size, log);
    out->size = n;
    return e;
}

enum err digest_check(struct reader *r, const char *magic)
{
    uint8_t digest[DIGEST_SIZE];
    const uint8_t *head;
    if (r->failed || r->left < sizeof digest)
        return ERR_FORMAT;
    r->left -= sizeof digest;
    crypto_generichash(digest, sizeof digest, r->p, r->left, NULL, 0);
    if (memcmp(digest, r->p + r->left, sizeof digest) != 0)
        return ERR_FORMAT;
    head = reader_bytes(r, strlen(magic));
    return head != NULL && memcmp(head, magic, strlen(magic)) == 0 ? ERR_OK : ERR_FORMAT;
}
