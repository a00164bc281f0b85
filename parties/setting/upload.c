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
    uint8_t id[32], seed[SPLIT_SEEDS_MOST][SPLIT_SEED],
        salt[SPLIT_COMPONENTS_MOST][UPLOAD_SALT_SIZE];
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

static void take_origin(struct origin *from, const struct split *split, const struct identity *me,
                        uint32_t owner, const uint8_t secret[UPLOAD_SECRET_SIZE],
                        const uint8_t terms[32], unsigned form, const struct bytes *packed)
{
    memcpy(from->key, me->sign_secret, 32);
    memcpy(from->key + 32, secret, UPLOAD_SECRET_SIZE);
    memcpy(from->terms, terms, sizeof from->terms);
    digest_packed(form, packed, from->data);
    derive(from, "id", 0, from->id);
    integer_put(from->id + UPLOAD_ID_OWNER, owner, 4);
    for (unsigned c = 0; c < split->components; c++)
        derive(from, "salt", c, from->salt[c]);
    for (unsigned c = 0; c < split->seeds; c++) {
        uint8_t material[32];
        derive(from, "seed", c, material);
        memcpy(from->seed[c], material, SPLIT_SEED);
        secret_wipe(material, sizeof material);
    }
}

static bool is_vector(const struct upload *u, unsigned index, unsigned slot)
{
    return u->split->component[index][slot] == split_vector(u->split);
}

/* Server `index`'s components, made from `from` and the vector. */
static enum err put_components(struct upload *part, unsigned index, const struct origin *from,
                               const struct bytes *vector)
{
    for (unsigned slot = 0; slot < part->split->held; slot++) {
        const unsigned c = part->split->component[index][slot];
        memcpy(part->salt[slot], from->salt[c], UPLOAD_SALT_SIZE);
        if (is_vector(part, index, slot))
            bytes_put(&part->vector, vector->data, vector->size);
        else
            memcpy(part->seed[slot], from->seed[c], SPLIT_SEED);
    }
    return bytes_ok(&part->vector);
}

enum err upload_make(struct upload *parts, const struct split *split, const struct identity *me,
                     uint32_t owner, const uint8_t secret[UPLOAD_SECRET_SIZE],
                     const struct study *study, unsigned form, const struct bytes *packed)
{
    const uint8_t *terms = study->terms.digest;
    struct origin from CLEAN(wipe);
    struct upload all = {
        .split = split, .owner = owner, .form = (uint8_t)form, .whole = true}; /* alike in all */
    struct bytes vector CLEAN(bytes_clear) = {0};
    enum err e = ERR_OK;
    memset(parts, 0, split->servers * sizeof *parts);
    take_origin(&from, split, me, owner, secret, terms, form, packed);
    memcpy(all.id, from.id, sizeof all.id);
    bytes_put(&vector, packed->data, packed->size);
    TRY(bytes_ok(&vector));
    TRY(split->mask(study, owner, form, (const uint8_t(*)[SPLIT_SEED])from.seed, &vector));
    for (unsigned c = 0; c < split_vector(split); c++)
        commit(terms, all.id, c, from.salt[c], from.seed[c], SPLIT_SEED, all.commitment[c]);
    commit(terms, all.id, split_vector(split), from.salt[split_vector(split)], vector.data,
           vector.size, all.commitment[split_vector(split)]);
    for (unsigned i = 0; e == ERR_OK && i < split->servers; i++) {
        parts[i] = all;
        e = put_components(&parts[i], i, &from, &vector);
    }
    for (unsigned i = 0; e != ERR_OK && i < split->servers; i++)
        upload_clear(&parts[i]);
    return e;
}

void upload_clear(struct upload *u)
{
    bytes_clear(&u->vector);
    secret_wipe(u, sizeof *u);
}

enum err upload_write(const struct upload *u, unsigned index, bool stored, struct bytes *out)
{
    bytes_put_u8(out, UPLOAD_VERSION);
    bytes_put(out, u->id, sizeof u->id);
    bytes_put_u8(out, u->form);
    bytes_put(out, u->commitment, u->split->components * sizeof *u->commitment);
    bytes_put(out, u->salt, u->split->held * sizeof *u->salt);
    for (unsigned slot = 0; slot < u->split->held; slot++) {
        const bool vector = is_vector(u, index, slot);
        const bool present = !vector || (u->whole && (stored || index == u->split->given));
        bytes_put_u8(out, present);
        if (present && vector)
            bytes_put_block(out, u->vector.data, u->vector.size);
        else if (present)
            bytes_put(out, u->seed[slot], sizeof u->seed[slot]);
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
    const uint8_t present = reader_u8(in);
    size_t n;
    const uint8_t *vector;
    if (present > 1 || (present == 0 && !is_vector(u, index, slot)))
        return ERR_FORMAT;
    if (!is_vector(u, index, slot)) {
        reader_copy(in, u->seed[slot], sizeof u->seed[slot]);
        return ERR_OK;
    }
    u->whole = present;
    if (!present)
        return ERR_OK;
    vector = reader_block(in, &n);
    if (vector == NULL || n != bytes)
        return ERR_FORMAT;
    bytes_put(&u->vector, vector, n);
    return bytes_ok(&u->vector);
}

enum err upload_read(struct upload *u, const struct split *split, unsigned index, unsigned form,
                     size_t bytes, const void *p, size_t n)
{
    struct reader in = reader_of(p, n);
    enum err e = reader_u8(&in) == UPLOAD_VERSION ? ERR_OK : ERR_FORMAT;
    *u = (struct upload){.split = split, .whole = true};
    reader_copy(&in, u->id, sizeof u->id);
    u->form = reader_u8(&in);
    reader_copy(&in, u->commitment, split->components * sizeof *u->commitment);
    reader_copy(&in, u->salt, split->held * sizeof *u->salt);
    if (u->form != form)
        e = ERR_FORMAT;
    for (unsigned slot = 0; e == ERR_OK && slot < split->held; slot++)
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
    for (unsigned slot = 0; slot < u->split->held; slot++) {
        const unsigned c = u->split->component[index][slot];
        const bool vector = is_vector(u, index, slot);
        uint8_t expected[UPLOAD_COMMITMENT_SIZE];
        if (vector && !u->whole)
            continue;
        commit(terms, u->id, c, u->salt[slot], vector ? u->vector.data : u->seed[slot],
               vector ? u->vector.size : sizeof u->seed[slot], expected);
        if (memcmp(expected, u->commitment[c], sizeof expected) != 0)
            return ERR_DATA;
        if (vector && u->split->check != NULL)
            TRY(u->split->check(u->form, &u->vector));
    }
    return ERR_OK;
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
    hash_block(&s, u->commitment, u->split->components * sizeof *u->commitment);
    crypto_hash_sha256_final(&s, digest);
}
