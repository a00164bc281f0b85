#include "parties/setting/upload.h"

#include "base/secret.h"

#include <sodium.h>
#include <string.h>

static void hash_block(crypto_hash_sha256_state *s, const void *p, size_t n)
{
    uint8_t length[8];
    integer_put(length, n, 8);
    crypto_hash_sha256_update(s, length, sizeof length);
    crypto_hash_sha256_update(s, p, n);
}

static void commit(const uint8_t terms[32], const uint8_t id[UPLOAD_ID_SIZE], unsigned component,
                   const uint8_t salt[UPLOAD_SALT_SIZE], const void *p, size_t n,
                   uint8_t commitment[UPLOAD_COMMITMENT_SIZE])
{
    crypto_hash_sha256_state s;
    uint8_t c = (uint8_t)component;
    crypto_hash_sha256_init(&s);
    hash_block(&s, "trefoil-c", 9);
    hash_block(&s, terms, 32);
    hash_block(&s, id, UPLOAD_ID_SIZE);
    hash_block(&s, &c, 1);
    hash_block(&s, salt, UPLOAD_SALT_SIZE);
    hash_block(&s, p, n);
    crypto_hash_sha256_final(&s, commitment);
}

/* What only the owner has: its signing key, and its secret for the study. */
#define OWNER_KEY_SIZE (32 + UPLOAD_SECRET_SIZE)

/* What an upload is derived from, and what is derived. */
struct origin {
    uint8_t key[OWNER_KEY_SIZE];
    uint8_t terms[32], data[32]; /* `data`: the digest of what is shared */
    uint8_t id[32], seed[2][MASK_SEED_SIZE], salt[3][UPLOAD_SALT_SIZE];
};

static void wipe(struct origin *from)
{
    secret_wipe(from, sizeof *from);
}

/* 32 bytes that only the owner can make, for one purpose. */
static void derive(const struct origin *from, const char *purpose, unsigned number, uint8_t out[32])
{
    crypto_auth_hmacsha512256_state s;
    uint8_t n = (uint8_t)number;
    crypto_auth_hmacsha512256_init(&s, from->key, sizeof from->key);
    crypto_auth_hmacsha512256_update(&s, (const uint8_t *)"trefoil-upload-2", 16);
    crypto_auth_hmacsha512256_update(&s, from->terms, sizeof from->terms);
    crypto_auth_hmacsha512256_update(&s, from->data, sizeof from->data);
    crypto_auth_hmacsha512256_update(&s, (const uint8_t *)purpose, strlen(purpose) + 1);
    crypto_auth_hmacsha512256_update(&s, &n, 1);
    crypto_auth_hmacsha512256_final(&s, out);
    secret_wipe(&s, sizeof s);
}

static void digest_packed(unsigned form, const struct bytes *packed, uint8_t out[32])
{
    crypto_hash_sha256_state s;
    uint8_t f = (uint8_t)form;
    crypto_hash_sha256_init(&s);
    hash_block(&s, &f, 1);
    hash_block(&s, packed->data, packed->size);
    crypto_hash_sha256_final(&s, out);
    secret_wipe(&s, sizeof s);
}

static void take_origin(struct origin *from, const struct identity *me, uint32_t owner,
                        const uint8_t secret[UPLOAD_SECRET_SIZE], const uint8_t terms[32],
                        unsigned form, const struct bytes *packed)
{
    memcpy(from->key, me->sign_secret, 32);
    memcpy(from->key + 32, secret, UPLOAD_SECRET_SIZE);
    memcpy(from->terms, terms, sizeof from->terms);
    digest_packed(form, packed, from->data);
    derive(from, "id", 0, from->id);
    integer_put(from->id + UPLOAD_ID_OWNER, owner, 4);
    for (unsigned c = 0; c < 3; c++)
        derive(from, "salt", c, from->salt[c]);
    for (unsigned c = 0; c < 2; c++) {
        uint8_t material[32];
        derive(from, "seed", c, material);
        memcpy(from->seed[c], material, MASK_SEED_SIZE);
        secret_wipe(material, sizeof material);
    }
}

/* Server i's part of an upload, made from `from` and the vector. */
static enum err make_part(struct upload *part, unsigned i, const struct origin *from, unsigned form,
                          const struct bytes *vector)
{
    memcpy(part->id, from->id, UPLOAD_ID_SIZE);
    part->form = (uint8_t)form;
    for (unsigned slot = 0; slot < 2; slot++) {
        const unsigned c = (i + slot) % 3;
        memcpy(part->salt[slot], from->salt[c], UPLOAD_SALT_SIZE);
        part->has[slot] = true;
        if (c < 2)
            memcpy(part->seed[slot], from->seed[c], MASK_SEED_SIZE);
        else
            bytes_put(&part->vector, vector->data, vector->size);
    }
    return bytes_ok(&part->vector);
}

