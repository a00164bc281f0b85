#include "parties/exchange/voucher.h"

#include <string.h>

static const char label[] = "trefoil-debit-1";

#define SIGNED_SIZE 64

static void put_signed(const struct study *study, const uint8_t next[32],
                       uint8_t words[SIGNED_SIZE])
{
    memcpy(words, study->terms.digest, 32);
    memcpy(words + 32, next, 32);
}

enum err voucher_sign(const struct study *study, const struct identity *me, const uint8_t next[32],
                      uint8_t voucher[IDENTITY_SIGNATURE_SIZE])
{
    uint8_t words[SIGNED_SIZE];
    put_signed(study, next, words);
    return identity_sign(me, label, words, sizeof words, voucher);
}

bool vouchers_good(const struct study *study, const uint8_t next[32], const struct vouchers *v,
                   unsigned *without)
{
    uint8_t words[SIGNED_SIZE];
    put_signed(study, next, words);
    for (unsigned i = 0; i < study->servers; i++) {
        *without = i;
        if (public_identity_verify(&study->server[i].key, label, words, sizeof words, v->by[i]) !=
            ERR_OK)
            return false;
    }
    return true;
}
