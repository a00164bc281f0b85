#include "mpc/pair/gates.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/memory.h"

#include <openssl/evp.h>
#include <string.h>

#define KEY_ANDS (UINT64_C(1) << 24) /* a multiple of GATES_LANES: no batch has two keys */

struct gates_maker {
    struct pair_wire delta;
    uint8_t key[GATES_KEY_SIZE];
    uint64_t ands;
    EVP_CIPHER_CTX *cipher;
    uint8_t *garbled;                                        /* tables, of a provider */
    const uint8_t *given;                                    /* of a keeper */
    struct pair_wire x[4 * GATES_LANES], y[4 * GATES_LANES]; /* of one batch */
};

static enum err make(struct pair_gates *g, struct scratch *scratch,
                     const uint8_t key[GATES_KEY_SIZE], uint64_t ands)
{
    *g = (struct pair_gates){.scratch = scratch};
    TRY(memory_new(&g->maker, 1));
    memcpy(g->maker->key, key, GATES_KEY_SIZE);
    g->maker->ands = ands;
    g->maker->cipher = EVP_CIPHER_CTX_new();
    if (g->maker->cipher != NULL)
        return ERR_OK;
    pair_gates_free(g);
    return ERR_NOMEM;
}

enum err pair_gates_garble(struct pair_gates *g, struct scratch *scratch,
                           const uint8_t key[GATES_KEY_SIZE], struct pair_wire delta,
                           uint8_t *table, uint64_t ands)
{
    TRY(make(g, scratch, key, ands));
    g->one = g->maker->delta = delta;
    g->maker->garbled = table;
    return ERR_OK;
}

enum err pair_gates_evaluate(struct pair_gates *g, struct scratch *scratch,
                             const uint8_t key[GATES_KEY_SIZE], const uint8_t *table, uint64_t ands)
{
    TRY(make(g, scratch, key, ands));
    g->maker->given = table;
    return ERR_OK;
}

struct pair_gates pair_gates_plain(struct scratch *scratch)
{
    return (struct pair_gates){.one = {1, 0}, .scratch = scratch};
}

void pair_gates_free(struct pair_gates *g)
{
    if (g->maker != NULL)
        EVP_CIPHER_CTX_free(g->maker->cipher);
    memory_wipe_free(&g->maker, sizeof *g->maker);
}

bool pair_gates_garbles(const struct pair_gates *g)
{
    return g->maker != NULL && g->maker->garbled != NULL;
}

enum err pair_gates_done(const struct pair_gates *g)
{
    if (g->error != ERR_OK || g->maker == NULL)
        return g->error;
    return g->ands == g->maker->ands ? ERR_OK : ERR_RANGE;
}

/* The key of the next 2^24 ANDs. The first is the provider's own. */
static enum err begin_key(struct pair_gates *g)
{
    uint8_t number[8], digest[32];
    const uint8_t *key = g->maker->key;
    if (g->ands > 0) {
        integer_put(number, g->ands / KEY_ANDS, sizeof number);
        hash_labelled(digest, "trefoil-pair-gates-1", g->maker->key, GATES_KEY_SIZE, number,
                      sizeof number);
        key = digest;
    }
    return EVP_EncryptInit_ex(g->maker->cipher, EVP_aes_128_ecb(), NULL, key, NULL) == 1 &&
                   EVP_CIPHER_CTX_set_padding(g->maker->cipher, 0) == 1
               ? ERR_OK
               : ERR_CRYPTO;
}

static enum err encrypt(struct gates_maker *m, struct pair_wire *x, size_t n)
{
    const int size = (int)(n * sizeof *x);
    int written;
    return EVP_EncryptUpdate(m->cipher, (uint8_t *)x, &written, (const uint8_t *)x, size) == 1 &&
                   written == size
               ? ERR_OK
               : ERR_CRYPTO;
}

/* x = H(x, i) of n labels, whose numbers are in y. */
static enum err hash_labels(struct gates_maker *m, size_t n)
{
    TRY(encrypt(m, m->x, n));
    for (size_t k = 0; k < n; k++)
        m->y[k] = wire_xor(m->y[k], m->x[k]);
    TRY(encrypt(m, m->y, n));
    for (size_t k = 0; k < n; k++)
        m->x[k] = wire_xor(m->x[k], m->y[k]);
    return ERR_OK;
}

/*
 * Of `hashes` labels for each of n gates: the first half of them have the gate's first number, the
 * others the second.
 */
static enum err hash(struct pair_gates *g, size_t n, unsigned hashes)
{
    for (unsigned h = 0; h < hashes; h++)
        for (size_t k = 0; k < n; k++)
            g->maker->y[h * n + k] = (struct pair_wire){2 * (g->ands + k) + (h >= hashes / 2), 0};
    return hash_labels(g->maker, n * hashes);
}

