#include "parties/exchange/sealed.h"

#include <sodium.h>
#include <string.h>

static const char label[] = "trefoil-parcel-1", answer_label[] = "trefoil-answer-1";

bool sealed_has_serial(uint8_t kind)
{
    return kind == MESSAGE_UPLOAD || kind == MESSAGE_REPLACE || kind == MESSAGE_PART ||
           kind == MESSAGE_WITHDRAW;
}

void sealed_digest(const void *block, size_t n, uint8_t digest[32])
{
    crypto_hash_sha256(digest, block, n);
}

enum err sealed_make(const struct sealed_from *from, unsigned server, const struct bytes *message,
                     struct bytes *out)
{
    struct bytes plain CLEAN(bytes_clear) = {0};
    char token[TOKEN_TEXT_SIZE] = "";
    uint8_t signature[SEALED_SIGNATURE], *seal;
    TRY(bytes_ok(message));
    if (from->token != NULL)
        token_text(from->token, token);
    bytes_put_u8(&plain, SEALED_VERSION);
    bytes_put_u8(&plain, (uint8_t)server);
    bytes_put(&plain, from->study->terms.digest, 32);
    bytes_put(&plain, from->me->public.sign, 32);
    bytes_put_u64(&plain, sealed_has_serial(message->data[0]) ? from->serial : 0);
    bytes_put_string(&plain, token);
    bytes_put_block(&plain, message->data, message->size);
    TRY(bytes_ok(&plain));
    TRY(identity_sign(from->me, label, plain.data, plain.size, signature));
    bytes_put(&plain, signature, sizeof signature);
    seal = bytes_extend(out, plain.size + crypto_box_SEALBYTES);
    TRY(bytes_ok(&plain));
    TRY(bytes_ok(out));
    return crypto_box_seal(seal, plain.data, plain.size, from->study->server[server].sealing.key) ==
                   0
               ? ERR_OK
               : ERR_CRYPTO;
}

/* The parts of a plain, and where its signature begins. */
static enum err read_plain(const struct study *study, unsigned server, const struct bytes *plain,
                           struct sealed_found *open, size_t *signed_bytes)
{
    struct reader in = reader_of(plain->data, plain->size);
    const uint8_t version = reader_u8(&in), to = reader_u8(&in),
                  *terms = reader_bytes(&in, sizeof study->terms.digest);
    char token[TOKEN_TEXT_SIZE];
    reader_copy(&in, open->sign, sizeof open->sign);
    open->serial = reader_u64(&in);
    reader_string(&in, token, sizeof token);
    open->message = reader_block(&in, &open->size);
    *signed_bytes = plain->size - in.left;
    (void)reader_bytes(&in, SEALED_SIGNATURE);
    if (reader_done(&in) != ERR_OK || open->size == 0 || version != SEALED_VERSION)
        return ERR_FORMAT;
    open->has_token = token[0] != '\0';
    if (open->has_token && token_parse(&open->token, token) != ERR_OK)
        return ERR_FORMAT;
    return to == server && memcmp(terms, study->terms.digest, 32) == 0 ? ERR_OK : ERR_MISMATCH;
}

enum err sealed_open(const struct study *study, unsigned server, const uint8_t secret[32],
                     const void *block, size_t n, struct bytes *plain, struct sealed_found *open)
{
    struct public_identity who = {0};
    size_t signed_bytes;
    *open = (struct sealed_found){0};
    plain->size = 0;
    if (n <= crypto_box_SEALBYTES)
        return ERR_FORMAT;
    if (bytes_extend(plain, n - crypto_box_SEALBYTES) == NULL)
        return ERR_NOMEM;
    if (crypto_box_seal_open(plain->data, block, n, study->server[server].sealing.key, secret) != 0)
        return ERR_AUTH;
    TRY(read_plain(study, server, plain, open, &signed_bytes));
    memcpy(who.sign, open->sign, sizeof who.sign);
    return public_identity_verify(&who, label, plain->data, signed_bytes,
                                  plain->data + signed_bytes);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* What a server signs of an answer. */
static void put_answered(struct bytes *b, const uint8_t digest[32], const void *answer, size_t n)
{
    bytes_put(b, digest, 32);
    bytes_put(b, answer, n);
}

enum err sealed_answer(const struct identity *server, const uint8_t digest[32],
                       struct bytes *answer)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    uint8_t signature[SEALED_SIGNATURE];
    TRY(bytes_ok(answer));
    put_answered(&b, digest, answer->data, answer->size);
    TRY(bytes_ok(&b));
    TRY(identity_sign(server, answer_label, b.data, b.size, signature));
    bytes_put(answer, signature, sizeof signature);
    return bytes_ok(answer);
}

enum err sealed_check_answer(const struct study *study, unsigned server, const uint8_t digest[32],
                             const struct bytes *message, struct reply *reply)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    enum err e = ERR_AUTH;
    if (reply->signature != NULL) {
        put_answered(&b, digest, message->data, message->size - SEALED_SIGNATURE);
        TRY(bytes_ok(&b));
        e = public_identity_verify(&study->server[server].key, answer_label, b.data, b.size,
                                   reply->signature);
    }
    if (e == ERR_OK)
        return e;
    reply->size = 0;
    if (reply->status != ERR_OK)
        return ERR_OK;
    snprintf(reply->text, sizeof reply->text,
             "its answer lacks its signature, so nobody knows what it has; run the same command "
             "again");
    return e;
}
