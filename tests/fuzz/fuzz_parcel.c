/*
 * What strangers bring: a block as it comes to the gate (kind 14), what is in a block that somebody
 * could seal, a parcel's file, and a file of answers. What is accepted is signed, stays within its
 * bytes, and where it is written reads the same.
 */
#include "base/secret.h"
#include "parties/owner/parcel.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>

/* A study of fixed keys, an owner's identity, and a parcel of it that is always the same. */
struct parcel_world {
    struct study study;
    struct identity server[STUDY_SERVERS_MOST], owner;
    uint8_t secret[STUDY_SERVERS_MOST][32];
    struct bytes file; /* of the parcel, whose seals are of fixed bytes */
};

static void keys(struct identity *id, uint8_t number)
{
    const uint8_t seed[32] = {number, 3};
    crypto_sign_seed_keypair(id->public.sign, id->sign_secret, seed);
}

static void world_new(struct parcel_world *w)
{
    never(secret_start() != ERR_OK);
    *w = (struct parcel_world){.study.servers = 3};
    memset(w->study.terms.digest, 7, 32);
    keys(&w->owner, 9);
    bytes_put_text(&w->file, "trefoil-parcel-1\n");
    bytes_put(&w->file, w->study.terms.digest, 32);
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t seed[32] = {(uint8_t)i, 4};
        keys(&w->server[i], (uint8_t)i);
        w->study.server[i].key = w->server[i].public;
        crypto_box_seed_keypair(w->study.server[i].sealing.key, w->secret[i], seed);
        w->study.server[i].sealing.given = true;
        bytes_put(&w->file, w->study.server[i].sealing.key, 32);
        bytes_put_u32(&w->file, 2 + i);
        for (unsigned k = 0; k < 2 + i; k++)
            bytes_put_block(&w->file, "a seal", 6);
    }
}

/* The message in the block, if it is one that server 1 takes. */
static void as_block(const struct parcel_world *w, const void *block, size_t n)
{
    struct bytes plain CLEAN(bytes_clear) = {0};
    struct sealed_found found;
    if (sealed_open(&w->study, 1, w->secret[1], block, n, &plain, &found) != ERR_OK)
        return;
    never(found.size == 0 || found.message < plain.data ||
          found.message + found.size + SEALED_SIGNATURE != plain.data + plain.size);
    plain.data[plain.size - SEALED_SIGNATURE - 1] ^= 1; /* the signature is over all of it */
    never(crypto_sign_verify_detached(plain.data + plain.size - SEALED_SIGNATURE, plain.data,
                                      plain.size - SEALED_SIGNATURE, found.sign) == 0);
}

static void as_plain(const struct parcel_world *w, const uint8_t *data, size_t size)
{
    uint8_t *block = malloc(size + crypto_box_SEALBYTES);
    never(block == NULL || crypto_box_seal(block, data, size, w->study.server[1].sealing.key) != 0);
    as_block(w, block, size + crypto_box_SEALBYTES);
    free(block);
}

static void as_file(const struct parcel_world *w, const uint8_t *data, size_t size)
{
    struct parcel p CLEAN(parcel_clear) = {0};
    struct bytes file CLEAN(bytes_clear) = {0};
    size_t blocks = 0;
    bytes_put(&file, data, size);
    if (parcel_parse(&p, &w->study, "fuzz", &file, NULL) != ERR_OK)
        return;
    for (unsigned i = 0; i < 3; i++)
        for (size_t k = 0; k < p.blocks[i]; k++) {
            size_t n;
            never(parcel_block(&p, i, k, &n) == NULL);
            blocks += 4 + n;
        }
    never(17 + 32 + 3 * 36 + blocks != size);
}

static void as_answers(const struct parcel_world *w, const uint8_t *data, size_t size)
{
    struct parcel p CLEAN(parcel_clear) = {0};
    struct parcel_answers a CLEAN(parcel_answers_clear) = {0};
    struct bytes file CLEAN(bytes_clear) = {0}, back CLEAN(bytes_clear) = {0};
    bytes_put(&file, w->file.data, w->file.size);
    never(parcel_parse(&p, &w->study, "fuzz", &file, NULL) != ERR_OK);
    if (parcel_answers_read(&p, &a, data, size) != ERR_OK)
        return;
    never(parcel_answers_write(&p, &a, &back) != ERR_OK || back.size != size ||
          memcmp(back.data, data, size) != 0);
}

/* The first byte chooses what it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const as[])(const struct parcel_world *w, const uint8_t *data,
                              size_t size) = {as_plain, as_file, as_answers};
    struct parcel_world w;
    if (size == 0)
        return 0;
    world_new(&w);
    if (data[0] % 4 == 3)
        as_block(&w, data + 1, size - 1);
    else
        as[data[0] % 4](&w, data + 1, size - 1);
    bytes_clear(&w.file);
    return 0;
}

static void put_world(fuzz_put put, void *self, const struct parcel_world *w)
{
    struct parcel p CLEAN(parcel_clear) = {0};
    struct parcel_answers a CLEAN(parcel_answers_clear) = {0};
    struct bytes b CLEAN(bytes_clear) = {0}, file CLEAN(bytes_clear) = {0};
    uint8_t digest[32];
    bytes_put_u8(&b, 1);
    bytes_put(&b, w->file.data, w->file.size);
    put(self, b.data, b.size);
    bytes_put(&file, w->file.data, w->file.size);
    never(parcel_parse(&p, &w->study, "fuzz", &file, NULL) != ERR_OK);
    sealed_digest("a seal", 6, digest);
    for (unsigned i = 0; i < 3; i++) {
        b.size = 0;
        bytes_put_u8(&b, 2);
        never(parcel_answers_write(&p, &a, &b) != ERR_OK);
        put(self, b.data, b.size);
        a.of[i].block = i;
        never(reply_write(MESSAGE_PARCEL, ERR_OK, "", "x", 1, &a.of[i].head) != ERR_OK ||
              sealed_answer(&w->server[i], digest, &a.of[i].head) != ERR_OK);
        bytes_put(&a.of[i].act, a.of[i].head.data, a.of[i].head.size);
    }
}

void fuzz_seeds(fuzz_put put, void *self)
{
    struct parcel_world w;
    struct token token = {.number = 3};
    world_new(&w);
    put_world(put, self, &w);
    for (unsigned k = 0; k < 4; k++) { /* blocks, and what is in them */
        const struct sealed_from from = {
            .study = &w.study, .me = &w.owner, .token = k % 2 == 0 ? NULL : &token, .serial = 5};
        struct bytes m CLEAN(bytes_clear) = {0}, b CLEAN(bytes_clear) = {0},
                       plain CLEAN(bytes_clear) = {0}, block CLEAN(bytes_clear) = {0};
        struct sealed_found found;
        never(parcel_put_withdraw(&w.study, &m) != ERR_OK ||
              sealed_make(&from, 1, &m, &block) != ERR_OK ||
              sealed_open(&w.study, 1, w.secret[1], block.data, block.size, &plain, &found) !=
                  ERR_OK);
        bytes_put_u8(&b, k < 2 ? 0 : 3);
        bytes_put(&b, k < 2 ? plain.data : block.data, k < 2 ? plain.size : block.size);
        put(self, b.data, b.size);
    }
    bytes_clear(&w.file);
}
