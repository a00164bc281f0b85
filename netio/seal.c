#include "netio/seal.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "base/secret.h"
#include "netio/hkdf.h"

#include <limits.h>
#include <string.h>

struct seal {
    uint8_t *key; /* secret memory, kept for the next replacement */
    struct gcm *gcm;
    enum seal_side side;
    uint64_t limit, used; /* blocks of the present key */
    uint64_t next;        /* the lowest sequence number that may follow */
    uint64_t generation;
};

static enum err use_key(struct seal *s)
{
    gcm_free(&s->gcm);
    return gcm_new(&s->gcm, s->side == SEAL_SENDER, s->key);
}

enum err seal_new(struct seal **seal, enum seal_side side, const uint8_t key[SEAL_KEY],
                  uint64_t blocks)
{
    struct seal *s CLEAN(seal_free) = NULL;
    *seal = NULL;
    TRY(memory_new(&s, 1));
    s->side = side;
    s->limit = blocks != 0 ? blocks : SEAL_BLOCKS;
    s->key = secret_new(SEAL_KEY);
    if (s->key == NULL)
        return ERR_NOMEM;
    memcpy(s->key, key, SEAL_KEY);
    TRY(use_key(s));
    return memory_hand_over(seal, &s);
}

void seal_free(struct seal **seal)
{
    if (*seal == NULL)
        return;
    secret_free(&(*seal)->key);
    gcm_free(&(*seal)->gcm);
    memory_free(seal);
}

static enum err replace_key(struct seal *s)
{
    static const char label[] = "trefoil-rekey-1";
    struct bytes info CLEAN(bytes_clear) = {0};
    uint8_t fresh[SEAL_KEY];
    enum err e;
    s->generation++;
    bytes_put_string(&info, label);
    bytes_put_u32(&info, 8);
    bytes_put_u64(&info, s->generation);
    e = hkdf_sha256(s->key, SEAL_KEY, &info, fresh, sizeof fresh);
    if (e == ERR_OK) {
        memcpy(s->key, fresh, SEAL_KEY);
        e = use_key(s);
    }
    secret_wipe(fresh, sizeof fresh);
    if (e == ERR_OK) /* else nothing more is sealed under the old one */
        s->used = 0;
    return e;
}

/* Counts the frame's blocks, replaces the key when it is time, makes the nonce. */
static enum err begin(struct seal *s, uint64_t sequence, size_t ad_size, size_t n,
                      uint8_t nonce[GCM_NONCE])
{
    /* one block masks the tag */
    uint64_t blocks = 1 + ((uint64_t)n + 15) / 16 + ((uint64_t)ad_size + 15) / 16;
    if (n > INT_MAX || ad_size > INT_MAX)
        return ERR_RANGE;
    if (sequence < s->next || sequence == UINT64_MAX)
        return ERR_MISUSE;
    s->next = sequence + 1;
    if (s->used != 0 && s->used + blocks > s->limit)
        TRY(replace_key(s));
    s->used += blocks;
    memset(nonce, 0, GCM_NONCE);
    integer_put(nonce, sequence, 8);
    return ERR_OK;
}

enum err seal_frame(struct seal *s, uint64_t sequence, const void *ad, size_t ad_size,
                    const void *plain, size_t n, uint8_t *out)
{
    uint8_t nonce[GCM_NONCE];
    if (s->side != SEAL_SENDER)
        return ERR_MISUSE;
    TRY(begin(s, sequence, ad_size, n, nonce));
    return gcm_seal(s->gcm, nonce, ad, ad_size, plain, n, out);
}

enum err seal_open(struct seal *s, uint64_t sequence, const void *ad, size_t ad_size,
                   const uint8_t *sealed, size_t n, void *plain)
{
    uint8_t nonce[GCM_NONCE];
    if (s->side != SEAL_RECEIVER)
        return ERR_MISUSE;
    TRY(begin(s, sequence, ad_size, n, nonce));
    return gcm_open(s->gcm, nonce, ad, ad_size, sealed, n, plain);
}