static enum err garble(struct pair_gates *g, struct pair_wire *out, const struct pair_wire *a,
                       const struct pair_wire *b, size_t n)
{
    struct gates_maker *m = g->maker;
    const struct pair_wire *h = m->x;
    for (size_t k = 0; k < n; k++) {
        m->x[k] = a[k];
        m->x[n + k] = wire_xor(a[k], m->delta);
        m->x[2 * n + k] = b[k];
        m->x[3 * n + k] = wire_xor(b[k], m->delta);
    }
    TRY(hash(g, n, 4));
    for (size_t k = 0; k < n; k++) {
        const uint64_t p_a = a[k].low & 1, p_b = b[k].low & 1;
        struct pair_wire row[2];
        row[0] = wire_xor(wire_xor(h[k], h[n + k]), wire_if(p_b, m->delta));
        row[1] = wire_xor(wire_xor(h[2 * n + k], h[3 * n + k]), a[k]);
        out[k] = wire_xor(wire_xor(h[k], wire_if(p_a, row[0])),
                          wire_xor(h[2 * n + k], wire_if(p_b, wire_xor(row[1], a[k]))));
        memcpy(m->garbled, row, sizeof row);
        m->garbled += sizeof row;
    }
    return ERR_OK;
}

static enum err evaluate(struct pair_gates *g, struct pair_wire *out, const struct pair_wire *a,
                         const struct pair_wire *b, size_t n)
{
    struct gates_maker *m = g->maker;
    const struct pair_wire *h = m->x;
    memcpy(m->x, a, n * sizeof *a);
    memcpy(m->x + n, b, n * sizeof *b);
    TRY(hash(g, n, 2));
    for (size_t k = 0; k < n; k++) {
        const uint64_t s_a = a[k].low & 1, s_b = b[k].low & 1;
        struct pair_wire row[2];
        memcpy(row, m->given, sizeof row);
        m->given += sizeof row;
        out[k] = wire_xor(wire_xor(h[k], wire_if(s_a, row[0])),
                          wire_xor(h[n + k], wire_if(s_b, wire_xor(row[1], a[k]))));
    }
    return ERR_OK;
}

/* Before n more ANDs, at most as many as the key has left. */
static enum err begin(struct pair_gates *g, size_t n)
{
    if (n > g->maker->ands - g->ands)
        return ERR_RANGE;
    return g->ands % KEY_ANDS == 0 ? begin_key(g) : ERR_OK;
}

static enum err batch(struct pair_gates *g, struct pair_wire *out, const struct pair_wire *a,
                      const struct pair_wire *b, size_t n)
{
    TRY(begin(g, n));
    TRY((g->maker->garbled != NULL ? garble : evaluate)(g, out, a, b, n));
    g->ands += n;
    return ERR_OK;
}

enum err pair_gates_choose(struct pair_gates *g, uint64_t *share, const struct pair_wire *label,
                           uint64_t bits, const uint64_t *word)
{
    struct gates_maker *m = g->maker;
    const bool gives = m->garbled != NULL;
    TRY(begin(g, GATES_CHOSEN / 4));
    for (size_t k = 0; k < GATES_CHOSEN; k++) {
        m->x[k] = label[k];
        m->x[GATES_CHOSEN + k] = wire_xor(label[k], m->delta);
        m->y[k] = m->y[GATES_CHOSEN + k] = (struct pair_wire){g->ands + k / 4, 1 + k % 4};
    }
    TRY(hash_labels(m, gives ? 2 * GATES_CHOSEN : GATES_CHOSEN));
    for (size_t k = 0; k < GATES_CHOSEN; k++) {
        uint64_t more;
        if (gives) {
            more = m->x[k].low - m->x[GATES_CHOSEN + k].low + word[k];
            memcpy(m->garbled, &more, sizeof more);
            m->garbled += sizeof more;
            *share -= m->x[k].low;
            continue;
        }
        memcpy(&more, m->given, sizeof more);
        m->given += sizeof more;
        *share += m->x[k].low + ((0 - (bits >> k & 1)) & more);
    }
    g->ands += GATES_CHOSEN / 4;
    return ERR_OK;
}

void pair_gates_and(struct pair_gates *g, struct pair_wire *out, const struct pair_wire *a,
                    const struct pair_wire *b, size_t n)
{
    for (size_t at = 0, k; at < n && g->error == ERR_OK; at += k) {
        const size_t room = (size_t)(KEY_ANDS - g->ands % KEY_ANDS);
        k = n - at < GATES_LANES ? n - at : GATES_LANES;
        if (g->maker != NULL) {
            k = k < room ? k : room;
            g->error = batch(g, out + at, a + at, b + at, k);
            continue;
        }
        for (size_t i = at; i < at + k; i++)
            out[i] = (struct pair_wire){a[i].low & b[i].low, 0};
        g->ands += k;
    }
}
