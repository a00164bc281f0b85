/*
 * An owner's upload as each server reads it, from the owner and, whole, from its own store: what is
 * accepted is written back byte for byte.
 */
#include "base/secret.h"
#include "parties/setting/upload.h"
#include "parties/settings/three/split.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define BITS 13
#define BYTES 21

/* The first byte chooses the server and the form. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t terms[32] = {1};
    unsigned index, form;
    struct upload u;
    struct bytes back CLEAN(bytes_clear) = {0};
    uint8_t digest[32];
    if (size == 0)
        return 0;
    index = data[0] % 3;
    form = data[0] / 3 % 2 == 0 ? BITS : UPLOAD_RECORDS;
    if (upload_read(&u, &three_split, index, form, BYTES, data + 1, size - 1) != ERR_OK)
        return 0;
    (void)!upload_check(&u, index, terms);
    upload_digest(&u, terms, digest);
    never(upload_write(&u, index, true, &back) != ERR_OK || back.size != size - 1 ||
          memcmp(back.data, data + 1, back.size) != 0);
    upload_clear(&u);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const uint8_t terms[32] = {1};
    static const uint8_t data[BYTES] = {7};
    struct bytes packed CLEAN(bytes_clear) = {0}, b CLEAN(bytes_clear) = {0};
    struct identity *owner CLEAN(identity_free) = NULL;
    never(secret_start() != ERR_OK || identity_new(&owner, NULL) != ERR_OK);
    bytes_put(&packed, data, sizeof data);
    for (unsigned k = 0; k < 12; k++) {
        unsigned index = k % 3, form = k / 3 % 2 == 0 ? BITS : UPLOAD_RECORDS;
        struct upload part[3] = {{.form = 0}};
        never(upload_make(part, &three_split, owner, 0, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                          terms, form, &packed) != ERR_OK);
        b.size = 0;
        bytes_put_u8(&b, (uint8_t)(k % 6));
        never(upload_write(&part[index], index, k >= 6, &b) != ERR_OK);
        put(self, b.data, b.size);
        for (unsigned i = 0; i < 3; i++)
            upload_clear(&part[i]);
    }
}
