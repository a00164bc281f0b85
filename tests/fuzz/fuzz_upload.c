/*
 * An owner's upload as each of three servers, and of two, reads it, from the owner and, whole, from
 * its own store: what is accepted is written back byte for byte.
 */
#include "base/secret.h"
#include "parties/setting/upload.h"
#include "parties/settings/three/split.h"
#include "parties/settings/two/split.h"
#include "tests/fuzz/fuzz.h"

#define BITS 13
#define BYTES 21
#define WORDS 3 /* of counts with two servers */

/* The first byte chooses the server and the form; from 6 on there are two servers. */
struct place {
    const struct split *split;
    unsigned index, form;
    size_t bytes;
};

static struct place place_of(uint8_t byte)
{
    const bool two = byte / 6 % 2 == 1;
    if (two)
        return (struct place){&two_split, byte % 2, UPLOAD_WORDS, 8 * WORDS};
    return (struct place){&three_split, byte % 3, byte / 3 % 2 == 0 ? BITS : UPLOAD_RECORDS, BYTES};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t terms[32] = {1};
    struct upload u;
    uint64_t sum[WORDS] = {0};
    struct bytes back CLEAN(bytes_clear) = {0};
    uint8_t digest[32];
    if (size == 0)
        return 0;
    struct place at = place_of(data[0]);
    if (upload_read(&u, at.split, at.index, at.form, at.bytes, data + 1, size - 1) != ERR_OK)
        return 0;
    (void)!upload_check(&u, at.index, terms);
    if (at.split == &two_split && u.whole)
        never(two_split_add(&u, at.index, sum, WORDS) != ERR_OK);
    upload_digest(&u, terms, digest);
    never(upload_write(&u, at.index, true, &back) != ERR_OK || back.size != size - 1 ||
          memcmp(back.data, data + 1, back.size) != 0);
    upload_clear(&u);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const struct study study = {.terms.digest = {1}};
    static const uint8_t data[8 * WORDS] = {7};
    struct bytes packed CLEAN(bytes_clear) = {0}, b CLEAN(bytes_clear) = {0};
    struct identity *owner CLEAN(identity_free) = NULL;
    never(secret_start() != ERR_OK || identity_new(&owner, NULL) != ERR_OK);
    for (unsigned k = 0; k < 24; k++) {
        const struct place at = place_of((uint8_t)(k % 12));
        struct upload part[3] = {{.form = 0}};
        bytes_set(&packed, data, at.bytes);
        never(upload_make(part, at.split, owner, 0, (const uint8_t[UPLOAD_SECRET_SIZE]){1}, &study,
                          at.form, &packed) != ERR_OK);
        b.size = 0;
        bytes_put_u8(&b, (uint8_t)(k % 12));
        never(upload_write(&part[at.index], at.index, k >= 12, &b) != ERR_OK);
        put(self, b.data, b.size);
        for (unsigned i = 0; i < at.split->servers; i++)
            upload_clear(&part[i]);
    }
}