enum err upload_make(struct upload parts[3], const struct identity *me, uint32_t owner,
                     const uint8_t secret[UPLOAD_SECRET_SIZE], const uint8_t terms[32],
                     unsigned form, const struct bytes *packed)
{
    struct origin from CLEAN(wipe);
    uint8_t commitment[3][UPLOAD_COMMITMENT_SIZE];
    struct bytes vector CLEAN(bytes_clear) = {0};
    enum err e = ERR_OK;
    memset(parts, 0, 3 * sizeof *parts);
    take_origin(&from, me, owner, secret, terms, form, packed);
    bytes_put(&vector, packed->data, packed->size);
    TRY(bytes_ok(&vector));
    TRY(mask_vector((const uint8_t(*)[MASK_SEED_SIZE])from.seed, vector.data, vector.size));
    for (unsigned c = 0; c < 3; c++)
        commit(terms, from.id, c, from.salt[c], c < 2 ? from.seed[c] : vector.data,
               c < 2 ? MASK_SEED_SIZE : vector.size, commitment[c]);
    for (unsigned i = 0; e == ERR_OK && i < 3; i++) {
        parts[i].owner = owner;
        memcpy(parts[i].commitment, commitment, sizeof commitment);
        e = make_part(&parts[i], i, &from, form, &vector);
    }
    for (unsigned i = 0; e != ERR_OK && i < 3; i++)
        upload_clear(&parts[i]);
    return e;
}

void upload_clear(struct upload *u)
{
    bytes_clear(&u->vector);
    secret_wipe(u, sizeof *u);
}

/* Whether server `index` gets component `slot` of its two from the owner directly. */
static bool sent_along(unsigned index, unsigned slot)
{
    return (index + slot) % 3 != 2 || index == 1;
}

enum err upload_write(const struct upload *u, unsigned index, bool whole, struct bytes *out)
{
    bytes_put_u8(out, UPLOAD_VERSION);
    bytes_put(out, u->id, sizeof u->id);
    bytes_put_u8(out, u->form);
    bytes_put(out, u->commitment, sizeof u->commitment);
    bytes_put(out, u->salt, sizeof u->salt);
    for (unsigned slot = 0; slot < 2; slot++) {
        bool present = u->has[slot] && (whole || sent_along(index, slot));
        bytes_put_u8(out, present);
        if (!present)
            continue;
        if ((index + slot) % 3 == 2)
            bytes_put_block(out, u->vector.data, u->vector.size);
        else
            bytes_put(out, u->seed[slot], MASK_SEED_SIZE);
    }
    return bytes_ok(out);
}

unsigned upload_version(const void *p, size_t n)
{
    struct reader in = reader_of(p, n);
    return reader_u8(&in);
}

unsigned upload_form(const void *p, size_t n)
{
    struct reader in = reader_of(p, n);
    (void)reader_bytes(&in, 1 + UPLOAD_ID_SIZE);
    return reader_u8(&in);
}

static enum err read_component(struct upload *u, unsigned index, unsigned slot, size_t bytes,
                               struct reader *in)
{
    uint8_t present = reader_u8(in);
    size_t n;
    const uint8_t *vector;
    if (present > 1 || (present == 0 && (index + slot) % 3 != 2))
        return ERR_FORMAT;
    u->has[slot] = present;
    if (!present)
        return ERR_OK;
    if ((index + slot) % 3 != 2) {
        reader_copy(in, u->seed[slot], MASK_SEED_SIZE);
        return ERR_OK;
    }
    vector = reader_block(in, &n);
    if (vector == NULL || n != bytes)
        return ERR_FORMAT;
    bytes_put(&u->vector, vector, n);
    return bytes_ok(&u->vector);
}

enum err upload_read(struct upload *u, unsigned index, unsigned form, size_t bytes, const void *p,
                     size_t n)
{
    struct reader in = reader_of(p, n);
    enum err e = reader_u8(&in) == UPLOAD_VERSION ? ERR_OK : ERR_FORMAT;
    *u = (struct upload){0};
    reader_copy(&in, u->id, sizeof u->id);
    u->form = reader_u8(&in);
    reader_copy(&in, u->commitment, sizeof u->commitment);
    reader_copy(&in, u->salt, sizeof u->salt);
    if (u->form != form)
        e = ERR_FORMAT;
    for (unsigned slot = 0; e == ERR_OK && slot < 2; slot++)
        e = read_component(u, index, slot, bytes, &in);
    if (e == ERR_OK)
        e = reader_done(&in);
    if (e != ERR_OK)
        upload_clear(u);
    return e;
}

bool upload_id_fits(const struct upload *u)
{
    return integer_get(u->id + UPLOAD_ID_OWNER, 4) == u->owner;
}

enum err upload_check(const struct upload *u, unsigned index, const uint8_t terms[32])
{
    for (unsigned slot = 0; slot < 2; slot++) {
        unsigned c = (index + slot) % 3;
        uint8_t expected[UPLOAD_COMMITMENT_SIZE];
        if (!u->has[slot])
            continue;
        commit(terms, u->id, c, u->salt[slot], c < 2 ? u->seed[slot] : u->vector.data,
               c < 2 ? MASK_SEED_SIZE : u->vector.size, expected);
        if (memcmp(expected, u->commitment[c], sizeof expected) != 0)
            return ERR_DATA;
    }
    return ERR_OK;
}

void upload_seeds(const struct upload *u, unsigned index, const uint8_t *seed[2])
{
    for (unsigned slot = 0; slot < 2; slot++)
        seed[slot] = (index + slot) % 3 == 2 ? NULL : u->seed[slot];
}

void upload_digest(const struct upload *u, const uint8_t terms[32], uint8_t digest[32])
{
    crypto_hash_sha256_state s;
    uint8_t owner[4];
    integer_put(owner, u->owner, 4);
    crypto_hash_sha256_init(&s);
    hash_block(&s, "trefoil-upload", 14);
    hash_block(&s, terms, 32);
    hash_block(&s, u->id, sizeof u->id);
    hash_block(&s, owner, sizeof owner);
    hash_block(&s, &u->form, 1);
    hash_block(&s, u->commitment, sizeof u->commitment);
    crypto_hash_sha256_final(&s, digest);
}
